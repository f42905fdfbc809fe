"""Arithmetic of both executors against a plain model of the manual's words."""

from __future__ import annotations

import numpy as np
import pytest
from flat_bus import FlatBus
from hypothesis import given, settings
from hypothesis import strategies as st

Z, N, H, C = 0x80, 0x40, 0x20, 0x10
CASES = 64
byte = st.integers(0, 255)
flags = st.sampled_from([z | n | h | c for z in (0, Z) for n in (0, N) for h in (0, H) for c in (0, C)])

pytestmark = pytest.mark.warp


@pytest.fixture(scope="module", params=["native", "uniform"])
def bus(request: pytest.FixtureRequest) -> FlatBus:
    return FlatBus(CASES, "cpu", request.param)


def model_alu(operation: int, a: int, f: int, operand: int) -> tuple[int, int]:
    """Return A and F after add adc sub sbc and xor or cp (operation 0-7)."""
    carry = (f & C) // C if operation in (1, 3) else 0
    if operation in (0, 1):
        total = a + operand + carry
        half = (a & 15) + (operand & 15) + carry > 15
        return total & 255, zero(total & 255) | H * half | C * (total > 255)
    if operation in (2, 3, 7):
        total = a - operand - carry
        half = (a & 15) - (operand & 15) - carry < 0
        result = a if operation == 7 else total & 255
        return result, zero(total & 255) | N | H * half | C * (total < 0)
    result = (a & operand, a ^ operand, a | operand)[operation - 4]
    return result, zero(result) | H * (operation == 4)


def model_rotate(operation: int, value: int, f: int) -> tuple[int, int]:
    """Return result and F after rlc rrc rl rr sla sra swap srl (operation 0-7)."""
    carry = (f & C) // C
    bits = f"{value:08b}"
    moved, out = (
        (bits[1:] + bits[0], bits[0]),
        (bits[7] + bits[:7], bits[7]),
        (bits[1:] + str(carry), bits[0]),
        (str(carry) + bits[:7], bits[7]),
        (bits[1:] + "0", bits[0]),
        (bits[0] + bits[:7], bits[7]),
        (bits[4:] + bits[:4], "0"),
        ("0" + bits[:7], bits[7]),
    )[operation]
    return int(moved, 2), zero(int(moved, 2)) | C * int(out)


def zero(value: int) -> int:
    return Z * (value == 0)


def run(bus: FlatBus, code: list[list[int]], before: list[list[int]]) -> list[list[int]]:
    """Run code[i] once with A, F, B, C, D, E, H, L = before[i]; return the same after."""
    bus.clear()
    envs = np.arange(len(code))
    for offset, values in enumerate(np.array(code).T):
        bus.poke(envs, np.full_like(envs, 0x1000 + offset), values)
    bus.set_registers(np.array([[0x1000, 0xD000, *values, 0] for values in before]))
    bus.step()
    return bus.registers()[:, 2:10].tolist()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), byte, flags, byte), min_size=CASES, max_size=CASES))
def test_alu_operations_follow_the_model(bus: FlatBus, cases: list) -> None:
    code = [[0xC6 | operation << 3, operand] for operation, _, _, operand in cases]
    after = run(bus, code, [[a, f, 0, 0, 0, 0, 0, 0] for _, a, f, _ in cases])
    assert [(r[0], r[1]) for r in after] == [model_alu(*case) for case in cases]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), byte, flags), min_size=CASES, max_size=CASES))
def test_rotates_and_shifts_follow_the_model(bus: FlatBus, cases: list) -> None:
    code = [[0xCB, operation << 3] for operation, _, _ in cases]  # operand B
    after = run(bus, code, [[0, f, value, 0, 0, 0, 0, 0] for _, value, f in cases])
    assert [(r[2], r[1]) for r in after] == [model_rotate(*case) for case in cases]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(byte, byte), min_size=CASES, max_size=CASES))
def test_daa_repairs_decimal_addition(bus: FlatBus, cases: list) -> None:
    decimals = [(a % 100, b % 100) for a, b in cases]
    bcd = [(int(str(a), 16), int(str(b), 16)) for a, b in decimals]
    sums = [model_alu(0, a, 0, b) for a, b in bcd]
    after = run(bus, [[0x27]] * CASES, [[a, f, 0, 0, 0, 0, 0, 0] for a, f in sums])
    expected = [(int(str((a + b) % 100), 16), a + b > 99) for a, b in decimals]
    assert [(r[0], bool(r[1] & C)) for r in after] == expected


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF), flags), min_size=CASES, max_size=CASES))
def test_add_hl_carries_from_bits_11_and_15(bus: FlatBus, cases: list) -> None:
    before = [[0, f, bc >> 8, bc & 255, 0, 0, hl >> 8, hl & 255] for hl, bc, f in cases]
    after = run(bus, [[0x09]] * CASES, before)
    for (hl, bc, f), r in zip(cases, after, strict=True):
        half, carry = (hl & 0xFFF) + (bc & 0xFFF) > 0xFFF, hl + bc > 0xFFFF
        assert (r[6] << 8 | r[7], r[1]) == ((hl + bc) & 0xFFFF, f & Z | H * half | C * carry)
