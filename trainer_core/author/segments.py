"""Part of a script that becomes a task: from the start of episodes to the goal."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from emulator import Cartridge, Emulator, Snapshot
from trainer_core.author.demonstration import Trace, play_demonstration, play_inputs
from trainer_core.author.goals import LEAST_DISTANCE, GoalPictures
from trainer_core.author.inputs import Inputs, follows_codec, read_inputs, refuse_beyond_codec, steps_of
from trainer_core.author.lost import Way
from trainer_core.author.walks import Walk
from trainer_core.envs.demonstrations import Demonstration, load_demonstrations
from trainer_core.envs.preparing import Preparing
from trainer_core.envs.task_files import load_rom
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import Codec, find_task, verify_file
from trainer_core.wire.errors import TaskError


@dataclass(frozen=True, slots=True)
class Segment:
    """Part of a played script: the steps from `first`, where episodes begin, to `end`, the last one at the goal."""

    inputs: Inputs
    trace: Trace
    codec: Codec
    first: int
    goal_steps: tuple[int, ...]
    """Steps whose pictures a person chose as goals."""
    arrival: int
    """First step whose picture is the goal; else the script's last step."""
    end: int
    """Last step of the demonstration, to which it is extended while the goal stays visible."""
    arrives: bool

    @property
    def before(self) -> np.ndarray:
        """Observations u8[K, 72, 80] of the segment before the goal, at least the first."""
        return self.trace.pictures[self.first : max(self.arrival, self.first + 1)]

    def masks(self, first: int, end: int) -> np.ndarray:
        """Return u8[F], the joypad masks of the steps `first` to `end`."""
        frames, begun = self.codec.frames_per_step, self.inputs.first_step
        return self.inputs.masks[begun + first * frames : begun + end * frames]

    def demonstration(self) -> Demonstration:
        return Demonstration(self.trace.states[self.first], self.masks(self.first, self.end))


def read_segments(
    scripts: tuple[Path, ...],
    cartridge: Cartridge,
    codec: Codec,
    begun: Snapshot | None,
    from_step: int,
    goal_steps: tuple[int, ...],
    tell: Preparing | None = None,
) -> list[Segment]:
    """Play every script to its end; return one segment per script.

    `begun` is the state to begin in instead of power-on. `from_step` 0 is the script's `begin`, else its first step;
    `goal_steps` default to the last step. Raises TaskError for a missing step, or when inputs between them cannot be
    expressed in `codec`.
    """
    segments = []
    for path in scripts:
        for inputs in _inputs(path, codec):
            if begun is not None and inputs.start is None:
                inputs = dataclasses.replace(inputs, start=begun)
            trace = play_inputs(cartridge, inputs, codec, tell)
            last = len(trace.states) - 1
            goals = goal_steps or (last,)
            begin = from_step or inputs.begins
            if not 0 <= begin < min(goals) or max(goals) > last:
                raise TaskError(
                    f"{path}: has the steps 0 to {last}; --from-step {begin} must come before "
                    f"--goal-step {' '.join(map(str, goals))}, both among them"
                )
            segment = Segment(inputs, trace, codec, begin, goals, last, last, False)
            refuse_beyond_codec(segment.masks(begin, max(goals)), codec, inputs.source)
            segments.append(segment)
    return segments


def _inputs(path: Path, codec: Codec) -> list[Inputs]:
    """Read scripts, a recording or demonstrations (demo.npz).

    Demonstrations are padded: a person does not stop at a step's end, so the rest of the last step, and one more step
    for the picture to settle, hold no button.
    """
    if path.suffix != ".npz":
        return read_inputs(path, codec)
    ways = []
    for demo in load_demonstrations(path):
        rest = -len(demo.masks) % codec.frames_per_step + codec.frames_per_step
        masks = np.concatenate([demo.masks, np.zeros(rest, np.uint8)])
        ways.append(Inputs(masks, demo.start, str(path)))
    return ways


