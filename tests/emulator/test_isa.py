"""The datasheet: complete, and what the disassembler and the predecoder make of it."""

from __future__ import annotations

import numpy as np
import pytest

from emulator.rom.control_rows import ROWS, SLOW_FETCH, control_words, predecode
from emulator.rom.disassembler import disassemble, instruction_text
from emulator.rom.isa import INSTRUCTIONS, UNDEFINED


def test_every_opcode_has_a_row() -> None:
    assert [row.opcode for row in INSTRUCTIONS] == list(range(512))
    locks = [row.opcode for row in INSTRUCTIONS if row.operation == "lock"]
    assert locks == sorted([*UNDEFINED, 0xCB])


# M-cycles, branches not taken, from blargg instr_timing; 0 where there is no instruction.
M_CYCLES = (
    "1322112152221121" "1322112132221121" "2322112122221121" "2322333122221121"
    "1111112111111121" "1111112111111121" "1111112111111121" "2222221211111121"
    "1111112111111121" "1111112111111121" "1111112111111121" "1111112111111121"
    "2334342424303624" "2330342424303024" "3320042441400024" "3321042432410024"
)  # fmt: skip


def test_m_cycles_are_those_of_the_timing_table() -> None:
    seen = "".join("0" if row.operation == "lock" else str(row.m_cycles) for row in INSTRUCTIONS)
    assert seen[:256] == M_CYCLES
    memory = ["3" if opcode >> 6 == 1 else "4" for opcode in range(256)]
    assert seen[256:] == "".join(memory[opcode] if opcode & 7 == 6 else "2" for opcode in range(256))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("00", "nop"),
        ("3e12", "ld a, $12"),
        ("c3c232", "jp $32c2"),
        ("20fe", "jr nz, $0100"),
        ("f044", "ldh a, ($ff44)"),
        ("f8fe", "ld hl, sp-2"),
        ("e802", "add sp, +2"),
        ("cb7e", "bit 7, (hl)"),
        ("ff", "rst $38"),
        ("d3", "db $d3"),
    ],
)
def test_instruction_text(code: str, text: str) -> None:
    data = bytes.fromhex(code)
    assert instruction_text(data.ljust(3, b"\0"), 0x100) == (text, len(data))


def test_disassembly_follows_lengths_and_banks() -> None:
    rom = np.zeros(0x10000, np.uint8)
    rom[0xC000:0xC003] = [0xCD, 0x34, 0x12]
    lines = list(disassemble(rom, 0x4000, 2, bank=3))
    assert lines == ["03:4000  cd 34 12  call $1234", "03:4003  00        nop"]


def test_words_across_a_bank_end_are_fetched_slowly() -> None:
    rom = np.zeros(0x8000, np.uint8)
    rom[0x3FFE:0x4001] = [0xC3, 0x34, 0x12]
    rom[0x100:0x103] = [0xC3, 0x34, 0x12]
    words = predecode(rom)
    assert words[0x3FFE] & SLOW_FETCH
    assert words[0x100] == 0x123400C3


def test_the_trap_changes_opcode_40_only() -> None:
    plain, armed = (control_words(trap).reshape(ROWS, -1)[:512] for trap in (False, True))
    assert np.nonzero((plain != armed).any(1))[0].tolist() == [0x40]
