"""Job files: descriptions of scripted runs, decoded into `Job` before anything runs.

{"jobs": [{"id": "a/b", "rom": "game.gb", "frames": 600, "inputs": [{"frame": 1, "buttons": ["a"]}],
"screens": [60], "memory": [[49152, 4]], "until": {"ld_b_b": true, "serial": "Passed"}}]}
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

from emulator.rom.cartridge import EmulatorError
from emulator.rom.regular_file import read_regular, reason
from emulator.state.arguments import button_mask, whole_number

MOST_FRAMES = 10_000_000
"""Most frames of one job: 46 hours of play."""
MOST_FILE_BYTES = 8 << 20
MOST_MEMORY_BYTES = 1 << 20
LONGEST_ID = 1000
LONGEST_PART = 200
"""Most bytes of a name: an id names folders, and `frame_10000000.png.partial` must fit below them."""
JOB_ID = re.compile(r"(?!\.)[^/\\\x00-\x1f\x7f]+(/(?!\.)[^/\\\x00-\x1f\x7f]+)*")
RESULTS = re.compile(r"(result\.json|frame_\d+\.png)(\.partial)?")
"""Pattern of the names of files that a job writes."""
STOPS = ("ld_b_b", "serial")


class JobError(EmulatorError):
    """Job description that is invalid."""


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """Description of one scripted run. Frames count from 1; `inputs` are (frame, joypad mask) in time order."""

    id: str
    rom: str
    frames: int
    inputs: tuple[tuple[int, int], ...] = ()
    screens: tuple[int, ...] = ()
    memory: tuple[tuple[int, int], ...] = ()
    until_ld_b_b: bool = False
    until_serial: str = ""


def parse_inputs(entries: Any) -> tuple[tuple[int, int], ...]:
    """Return (frame, joypad mask) pairs in order of frame; raise JobError for a bad entry.

    `entries`: a list of {"frame": f, "buttons": [...]}.
    """
    if not isinstance(entries, list):
        raise JobError('inputs: give a JSON list of {"frame": f, "buttons": [...]}')
    pairs = []
    for entry in entries:
        if not isinstance(entry, dict):
            raise JobError(f'inputs: {shown(entry)} is not {{"frame": f, "buttons": [...]}}')
        frame = frame_number("inputs: frame", entry.get("frame"))
        buttons = entry.get("buttons", [])
        if not isinstance(buttons, list):
            raise JobError(f"inputs: buttons of frame {frame} are not a list")
        pairs.append((frame, button_mask(buttons)))
    return tuple(sorted(pairs, key=lambda pair: pair[0]))


def parse_job(entry: Any) -> Job:
    """Return the job of one entry of a jobs file; raise JobError, with the job's id, for a bad entry."""
    if not isinstance(entry, dict):
        raise JobError(f"{shown(entry)} is no job object")
    checked_id(entry.get("id"))
    try:
        return _parse(entry)
    except EmulatorError as error:
        raise JobError(f"job {entry['id']!r}: {error}") from None


def _parse(entry: dict[str, Any]) -> Job:
    rom = entry.get("rom")
    if not isinstance(rom, str) or not rom.isprintable() or not rom:
        raise JobError(f"rom is {shown(rom)}; give the path of a .gb file")
    frames = frame_number("frames", entry.get("frames"))
    until = entry.get("until") or {}
    if not isinstance(until, dict) or not set(until) <= set(STOPS):
        raise JobError(f'until is {shown(until)}; give {{"ld_b_b": true}} or {{"serial": "text"}}')
    serial = until.get("serial") or ""
    if not isinstance(serial, str):
        raise JobError(f"until: serial is {shown(serial)}; give the text to wait for")
    if until.get("ld_b_b") not in (None, True, False):
        raise JobError(f"until: ld_b_b is {shown(until['ld_b_b'])}; give true or false")
    return Job(
        id=entry["id"],
        rom=rom,
        frames=frames,
        inputs=parse_inputs(entry.get("inputs") or []),
        screens=parse_screens(entry.get("screens") or []),
        memory=parse_memory(entry.get("memory") or []),
        until_ld_b_b=bool(until.get("ld_b_b")),
        until_serial=serial,
    )


def checked_id(job_id: Any) -> str:
    """Return a job's id, which becomes the path of its result folder; raise JobError if it cannot."""
    if not isinstance(job_id, str):
        raise JobError(f"job {shown(job_id)}: id is missing or no text")
    if not JOB_ID.fullmatch(job_id) or any(map(RESULTS.fullmatch, job_id.split("/"))):
        raise JobError(f"job id {shown(job_id)}: use names separated by single slashes")
    try:
        sizes = [len(part.encode()) for part in job_id.split("/")]
    except UnicodeEncodeError:
        raise JobError(f"job id {shown(job_id)}: no name of a folder") from None
    if max(sizes) > LONGEST_PART or sum(sizes) > LONGEST_ID:
        raise JobError(f"job id {shown(job_id)}: {LONGEST_PART} bytes a name at most")
    return job_id


def frame_number(name: str, value: Any) -> int:
    """Return `value`, a frame number or count from 1 to MOST_FRAMES; raise EmulatorError with `name` for others."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise JobError(f"{name} is {shown(value)}; give a whole number")
    return whole_number(name, value, 1, MOST_FRAMES)


def parse_screens(entries: Any) -> tuple[int, ...]:
    """Return the frame numbers of a list, sorted; raise JobError for a bad one."""
    if not isinstance(entries, list):
        raise JobError(f"screens is {shown(entries)}; give a list of frame numbers")
    return tuple(sorted({frame_number("screens", entry) for entry in entries}))


def parse_memory(entries: Any) -> tuple[tuple[int, int], ...]:
    """Return the pairs (address, number of bytes) of a list; raise JobError for a bad one."""
    ranges = []
    for entry in entries if isinstance(entries, list) else [entries]:
        whole = isinstance(entry, (list, tuple)) and [type(part) for part in entry] == [int, int]
        if not whole:
            raise JobError(f"memory: {shown(entry)} is no [address, number of bytes]")
        address, size = entry
        if not (0 <= address <= 0xFFFF and 1 <= size <= 0x10000):
            raise JobError(f"memory: {shown(entry)}: address or length out of range")
        ranges.append((address, size))
    if sum(size for _, size in ranges) > MOST_MEMORY_BYTES:
        raise JobError(f"memory: more than {MOST_MEMORY_BYTES} bytes")
    return tuple(ranges)


def read_json(path: Path) -> Any:
    """Return the contents of a JSON file; raise JobError if it cannot be read."""
    try:
        return json.loads(read_regular(path, MOST_FILE_BYTES))
    except OSError as error:
        raise JobError(f"{path}: cannot read ({reason(error)})") from None
    except RecursionError:
        raise JobError(f"{path}: no JSON that is read (nested too deeply)") from None
    except ValueError as error:
        raise JobError(f"{path}: no JSON ({error})") from None


def read_jobs(path: Path) -> list[Any]:
    """Return the entries of a jobs file, not yet checked; raise JobError if there are none."""
    document = read_json(path)
    if not isinstance(document, dict) or not isinstance(document.get("jobs"), list):
        raise JobError(f'{path}: expected {{"jobs": [...]}}')
    return document["jobs"]


def shown(value: Any) -> str:
    """Return a value of a jobs file as one short line for an error message."""
    try:
        text = ascii(value)
    except (RecursionError, ValueError):  # deep lists; numbers of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
