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
from typing import NoReturn

from trainer_core.cli.summaries import COMMANDS, rows
from trainer_core.early_start import keep_bytecode, look_for_garbage_seldom
from trainer_core.owned import (
    PARENT,
    die_with_parent,
    fill_standard_streams,
    outlive_reader_of_stderr,
)
from trainer_core.protocol.errors import LabError

HELP = {"-h", "--help"}
MODULES = {"bench": "bench.command", "import": "importing"}
"""Commands whose module has another name."""
OWN_STDOUT = {"clip", "disk", "export", "gif", "league", "query", "queue", "runner", "runs"}
"""Commands that print more than their result; the others' stray prints go to standard error."""


def main(argv: list[str] | None = None) -> int:
    """Exit status 0 when the command's result says ok, else 1."""
    if argv is None:
        fill_standard_streams()
        look_for_garbage_seldom()
        keep_bytecode()
        argv = sys.argv[1:]
    if sys.stderr is sys.__stderr__:
        outlive_reader_of_stderr()
    if not argv:
        # By its name, not as `-m gui`: a folder `gui` where the user stands must not answer.
        return importlib.import_module("gui.__main__").main()
    if argv[0] == "--version":
        return 0 if _say(f"dmglab {_version()}") else 1
    if argv[0] == "help" and argv[1:]:
        argv = [argv[1], "--help"]
    if argv[0] in {*HELP, "help"}:
        return 0 if _say(usage()) else 1
    if argv[0] not in COMMANDS:
        print(f"dmglab: no command {argv[0]!r}\n{usage()}", file=sys.stderr)
        return 1
    try:
        # Takes seconds for some: Ctrl-C meanwhile is one line as well.
        module = importlib.import_module(f"trainer_core.cli.{MODULES.get(argv[0], argv[0])}")
        with contextlib.nullcontext() if _owns_stdout(argv) else _stdout_to_stderr():
            result = module.run(argv[1:])
    except LabError as error:
        result = {"ok": False, "error": str(error)}
    except OSError as error:  # a folder or file that cannot be read or written
        if isinstance(error, BrokenPipeError):
            return 1
        if error.filename is None and error.errno != errno.ENOSPC:
            raise
        place = f"{error.filename}: " if error.filename else ""
        result = {"ok": False, "error": f"{place}{error.strerror}"}
    except RuntimeError as error:
        if not str(error).startswith("Symlink loop"):  # pathlib's word for it before Python 3.13
            raise
        result = {"ok": False, "error": f"{error}; name a file or folder that is there"}
    except KeyboardInterrupt:
        result = {"ok": False, "error": "interrupted"}
    if not result.get("ok", True) and "error" in result:
        print(f"dmglab {argv[0]}: {result['error']}", file=sys.stderr)
    said = not result or _say(json.dumps(result))
    return 0 if said and result.get("ok", True) else 1


def _say(text: str) -> bool:
    """Print; a reader that has read enough (`| head`) is no error, a file that cannot be written
    is."""
    try:
        print(text, flush=True)
    except OSError as error:
        # The interpreter flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return True
        print(f"dmglab: standard output: {error.strerror}", file=sys.stderr)
        return False
    return True


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


def leave(status: int) -> NoReturn:
    """End the process, past the interpreter's own exit where torch is loaded.

    All is saved and said by then. Taking torch, Warp and a GPU's modules apart takes most of a
    second, and aborts now and then: a gloo thread of torch is still joinable when statics go.
    """
    if "torch" not in sys.modules:
        sys.exit(status)
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def console_script() -> NoReturn:
    """The `dmglab` command."""
    leave(main())


if __name__ == "__main__":
    if PARENT in os.environ:  # before torch is loaded, which takes seconds
        die_with_parent()
    if "DMGLAB_FAULT" in os.environ:
        from trainer_core.proofs import faults

        faults.arm(os.environ["DMGLAB_FAULT"])
    leave(main())
