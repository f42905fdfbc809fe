"""Lists of test ROMs: a JSON file that says what each must show, in the form of github.com/Docheinstein/docboy.

{"section": [{"rom": "a.gb", "memory": [{"address": 65520, "value": 1, "fail_value": 2}]},
{"rom": "b.gb", "framebuffer": "b.png", "check_at_instruction": "ld b,b",
"inputs": [{"trigger_at_tick": 8192, "key": "a", "state": "pressed"}]}, {"rom": "c.gb", "serial": [3, 5, 8]}]}

`memory`: bytes that pass or fail; `framebuffer`: a picture, at any frame, at LD B,B or at a T-cycle (`check_at_tick`);
`serial`: the bytes sent. Buttons change at a T-cycle or before an opcode. `max_ticks` ends a run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from emulator import constants as k
from emulator.emulator import Emulator
from emulator.rom.cartridge import Cartridge, EmulatorError
from emulator.rom.isa import INSTRUCTIONS
from emulator.state.arguments import button_mask, whole_number
from emulator.state.batch import move_times
from emulator.tools.job_files import read_json, shown
from emulator.tools.png import read_grey
from emulator.tools.rom_suite import ERROR, FAIL, NONE, PASS, SKIP, Case, Verdict, batches, machine_for, named_like

MOST_TICKS = 100_000_000
"""T-cycles after which an entry without `max_ticks` has failed."""
MOST_STEPS = 100_000
"""Instructions that are looked through for the opcode at which a button changes."""
COARSE_FRAMES = 16
LD_B_B = 0x40
KINDS = ("memory", "framebuffer", "serial")
KEYS = {*KINDS, "rom", "rom2", "framebuffer2", "check_at_instruction", "check_at_tick", "max_ticks", "inputs"}
KEYS |= {"palette", "limit_speed", "enabled", "comment"}
PALETTES = {"": (127, 84, 62, 42), "grey": (255, 170, 85, 0)}
"""Brightness of the four shades in expected pictures, by the entry's `palette`; what is lighter is a blank LCD."""


@dataclasses.dataclass(frozen=True, slots=True)
class Press:
    """Change of the held buttons: those of `mask` are pressed or let go at a time, or before an opcode is executed."""

    mask: int
    pressed: bool
    at: int | None
    """M-cycles after power-on; None: at the next `opcode`."""
    opcode: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class ListedCase(Case):
    """Test ROM of a list, with what it must show. Times are M-cycles after power-on."""

    memory: tuple[tuple[int, int, int | None], ...] = ()
    """Address, value that passes, value that fails."""
    serial: bytes = b""
    at_breakpoint: bool = False
    """The picture is judged at the first LD B,B."""
    at: int | None = None
    """Time at which the picture is judged."""
    inputs: tuple[Press, ...] = ()
    end: int = MOST_TICKS // 4

    @property
    def fine(self) -> bool:
        """True if the run must stop after every frame, or within one."""
        return bool(self.pictures or self.inputs)

    @property
    def traps(self) -> bool:
        """True if LD B,B stops the run."""
        return self.at_breakpoint or any(press.at is None and press.opcode == LD_B_B for press in self.inputs)

    @property
    def steps(self) -> bool:
        """True if opcodes other than LD B,B must be looked for, instruction by instruction."""
        return any(press.at is None and press.opcode != LD_B_B for press in self.inputs)


