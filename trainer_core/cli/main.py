"""`dmglab COMMAND ...`: picks the command's module and prints its result as one JSON object.

Only the chosen command's imports are paid for: `dmglab runs` loads no torch.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys

from trainer_core.protocol.errors import LabError

COMMANDS = {
    "train": "train a policy on a task",
    "resume": "continue a run from its newest checkpoint",
    "eval": "success of a checkpoint, or of a baseline, on held-out starts",
    "rollout": "one episode as GIF, JSON lines and a manifest",
    "play": "one machine in real time, frames to a file",
    "plot": "curves of one or more logs as a PNG",
    "validate": "check a train_log.jsonl",
    "runs": "list runs",
    "task": "list tasks, or make one from captured states",
    "gif": "a recording as an animated GIF",
    "replay": "press a recording's buttons again and compare the pictures",
    "bench": "measure training, the machines alone, or the machines beside PyBoy",
    "doctor": "device, driver, versions, compiled kernels and caches of this machine",
    "demo": "train Pocket Quest's first stage and leave plot, checkpoint and GIF",
}
OWN_STDOUT = {"gif", "runs"}
"""Commands that print more than their result; the others' stray prints go to standard error."""


def main(argv: list[str] | None = None) -> int:
    """Exit status 0 when the command's result says ok, else 1."""
    argv = sys.argv[1:] if argv is None else argv
    if not argv:
        os.execv(sys.executable, [sys.executable, "-m", "gui"])
    if argv[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if argv[0] not in COMMANDS:
        print(f"dmglab: no command {argv[0]!r}\n{usage()}", file=sys.stderr)
        return 1
    module = importlib.import_module(f"trainer_core.cli.{argv[0]}")
    try:
        with contextlib.nullcontext() if argv[0] in OWN_STDOUT else _stdout_to_stderr():
            result = module.run(argv[1:])
    except LabError as error:
        result = {"ok": False, "error": str(error)}
    except OSError as error:  # a folder or file that cannot be read or written
        if isinstance(error, BrokenPipeError):
            return 1
        if error.filename is None:
            raise
        result = {"ok": False, "error": f"{error.filename}: {error.strerror}"}
    except KeyboardInterrupt:
        result = {"ok": False, "error": "interrupted"}
    if not result.get("ok", True) and "error" in result:
        print(f"dmglab {argv[0]}: {result['error']}", file=sys.stderr)
    if result:
        print(json.dumps(result), flush=True)
    return 0 if result.get("ok", True) else 1


def _stdout_to_stderr() -> contextlib.AbstractContextManager[object]:
    """Libraries greet on standard output, where only the result belongs."""
    return contextlib.redirect_stdout(sys.stderr)


def usage() -> str:
    rows = "\n".join(f"  {name:<9} {summary}" for name, summary in COMMANDS.items())
    return (
        "usage: dmglab COMMAND [options]   (no command: open the app)\n"
        f"{rows}\n`dmglab COMMAND --help` shows its options."
    )


if __name__ == "__main__":
    status = main()
    if "RANK" in os.environ:
        # One of several ranks: all is saved and said. Now and then the interpreter's own exit
        # aborts here, because a gloo thread of torch is still joinable when statics go.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
