"""Start, watch and stop the processes that train and play. asyncio only: no Qt, torch or warp."""

from trainer_core.service.history import History, read_history
from trainer_core.service.importing import import_checkpoint
from trainer_core.service.job import Job, run_job
from trainer_core.service.notices import (
    BadLineSeen,
    EventReceived,
    LogLines,
    Notice,
    RunChanged,
)
from trainer_core.service.player import PlayerService, PlayRequest
from trainer_core.service.stream import BadLine
from trainer_core.service.trainer import LaunchPlan, StopLadder, TrainerService

__all__ = [
    "BadLine",
    "BadLineSeen",
    "EventReceived",
    "History",
    "Job",
    "LaunchPlan",
    "LogLines",
    "Notice",
    "PlayRequest",
    "PlayerService",
    "RunChanged",
    "StopLadder",
    "TrainerService",
    "import_checkpoint",
    "read_history",
    "run_job",
]
