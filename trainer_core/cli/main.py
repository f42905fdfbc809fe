"""`dmglab COMMAND ...`: picks the command's module and prints its result as one JSON object.

Only the chosen command's imports are paid for: `dmglab runs` loads no torch.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from trainer_core.cli.command_table import Command, find, usage
from trainer_core.cli.output import on_terminal, print_lists, say
from trainer_core.host.process_start import begin_process
from trainer_core.wire.errors import LabError, in_words, shortened
from trainer_core.wire.process_guard import PARENT, die_with_parent
from trainer_core.wire.standard_streams import (
    StdoutError,
    fill_standard_streams,
    finish_stdout,
    outlive_reader_of_stderr,
    watch_stdout,
)

HELP = {"-h", "--help"}
MOST_NAME = 60
"""Letters of a word that was typed and is no command."""


def main(argv: list[str] | None = None) -> int:
    """Exit status 0 when the command's result says ok, else 1."""
    if argv is None:
        watch_stdout(closed="stdout" in fill_standard_streams())
        begin_process()
        argv = sys.argv[1:]
    if sys.stderr is sys.__stderr__:
        outlive_reader_of_stderr()
    if not argv:
        # By its name, not as `-m gui`: a folder `gui` where the user stands must not answer.
        return importlib.import_module("gui.__main__").main()
    if argv[0] == "--version":
        print(f"dmglab {_version()}")
        return 0
    if argv[0] == "help" and argv[1:]:
        argv = [*argv[1:], "--help"]
    if argv[0] in {*HELP, "help"}:
        print(usage())
        return 0
    command, words = find(argv)
    if command is None:
        say(f"dmglab: no command {shortened(repr(argv[0]), MOST_NAME)}\n{usage()}")
        return 1
    if not command.function and not HELP.isdisjoint(words[:1]):
        print(usage(command))
        return 0
    try:
        with contextlib.nullcontext() if command.prints or not HELP.isdisjoint(words) else _stdout_to_stderr():
            result = _run(command, words)
    except LabError as error:
        result = {"ok": False, "error": str(error)}
    except OSError as error:  # a folder or file that cannot be read or written
        if isinstance(error, (BrokenPipeError, StdoutError)):
            return 1
        if error.filename is None and error.errno != errno.ENOSPC:
            raise
        result = {"ok": False, "error": in_words(error)}
    except RuntimeError as error:
        if not str(error).startswith("Symlink loop"):  # pathlib's word for it before Python 3.13
            raise
        result = {"ok": False, "error": f"{error}; name a file or folder that is there"}
    except KeyboardInterrupt:
        result = {"ok": False, "error": "interrupted"}
    if not result.get("ok", True) and "error" in result:
        say(f"dmglab {argv[0]}: {result['error']}")
    if argv[1:2] == ["list"] and result.get("ok") and on_terminal():
        print_lists(result)
    elif result:
        print(json.dumps(result))
    return 0 if result.get("ok", True) else 1


def _run(command: Command, words: list[str]) -> dict[str, Any]:
    """Return what the command's function returns. Raises LabError where a verb is missing."""
    if not command.function:
        said = f"no verb {words[0]!r}: " if words else ""
        known = ", ".join(row.name.rpartition(" ")[2] for row in command.verbs)
        raise LabError(f"{said}say `dmglab {command.name}` and one of {known}; each has --help")
    return command.load()(words)  # importing takes seconds for some: Ctrl-C meanwhile is one line as well


def _stdout_to_stderr() -> contextlib.AbstractContextManager[object]:
    """Libraries greet on standard output, where only the result belongs."""
    return contextlib.redirect_stdout(sys.stderr)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dmglab")
    except PackageNotFoundError:  # sources that nobody installed
        return "from sources"


def leave(command: Callable[[], int]) -> NoReturn:
    """Run `command` and end the process with its status, or 1 where its output could not be
    written; past the interpreter's own exit where torch is loaded.

    All is saved and said by then. Taking torch, Warp and a GPU's modules apart takes most of a
    second, and aborts now and then: a gloo thread of torch is still joinable when statics go.
    """
    try:
        status = command()
    except StdoutError:
        status = 1
    except SystemExit as end:  # --help
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    status = finish_stdout(status)
    if "torch" not in sys.modules:
        sys.exit(status)
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def console_script() -> NoReturn:
    """The `dmglab` command."""
    leave(main)


if __name__ == "__main__":
    if PARENT in os.environ:  # before torch is loaded, which takes seconds
        die_with_parent()
    leave(main)
