"""Optional features that a runner supports; all are off by default, and the app shows buttons only for supported
ones."""

from __future__ import annotations

from typing import Self

import msgspec


class RunnerCapabilities(msgspec.Struct, kw_only=True, frozen=True):
    pause: bool = False
    graceful_stop: bool = False
    """Accepts the command `stop`; otherwise a stop begins with SIGTERM."""
    checkpoints: bool = False
    """Writes a checkpoint on request."""
    exact_resume: bool = False
    warm_start: bool = False
    play: bool = False
    """Has a player for its checkpoints."""
    watch: bool = False
    """Copies pictures of its environments to frames.bin."""
    beliefs: bool = False
    """Reports the beliefs, intentions and messages of its agent (BeliefsEvent)."""
    episodes: bool = False
    """Stores episodes of text (lab/text_episodes.py)."""
    requires_cuda: bool = False

    def but(self, **others: bool) -> Self:
        """Return a copy with the given capabilities changed."""
        return msgspec.structs.replace(self, **others)


FULL = RunnerCapabilities(
    pause=True, graceful_stop=True, checkpoints=True, exact_resume=True, warm_start=True, play=True, watch=True
)
"""Capabilities of our own trainer."""
ELSEWHERE = FULL.but(pause=False, checkpoints=False, watch=False)
"""Capabilities of our own trainer on another host."""