def read_list(path: Path, roms: Path, pictures: Path, match: str = "") -> tuple[list[ListedCase], list[Verdict]]:
    """Return the cases of a list, and verdicts on entries that are not run.

    Raises EmulatorError for a list that cannot be read or an entry that says nothing known.
    """
    document = read_json(path)
    sections = {"": document} if isinstance(document, list) else document
    if not isinstance(sections, dict) or not all(isinstance(entries, list) for entries in sections.values()):
        raise EmulatorError(f'{path}: expected a list of entries, or {{"section": [entries]}}')
    wanted = named_like(match)
    cases: list[ListedCase] = []
    verdicts: list[Verdict] = []
    names: dict[str, int] = {}
    for section, entries in sections.items():
        for entry in entries:
            where = ": ".join([str(path), *[section] * bool(section), shown(entry)])
            if not isinstance(entry, dict) or not isinstance(entry.get("rom"), str):
                raise EmulatorError(f'{where}: give {{"rom": "x.gb", ...}}')
            name = str(Path(entry["rom"]).with_suffix(""))
            names[name] = names.get(name, 0) + 1
            name += f"#{names[name]}" * (names[name] > 1)
            if not wanted.search(name):
                continue
            found = _case(name, entry, where, roms, pictures)
            (cases if isinstance(found, ListedCase) else verdicts).append(found)  # type: ignore[arg-type]
    if not cases and not verdicts:
        raise EmulatorError(f"{path}: no entry in it" + (f" matches {match}" * bool(match)))
    return cases, verdicts


def _case(name: str, entry: dict[str, Any], where: str, roms: Path, pictures: Path) -> ListedCase | Verdict:
    """Return the case of an entry, or a verdict if it cannot be run; raise EmulatorError for an unknown expectation."""
    kinds = [kind for kind in KINDS if kind in entry]
    if len(kinds) != 1 or not set(entry) <= KEYS:
        unknown = ", ".join(sorted(set(entry) - KEYS)) or "no single expectation"
        raise EmulatorError(f"{where}: {unknown}; an entry expects one of {', '.join(KINDS)}")
    if entry.get("enabled") is False or "rom2" in entry:
        return Verdict(name, SKIP, detail="needs two consoles" if "rom2" in entry else "switched off in the list")
    try:
        expected = _expected(entry)
    except (KeyError, TypeError, ValueError, EmulatorError) as error:
        raise EmulatorError(f"{where}: {type(error).__name__}: {error}") from None
    try:
        screens = ()
        if "framebuffer" in entry:
            screens = (read_shades(pictures / entry["framebuffer"], entry.get("palette", "")),)
        return ListedCase(name, Cartridge.from_file(roms / entry["rom"]), screens, **expected)
    except (EmulatorError, ValueError) as error:
        return Verdict(name, ERROR, detail=str(error))
    except OSError as error:
        return Verdict(name, ERROR, detail=f"{error.filename}: {error.strerror}")


