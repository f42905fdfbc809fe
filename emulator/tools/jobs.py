"""Scripted runs: many ROMs as lanes of one batch, each with its own inputs, screens and stop.

A job (job_files.py) names its ROM, frames, buttons over time, the screens and memory to keep and its
condition to stop early. Results are written as soon as a job ends.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from emulator.emulator import Emulator
from emulator.rom.cartridge import Cartridge, EmulatorError
from emulator.rom.regular_file import reason, replacing
from emulator.tools.job_files import Job, JobError, checked_id, parse_job
from emulator.tools.png import write_screen

SERIAL_CAPACITY = 1 << 15
SERIAL_CHECK_FRAMES = 8
LONGEST_LAUNCH = 600
REGISTER_NAMES = ("a", "f", "b", "c", "d", "e", "h", "l", "pc", "sp")
BATCH_LANES = 256
BATCH_ROM_BYTES = 1 << 25
"""Most ROM bytes of one batch; more jobs run as several batches, one after another."""
MOST_LINES = 50


class _Lane:
    """State of one running job."""

    def __init__(self, job: Job, folder: Path) -> None:
        self.job = job
        self.folder = folder
        self.done = False

    def next_stop(self, frame: int) -> int:
        """Return the number of frames at which the batch must stop next for this job, after `frame` frames.

        It stops for a change of buttons, a screen, a check of the serial text, or the job's end.
        """
        job = self.job
        stops = [job.frames, frame + LONGEST_LAUNCH]
        stops += [number for number in job.screens if number > frame]
        stops += [number - 1 for number, _ in job.inputs if number - 1 > frame]
        if job.until_serial:
            stops.append(frame + SERIAL_CHECK_FRAMES)
        return min(stops)

    def buttons(self, frame: int) -> int:
        """Return the joypad mask that the job holds after `frame` frames."""
        mask = 0
        for number, held in self.job.inputs:
            if number - 1 <= frame:
                mask = held
        return mask


def run_jobs(
    jobs: Sequence[Job], cartridges: Sequence[Cartridge], out: Path, device: str, folders: Sequence[Path] | None = None
) -> None:
    """Run jobs side by side in one batch; `cartridges[i]` belongs to `jobs[i]`.

    Results are written to `folders[i]`, by default `out` / id.
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
    """Write the screens that are due at `frame` and the results of jobs that have ended."""
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


def _write_result(emulator: Emulator, env: int, lane: _Lane, frame: int, reason: str, serial: str) -> None:
    registers = emulator.registers(env)
    result = {
        "id": lane.job.id,
        "frames": frame,
        "stopped": reason,
        "serial": serial,
        "registers": {name: registers[name] for name in REGISTER_NAMES},
        "memory": {f"0x{address:04X}": emulator.peek(env, address, size).tolist() for address, size in lane.job.memory},
    }
    write_json(lane.folder / "result.json", result)


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a JSON file atomically; create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write((json.dumps(document, indent=1) + "\n").encode())


def write_error(out: Path, job_id: str, message: str) -> None:
    """Write the result.json of a job that could not be run, with the error's text."""
    document = {
        "id": job_id,
        "frames": 0,
        "stopped": "frames",
        "serial": "",
        "registers": {},
        "memory": {},
        "error": message,
    }
    write_json(out / job_id / "result.json", document)


def run_many(entries: Sequence[Any], out: Path, device: str) -> int:
    """Run the entries of a jobs file, skipping bad ones; return the number of those that could not be run.

    Each of them is reported by one line on standard error and, if it has a usable id, by a result.json.
    """
    failed = _Failures(out)
    for jobs, cartridges in _batches(entries, failed):
        run_jobs(jobs, cartridges, out, device)
    if failed.count > MOST_LINES:
        print(f"error: {failed.count - MOST_LINES} more jobs like these", file=sys.stderr)
    return failed.count


class _Failures:
    """Reporter of jobs that could not be run."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.count = 0

    def add(self, number: int, job_id: str | None, message: str) -> None:
        self.count += 1
        if self.count <= MOST_LINES:
            print(f"error: entry {number}: {message}", file=sys.stderr)
        try:
            write_error(self.out, job_id or f"job_{number}", message)
        except OSError as error:
            if self.count <= MOST_LINES:
                print(f"error: entry {number}: no result.json ({reason(error)})", file=sys.stderr)


def _batches(entries: Sequence[Any], failed: _Failures) -> Iterator[tuple[list[Job], list[Cartridge]]]:
    """Yield batches of bounded size: jobs that can be run, and their cartridges; report the others to `failed`."""
    jobs: list[Job] = []
    cartridges: dict[str, Cartridge] = {}
    seen: set[str] = set()
    for number, entry in enumerate(entries):
        try:
            job = parse_job(entry)
        except EmulatorError as error:
            failed.add(number, _usable_id(entry, seen), str(error))
            continue
        try:
            if job.id in seen:
                raise JobError(f"job {job.id!r}: the id of another job of this file")
            cartridge = cartridges.get(job.rom) or Cartridge.from_file(job.rom)
        except EmulatorError as error:
            failed.add(number, _usable_id(entry, seen), _named(entry, error))
            continue
        try:
            (failed.out / job.id).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            failed.add(number, None, f"job {job.id!r}: no folder for it ({reason(error)})")
            continue
        seen.add(job.id)
        if job.rom not in cartridges:
            for warning in cartridge.warnings:
                print(f"warning: {warning}", file=sys.stderr)
        size = sum(len(known.rom) for known in cartridges.values()) + len(cartridge.rom)
        if jobs and (len(jobs) >= BATCH_LANES or size > BATCH_ROM_BYTES):
            yield jobs, [cartridges[each.rom] for each in jobs]
            jobs, cartridges = [], {}
        jobs.append(job)
        cartridges[job.rom] = cartridge
    if jobs:
        yield jobs, [cartridges[each.rom] for each in jobs]


def _usable_id(entry: Any, seen: set[str]) -> str | None:
    """Return the id of a failed job, for its result folder; None if it is invalid or in `seen`, the used ids."""
    try:
        job_id = checked_id(entry["id"])
    except (EmulatorError, TypeError, KeyError):
        return None
    return None if job_id in seen else job_id


def _named(entry: Any, error: EmulatorError) -> str:
    """Return an error's text with the job's id in it."""
    message = str(error)
    if isinstance(error, JobError) or not isinstance(entry, dict):
        return message
    return f"job {entry['id']!r}: {message}"
