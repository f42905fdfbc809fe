"""How hard a task is: shortest solutions, a random policy, policies that know one button.

    PYTHONPATH=assets/games python assets/games/pocket_quest/difficulty.py pocket_quest/leave_bedroom

Prints one JSON object; exit status 1 if the task is easier than a stage may be.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path

import numpy as np
from kit.game_batch import ACTIONS, Snapshot, distances, success_rate
from kit.task_folder import RANDOM_ALLOWED, TASKS
from walker import GameBatch

from emulator.state.snapshot import load_snapshots

SHORTEST_ALLOWED = 12
EXPLORED = tuple(name for name in ACTIONS if name != "START")  # the menu leads nowhere else
EXPLORE_BATCH = 64 * len(EXPLORED)


class Graph:
    """States the game can be in, found by pressing every button but START in each."""

    def __init__(self, templates: np.ndarray, tau: float) -> None:
        self.templates, self.tau = templates, tau
        self.states: dict[tuple, Snapshot] = {}
        self.edges: dict[tuple, list[tuple]] = {}
        self.goals: set[tuple] = set()
        self._game = GameBatch(EXPLORE_BATCH)

    def add(self, snapshots: list[Snapshot]) -> list[tuple]:
        """Take in states to explore from; returns their keys."""
        keys = []
        for k in range(0, len(snapshots), EXPLORE_BATCH):
            part = snapshots[k : k + EXPLORE_BATCH]
            self._game.load(part)
            keys += self._game.keys()[: len(part)]
        for key, snapshot in zip(keys, snapshots, strict=True):
            self.states.setdefault(key, snapshot)
        return keys

    def explore(self) -> None:
        """Breadth first; states that show the goal are not left."""
        frontier = [key for key in self.states if key not in self.edges]
        while frontier:
            found: list[tuple] = []
            per_batch = EXPLORE_BATCH // len(EXPLORED)
            for k in range(0, len(frontier), per_batch):
                found += self._expand(frontier[k : k + per_batch])
            frontier = found

    def _expand(self, keys: list[tuple]) -> list[tuple]:
        self._game.load([self.states[key] for key in keys for _ in EXPLORED])
        buttons = [ACTIONS.index(name) for name in EXPLORED]
        self._game.step(np.tile(buttons, EXPLORE_BATCH // len(EXPLORED)))
        reached = self._game.keys()
        near = distances(self._game.pictures(), self.templates) < self.tau
        new = []
        for env in range(len(keys) * len(EXPLORED)):
            self.edges.setdefault(keys[env // len(EXPLORED)], []).append(reached[env])
            if near[env]:
                self.goals.add(reached[env])
            if reached[env] not in self.states:
                self.states[reached[env]] = self._game.emulator.snapshot(env)
                if not near[env]:
                    new.append(reached[env])
        return new

    def steps_to_goal(self) -> dict[tuple, int]:
        """Fewest actions from each state until the goal is seen."""
        before: dict[tuple, list[tuple]] = {}
        for key, following in self.edges.items():
            for target in following:
                before.setdefault(target, []).append(key)
        steps, wave = dict.fromkeys(self.goals, 0), list(self.goals)
        while wave:
            wave = [s for t in wave for s in before.get(t, []) if _first_visit(steps, s, t)]
        return steps


def _first_visit(steps: dict[tuple, int], source: tuple, target: tuple) -> bool:
    if source in steps:
        return False
    steps[source] = steps[target] + 1
    return True


def measure(folder: Path, episodes: int) -> dict[str, object]:
    """The figures of one task folder."""
    manifest = tomllib.loads((folder / "task.toml").read_text())
    snapshots = load_snapshots(folder / manifest["starts"]["file"])
    with np.load(folder / manifest["goal"]["file"]) as data:
        templates = data["templates"]
    tau, horizon = manifest["goal"]["tau"], manifest["episode"]["horizon"]
    graph = Graph(templates, tau)
    keys = graph.add(snapshots)
    graph.explore()
    steps = graph.steps_to_goal()
    shortest = [steps.get(key, -1) for key in keys]
    rng = np.random.default_rng(0)
    random = rng.integers(0, len(ACTIONS), (horizon, episodes))
    goal = (snapshots, templates, tau)
    single = {
        name: success_rate(GameBatch(len(snapshots)), *goal, np.full((horizon, len(snapshots)), action))
        for action, name in enumerate(ACTIONS)
    }
    return {
        "task": manifest["id"],
        "starts": len(snapshots),
        "distinct_start_states": len(set(keys)),
        "heldout": manifest["starts"]["heldout"],
        "states_explored": len(graph.states),
        "horizon": horizon,
        "shortest_solution_min": min(shortest),
        "shortest_solution_median": float(np.median(shortest)),
        "shortest_solution_max": max(shortest),
        "random_policy_episodes": episodes,
        "random_policy_success": success_rate(GameBatch(episodes), *goal, random),
        "one_button_success": single,
    }


def verdict(figures: dict[str, object]) -> list[str]:
    """What is wrong with these figures; empty if nothing is."""
    wrong = []
    if figures["distinct_start_states"] < 32:
        wrong.append(f"{figures['distinct_start_states']} distinct start states, need 32")
    if figures["shortest_solution_min"] < SHORTEST_ALLOWED:
        wrong.append(f"a start is solved in {figures['shortest_solution_min']} actions (-1: never)")
    if figures["shortest_solution_max"] > figures["horizon"]:
        wrong.append("a start cannot be solved within the horizon")
    if figures["random_policy_success"] > RANDOM_ALLOWED:
        wrong.append(f"a random policy succeeds in {figures['random_policy_success']:.2%}")
    wrong += [f"only {k} succeeds" for k, rate in figures["one_button_success"].items() if rate]
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("task", help="task id below assets/tasks")
    parser.add_argument("--episodes", type=int, default=2000)
    arguments = parser.parse_args()
    folder = TASKS / arguments.task
    if not (folder / "task.toml").is_file():
        print(f"difficulty.py: no task {arguments.task!r} below {TASKS}", file=sys.stderr)
        return 1
    figures = measure(folder, arguments.episodes)
    figures["wrong"] = verdict(figures)
    print(json.dumps(figures, indent=2))
    return 1 if figures["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