def _expected(entry: dict[str, Any]) -> dict[str, Any]:
    """Return what an entry says as fields of `ListedCase`; raise KeyError, TypeError or ValueError for a wrong form."""
    place = {"address": 0xFFFF, "value": 0xFF, "fail_value": 0xFF}
    memory = []
    for item in entry.get("memory", []):
        values = {key: whole_number(key, item[key], 0, most) for key, most in place.items() if key in item}
        memory.append((values["address"], values["value"], values.get("fail_value")))
    presses = []
    for item in entry.get("inputs", []):
        mask = button_mask([item["key"]])
        pressed = {"pressed": True, "released": False}[item["state"]]
        if "trigger_at_tick" in item:
            tick = whole_number("trigger_at_tick", item["trigger_at_tick"], 0, 1 << 40)
            presses.append(Press(mask, pressed, tick // 4))
        else:
            presses.append(Press(mask, pressed, None, opcode_of(item["trigger_at_instruction"])))
    if "check_at_instruction" in entry and opcode_of(entry["check_at_instruction"]) != LD_B_B:
        raise ValueError(f"check_at_instruction {shown(entry['check_at_instruction'])}: only ld b,b can be one")
    if entry.get("palette", "") not in PALETTES:
        raise ValueError(f"palette {shown(entry['palette'])}: give grey, or none")
    at = entry.get("check_at_tick")
    return {
        "memory": tuple(memory),
        "serial": bytes(entry.get("serial", [])),
        "at_breakpoint": "check_at_instruction" in entry,
        "at": None if at is None else whole_number("check_at_tick", at, 1, 1 << 40) // 4,
        "inputs": tuple(presses),
        "end": whole_number("max_ticks", entry.get("max_ticks", MOST_TICKS), 1, 1 << 40) // 4,
    }


def opcode_of(text: str | int) -> int:
    """Return the opcode of a mnemonic such as `ld b,b`, or a number that is one; raise ValueError for others."""
    if isinstance(text, int):
        return whole_number("opcode", text, 0, 0xFF)
    names = [row.mnemonic.replace(" ", "") for row in INSTRUCTIONS[:256]]
    return names.index(text.replace(" ", "").lower())


def read_shades(path: Path, palette: str) -> np.ndarray:
    """Return an expected picture as shades, uint8[144, 160]; raise ValueError if it is none."""
    grey = read_grey(path)
    if grey.shape != (k.SCREEN_HEIGHT, k.SCREEN_WIDTH):
        height, width = grey.shape
        raise ValueError(f"{path}: {width}x{height} pixels, a screen has {k.SCREEN_WIDTH}x{k.SCREEN_HEIGHT}")
    levels = np.array(PALETTES[palette])
    return np.abs(grey[..., None].astype(int) - levels).argmin(axis=2).astype(np.uint8)


class Lane:
    """State of one running case: its time, the buttons held, and the verdict once there is one."""

    def __init__(self, case: ListedCase) -> None:
        self.case = case
        self.now = 0
        self.held = 0
        self.pending = list(case.inputs)
        self.verdict: Verdict | None = None
        self.fewest = k.SCREEN_HEIGHT * k.SCREEN_WIDTH

    def span(self, most: int) -> int:
        """Return the M-cycles until the next moment at which something must be done, at most `most`."""
        stops = [self.now + most, self.case.end]
        stops += [press.at for press in self.pending if press.at is not None]
        stops += [] if self.case.at is None else [self.case.at]
        return min(stop for stop in stops if stop > self.now) - self.now

    def press_due(self) -> None:
        """Apply the changes of buttons whose time has come."""
        for press in [press for press in self.pending if press.at is not None and press.at <= self.now]:
            self.apply(press)

    def apply(self, press: Press) -> None:
        """Hold or let go the buttons of `press`."""
        self.pending.remove(press)
        self.held = self.held | press.mask if press.pressed else self.held & ~press.mask

    def waiting_for_opcode(self) -> int | None:
        """Return the opcode that the next change of buttons waits for, or None."""
        return self.pending[0].opcode if self.pending and self.pending[0].at is None else None

    def judge(self, emulator: Emulator, env: int, screens: np.ndarray | None, stopped: bool) -> None:
        """Set the verdict if the case has shown by now what it must, or what it must not."""
        case = self.case
        over = self.now >= case.end
        if case.memory:
            seen = [(address, int(emulator.peek(env, address)[0])) for address, _, _ in case.memory]
            if seen == [(address, good) for address, good, _ in case.memory]:
                self.end(PASS, "memory")
            elif over or any((address, bad) in seen for address, _, bad in case.memory):
                self.end(FAIL, "memory", ", ".join(f"{address:04X}: {byte:02X}" for address, byte in seen))
        elif screens is not None:
            judged = (stopped or not case.at_breakpoint) and (case.at is None or self.now >= case.at)
            wrong = int((screens[env] != case.pictures[0]).sum()) if judged else self.fewest
            self.fewest = min(self.fewest, wrong)
            if not self.fewest:
                self.end(PASS, "picture")
            elif over or (judged and (stopped or case.at is not None)):
                detail = f"{self.fewest} pixels differ" + " at best" * (case.at is None and not case.at_breakpoint)
                self.end(FAIL, "picture", detail)
        else:
            sent = emulator.serial_output(env)
            if sent == case.serial:
                self.end(PASS, "serial")
            elif over:
                self.end(FAIL, "serial", f"sent {sent[:16].hex()}")

    def end(self, outcome: str, how: str, detail: str = "") -> None:
        """Set the verdict."""
        self.verdict = Verdict(self.case.name, outcome, how, detail, -(-self.now // k.M_CYCLES_PER_FRAME))


def run_list(
    path: Path, roms: Path, pictures: Path, device: str, match: str = "", progress: Callable[[str], None] | None = None
) -> list[Verdict]:
    """Run the entries of a list and return one verdict each, in the order of their names."""
    cases, verdicts = read_list(path, roms, pictures, match)
    tell = progress or (lambda text: None)
    done = 0
    for batch in _batches(cases):
        verdicts += run_lanes([Lane(case) for case in batch], device)
        done += len(batch)
        tell(f"{done} of {len(cases)} ROMs")
    return sorted(verdicts, key=lambda verdict: verdict.name)


def _batches(cases: Sequence[ListedCase]) -> Iterable[Sequence[ListedCase]]:
    """Split cases into batches of one kind: checked now and then, after every frame, instruction by instruction."""
    yield from batches([case for case in cases if not case.fine])  # type: ignore[misc]
    yield from batches([case for case in cases if case.fine and not case.steps])  # type: ignore[misc]
    yield from ([case] for case in cases if case.steps)


def run_lanes(lanes: Sequence[Lane], device: str) -> list[Verdict]:
    """Run cases of one kind side by side; return a verdict for each."""
    fine = lanes[0].case.fine
    traps = np.array([lane.case.traps for lane in lanes])
    emulator = machine_for([lane.case for lane in lanes], device, traps)
    while any(lane.verdict is None for lane in lanes):
        for lane in lanes:
            lane.press_due()
        held = np.array([lane.held for lane in lanes], np.uint8)
        if fine:
            spans = np.array([lane.span(k.M_CYCLES_PER_FRAME) for lane in lanes])
            run_cycles(emulator, spans, held)
        else:
            spans = np.full(len(lanes), COARSE_FRAMES * k.M_CYCLES_PER_FRAME)
            emulator.run(None, COARSE_FRAMES)
        stopped = emulator.stopped()
        screens = emulator.screens.numpy() if any(lane.case.pictures for lane in lanes) else None
        for env, lane in enumerate(lanes):
            if lane.verdict is not None:
                continue
            lane.now += int(spans[env])
            if stopped[env] and lane.waiting_for_opcode() == LD_B_B:
                lane.apply(lane.pending[0])
                pass_breakpoint(emulator, env)
                press_before_opcodes(emulator, env, lane)
                continue
            lane.judge(emulator, env, screens if lane.case.pictures else None, bool(stopped[env]))
            if lane.verdict is not None:
                emulator.freeze(env)
    return [lane.verdict or Verdict(lane.case.name, NONE) for lane in lanes]


def run_cycles(emulator: Emulator, spans: np.ndarray, held: np.ndarray) -> None:
    """Run console i for `spans[i]` M-cycles, 1 to those of a frame, and up to the next instruction boundary."""
    consoles, rows = emulator.batch.console.numpy(), emulator.batch.ram.numpy()
    for env in np.flatnonzero(spans < k.M_CYCLES_PER_FRAME):
        move_times(consoles[env : env + 1], rows[env], k.M_CYCLES_PER_FRAME - int(spans[env]))
    emulator.batch.console.assign(consoles)
    emulator.run(held, 1)


def pass_breakpoint(emulator: Emulator, env: int) -> None:
    """Let a console that has stopped at LD B,B go on behind it."""
    consoles = emulator.batch.console.numpy()
    consoles["stopped"][env] = 0
    consoles["pc"][env] += 1
    consoles["now"][env] += 1
    emulator.batch.console.assign(consoles)


def press_before_opcodes(emulator: Emulator, env: int, lane: Lane) -> None:
    """Change the buttons of a lone lane before the opcodes that it waits for, instruction by instruction."""
    for _ in range(MOST_STEPS):
        opcode = lane.waiting_for_opcode()
        if opcode is None or opcode == LD_B_B:
            return
        pc = emulator.registers(env)["pc"]
        if emulator.peek(env, pc)[0] == opcode:
            lane.apply(lane.pending[0])
        else:
            emulator.trace(1, [lane.held])
