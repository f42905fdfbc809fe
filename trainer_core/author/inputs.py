"""Input scripts and recordings as one type: an initial state, and a joypad mask per frame.

A script is a text of words, `#` begins a comment:

    wait 180            frames without a button
    START 3 UP A        one button per step, a number before it repeats it
    begin               where the agent's episodes begin; without it, at the first button

or JSON, `{"wait_frames": 180, "actions": "START 3 UP A"}`, or a list of such objects. A script is played from power-on
unless another state is given. A recording is a folder that the player wrote.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from emulator import EmulatorError, Snapshot
from trainer_core.envs.demonstrations import MAX_DEMO_FRAMES, play_actions
from trainer_core.lab.recording import BUTTONS, read_recording, refuse_pictures_only
from trainer_core.lab.tasks import Codec
from trainer_core.wire.buttons import CODECS, MASK_BITS
from trainer_core.wire.errors import TaskError
from trainer_core.wire.regular_files import read_regular

MAX_BYTES = 16 << 20
MAX_REASON = 200
"""Maximum number of letters that an error repeats of a line."""
SELECT = 1 << MASK_BITS.index("select")


@dataclass(frozen=True, slots=True)
class Inputs:
    """Joypad masks frame by frame, and the state before the first frame."""

    masks: np.ndarray
    """u8[F], the joypad mask of each frame."""
    start: Snapshot | None = None
    """State before frame 0; None is power-on."""
    source: str = ""
    first_step: int = 0
    """Frame at which the first agent step begins; the frames before it are an initial wait."""
    begins: int = 0
    """Step at which episodes begin, as the script's word `begin` says."""


def read_inputs(path: Path, codec: Codec) -> list[Inputs]:
    """Return the scripts of a file, or the one recording of a folder.

    Raises TaskError or ProtocolError, naming the file and what is wrong with it.
    """
    if path.is_dir():
        return [_read_recording(path)]
    try:
        text = read_regular(path, MAX_BYTES).decode()
        if text.lstrip().startswith(("{", "[")):
            rows = json.loads(text)
            rows = rows if isinstance(rows, list) else [rows]
            found = [_from_row(row, codec, str(path)) for row in rows]
        else:
            found = [_from_words(text, codec, str(path))]
    except OSError as error:
        raise TaskError(f"{path}: {error.strerror or error}") from None
    except KeyError as error:
        raise TaskError(f"{path}: no input script: it has no {error}") from None
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise TaskError(f"{path}: no input script: {_cut(error)}; write words like `wait 180 START 3 UP A`") from None
    if not found:
        raise TaskError(f"{path}: holds no script")
    return found


def _cut(error: Exception) -> str:
    """Return the error's text on one line of at most MAX_REASON letters: the text may quote the file."""
    text = " ".join(str(error).split())
    return text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]}..."


def steps_of(masks: np.ndarray, codec: Codec) -> np.ndarray:
    """Return i64[S], the action held longest in each whole step of `masks` u8[F]; -1 for none."""
    steps = len(masks) // codec.frames_per_step
    found = np.full(steps, -1)
    whole = masks[: steps * codec.frames_per_step].reshape(steps, codec.frames_per_step)
    for step, held in enumerate(whole):
        counts = [int((held == mask).sum()) for mask in codec.masks]
        if max(counts):
            found[step] = int(np.argmax(counts))
    return found


def follows_codec(masks: np.ndarray, codec: Codec) -> bool:
    """Return whether an agent with this codec could produce exactly these masks.

    Each step must be one action of the codec, pressed and released as the codec says.
    """
    if len(masks) % codec.frames_per_step:
        return False
    actions = steps_of(masks, codec)
    return bool((actions >= 0).all()) and np.array_equal(masks, play_actions(actions, codec))


def beyond_codec(masks: np.ndarray, codec: Codec) -> dict[str, int]:
    """Return how many frames of `masks` u8[F] have buttons that no action of `codec` presses: SELECT, two at once."""
    beyond = masks[~np.isin(masks, (0, *codec.masks))]
    pressed = np.unpackbits(beyond[:, None], axis=1).sum(1)
    return {
        "frames_with_select": int((beyond & SELECT != 0).sum()),
        "frames_with_two_buttons": int((pressed > 1).sum()),
    }


def wide_enough(masks: np.ndarray, codec: Codec) -> Codec:
    """Return `codec`, or the first other codec that has every button combination in `masks` u8[F].

    Its step length is that of `codec`. If no codec has all combinations, returns `codec`.
    """
    for name in (codec.id, *CODECS):
        wider = msgspec.structs.replace(codec, id=name)
        if not any(beyond_codec(masks, wider).values()):
            return wider
    return codec


