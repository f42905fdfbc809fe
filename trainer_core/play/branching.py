"""Branch: an edited recording ("roll") saved as a recording of its own, beside the original."""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from trainer_core.envs.judge import Judge
from trainer_core.envs.recording_writer import STATE_FILE
from trainer_core.lab.recording import (
    BUTTONS,
    HEIGHT,
    PICTURES,
    STEPS,
    WIDTH,
    Jump,
    RecordedStep,
    encode_step,
    unpack_picture,
    write_recording,
)
from trainer_core.play.roll import Roll
from trainer_core.wire.buttons import ALL_MASKS
from trainer_core.wire.errors import LabError


def write_branch(roll: Roll, folder: Path) -> Path:
    """Play the frames that are still unplayed and write the roll as a recording to the new `folder`, atomically.

    Returns the folder. Raises LabError.
    """
    if folder.exists():
        raise LabError(f"{folder}: is there already; choose another name")
    roll.advance(len(roll))
    steps = branch_steps(roll)
    partial = folder.with_name(f".{folder.name}.tmp")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        with (partial / PICTURES).open("wb") as file:
            for frame in range(len(roll)):
                file.write(roll.picture(frame))
        (partial / BUTTONS).write_bytes(roll.masks)
        (partial / STEPS).write_bytes(b"".join(map(encode_step, steps)))
        write_recording(
            partial,
            msgspec.structs.replace(
                roll.recording,
                frames=len(roll),
                created_at=time.time(),
                jumps=tuple(_write_states(roll, partial)),
                parent=roll.folder.name,
                forked_at=roll.fork,
                mode="human" if roll.is_changed else roll.recording.mode,
                success=any(step.success for step in steps),
                state=STATE_FILE,
            ),
        )
        partial.rename(folder)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise LabError(f"{folder}: cannot be written: {error.strerror}") from None
    return folder


def _write_states(roll: Roll, folder: Path) -> Iterator[Jump]:
    """Write the states that buttons cannot reproduce: the first one, and those loaded later.

    Yields an entry of the manifest for each loaded state.
    """
    roll.game.restore(roll.start)
    roll.game.save_state(folder / STATE_FILE)
    for frame, state in sorted(roll.jumps.items()):
        name = f"state-{frame:05d}.npz"
        roll.game.restore(state)
        roll.game.save_state(folder / name)
        yield Jump(frame=frame, state=name)
    roll.go_to(0)


def branch_steps(roll: Roll) -> list[RecordedStep]:
    """Return the steps of the edited recording: the original ones before the first change, then newly judged ones.

    If the recording began within an episode, the judge's state at that point is approximated from its first picture.
    """
    fork, judge = roll.fork, roll.game.judge
    if isinstance(judge, Judge):
        judge.ram = None  # a roll keeps pictures, not the memory behind them
    if not roll.is_changed:
        return roll.steps
    steps = [step for step in roll.steps if step.last_frame < fork]
    reached = steps[-1].last_frame if steps else 0
    begun = max(number for number in (0, *roll.jumps) if number <= reached)
    if judge is not None:
        _begin(roll, begun)
        for step in steps:
            if step.first_frame >= begun:
                judge.judge(observation(roll, step.last_frame))
    number = steps[-1].step if steps else (roll.steps[0].step - 1 if roll.steps else 0)
    for first, last, is_first in _spans(roll, steps):
        if is_first:
            number = 0
            if judge is not None:
                _begin(roll, first)
        number += 1
        reward, success = 0.0, False
        if judge is not None:
            reward, success, _ = judge.judge(observation(roll, last))
        steps.append(
            RecordedStep(
                step=number,
                first_frame=first,
                last_frame=last,
                reward=reward,
                success=success,
                done=success,
                action=_action(roll.masks[first : last + 1]),
                dist=judge.dist if judge else 0.0,
                terms=judge.terms if judge else {},
            )
        )
    return steps


def observation(roll: Roll, frame: int) -> np.ndarray:
    """Return the observation u8[72, 80] of a played frame: each pixel the rounded mean of 2x2 shades."""
    shades = np.frombuffer(unpack_picture(roll.picture(frame)), np.uint8)
    blocks = shades.reshape(HEIGHT // 2, 2, WIDTH // 2, 2).sum((1, 3), dtype=np.uint16)
    return ((blocks + 2) >> 2).astype(np.uint8)


def _begin(roll: Roll, number: int) -> None:
    """Begin an episode of the judge in the state that was loaded before frame `number`."""
    roll.game.restore(roll.jumps.get(number, roll.start))
    if roll.game.judge is not None:
        roll.game.judge.begin(roll.game.observation())
    roll.go_to(0)


def _spans(roll: Roll, kept: list[RecordedStep]) -> Iterator[tuple[int, int, bool]]:
    """Yield (first frame, last frame, whether it begins an episode) of each whole step after the steps `kept`."""
    per = roll.game.frames_per_step
    first = kept[-1].last_frame + 1 if kept else 0
    last = first + per - 1
    if not kept and roll.steps and roll.steps[0].first_frame == 0:
        last = min(last, roll.steps[0].last_frame)  # the step had begun before the recording
    begins = first in roll.jumps
    while last < len(roll):
        jump = next((at for at in sorted(roll.jumps) if first < at <= last), None)
        if jump is not None:
            first, last, begins = jump, jump + per - 1, True
            continue
        yield first, last, begins
        first, last = last + 1, last + per
        begins = first in roll.jumps


def _action(masks: bytes | bytearray) -> int:
    """Return the action whose buttons are held longest in `masks`, joypad masks frame by frame; -1 for none."""
    held = [(len(list(run)), mask) for mask, run in itertools.groupby(sorted(masks))]
    known = [(frames, mask) for frames, mask in held if mask in ALL_MASKS]
    return ALL_MASKS.index(max(known)[1]) if known else -1
