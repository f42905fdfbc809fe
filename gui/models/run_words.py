"""Run states in words."""

from __future__ import annotations

from trainer_core.protocol.runs import RunState

WORDS = {
    RunState.IDLE: "Idle", RunState.QUEUED: "Queued", RunState.PREFLIGHT: "Preflight",
    RunState.STARTING: "Starting", RunState.RUNNING: "Running", RunState.PAUSING: "Pausing",
    RunState.PAUSED: "Paused", RunState.STOPPING: "Stopping", RunState.FINISHED: "Finished",
    RunState.STOPPED: "Stopped", RunState.FAILED: "Failed", RunState.LOST: "Lost",
}  # fmt: skip


def shortened(name: str, letters: int) -> str:
    """A name that may have to lose its middle: what tells two apart is often at the end."""
    if len(name) <= letters:
        return name
    return f"{name[: letters // 2]}\u2026{name[-(letters - letters // 2 - 1) :]}"
