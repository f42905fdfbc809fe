"""Run states in words."""

from __future__ import annotations

from trainer_core.protocol.runs import RunState

WORDS = {
    RunState.IDLE: "Idle", RunState.QUEUED: "Queued", RunState.PREFLIGHT: "Preflight",
    RunState.STARTING: "Starting", RunState.RUNNING: "Running", RunState.PAUSING: "Pausing",
    RunState.PAUSED: "Paused", RunState.STOPPING: "Stopping", RunState.FINISHED: "Finished",
    RunState.STOPPED: "Stopped", RunState.FAILED: "Failed", RunState.LOST: "Lost",
}  # fmt: skip
