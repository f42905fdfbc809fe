"""`dmglab task VERB`: make tasks, measure them, share them."""

from __future__ import annotations

from typing import Any

from trainer_core.cli import task_making, task_reports, task_sharing
from trainer_core.cli.verbs import run_verb


def run(argv: list[str]) -> dict[str, Any]:
    return run_verb(
        "task",
        argv,
        {
            "list": task_reports.list_all,
            "new": task_making.new,
            "make": task_making.make,
            "capture": task_making.capture,
            "update": task_making.update,
            "demo": task_making.demo,
            "check": task_reports.check,
            "audit": task_reports.audit,
            "probe": task_reports.probe,
            "export": task_sharing.export,
            "import": task_sharing.import_,
            "remove": task_sharing.remove,
        },
    )
