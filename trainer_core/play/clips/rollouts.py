"""Conversion of the results of `dmglab rollout`: replayed if the game is available, else from the GIF."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from trainer_core.envs.recording_writer import RecordingWriter
from trainer_core.envs.single_game import open_game
from trainer_core.lab.arc_games import is_arc
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import FRAMES_PER_SECOND, MAX_FRAMES, RecordedStep, read_recording, read_steps
from trainer_core.play.clips.animations import pictures_of, shades_of
from trainer_core.play.clips.writer import ClipWriter
from trainer_core.play.episode import Script, play_episode
from trainer_core.wire.buttons import ALL_MASKS
from trainer_core.wire.decoding import parsing, read_json
from trainer_core.wire.errors import LabError
from trainer_core.wire.regular_files import read_regular

LOG, META, GIF = "rollout.jsonl", "meta.json", "rollout.gif"
MAX_LOG_BYTES = 16 << 20
Frames = Annotated[int, Meta(ge=1, le=MAX_FRAMES)]


class Told(msgspec.Struct):
    """Parts of meta.json that are read; `dmglab rollout` writes more."""

    task: str
    mode: Literal["greedy", "sample", "leave_loops"]
    start_index: Annotated[int, Meta(ge=0, lt=1 << 31)]
    frames_per_step: Frames
    rom_sha256: str = ""
    checkpoint: str = ""
    checkpoint_sha256: str = ""
    gif_every_frames: Annotated[int, Meta(ge=0, le=MAX_FRAMES)] = 0
    release_after_frames: Annotated[int, Meta(ge=0, le=MAX_FRAMES)] = 8


class _Row(msgspec.Struct):
    """One line of rollout.jsonl."""

    action: Annotated[int, Meta(ge=0, lt=len(ALL_MASKS))]
    reward: float
    dist: float
    done: bool
    trunc: bool


_rows = msgspec.json.Decoder(_Row)


def rollout(folder: Path, out: Path, home: HomePaths) -> tuple[Path, str]:
    """Convert a folder written by `dmglab rollout` to a recording in `out`; return (recording, note for the user).

    Raises LabError naming the file that cannot be read.
    """
    meta, steps = read_rollout(folder)
    try:
        return _played_again(out, meta, steps, home), ""
    except LabError as error:
        shutil.rmtree(out, ignore_errors=True)
        note = f"shown from its GIF, a picture a step: it cannot be played again ({error})"
        return _from_gif(folder, out, meta, steps), note


def read_rollout(folder: Path) -> tuple[Told, list[RecordedStep]]:
    """Return a rollout's description and its steps, at least one. Raises LabError."""
    with parsing(f"{folder}: no rollout that can be read"):
        meta = read_json(folder / META, Told)
        most = MAX_FRAMES // meta.frames_per_step
        lines = read_regular(folder / LOG, MAX_LOG_BYTES).splitlines()
        if not 1 <= len(lines) <= most:
            raise ValueError(f"{LOG} has {len(lines)} steps, a recording 1 to {most}")
        rows = map(_rows.decode, lines)
        return meta, [_step(row, index, meta.frames_per_step) for index, row in enumerate(rows)]


def _step(row: _Row, index: int, per_step: int) -> RecordedStep:
    return RecordedStep(
        step=index + 1,
        first_frame=index * per_step,
        last_frame=(index + 1) * per_step - 1,
        action=row.action,
        reward=row.reward,
        dist=row.dist,
        success=row.done,
        done=row.done,
        trunc=row.trunc,
    )


def _played_again(out: Path, meta: Told, steps: list[RecordedStep], home: HomePaths) -> Path:
    """Replay the logged actions from the same start into a recording. Raises LabError if a step differs."""
    if is_arc(meta.task):  # known before a library or a server is started
        raise LabError(f"{meta.task} is no Game Boy's task")
    game = open_game(meta.task, home)
    if game.rom_sha256 != meta.rom_sha256 or meta.start_index >= game.num_starts:
        raise LabError(f"{meta.task} is of another game by now")
    game.restart(meta.start_index)
    writer = RecordingWriter(
        out,
        game,
        mode=meta.mode,
        checkpoint=meta.checkpoint,
        checkpoint_sha256=meta.checkpoint_sha256,
        source="rollout",
    )
    actions = [step.action for step in steps]
    play_episode(game, Script(actions), meta.start_index, max_steps=len(actions), recording=writer)
    writer.finish()
    made = read_steps(out, read_recording(out))
    for ours, logged in zip(made, steps, strict=False):
        same = (ours.success, ours.trunc) == (logged.success, logged.trunc)
        if not same or abs(ours.dist - logged.dist) + abs(ours.reward - logged.reward) > 1e-5:
            raise LabError(f"step {logged.step} comes to something else than its log says")
    if len(made) != len(steps):
        raise LabError(f"{len(made)} steps in place of {len(steps)}")
    return out


def _from_gif(folder: Path, out: Path, meta: Told, steps: list[RecordedStep]) -> Path:
    """Convert the GIF to a recording: picture i follows frame `every * i`, and picture 0 is the start."""
    every = meta.gif_every_frames or meta.frames_per_step
    writer, at_ms = None, 0.0
    with parsing(f"{folder / GIF}: cannot be read"):
        for picture, lasts_ms in pictures_of(folder / GIF):
            shades = shades_of(picture)
            if shades is None:
                raise LabError(f"{folder / GIF}: not in the four colours of a rollout")
            writer = writer or ClipWriter(out, shades.shape[1], shades.shape[0], False)
            # Equal neighbours were merged: the index follows from the time.
            index = round(at_ms * FRAMES_PER_SECOND / 1000 / every)
            writer.show(shades, max(0, index * every - 1))
            at_ms += lasts_ms
    if writer is None:
        raise LabError(f"{folder / GIF}: holds no picture")
    frames = steps[-1].last_frame + 1
    buttons = bytearray(frames)
    for step in steps:
        held = min(meta.release_after_frames, step.last_frame + 1 - step.first_frame)
        pressed = bytes([ALL_MASKS[step.action]]) * held
        buttons[step.first_frame : step.first_frame + held] = pressed
    return writer.finish(
        frames,
        bytes(buttons),
        steps,
        task=meta.task,
        source="rollout",
        mode=meta.mode,
        rom_sha256=meta.rom_sha256,
        success=any(step.success for step in steps),
    )
