"""Check of W&B before a run, and the process that sends a run to W&B if the user agreed (formats.wandb_online)."""

from __future__ import annotations

import subprocess
import sys
import threading

import msgspec

from trainer_core.lab.paths import RunPaths, child_folder
from trainer_core.runs.wandb_run import read_wandb, wandb_target
from trainer_core.wire.checks import Check
from trainer_core.wire.environment import child_environment
from trainer_core.wire.errors import BAD_JSON, ConfigError
from trainer_core.wire.process_guard import family

PROGRAM = [sys.executable, "-m", "trainer_core.formats.wandb_online"]
PATIENCE_S = 45.0
"""Seconds for the check: W&B's client is loaded, and gives up on a silent server after 10 s."""


def check_wandb(target: str, name: str = "") -> Check:
    """Return whether a run can be sent to the W&B project and name in `target`; blocks while the server is asked."""
    try:
        project, name = wandb_target(target, name)
    except ConfigError as error:
        return Check(name="W&B", status="fail", detail=str(error), fix="Give PROJECT or PROJECT/NAME")
    try:
        done = subprocess.run(
            [*PROGRAM, "--check"],
            cwd=child_folder(),
            env=child_environment(**family()),
            capture_output=True,
            timeout=PATIENCE_S,
        )
        found = msgspec.json.decode(done.stdout.splitlines()[-1], type=Check)
    except (OSError, subprocess.TimeoutExpired, IndexError, *BAD_JSON):
        return Check(name="W&B", status="warn", detail="the check of W&B's server did not end", fix="Try again")
    if found.status != "ok":
        return found
    return msgspec.structs.replace(found, detail=f"{project}/{name}".rstrip("/") + f": {found.detail}")


def start_sender(paths: RunPaths) -> subprocess.Popen[bytes] | None:
    """Start the process that sends the run until `end_sender`; None if the user has not agreed to that.

    It ends with this process, whose standard error it uses. Call it on the main thread: a parent-death signal follows
    the thread that forked.
    """
    if read_wandb(paths) is None:
        return None
    return subprocess.Popen(
        [*PROGRAM, str(paths.root)],
        cwd=child_folder(),
        env=child_environment(**family()),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C in the shell is the run's
    )


def end_sender(sender: subprocess.Popen[bytes] | None) -> None:
    """Tell the sending process that its run has ended; it sends the rest, and ends, by itself."""
    if sender is not None and sender.stdin is not None:
        sender.stdin.close()
        threading.Thread(target=sender.wait, daemon=True).start()  # or it would stay as a zombie
