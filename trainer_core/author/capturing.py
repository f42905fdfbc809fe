"""`dmglab task capture` and `dmglab task demo`: states and demonstrations from scripts and recordings."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from PIL import Image, ImageDraw

from emulator import Cartridge
from emulator.tools.png import write_screen
from trainer_core.author.demonstration import FILE, Trace, done_step, play_inputs, save_demonstrations, step_screen
from trainer_core.author.folder import MANIFEST, file_sha256, manifest_toml
from trainer_core.author.inputs import Inputs, beyond_codec, follows_codec, read_inputs, refuse_beyond_codec, steps_of
from trainer_core.author.minari_export import export_minari, load_minari
from trainer_core.author.rom_choice import choose_rom
from trainer_core.envs.demonstrations import Demonstration, load_demonstrations
from trainer_core.envs.task_files import load_goal, load_rom, save_goal
from trainer_core.formats.gif import GREYS, shades_image
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import Codec, Demo, Task, find_task
from trainer_core.wire.errors import TaskError
from trainer_core.wire.regular_files import check_target

COLUMNS = 10
LABEL, GAP = 12, 4
"""Pixels of the line above a screen, and between two screens."""
MOST = 400
"""Maximum number of steps on one contact sheet: forty rows."""


def contact_sheet(cartridge: Cartridge, inputs: Inputs, trace: Trace, codec: Codec) -> bytes:
    """Return a PNG with the screen at the end of every step, labelled with its number and the button pressed.

    Raises TaskError for more than MOST steps.
    """
    if len(trace.states) > MOST + 1:
        raise TaskError(f"{inputs.source}: {len(trace.states) - 1} steps, a sheet holds {MOST}; take --picture")
    actions = steps_of(inputs.masks[inputs.first_step :], codec)
    words = ["start", *(codec.actions[action] if action >= 0 else "-" for action in actions)]
    screens = [step_screen(cartridge, state) for state in trace.states]
    return sheet_png(screens, [f"{step} {word}" for step, word in enumerate(words)])


def sheet_png(screens: Sequence[np.ndarray], labels: Sequence[str]) -> bytes:
    """Return a PNG with screens, shades u8[144, 160], in rows of COLUMNS, each below its label."""
    wide, high = 160 + GAP, 144 + LABEL + GAP
    rows = -(-len(screens) // COLUMNS)
    sheet = Image.new("L", (min(COLUMNS, len(screens)) * wide, rows * high), 255)
    draw = ImageDraw.Draw(sheet)
    for number, (screen, label) in enumerate(zip(screens, labels, strict=True)):
        x, y = number % COLUMNS * wide, number // COLUMNS * high
        draw.text((x, y), label, fill=0)
        sheet.paste(shades_image(screen, GREYS).convert("L"), (x, y + LABEL))
    written = io.BytesIO()
    sheet.save(written, format="PNG")
    return written.getvalue()


def capture_step(
    script: Path, rom: str, base: str, step: int, home: HomePaths, codec: Codec, files: dict[str, Path]
) -> dict[str, Any]:
    """Write files about the game as it is after step `step` of a script; return the command's output.

    `files` maps "state", "goal" (a template), "picture" and "sheet" (the screens of all steps) to the paths to write.
    With a task `base` its codec is used. Raises LabError.
    """
    for path in files.values():
        check_target(path)
    _, cartridge = choose_rom(rom, base, home)
    codec = find_task(base, home).manifest.codec if base else codec
    inputs = read_inputs(script, codec)[0]
    trace = play_inputs(cartridge, inputs, codec)
    last = len(trace.states) - 1
    if not -1 <= step <= last:
        raise TaskError(f"--step {step}: {script} has the steps 0 to {last}")
    chosen = last if step == -1 else step
    try:
        for kind, path in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            match kind:
                case "state":
                    trace.states[chosen].save(path)
                case "goal":
                    save_goal(path, trace.pictures[chosen][None])
                case "picture":
                    write_screen(path, step_screen(cartridge, trace.states[chosen]))
                case "sheet":
                    path.write_bytes(contact_sheet(cartridge, inputs, trace, codec))
    except OSError as error:
        raise TaskError(f"{error.filename}: cannot be written: {error.strerror}") from None
    return {"step": chosen, "steps": last} | {kind: str(path) for kind, path in files.items()}


def add_demonstration(
    source: Path, task_id: str, home: HomePaths, *, frames: tuple[int, int], out: Path | None, minari: str = ""
) -> dict[str, Any]:
    """Cut the recording or script `source` at the task's goal and save it as a demonstration; return its description.

    `frames` are the first and last frame to use. Only the last rename, of the manifest, changes the task. Raises
    LabError.
    """
    if minari:
        load_minari()  # fail before anything is written
    task = find_task(task_id, home)
    codec = task.manifest.codec
    if out is None and not task.folder.resolve().is_relative_to(home.tasks.resolve()):
        raise TaskError(f"{task_id} is shipped and stays as it is; name a file with --out")
    cartridge = load_rom(task, home)
    inputs = _cut(read_inputs(source, codec)[0], frames, str(source))
    trace = play_inputs(cartridge, inputs, codec)
    reached = done_step(task, trace.pictures, *load_goal(task.goal_path))
    if reached is None:
        raise TaskError(
            f"{source}: {task_id} is not reached within {len(trace.pictures) - 1} steps of "
            f"{codec.frames_per_step} frames; see `dmglab task check {task_id}` for its tau"
        )
    end = inputs.first_step + reached * codec.frames_per_step
    masks = inputs.masks[inputs.first_step : end]
    refuse_beyond_codec(masks, codec, str(source))
    demo = Demonstration(trace.states[0], masks)
    demos = [demo]
    if out is None:
        demos = [*(load_demonstrations(task.demo_path) if task.demo_path else []), demo]
        _keep(task, demos)
    else:
        save_demonstrations(out, demos)
    exported = {}
    if minari:
        exported = {"minari": export_minari(minari, task, cartridge, demos)}
    return {
        "task": task_id,
        "demonstrations": len(demos),
        "file": str(out or task.folder / FILE),
        "steps": reached,
        "frames": len(masks),
        "follows_codec": follows_codec(masks, codec),
        **beyond_codec(inputs.masks, codec),
        **exported,
    }


def _cut(inputs: Inputs, frames: tuple[int, int], source: str) -> Inputs:
    first, last = frames[0], frames[1] or len(inputs.masks)
    if not 0 <= first < last <= len(inputs.masks):
        raise TaskError(f"{source}: has the frames 0 to {len(inputs.masks)}, not {first} to {last}")
    # Frames before the cut are played but not kept.
    begun = max(first, inputs.first_step) if first == 0 else first
    return Inputs(inputs.masks[:last], inputs.start, source, min(begun, last))


def _keep(task: Task, demos: list[Demonstration]) -> None:
    """Save `demos` as a new file in the task's folder, then the manifest that names the file."""
    path = task.folder / FILE
    numbers = range(2, 100_000)
    if path.exists():
        path = next(p for n in numbers if not (p := task.folder / f"demo-{n}.npz").exists())
    try:
        save_demonstrations(path, demos)
        demo = Demo(file=path.name, sha256=file_sha256(path))
        manifest = msgspec.structs.replace(task.manifest, demo=demo)
        partial = task.folder / f".{MANIFEST}.tmp"
        partial.write_bytes(manifest_toml(manifest))
        os.replace(partial, task.folder / MANIFEST)
        if task.demo_path is not None and task.demo_path != path:
            task.demo_path.unlink(missing_ok=True)
    except OSError as error:
        raise TaskError(f"{task.folder}: cannot be written: {error.strerror}") from None
