"""Start, watch and stop the processes that train and play. asyncio only: no Qt, torch or warp."""

from trainer_core.runs.history import History, read_history
from trainer_core.runs.importing import import_checkpoint
from trainer_core.runs.importing_curves import IMPORTED, Imported, import_curves, is_logged
from trainer_core.service.gauges import Gauge, folder_bytes, read_gauges
from trainer_core.service.job import Job, run_job
from trainer_core.service.notices import (
    BadLineSeen,
    EventReceived,
    LogLines,
    Notice,
    RunChanged,
)
from trainer_core.service.plan import LaunchPlan, StopLadder
from trainer_core.service.player import PlayerService
from trainer_core.service.report import write_report
from trainer_core.service.stream import BadLine
from trainer_core.service.trainer import TrainerService

__all__ = [
    "IMPORTED",
    "BadLine",
    "BadLineSeen",
    "EventReceived",
    "Gauge",
    "History",
    "Imported",
    "Job",
    "LaunchPlan",
    "LogLines",
    "Notice",
    "PlayerService",
    "RunChanged",
    "StopLadder",
    "TrainerService",
    "folder_bytes",
    "import_checkpoint",
    "import_curves",
    "is_logged",
    "read_gauges",
    "read_history",
    "run_job",
    "write_report",
]
