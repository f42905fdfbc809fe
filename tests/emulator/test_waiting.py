"""Waiting loops that are passed over at once end where they would have ended turn by turn."""

from __future__ import annotations

import numpy as np
import pytest

from emulator import Cartridge, Emulator

pytestmark = pytest.mark.warp

REGISTERS = {"a": (0x3E, 0x3D), "b": (0x06, 0x05), "c": (0x0E, 0x0D)}  # LD r, n and DEC r


def dma_game(register: str, count: int, preloaded: bool, timer: int) -> Cartridge:
    """A program that starts one OAM DMA after the other and waits for it in HRAM, while the timer
    (reloaded with `timer`) requests interrupts and the screen is on.
    """
    load, decrement = REGISTERS[register]
    wait = bytes([decrement, 0x20, 0xFD, 0xC9])  # dec r; jr nz, -3; ret
    first = bytes([load, count])
    copy = bytes([0xE2]) if register == "b" else bytes([0xE0, 0x46])  # ldh (c), a
    routine = copy + (wait if preloaded else first + wait)
    start = bytes([0x0E, 0x90, 0x06, len(routine), 0x21, 0x00, 0x02])  # ld c; ld b; ld hl, 0200
    start += bytes([0x2A, 0xE2, 0x0C, 0x05, 0x20, 0xFA])  # ld a, (hl+); ldh (c), a; inc c; dec b
    start += bytes([0x3E, timer, 0xE0, 0x06, 0x3E, 0x05, 0xE0, 0x07])  # TMA, TAC
    start += bytes([0x3E, 0x04, 0xE0, 0xFF, 0xFB])  # IE; ei
    turn = bytes([0x0E, 0x46]) + (first if preloaded else b"")
    if not (preloaded and register == "a"):
        turn += bytes([0x3E, 0xC0])  # ld a, C0
    turn += bytes([0xF3, 0xCD, 0x90, 0xFF, 0xFB])  # di; call FF90; ei
    turn += bytes([0x21, 0x00, 0xC0, 0x34, 0x7E, 0x4F, 0x06, 0xC0, 0x02])  # C0xx counts itself
    turn += bytes([0xF0, 0x41, 0xEA, 0x00, 0xC1])  # STAT to C100
    image = bytearray(0x8000)
    image[0x50:0x5A] = bytes([0xF5, 0xF0, 0x04, 0xEA, 0x01, 0xC1, 0xF1, 0xD9, 0x00, 0x00])  # DIV
    image[0x14D] = 0xE7  # checksum of an empty header
    image[0x100:0x104] = bytes([0x00, 0xC3, 0x50, 0x01])
    code = start + turn + bytes([0x18, 256 - len(turn) - 2])
    image[0x150 : 0x150 + len(code)] = code
    image[0x200 : 0x200 + len(routine)] = routine
    return Cartridge.from_bytes(bytes(image), f"{register}{count}{preloaded}{timer}")


def test_waiting_for_a_dma_in_one_step_changes_nothing(device: str) -> None:
    games = [
        dma_game(register, count, preloaded, timer)
        for register in REGISTERS
        for count in (0x28, 0x29, 0x2A, 0x2B, 0x33, 0x00)
        for preloaded in (False, True)
        for timer in (0x00, 0xC3)
    ]
    fast = Emulator(games, len(games), device, idle_skip=True)
    slow = Emulator(games, len(games), device, idle_skip=False)
    for frames in (3, 1, 2):
        for emulator in (fast, slow):
            emulator.run(np.zeros(len(games), np.uint8), frames)
        assert fast.state_hash() == slow.state_hash()
        assert (fast.screens.numpy() == slow.screens.numpy()).all()
    assert (fast.work() > 0).all()
    assert (fast.work() < slow.work() / 2).sum() >= len(games) // 3
