"""Programs that poll STAT and copy bytes to VRAM, at every phase of a line. Their requests are
answered by a short way (sm83/service_quick.py), to which nothing may be seen to differ.

A single step never takes the short way. What else bears on it is idle skipping, and how a run is
cut into launches: with a picture pending a store is noted, without one it finds VRAM open.
"""

from __future__ import annotations

import numpy as np
import pytest

from emulator import Cartridge, Emulator
from emulator.frame_launcher import Executor

pytestmark = pytest.mark.warp

BY_MASK = bytes([0xF0, 0x41, 0xE6, 0x02, 0x20, 0xFA])  # ldh a, (41); and 2; jr nz, -6
BY_BIT = bytes([0x21, 0x41, 0xFF, 0xCB, 0x4E, 0x20, 0xFC])  # ld hl, FF41; bit 1, (hl); jr nz, -4
SCENES = (  # LCDC, SCX, WX
    (0x91, 0, 200),
    (0x91, 5, 200),  # scrolled
    (0x93, 3, 200),  # with objects
    (0xB1, 0, 47),  # with the window
    (0xB7, 2, 3),  # with both, at an odd place
)
PHASES = range(0, 114, 8)  # M-cycles between a poll and its store; each scene adds one
ENOUGH = 4  # bytes stored by a program that ends
STEPS = 1000


def cartridge(code: bytes, name: str) -> Cartridge:
    """A ROM that runs `code`."""
    image = bytearray(0x8000)
    image[0x14D] = 0xE7  # checksum of an empty header
    image[0x100:0x104] = bytes([0x00, 0xC3, 0x50, 0x01])
    image[0x150 : 0x150 + len(code)] = code
    return Cartridge.from_bytes(bytes(image), name)


def set_up(lcdc: int, scx: int, wx: int) -> bytes:
    """Switch the LCD off, place ten objects on the first lines, switch it on."""
    code = bytes([0xAF, 0xE0, 0x40, 0x21, 0x00, 0xFE, 0x06, 0x0A, 0x0E, 0x08])  # HL, B, C
    body = bytes([0x3E, 0x14, 0x22, 0x79, 0x22, 0xC6, 0x11, 0x4F])  # Y = 20; X = C; C += 17
    body += bytes([0xAF, 0x22, 0x22, 0x05])
    code += body + bytes([0x20, 256 - len(body) - 2])
    for register, value in ((0x43, scx), (0x4A, 2), (0x4B, wx), (0x40, lcdc)):
        code += bytes([0x3E, value, 0xE0, register])
    return code


def copying_game(poll: bytes, scene: tuple[int, int, int], phase: int, ends: bool) -> Cartridge:
    """Poll STAT, wait `phase` M-cycles, store a byte to VRAM, note STAT in C2xx, and so on from
    line 2 of the second frame on. C101 says that a program which `ends` is done.
    """
    code = set_up(*scene)
    for line in (140, 2):
        code += bytes([0xF0, 0x44, 0xFE, line, 0x20, 0xFA])
    code += bytes([0x01, 0x00, 0x90, 0x11, 0x00, 0xC2])  # BC: where to store; DE: where to note
    turn = 0x150 + len(code)
    code += poll + bytes(phase)
    code += bytes([0x7B, 0x02, 0x03, 0xCB, 0xA8])  # ld a, e; ld (bc), a; inc bc; res 5, b
    code += bytes([0xF0, 0x41, 0x12, 0x1C])  # ldh a, (41); ld (de), a; inc e
    if ends:
        code += bytes([0x7B, 0xFE, ENOUGH, 0xC2, turn & 0xFF, turn >> 8])  # ... jp nz
        code += bytes([0xEA, 0x01, 0xC1, 0x18, 0xFE])
    else:
        code += bytes([0xC3, turn & 0xFF, turn >> 8])
    return cartridge(code, f"{scene} {phase}")


def hiding_game(delay: int, between: int, later: int) -> Cartridge:
    """Wait for HBlank around the start of line 6, hide an object `between` M-cycles later, before
    mode 3, and note in C2xx what STAT reads from `later` on."""
    code = set_up(*SCENES[2])
    for line in (140, 5):
        code += bytes([0xF0, 0x44, 0xFE, line, 0x20, 0xFA])
    code += bytes(delay) + bytes([0x06, 0x00, 0x21, 0x08, 0xFE])  # ld b, 0; ld hl, FE08
    code += BY_MASK + bytes(between) + bytes([0x70]) + bytes(later)  # ld (hl), b
    code += bytes([0x21, 0x00, 0xC2]) + bytes([0xF0, 0x41, 0x22]) * 30
    return cartridge(code + bytes([0x18, 0xFE]), f"{delay} {between} {later}")


