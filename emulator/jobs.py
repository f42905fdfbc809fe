"""Scripted runs: many ROMs as lanes of one batch, each with its own inputs, screens and stop.

A job says which ROM, how many frames, which buttons when, which screens and memory to keep and
when to stop early. Results are written as soon as a job ends.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from emulator.cartridge import Cartridge, EmulatorError
from emulator.constants import BUTTON_NAMES
from emulator.emulator import Emulator
from emulator.png import write_screen

SERIAL_CAPACITY = 1 << 15
SERIAL_CHECK_FRAMES = 8
LONGEST_LAUNCH = 600
REGISTER_NAMES = ("a", "f", "b", "c", "d", "e", "h", "l", "pc", "sp")
JOB_ID = re.compile(r"(?!\.)[^/\\\0]+(/(?!\.)[^/\\\0]+)*")


class JobError(EmulatorError):
    """A job description that cannot be run."""


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """One scripted run. Frames count from 1; `inputs` are (frame, joypad mask) in time order."""

    id: str
    rom: str
    frames: int
    inputs: tuple[tuple[int, int], ...] = ()
    screens: tuple[int, ...] = ()
    memory: tuple[tuple[int, int], ...] = ()
    until_ld_b_b: bool = False
    until_serial: str = ""


def button_mask(names: Sequence[str]) -> int:
    """Joypad mask of button names; raise JobError for an unknown one."""
    mask = 0
    for name in names:
        if name not in BUTTON_NAMES:
            raise JobError(f"button {name!r}: use {', '.join(BUTTON_NAMES)}")
        mask |= 1 << BUTTON_NAMES.index(name)
    return mask


def parse_inputs(entries: Any) -> tuple[tuple[int, int], ...]:
    """Check a list of {"frame": f, "buttons": [...]} and return (frame, mask) pairs by frame."""
    if not isinstance(entries, list):
        raise JobError('inputs: give a JSON list of {"frame": f, "buttons": [...]}')
    pairs = []
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("frame"), int):
            raise JobError(f'inputs: {entry!r} is not {{"frame": f, "buttons": [...]}}')
        buttons = entry.get("buttons", [])
        if not isinstance(buttons, list):
            raise JobError(f"inputs: buttons of frame {entry['frame']} are not a list")
        pairs.append((entry["frame"], button_mask(buttons)))
    return tuple(sorted(pairs, key=lambda pair: pair[0]))


def parse_job(entry: Any) -> Job:
    """Check one entry of a jobs file."""
    if not isinstance(entry, dict):
        raise JobError(f"{entry!r} is no job object")
    for name, kind in (("id", str), ("rom", str), ("frames", int)):
        if not isinstance(entry.get(name), kind):
            raise JobError(f"job {entry.get('id', '?')!r}: {name} is missing or no {kind.__name__}")
    if not JOB_ID.fullmatch(entry["id"]):
        raise JobError(f"job id {entry['id']!r}: use names separated by single slashes")
    if entry["frames"] < 1:
        raise JobError(f"job {entry['id']!r}: frames={entry['frames']}, give at least 1")
    until = entry.get("until") or {}
    try:
        memory = tuple((int(address), int(size)) for address, size in entry.get("memory") or [])
        screens = tuple(sorted(int(number) for number in entry.get("screens") or []))
    except (TypeError, ValueError) as error:
        raise JobError(f"job {entry['id']!r}: screens or memory malformed ({error})") from None
    return Job(
        id=entry["id"],
        rom=entry["rom"],
        frames=entry["frames"],
        inputs=parse_inputs(entry.get("inputs") or []),
        screens=screens,
        memory=memory,
        until_ld_b_b=bool(until.get("ld_b_b")),
        until_serial=str(until.get("serial") or ""),
    )


def read_jobs(path: Path) -> list[Any]:
    """Return the raw entries of a jobs file; raise JobError if it is none."""
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise JobError(f"{path}: cannot read the jobs ({error.strerror})") from None
    except ValueError as error:
        raise JobError(f"{path}: no JSON ({error})") from None
    if not isinstance(document, dict) or not isinstance(document.get("jobs"), list):
        raise JobError(f'{path}: expected {{"jobs": [...]}}')
    return document["jobs"]


class _Lane:
    """One job while it runs."""

    def __init__(self, job: Job, folder: Path) -> None:
        self.job = job
        self.folder = folder
        self.done = False

    def next_stop(self, frame: int) -> int:
        """The next frame count after `frame` at which this job wants to be looked at."""
        job = self.job
        stops = [job.frames, frame + LONGEST_LAUNCH]
        stops += [number for number in job.screens if number > frame]
        stops += [number - 1 for number, _ in job.inputs if number - 1 > frame]
        if job.until_serial:
            stops.append(frame + SERIAL_CHECK_FRAMES)
        return min(stops)

    def buttons(self, frame: int) -> int:
        """Held buttons once `frame` frames have run."""
        mask = 0
        for number, held in self.job.inputs:
            if number - 1 <= frame:
                mask = held
        return mask


def run_jobs(
    jobs: Sequence[Job],
    cartridges: Sequence[Cartridge],
    out: Path,
    device: str,
    folders: Sequence[Path] | None = None,
) -> None:
    """Run jobs side by side as lanes of one batch; `cartridges[i]` belongs to `jobs[i]`.

    Results go to `folders[i]`, by default `out` / id.
    """
    unique = {cartridge.sha256: cartridge for cartridge in cartridges}
    order = list(unique)
    emulator = Emulator(
        list(unique.values()),
        len(jobs),
        device,
        rom_of_env=[order.index(cartridge.sha256) for cartridge in cartridges],
        trap_ld_b_b=np.array([job.until_ld_b_b for job in jobs]),
        serial_capacity=SERIAL_CAPACITY,
    )
    if folders is None:
        folders = [out / job.id for job in jobs]
    lanes = [_Lane(job, folder) for job, folder in zip(jobs, folders, strict=True)]
    for lane in lanes:
        lane.folder.mkdir(parents=True, exist_ok=True)
    frame = 0
    held = np.zeros(len(lanes), dtype=np.uint8)
    while active := [number for number, lane in enumerate(lanes) if not lane.done]:
        for number in active:
            held[number] = lanes[number].buttons(frame)
        stop = min(lanes[number].next_stop(frame) for number in active)
        emulator.run(held, stop - frame)
        frame = stop
        _look(emulator, lanes, active, frame)


def _look(emulator: Emulator, lanes: list[_Lane], active: list[int], frame: int) -> None:
    """Write the screens due at `frame` and the results of jobs that have ended."""
    stopped = emulator.stopped()
    shown = [n for n in active if frame in lanes[n].job.screens and not stopped[n]]
    if shown:
        screens = emulator.screens.numpy()
        for number in shown:
            write_screen(lanes[number].folder / f"frame_{frame}.png", screens[number])
    for number in active:
        lane = lanes[number]
        serial = emulator.serial_output(number).decode("latin-1")
        if stopped[number]:
            reason = "ld_b_b"
        elif lane.job.until_serial and lane.job.until_serial in serial:
            reason = "serial"
        elif frame >= lane.job.frames:
            reason = "frames"
        else:
            continue
        _write_result(emulator, number, lane, frame, reason, serial)
        emulator.freeze(number)
        lane.done = True


def _write_result(
    emulator: Emulator, env: int, lane: _Lane, frame: int, reason: str, serial: str
) -> None:
    registers = emulator.registers(env)
    result = {
        "id": lane.job.id,
        "frames": frame,
        "stopped": reason,
        "serial": serial,
        "registers": {name: registers[name] for name in REGISTER_NAMES},
        "memory": {
            f"0x{address:04X}": emulator.peek(env, address, size).tolist()
            for address, size in lane.job.memory
        },
    }
    write_json(lane.folder / "result.json", result)


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write JSON so that the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(document, indent=1) + "\n")
    partial.replace(path)


def write_error(out: Path, job_id: str, message: str) -> None:
    """Write the result of a job that could not be run."""
    document = {
        "id": job_id, "frames": 0, "stopped": "frames", "serial": "", "registers": {},
        "memory": {}, "error": message,
    }  # fmt: skip
    write_json(out / job_id / "result.json", document)


def run_many(entries: Sequence[Any], out: Path, device: str) -> int:
    """Run the entries of a jobs file; one bad entry or ROM does not stop the rest.

    Returns the number of jobs that could not be run.
    """
    failed = 0
    jobs: list[Job] = []
    cartridges: list[Cartridge] = []
    for number, entry in enumerate(entries):
        try:
            job = parse_job(entry)
            cartridge = Cartridge.from_file(job.rom)
        except EmulatorError as error:
            given = entry.get("id") if isinstance(entry, dict) else None
            if not isinstance(given, str) or not JOB_ID.fullmatch(given):
                given = f"job_{number}"
            write_error(out, given, str(error))
            failed += 1
            continue
        jobs.append(job)
        cartridges.append(cartridge)
    if jobs:
        run_jobs(jobs, cartridges, out, device)
    return failed
