"""What `dmglab rollout` leaves: played again where the game is there, else its GIF."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from PIL import Image

from trainer_core.play.clips.animations import pictures_of, shades_of
from trainer_core.play.clips.writer import ClipWriter
from trainer_core.play.episode import Script, play_episode
from trainer_core.play.game import open_game
from trainer_core.play.recording_writer import RecordingWriter
from trainer_core.protocol.buttons import ALL_MASKS
from trainer_core.protocol.errors import LabError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.recording import (
    FRAMES_PER_SECOND,
    RecordedStep,
    read_recording,
    read_steps,
)
from trainer_core.protocol.regular_files import read_regular

LOG, META, GIF = "rollout.jsonl", "meta.json", "rollout.gif"
MAX_LOG_BYTES = 16 << 20


def rollout(folder: Path, out: Path, home: HomePaths) -> tuple[Path, str]:
    """(recording, what to know of it). Raises LabError naming the file that cannot be read."""
    try:
        meta = json.loads(read_regular(folder / META))
        rows = [json.loads(line) for line in read_regular(folder / LOG, MAX_LOG_BYTES).splitlines()]
        actions = [int(row["action"]) for row in rows]
        start, per_step = int(meta["start_index"]), int(meta["frames_per_step"])
        if not rows or not all(0 <= action < len(ALL_MASKS) for action in actions):
            raise ValueError("actions that no codec has")
        steps = [_step(row, index, per_step) for index, row in enumerate(rows)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LabError(f"{folder}: no rollout that can be read: {error}") from None
    try:
        return _played_again(out, meta, actions, start, steps, home), ""
    except LabError as error:
        shutil.rmtree(out, ignore_errors=True)
        note = f"shown from its GIF, a picture a step: it cannot be played again ({error})"
        return _from_gif(folder, out, meta, steps), note


def _step(row: dict[str, Any], index: int, per_step: int) -> RecordedStep:
    return RecordedStep(
        step=index + 1, first_frame=index * per_step, last_frame=(index + 1) * per_step - 1,
        action=int(row["action"]), reward=float(row["reward"]), dist=float(row["dist"]),
        success=bool(row["done"]), done=bool(row["done"]), trunc=bool(row["trunc"]),
    )  # fmt: skip


def _played_again(
    out: Path, meta: dict[str, Any], actions: list[int], start: int, steps: list[RecordedStep],
    home: HomePaths,
) -> Path:  # fmt: skip
    """Press the actions from the same start; every step must come to what the log says."""
    game = open_game(str(meta["task"]), home)
    if game.rom_sha256 != meta.get("rom_sha256") or not 0 <= start < game.num_starts:
        raise LabError(f"{meta['task']} is of another game by now")
    game.restart(start)
    writer = RecordingWriter(
        out, game, mode=meta["mode"], checkpoint=str(meta.get("checkpoint", "")),
        checkpoint_sha256=str(meta.get("checkpoint_sha256", "")), source="rollout",
    )  # fmt: skip
    play_episode(game, Script(actions), start, max_steps=len(actions), recording=writer)
    writer.finish()
    made = read_steps(out, read_recording(out))
    for ours, logged in zip(made, steps, strict=False):
        same = (ours.success, ours.trunc) == (logged.success, logged.trunc)
        if not same or abs(ours.dist - logged.dist) + abs(ours.reward - logged.reward) > 1e-5:
            raise LabError(f"step {logged.step} comes to something else than its log says")
    if len(made) != len(steps):
        raise LabError(f"{len(made)} steps in place of {len(steps)}")
    return out


def _from_gif(folder: Path, out: Path, meta: dict[str, Any], steps: list[RecordedStep]) -> Path:
    """Picture i of the GIF is the one after `every * i` frames, the first the start itself."""
    every = int(meta.get("gif_every_frames") or meta["frames_per_step"])
    release = int(meta.get("release_after_frames", 8))
    writer, at_ms = None, 0.0
    try:
        for picture, lasts_ms in pictures_of(folder / GIF):
            shades = shades_of(picture)
            if shades is None:
                raise LabError(f"{folder / GIF}: not in the four colours of a rollout")
            writer = writer or ClipWriter(out, shades.shape[1], shades.shape[0], False)
            # Equal neighbours were merged: the time tells which picture this is.
            index = round(at_ms * FRAMES_PER_SECOND / 1000 / every)
            writer.show(shades, max(0, index * every - 1))
            at_ms += lasts_ms
    except (OSError, Image.UnidentifiedImageError, ValueError) as error:
        raise LabError(f"{folder / GIF}: cannot be read: {error}") from None
    if writer is None:
        raise LabError(f"{folder / GIF}: holds no picture")
    frames = steps[-1].last_frame + 1
    buttons = bytearray(frames)
    for step in steps:
        held = min(release, step.last_frame + 1 - step.first_frame)
        pressed = bytes([ALL_MASKS[step.action]]) * held
        buttons[step.first_frame : step.first_frame + held] = pressed
    return writer.finish(
        frames, bytes(buttons), steps, task=str(meta["task"]), source="rollout",
        mode=meta["mode"], rom_sha256=str(meta.get("rom_sha256", "")),
        success=any(step.success for step in steps),
    )  # fmt: skip
