"""Text of instructions, from the table in isa.py."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from emulator.rom.isa import INSTRUCTIONS


def instruction_text(code: bytes, address: int = 0) -> tuple[str, int]:
    """Return the text of the instruction at the start of `code` and its length; `code` holds at least 3 bytes."""
    row = INSTRUCTIONS[256 + code[1] if code[0] == 0xCB else code[0]]
    text = row.mnemonic
    if "n16" in text:
        text = text.replace("n16", f"${code[1] | code[2] << 8:04x}")
    elif "e8" in text:
        offset = code[1] - 256 if code[1] > 127 else code[1]
        target = (address + row.length + offset) & 0xFFFF
        text = text.replace("sp+e8", f"sp{offset:+d}")
        text = text.replace("e8", f"{offset:+d}" if text.startswith("add") else f"${target:04x}")
    elif "ldh" in text:
        text = text.replace("n8", f"$ff{code[1]:02x}")
    elif row.opcode < 256:
        text = text.replace("n8", f"${code[1]:02x}")
    return text, row.length


def disassemble(rom: np.ndarray, start: int, count: int, bank: int = 1) -> Iterator[str]:
    """Yield lines `bank:address  bytes  text`, at most `count`, from CPU address `start` (below 8000)."""
    address = start
    for _ in range(count):
        if address > 0x7FFF:
            return
        number = bank if address >= 0x4000 else 0
        offset = (number * 0x4000 + (address & 0x3FFF)) % len(rom)
        code = bytes(rom[offset : offset + 3]).ljust(3, b"\0")
        text, length = instruction_text(code, address)
        yield f"{number:02x}:{address:04x}  {code[:length].hex(' '):8}  {text}"
        address += length
