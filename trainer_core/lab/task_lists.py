"""Lists of the tasks of one run as text: `a,b`, and `pocket_quest/*` for all tasks of a folder.

One policy learns them side by side. A fixed rule assigns the tasks, so that every process and every reader of a rollout
knows it: of K tasks env n plays task n modulo K.
"""

from __future__ import annotations

import fnmatch

from trainer_core.lab.arc_games import is_arc
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import BUILT_IN_TASKS, Task, find_task, list_tasks
from trainer_core.wire.errors import ConfigError

SEPARATOR = ","
MOST_TASKS = 64
"""Greatest number of tasks of a run: a record holds a few numbers of each, and a line has 64 KiB."""


def split_tasks(text: str) -> tuple[str, ...]:
    """Return the task ids in the comma-separated list `text`."""
    return tuple(part.strip() for part in text.split(SEPARATOR))


def game_tasks(text: str, home: HomePaths) -> dict[str, Task]:
    """Return the tasks in the list `text` that run on a Game Boy, by their ids in it.

    Built-in tasks and ARC-AGI-3 games have no `Task` and are left out. Raises TaskError.
    """
    names = split_tasks(text)
    return {name: find_task(name, home) for name in names if name not in BUILT_IN_TASKS and not is_arc(name)}


def is_several(text: str) -> bool:
    return SEPARATOR in text


def is_list(text: str) -> bool:
    """Return whether `text` is a list of several names or a pattern, so that `expand_tasks` applies."""
    return SEPARATOR in text or "*" in text


def one_of(text: str, wanted: str = "") -> str:
    """Return one task of the list `text`: `wanted` if it is in the list, else the first."""
    tasks = split_tasks(text)
    return wanted if wanted in tasks else tasks[0]


def short_task(text: str) -> str:
    """Return a short text for display: the last parts of one or two task ids, or the number of tasks if there are
    more."""
    tasks = split_tasks(text)
    if len(tasks) > 2:
        return f"{len(tasks)} tasks"
    return " + ".join(task.rpartition("/")[2] for task in tasks)


def envs_of(number: int, count: int) -> slice:
    """Return the slice of envs that play task `number`, from 0, of `count` tasks."""
    return slice(number, None, count)


def expand_tasks(text: str, home: HomePaths) -> str:
    """Return `text` with every pattern replaced by the ids of the matching tasks, in their order.

    Raises ConfigError for a pattern without a match, a repeated id, an empty one, and too many.
    """
    found: list[str] = []
    for part in split_tasks(text):
        if not part:
            raise ConfigError(f"task {text[:200]!r}: an empty name between commas; write a,b")
        if "*" not in part:
            found.append(part)
            continue
        fits = [task.id for task in list_tasks(home) if fnmatch.fnmatchcase(task.id, part)]
        if not fits:
            raise ConfigError(f"no task fits {part[:200]!r}; `dmglab task list` shows all")
        found += sorted(name for name in fits if name not in found)
    for name in found:
        if found.count(name) > 1:
            raise ConfigError(f"task {name[:200]} is named twice; name each once")
    if len(found) > MOST_TASKS:
        raise ConfigError(f"{len(found)} tasks; one run takes {MOST_TASKS} at most")
    return SEPARATOR.join(found)
