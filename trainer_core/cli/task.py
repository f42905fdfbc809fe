"""`dmglab task list` and `dmglab task make`: tasks by hand, from states that were captured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer_core.cli.options import home_paths, parse
from trainer_core.protocol.errors import LabError
from trainer_core.protocol.tasks import BUILT_IN_TASKS, list_tasks


@dataclass(frozen=True)
class MakeOptions:
    id: str
    """Name of the new task, for example mine/first_door."""
    base: str
    """Task of the same game; its ROM, buttons and reward are taken over."""
    start: tuple[Path, ...]
    """Files that Save start state or the player's save_state wrote."""
    goal: Path
    """File that Capture goal wrote."""
    title: str = ""
    tau: float = 0.0
    """Distance below which a picture counts as the goal; 0 = choose it from the starts."""
    horizon: int = 128
    """Agent steps before an episode is cut off."""
    home: Path | None = None
    """Where the task goes; default DMGLAB_HOME or var/ of the checkout."""


@dataclass(frozen=True)
class ListOptions:
    home: Path | None = None
    """Where own tasks lie; default DMGLAB_HOME or var/ of the checkout."""


def run(argv: list[str]) -> dict[str, Any]:
    verb, rest = (argv[0], argv[1:]) if argv else ("", [])
    if verb == "list":
        options = parse(ListOptions, "task list", rest)
        tasks = list_tasks(home_paths(options.home))
        return {
            "ok": True,
            "tasks": [
                *({"id": name, "title": title} for name, title in BUILT_IN_TASKS.items()),
                *({"id": task.id, "title": task.manifest.title} for task in tasks),
            ],
        }
    if verb == "make":
        return _make(parse(MakeOptions, "task make", rest))
    raise LabError("say list or make; each has --help")


def _make(options: MakeOptions) -> dict[str, Any]:
    from trainer_core.task_maker import TaskRequest, make_task

    request = TaskRequest(
        id=options.id,
        title=options.title or options.id.rsplit("/", 1)[-1].replace("_", " ").capitalize(),
        base=options.base,
        starts=options.start,
        goal=options.goal,
        tau=options.tau,
        horizon=options.horizon,
    )
    folder = make_task(request, home_paths(options.home))
    return {"ok": True, "task": options.id, "folder": str(folder)}
