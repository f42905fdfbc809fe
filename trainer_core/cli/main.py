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
from typing import NoReturn

from trainer_core.cli.output import on_terminal, print_lists, say
from trainer_core.cli.summaries import COMMANDS, rows
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
MODULES = {"bench": "bench.command", "import": "importing"}
"""Commands whose module has another name."""
MOST_NAME = 60
"""Letters of a word that was typed and is no command."""
OWN_STDOUT = {"clip", "disk", "export", "gif", "league", "query", "queue", "runner", "runs"}
"""Commands that print more than their result; the others' stray prints go to standard error."""


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
        argv = [argv[1], "--help"]
    if argv[0] in {*HELP, "help"}:
        print(usage())
        return 0
    if argv[0] not in COMMANDS:
        say(f"dmglab: no command {shortened(repr(argv[0]), MOST_NAME)}\n{usage()}")
        return 1
    try:
        # Takes seconds for some: Ctrl-C meanwhile is one line as well.
        module = importlib.import_module(f"trainer_core.cli.{MODULES.get(argv[0], argv[0])}")
        with contextlib.nullcontext() if _owns_stdout(argv) else _stdout_to_stderr():
            result = module.run(argv[1:])
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


def _owns_stdout(argv: list[str]) -> bool:
    return argv[0] in OWN_STDOUT or not HELP.isdisjoint(argv[1:])


def _stdout_to_stderr() -> contextlib.AbstractContextManager[object]:
    """Libraries greet on standard output, where only the result belongs."""
    return contextlib.redirect_stdout(sys.stderr)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dmglab")
    except PackageNotFoundError:  # sources that nobody installed
        return "from sources"


def usage() -> str:
    return (
        "usage: dmglab COMMAND [options]   (no command: open the app)\n"
        f"{rows(COMMANDS)}\n`dmglab COMMAND --help` shows its options."
    )


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