def refuse_beyond_codec(masks: np.ndarray, codec: Codec, source: str) -> None:
    """Raise TaskError when part of `masks` cannot be expressed in the task's codec."""
    counts = beyond_codec(masks, codec)
    if any(counts.values()):
        raise TaskError(
            f"{source}: {counts['frames_with_select']} frames hold SELECT and "
            f"{counts['frames_with_two_buttons']} hold two buttons, which {codec.id} does not "
            "have; cut them away (--from-frame, --to-frame), play without them"
            f"{_wider(masks, codec)}"
        )


def _wider(masks: np.ndarray, codec: Codec) -> str:
    """Return the end of an error message that names a codec with the missing buttons; "" (empty) if there is none."""
    wider = wide_enough(masks, codec)
    if wider == codec:
        return ""
    return f", or make the task with --codec {wider.id}, which has them"


def _from_row(row: Any, codec: Codec, source: str) -> Inputs:
    if not isinstance(row, dict):
        raise ValueError(f"a start is {{wait_frames, actions}}, not {str(row)[:40]}")
    unknown = set(row) - {"wait_frames", "actions"}
    if unknown:
        raise ValueError(f"unknown key {min(unknown)!r}")
    return _from_words(f"wait {int(row.get('wait_frames', 0))} {row['actions']}", codec, source)


def _from_words(text: str, codec: Codec, source: str) -> Inputs:
    lines = (line.split("#")[0] for line in text.splitlines())
    words = iter(" ".join(lines).split())
    parts: list[np.ndarray] = []
    frames, repeat, first_step, begins = 0, 1, None, 0
    for word in words:
        if word.lower() in ("wait", "begin") and repeat != 1:
            raise ValueError(f"{repeat} {word}: a number repeats a button")
        if word.lower() == "wait":
            length = _frames(next(words, ""))
            if first_step is not None:  # round up to whole steps, so that the steps after it are an agent's too
                length = -(-length // codec.frames_per_step) * codec.frames_per_step
            part = np.zeros(length, np.uint8)
        elif word.lower() == "begin":
            first_step = frames if first_step is None else first_step
            begins = (frames - first_step) // codec.frames_per_step
            continue
        elif word.isdecimal():
            repeat = _limited(int(word))
            continue
        elif word.upper() in codec.actions:
            first_step = frames if first_step is None else first_step
            action = np.full(repeat, codec.actions.index(word.upper()))
            part = play_actions(action, codec)
        else:
            known = " ".join(codec.actions)
            raise ValueError(f"{word!r} is neither wait, begin, a number nor one of {known}")
        repeat = 1
        frames = _limited(frames + len(part))
        parts.append(part)
    if repeat != 1:
        raise ValueError(f"the last number, {repeat}, repeats nothing")
    masks = np.concatenate([np.zeros(0, np.uint8), *parts])
    return Inputs(masks, None, source, frames if first_step is None else first_step, begins)


def _frames(word: str) -> int:
    """Parse the number of frames in `wait FRAMES`. Raises ValueError."""
    try:
        return _limited(int(word))
    except ValueError:
        raise ValueError(f"wait {word}".rstrip() + f": frames come behind it, 0 to {MAX_DEMO_FRAMES}") from None


def _limited(frames: int) -> int:
    if not 0 <= frames <= MAX_DEMO_FRAMES:
        raise ValueError(f"{frames} frames: a script has 0 to {MAX_DEMO_FRAMES}")
    return frames


def _read_recording(folder: Path) -> Inputs:
    recording = read_recording(folder)
    refuse_pictures_only(folder, recording)
    if recording.jumps:
        frames = ", ".join(str(jump.frame) for jump in recording.jumps[:4])
        raise TaskError(
            f"{folder}: the game was put into another state before frame {frames}; a way to a goal "
            "is one piece: record one without a new episode or a loaded state"
        )
    try:
        start = Snapshot.load(folder / recording.state)
    except EmulatorError as error:
        raise TaskError(str(error)) from None
    if start.rom_sha256 != recording.rom_sha256:
        raise TaskError(f"{folder}: its start state belongs to another ROM")
    masks = np.frombuffer(read_regular(folder / BUTTONS, MAX_DEMO_FRAMES), np.uint8)
    return Inputs(masks.copy(), start, str(folder))