def copying_games(ends: bool) -> list[Cartridge]:
    """Every way to poll, scene and phase."""
    return [
        copying_game(poll, scene, phase + number, ends)
        for poll in (BY_MASK, BY_BIT)
        for number, scene in enumerate(SCENES)
        for phase in PHASES
    ]


@pytest.mark.parametrize("executor", ["uniform", "native"])
def test_nothing_depends_on_launches_or_on_idle_skipping(executor: Executor) -> None:
    games = copying_games(ends=False)
    whole, parts, slow = (
        Emulator(games, len(games), executor=executor, idle_skip=skip) for skip in (True, True, False)
    )
    for frames in (1, 2):
        whole.run(None, frames)
        slow.run(None, frames)
        for _ in range(frames):
            parts.run(None, 1)
        for emulator in (parts, slow):
            assert emulator.state_hash() == whole.state_hash()
            assert np.array_equal(emulator.screens.numpy(), whole.screens.numpy())


@pytest.mark.parametrize("draws", [False, True])
@pytest.mark.parametrize("executor", ["uniform", "native"])
def test_single_steps_come_to_the_same_bytes(executor: Executor, draws: bool) -> None:
    games = copying_games(ends=True)
    launched, stepped = (Emulator(games, len(games), executor=executor) for _ in range(2))
    for emulator in (launched, stepped):
        emulator.run(None, 1)
        if draws:
            emulator.draw()  # then no picture is pending, and stores need no note
    launched.run(None, 2)
    for _ in range(STEPS):
        stepped.step()
    rows, others = (emulator.batch.ram.numpy() for emulator in (launched, stepped))
    assert (others[:, 0x4101] == ENOUGH).all(), "C101: every program is done"
    assert np.array_equal(rows[:, 0x0000:0x4300], others[:, 0x0000:0x4300])  # VRAM, ..., C2xx
    notes = others[:, 0x4200 : 0x4200 + ENOUGH] & 3
    assert set(np.unique(notes)) == {0, 2, 3}
    stored = others[:, 0x1000 : 0x1000 + ENOUGH] == np.arange(ENOUGH)
    assert stored[:, 1:].any(), "some stores find VRAM open"
    assert not stored[:, 1:].all(), "some do not"


@pytest.mark.parametrize("executor", ["uniform", "native"])
def test_objects_that_change_before_mode_3_count(executor: Executor) -> None:
    games = [
        hiding_game(delay, between, later) for delay in range(90, 112) for between in (13, 14, 15) for later in range(5)
    ]
    skipping, turning = (Emulator(games, len(games), executor=executor, idle_skip=skip) for skip in (True, False))
    for emulator in (skipping, turning):
        emulator.run(None, 2)  # what is written and read is over on line 7 of the second
    assert skipping.state_hash() == turning.state_hash()
    notes = turning.batch.ram.numpy()[:, 0x4200:0x421E] & 3
    assert len(np.unique(notes, axis=0)) > 5


IN_ECHO = bytes([0x34, 0xE5, 0xC1, 0x71, 0x46, 0xC9])  # inc (hl); push hl; pop bc; ld (hl), c; ld b, (hl); ret
ECHO_GAME = (
    bytes([0xF3, 0x31, 0xF0, 0xFD, 0x21, 0x00, 0xC1])  # di; ld sp, FDF0; ld hl, C100
    + b"".join(bytes([0x36, byte, 0x23]) for byte in IN_ECHO)
    + bytes([0x21, 0x40, 0xE2, 0xCD, 0x00, 0xE1])  # turn: ld hl, E240; call E100
    + bytes([0x3E, 0x10, 0xE0, 0x00, 0xF0, 0x00, 0x4F, 0xF0, 0x00])  # select buttons; ldh a, (P1); ld c, a; again
    + bytes([0x3E, 0x20, 0xE0, 0x00, 0xF0, 0x00, 0xA1, 0xEA, 0x00, 0xE2])  # directions; and c; ld (E200), a
    + bytes([0x21, 0x00, 0xC3, 0x34, 0x18, 0xDF])  # ld hl, C300; inc (hl); jr turn
)


def test_echo_ram_and_buttons_are_read_without_a_request() -> None:
    emulator = Emulator(cartridge(ECHO_GAME, "echo"), 2, executor="uniform")
    requests = emulator.count_places()
    emulator.run([None, "a+right"], 2)
    assert emulator.work().min() > 4000
    assert requests.numpy()[0, -1] < 20
    free, held = (emulator.peek(env, 0xC000, 0x400) for env in range(2))
    assert free[0x240] == 0x40, "E240: what was pushed there and popped"
    assert free[0x300] == held[0x300] > 0
    assert free[0x200] & 0x0F == 0x0F
    assert held[0x200] & 0x0F != 0x0F