def until_goal(part: Segment, goal: GoalPictures, hold_steps: int) -> Segment:
    """Return the segment cut at its first goal picture, extended while up to `hold_steps` pictures hold the goal.

    A segment without the goal is returned unchanged. Raises TaskError when its first picture is already the goal.
    """
    apart = goal.distances(part.trace.pictures[part.first :])
    met = np.flatnonzero(apart < LEAST_DISTANCE)
    if not len(met):
        return part
    if met[0] == 0:
        raise TaskError(
            f"{part.inputs.source}: step {part.first} looks like the goal already (the goal looks "
            "like a start state); choose another --from-step, --goal-step or --mask"
        )
    arrival = part.first + int(met[0])
    end = min(arrival + hold_steps - 1, len(part.trace.states) - 1)
    return dataclasses.replace(part, arrival=arrival, end=end, arrives=True)


def passes_by(parts: list[Segment], cartridge: Cartridge, goal: GoalPictures, tau: float) -> bool:
    """Return whether the goal disappears within one step without input at the end of every segment that reaches it.

    Such a goal is, for example, a moment of an animation, which play would have to hit exactly.
    """
    ends = [part for part in parts if part.arrives]
    if not ends:
        return False
    emulator = Emulator(cartridge, len(ends), "cpu")
    for env, part in enumerate(ends):
        emulator.restore(part.trace.states[part.end], env)
    emulator.run(None, ends[0].codec.frames_per_step)
    return bool((goal.distances(emulator.observations().numpy()) >= tau).all())


def way_of(segments: list[Segment]) -> Way:
    """Return observations and actions of the segments that reach the goal."""
    ways = [part for part in segments if part.arrives]
    if not ways:
        return Way(np.zeros((0, 72, 80), np.uint8), np.zeros(0, np.int64))
    return Way(
        np.concatenate([part.trace.pictures[part.first : part.arrival] for part in ways]),
        np.concatenate([steps_of(part.masks(part.first, part.arrival), part.codec) for part in ways]),
    )


def anchor_steps(segments: list[Segment], spread: float) -> list[tuple[Segment, int]]:
    """Return the (segment, step) pairs from which random walks start.

    These are each segment's first steps, up to the share `spread` of its steps to the goal.
    """
    found = []
    for part in segments:
        reach = max(1, round((part.arrival - part.first) * spread))
        found += [(part, part.first + step) for step in range(reach)]
    return found


def inputs_of(walks: list[Walk], segments: list[Segment], spread: float) -> list[dict[str, Any]]:
    """Return the start states as button inputs from power-on, one row of starts.json each.

    Returns [] if buttons alone cannot produce them. Inputs stay valid when the emulator's state layout changes.
    """
    anchors = anchor_steps(segments, spread)
    rows = []
    for walk in walks:
        part, step = anchors[walk.anchor]
        masks = part.masks(0, step)
        if part.inputs.start is not None or not follows_codec(masks, part.codec):
            return []
        actions = [*steps_of(masks, part.codec).tolist(), *walk.actions]
        names = " ".join(part.codec.actions[action] for action in actions)
        rows.append({"wait_frames": part.inputs.first_step, "actions": names})
    return rows


def goal_state_of(task_id: str, home: HomePaths) -> Snapshot:
    """Return the console's state at the end of a task's first demonstration, where its goal is reached.

    Raises TaskError.
    """
    task = find_task(task_id, home)
    if task.demo_path is None or task.manifest.demo is None:
        raise TaskError(
            f"{task_id} has no demonstration, whose end the next stage could begin at: add one "
            f"with `dmglab task demo SCRIPT --task {task_id}`"
        )
    verify_file(task.demo_path, task.manifest.demo.sha256, "file of demonstrations")
    demo = load_demonstrations(task.demo_path)[0]
    return play_demonstration(load_rom(task, home), demo, task.manifest.codec).states[-1]
