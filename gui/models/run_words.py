"""Run states in words."""

from __future__ import annotations

import re

from gui.words import tr
from trainer_core.wire.records import NOT_CONFIRMED, VALIDATING
from trainer_core.wire.run_record import RunState

WORDS = {
    RunState.IDLE: "Idle",
    RunState.QUEUED: "Queued",
    RunState.PREFLIGHT: "Preflight",
    RunState.STARTING: "Starting",
    RunState.RUNNING: "Running",
    RunState.PAUSING: "Pausing",
    RunState.PAUSED: "Paused",
    RunState.STOPPING: "Stopping",
    RunState.FINISHED: "Finished",
    RunState.STOPPED: "Stopped",
    RunState.FAILED: "Failed",
    RunState.LOST: "Lost",
}


_PLAYED = re.compile(rf"{VALIDATING} (\d+) of (\d+) episodes")


def validating_words(detail: str, share: float) -> str:
    """How far a validation is, from what a trainer said of it; empty for other details."""
    found = _PLAYED.match(detail)
    if found is None:
        return ""
    over, episodes = map(int, found.groups())
    return tr(
        "Validating {over} of {episodes} episodes, {share:.0%} played",
        over=over,
        episodes=episodes,
        share=max(0.0, share),
    )


_UNCONFIRMED = re.compile(rf"greedy ([\d.]+), sampled ([\d.]+): {NOT_CONFIRMED}$")


def unconfirmed_words(detail: str) -> str:
    """What a trainer said of a validation that was not confirmed; empty for other details."""
    found = _UNCONFIRMED.match(detail)
    if found is None:
        return ""
    greedy, sampled = map(float, found.groups())
    return tr("greedy {greedy:.2f}, sampled {sampled:.2f}: not confirmed", greedy=greedy, sampled=sampled)


def shortened(name: str, letters: int) -> str:
    """A name that may have to lose its middle: what tells two apart is often at the end."""
    if len(name) <= letters:
        return name
    return f"{name[: letters // 2]}\u2026{name[-(letters - letters // 2 - 1) :]}"
