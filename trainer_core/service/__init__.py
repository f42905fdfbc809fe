"""Service: starts, watches and stops the processes that train and play. asyncio only: no Qt, torch or warp."""

from trainer_core.formats.import_curves import IMPORTED, Imported, import_curves, is_logged
from trainer_core.lab.resource_usage import folder_bytes
from trainer_core.runs.import_run import import_checkpoint
from trainer_core.runs.log_reader import History, read_history
from trainer_core.service.bug_report import write_report
from trainer_core.service.event_stream import BadLine
from trainer_core.service.graphics_cards import find_cards
from trainer_core.service.job import Job, run_job
from trainer_core.service.notices import BadLineSeen, EventReceived, LogLines, Notice, RunChanged
from trainer_core.service.plan import LaunchPlan, StopLadder
from trainer_core.service.player_service import PlayerService
from trainer_core.service.trainer import TrainerService

__all__ = [
    "IMPORTED",
    "BadLine",
    "BadLineSeen",
    "EventReceived",
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
    "find_cards",
    "folder_bytes",
    "import_checkpoint",
    "import_curves",
    "is_logged",
    "read_history",
    "run_job",
    "write_report",
]
