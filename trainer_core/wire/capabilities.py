"""What a runner can do. Unknown means no: a button appears only for what was tested."""

from __future__ import annotations

from typing import Self

import msgspec


class RunnerCapabilities(msgspec.Struct, kw_only=True, frozen=True):
    pause: bool = False
    graceful_stop: bool = False
    """Takes the command `stop`; else a stop begins with SIGTERM."""
    checkpoints: bool = False
    """Writes one on request."""
    exact_resume: bool = False
    warm_start: bool = False
    play: bool = False
    """Has a player for its checkpoints."""
    watch: bool = False
    """Copies pictures of its environments to frames.bin."""
    beliefs: bool = False
    """Tells what its agent believes, intends and hears (BeliefsEvent)."""
    episodes: bool = False
    """Keeps episodes of text (lab/text_episodes.py)."""
    requires_cuda: bool = False

    def but(self, **others: bool) -> Self:
        """Return the same with others."""
        return msgspec.structs.replace(self, **others)


FULL = RunnerCapabilities(
    pause=True, graceful_stop=True, checkpoints=True, exact_resume=True, warm_start=True, play=True, watch=True
)
"""Of a runner that can what our own trainer can."""
