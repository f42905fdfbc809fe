"""What a runner can do. Unknown means no: a button appears only for what was tested."""

from __future__ import annotations

import msgspec


class RunnerCapabilities(msgspec.Struct, kw_only=True, frozen=True):
    pause: bool = False
    graceful_stop: bool = False
    checkpoints: bool = False
    exact_resume: bool = False
    warm_start: bool = False
    play: bool = False
    watch: bool = False
    requires_cuda: bool = False
