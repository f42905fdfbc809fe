"""`dmglab COMMAND ...`: call the command's function and print its result, as text or as one JSON object.

Only the module of that command is imported: `dmglab runs` loads no torch.
"""

from __future__ import annotations

import atexit
import contextlib
import difflib
import errno
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from trainer_core.cli.command_table import COMMANDS, RENAMED, Command, find, planned, usage
from trainer_core.cli.output import on_terminal, print_result, say
from trainer_core.cli.progress import progress_line
from trainer_core.host.process_start import begin_process
from trainer_core.wire.errors import (
    FAILED,
    INTERRUPTED,
    UNUSABLE,
    ConfigError,
    LabError,
    in_words,
    missing_library,
    shortened,
)
from trainer_core.wire.process_guard import PARENT, die_with_parent
from trainer_core.wire.standard_streams import (
    StdoutError,
    fill_standard_streams,
    finish_stdout,
    outlive_reader_of_stderr,
    watch_stdout,
)

HELP = {"-h", "--help"}
JSON, TEXT = "--json", "--text"
"""Options of every command: print the result as one JSON object, or as text."""
ONE_FORM = {"ok": False, "error": f"give one of {JSON} and {TEXT}"}
MOST_NAME = 60
"""Longest unknown command that an error quotes, in letters."""
UNUSABLE_FILE = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG}
FULL_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EIO}


def main(argv: list[str] | None = None) -> int:
    """Run a command line; return its exit status (docs: `dmglab --help`)."""
    if argv is None:
        watch_stdout(closed="stdout" in fill_standard_streams())
        begin_process()
        argv = sys.argv[1:]
    if sys.stderr is sys.__stderr__:
        outlive_reader_of_stderr()
    if not argv:
        # Not as `-m gui`, which would import a folder `gui` of the working directory.
        return importlib.import_module("gui.__main__").main()
    forms = {JSON, TEXT}.intersection(argv)
    argv = [word for word in argv if word not in forms]
    as_text = TEXT in forms or (not forms and on_terminal())
    if argv == ["--version"]:
        print(f"dmglab {_version()}")
        return 0
    if argv and argv[0] in RENAMED:
        new = RENAMED[argv[0]]
        say(f"`dmglab {argv[0]}` is now `dmglab {' '.join(new)}`")
        argv = [*new, *argv[1:]]
    if argv:
        argv = planned(argv)
    if argv[:1] == ["help"]:
        argv = [*argv[1:], "--help"]
    if not argv or argv[0] in HELP:
        print(usage())
        return 0
    status, result = _answer(argv) if len(forms) < 2 else (UNUSABLE, ONE_FORM)
    if error := result.get("error"):
        say(f"dmglab {argv[0] if argv[0] in COMMANDS else ''}".rstrip() + f": {error}")
    if result:
        print_result(result, as_text)
    return status


def _answer(argv: list[str]) -> tuple[int, Mapping[str, Any]]:
    """Return the exit status of a command line and its result, which is empty if all is printed."""
    try:
        command, words = _chosen(argv)
        if command.verbs and not command.takes and HELP.intersection(words[:1]):
            print(usage(command))
            return 0, {}
        if HELP.intersection(words):
            return 0, command.load()(words)
        with progress_line(command.name), contextlib.redirect_stdout(sys.stderr):  # libraries greet on standard output
            result = command.load()(words)  # importing takes seconds for some: Ctrl-C meanwhile is one line as well
        return (0 if result.get("ok", True) else FAILED), result
    except LabError as error:
        is_full = isinstance(error.__context__, OSError) and error.__context__.errno in FULL_DISK
        return (FAILED if is_full else error.exit_status), {"ok": False, "error": str(error)}
    except OSError as error:  # a folder or file that cannot be read or written
        if isinstance(error, (BrokenPipeError, StdoutError)):
            return FAILED, {}
        if error.filename is None and error.errno != errno.ENOSPC:
            raise
        return (UNUSABLE if error.errno in UNUSABLE_FILE else FAILED), {"ok": False, "error": in_words(error)}
    except ModuleNotFoundError as error:
        if not (missing := missing_library(error)):
            raise
        return UNUSABLE, {"ok": False, "error": f"this needs {missing}"}
    except RuntimeError as error:
        if not str(error).startswith("Symlink loop"):  # pathlib's word for it before Python 3.13
            raise
        return UNUSABLE, {"ok": False, "error": f"{error}; name a file or folder that exists"}
    except KeyboardInterrupt:
        return INTERRUPTED, {"ok": False, "error": "interrupted"}


def _chosen(argv: list[str]) -> tuple[Command, list[str]]:
    """Return the command of a command line and the words after its name.

    Raises ConfigError for an unknown command, and for a missing or unknown verb.
    """
    command, words = find(argv)
    if command is None:
        near = difflib.get_close_matches(argv[0], COMMANDS, 1)
        hint = f"did you mean `dmglab {near[0]}`?" if near else "`dmglab --help` lists the commands"
        raise ConfigError(f"unknown command {shortened(repr(argv[0]), MOST_NAME)}: {hint}")
    verb = next((word for word in words[:1] if not word.startswith("-")), "")
    if command.verbs and ((verb and not command.takes) or (not command.function and not HELP.intersection(words[:1]))):
        known = ", ".join(row.name.rpartition(" ")[2] for row in command.verbs)
        problem = f"unknown verb {shortened(repr(verb), MOST_NAME)}" if verb else "a verb is missing"
        raise ConfigError(f"{problem}: {known}; `dmglab {command.name} --help` describes them")
    return command, words


def _version() -> str:
    """Return the version of the installed package, or of the checkout that these files belong to."""
    return importlib.import_module("dmglab").__version__


def leave(command: Callable[[], int]) -> NoReturn:
    """Run `command` and end the process with its status, or 1 if its output could not be written.

    With torch loaded the interpreter's own exit is skipped; all files are written by then. Unloading
    torch, Warp and a GPU's modules takes most of a second and sometimes aborts: a gloo thread of torch
    is still joinable when static objects are destroyed.
    """
    try:
        status = command()
    except StdoutError as error:
        status = 0 if error.errno == errno.EPIPE else FAILED
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
    """Run the `dmglab` command and end the process."""
    leave(main)


if __name__ == "__main__":
    if PARENT in os.environ:  # before torch is loaded, which takes seconds
        die_with_parent()
    leave(main)
