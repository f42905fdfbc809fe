"""Make the task folders of Pocket Quest: start states, goal templates, manifests.

    PYTHONPATH=assets/games python assets/games/pocket_quest/make_tasks.py [--replay | --check]

It writes all tasks; with `--replay` it remakes the start states from the inputs kept in starts.json,
with `--check` it prints how hard the tasks are.

Everything is deterministic. Starts are chosen among the states in which the player stands at rest
and needs at least 12 actions; the inputs that lead to each from power-on are kept, so that the
states can be made again when the emulator's state layout changes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import deque
from dataclasses import dataclass

import difficulty
import numpy as np
from kit import task_folder
from kit.task_folder import HELDOUT_STARTS, TRAIN_STARTS, Start, Task, load_snapshots, play
from walker import ROM, place

TITLE_FRAMES = 180  # power-on to a title that listens, with room to spare
OPENING = ("START", "UP", "UP", "A", "A")  # title, fade and typing, two pages of text
TEMPLATE_ARRIVALS = 24
MAX_TEMPLATES = 8
DEMONSTRATIONS = 4


@dataclass(frozen=True)
class Stage:
    """One task: from which room, through which last action, into which view."""

    id: str
    title: str
    description: str
    way_in: tuple[str, ...]  # actions from the opening's end to a place in the room of the starts
    way_out: tuple[str, ...]  # from there to the goal
    tau: float
    horizon: int

    @property
    def task(self) -> Task:
        return Task(self.id, self.title, self.description, "Pocket Quest", ROM, self.tau, self.horizon)


def path(text: str) -> tuple[str, ...]:
    """'3 RIGHT 2 UP' as a tuple of actions."""
    words = text.split()
    pairs = zip(words[::2], words[1::2], strict=True)
    return tuple(name for count, name in pairs for _ in range(int(count)))


TO_STAIRS = path("1 RIGHT 3 UP 6 RIGHT 2 UP 1 RIGHT 1 B")
TO_DOOR = path("1 LEFT 6 DOWN 6 LEFT 1 DOWN 1 B")
STAGES = (
    Stage(
        "pocket_quest/leave_bedroom",
        "Leave the bedroom",
        "Find the way round the shelves to the stairs and go down to the living room.",
        (),
        TO_STAIRS,
        tau=0.02,
        horizon=144,
    ),
    Stage(
        "pocket_quest/leave_house",
        "Leave the house",
        "Cross the living room to the door mat, and step out into the village.",
        TO_STAIRS,
        TO_DOOR,
        tau=0.03,
        horizon=176,
    ),
)


def goal_templates(stage: Stage) -> np.ndarray:
    """Distinct pictures of the arrival, uint8[G, 72, 80]: people and flowers move meanwhile."""
    actions = OPENING + stage.way_in + stage.way_out
    starts = [Start(TITLE_FRAMES + 7 * k, actions) for k in range(TEMPLATE_ARRIVALS)]
    _, pictures = play(ROM, starts)
    kept: list[np.ndarray] = []
    for picture in pictures:
        if len(kept) < MAX_TEMPLATES and not any(np.array_equal(picture, k) for k in kept):
            kept.append(picture)
    return np.stack(kept)


def walks(graph: difficulty.Graph, origin: tuple) -> dict[tuple, tuple[str, ...]]:
    """Shortest actions from `origin` to every explored state."""
    found: dict[tuple, tuple[str, ...]] = {origin: ()}
    queue = deque([origin])
    while queue:
        key = queue.popleft()
        for action, target in zip(difficulty.EXPLORED, graph.edges.get(key, []), strict=False):
            if target not in found:
                found[target] = (*found[key], action)
                queue.append(target)
    return found


def choose_starts(stage: Stage, templates: np.ndarray, rng: np.random.Generator) -> list[Start]:
    """Different places and facings, the nearest of those 12 or more actions from the goal.

    In random order, so that training and held-out starts are alike.
    """
    opening = OPENING + stage.way_in
    (snapshot,), _ = play(ROM, [Start(TITLE_FRAMES, opening)])
    graph = difficulty.Graph(templates, stage.tau)
    (origin,) = graph.add([snapshot])
    graph.explore()
    steps, ways = graph.steps_to_goal(), walks(graph, origin)
    room = place(origin)[0]
    fit = sorted(
        (steps[key], place(key)[1:], key)
        for key in ways
        if place(key) and place(key)[0] == room and steps.get(key, 0) >= difficulty.SHORTEST_ALLOWED
    )
    count = TRAIN_STARTS + HELDOUT_STARTS
    print(f"{stage.id}: {len(graph.states)} states, {len(fit)} fit as starts, take {count}")
    if len(fit) < count:
        raise SystemExit(f"make_tasks.py: {stage.id}: {len(fit)} places fit, {count} are needed")
    chosen = rng.permutation(count)
    return [Start(TITLE_FRAMES + int(rng.integers(0, 256)), opening + ways[fit[k][2]]) for k in chosen]


def make(stage: Stage) -> None:
    templates = goal_templates(stage)
    starts = choose_starts(stage, templates, np.random.default_rng(20261121))
    task_folder.write(stage.task, starts, templates)
    task_folder.add_demonstrations(stage.task, shortest_ways(stage, templates))


def shortest_ways(stage: Stage, templates: np.ndarray) -> list[tuple[int, tuple[str, ...]]]:
    """(start, fewest actions to the goal) of a few training starts."""
    snapshots = load_snapshots(stage.task.folder / "starts.npz")[:DEMONSTRATIONS]
    graph = difficulty.Graph(templates, stage.tau)
    keys = graph.add(snapshots)
    graph.explore()
    steps = graph.steps_to_goal()
    ways = []
    for number, key in enumerate(keys):
        actions = []
        while key not in graph.goals:
            following = graph.edges[key]
            best = min(range(len(following)), key=lambda k: steps.get(following[k], 1 << 30))
            actions.append(difficulty.EXPLORED[best])
            key = following[best]
        ways.append((number, tuple(actions)))
    return ways


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replay", action="store_true", help="remake states from starts.json")
    parser.add_argument("--check", action="store_true", help="print how hard the tasks are")
    arguments = parser.parse_args()
    status = 0
    for stage in STAGES:
        if arguments.check:
            figures = difficulty.measure(difficulty.TASKS / stage.id, 2000)
            figures["wrong"] = difficulty.verdict(figures)
            print(json.dumps(figures, indent=2))
            status |= bool(figures["wrong"])
        elif arguments.replay:
            task_folder.remake(stage.task)
        else:
            make(stage)
    return status


if __name__ == "__main__":
    sys.exit(main())
