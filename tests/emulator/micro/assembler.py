"""A two-pass SM83 assembler over the datasheet of emulator/rom/isa.py, for the micro-ROMs.

    label:                     a label; `.name` labels are local to the last plain one
    name = expression          a constant
    ld a, (name + 1)           any mnemonic of the datasheet; operands may be expressions
    db 1, $ff, "text"   dw name   ds count, value   org $150
    ; expect b=03 hl=1234      what the registers must be when the ROM executes ld b, b
    ; lines scy=10-19:1a2b3c4d         the CRC-32 of these lines of the picture then, shades 0 to 3, a byte a pixel
    ; cartridge type=03 rom=01 ram=02    header bytes 147, 148, 149

Every ROM gets a valid header and a jump at 0100 to `main`.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from emulator.rom.isa import INSTRUCTIONS, Instruction

LOGO = bytes.fromhex("ceed6666cc0d000b03730083000c000d0008111f8889000edccc6ee6ddddd999bbbb67636e0eecccdddc999fbbb9333e")


@dataclasses.dataclass(frozen=True)
class MicroRom:
    name: str
    image: bytes
    expect: dict[str, int]
    """Register or pair name to its value at ld b, b; `locked` = 1 where that is never reached."""
    lines: dict[str, tuple[int, int, int]]
    """First line, last line and CRC-32 of a part of the picture, by a name."""


class AssemblyError(ValueError):
    """Names the file, the line and what is wrong with it."""


def _pattern(row: Instruction) -> tuple[re.Pattern[str], Instruction]:
    text = re.escape(row.mnemonic).replace(r"\ ", " ")
    text = re.sub(r"n16|n8|e8", "([^,]+)", text)
    return re.compile(text.replace("stop ([^,]+)", "stop")), row


_EXACT = {row.mnemonic: row for row in reversed(INSTRUCTIONS) if row.operation != "lock"}
# Longest first: ld a, (n16) before ld a, n8.
_PATTERNS = sorted(
    (_pattern(row) for row in INSTRUCTIONS if re.search(r"n16|n8|e8", row.mnemonic)),
    key=lambda entry: -len(entry[0].pattern),
)


def assemble(path: Path) -> MicroRom:
    """Assemble one file. Raises AssemblyError."""
    lines = path.read_text(encoding="utf-8").splitlines()
    expect, shown, header = {}, {}, {"type": 0, "rom": 0, "ram": 0}
    for line in lines:
        for target, word in ((expect, "expect"), (header, "cartridge")):
            if match := re.match(rf";\s*{word}\s+(.*)", line):
                target |= {k: int(v, 16) for k, v in re.findall(r"(\w+)=([0-9a-f]+)", match[1])}
        if line.startswith("; lines "):
            parts = re.findall(r"(\w+)=(\d+)-(\d+):(\w+)", line)
            shown |= {name: (int(first), int(last), int(crc, 16)) for name, first, last, crc in parts}
    size = 0x8000 << header["rom"]
    symbols: dict[str, int] = {}
    for final in (False, True):
        image, place, scope = bytearray(size), 0x150, ""
        for number, raw in enumerate(lines, 1):
            text = re.sub(r"""("[^"]*"|'.')|;.*""", lambda m: m[1] or "", raw).strip()
            try:
                if match := re.match(r"(\.?\w+):\s*(.*)", text):
                    scope = scope if match[1][0] == "." else match[1]
                    symbols[scope + match[1] if match[1][0] == "." else match[1]] = place
                    text = match[2]
                if match := re.match(r"(\w+)\s*=\s*(.+)", text):
                    symbols[match[1]] = _value(match[2], symbols, scope, final)
                elif text.startswith("org "):
                    place = _value(text[4:], symbols, scope, True)
                elif text:
                    code = _encode(text, place, symbols, scope, final)
                    image[place : place + len(code)] = code
                    place += len(code)
            except (ValueError, KeyError, SyntaxError, NameError, TypeError) as error:
                raise AssemblyError(f"{path}:{number}: {raw.strip()!r}: {error}") from None
    if "main" not in symbols:
        raise AssemblyError(f"{path}: no label `main`")
    return MicroRom(path.stem, _with_header(image, header, symbols["main"]), expect, shown)


def _with_header(image: bytearray, header: dict[str, int], main: int) -> bytes:
    image[0x100:0x104] = bytes((0x00, 0xC3, main & 255, main >> 8))
    image[0x104:0x134] = LOGO
    image[0x134:0x139] = b"MICRO"
    image[0x147:0x14A] = bytes((header["type"], header["rom"], header["ram"]))
    image[0x14D] = -sum(byte + 1 for byte in image[0x134:0x14D]) & 255
    total = sum(image[:0x14E]) + sum(image[0x150:])
    image[0x14E:0x150] = (total & 0xFFFF).to_bytes(2, "big")
    return bytes(image)


def _value(text: str, symbols: dict[str, int], scope: str, final: bool) -> int:
    text = re.sub(r"'(.)'", lambda m: str(ord(m[1])), text.strip())
    text = re.sub(r"\$([0-9a-fA-F]+)", r"0x\1", text)
    text = re.sub(r"(?<![\w)])%([01]+)", r"0b\1", text)
    text = re.sub(r"(?<![\w])\.(\w+)", lambda m: f"{scope}__{m[1]}", text)
    names = {key.replace(".", "__"): value for key, value in symbols.items()}
    try:
        return int(eval(text, {"__builtins__": {}}, names))
    except NameError:
        if final:
            raise
        return 0x150  # a label further down: any value of the right size does in pass one


def _encode(text: str, place: int, symbols: dict[str, int], scope: str, final: bool) -> bytes:
    word, _, rest = text.partition(" ")
    if word == "db":
        parts = re.findall(r'"[^"]*"|[^,]+', rest)
        return b"".join(
            part.strip()[1:-1].encode("ascii")
            if part.strip().startswith('"')
            else bytes((_value(part, symbols, scope, final) & 255,))
            for part in parts
        )
    if word == "dw":
        values = (_value(part, symbols, scope, final) & 0xFFFF for part in rest.split(","))
        return b"".join(value.to_bytes(2, "little") for value in values)
    if word == "ds":
        count, _, fill = rest.partition(",")
        return bytes((_value(fill or "0", symbols, scope, True) & 255,)) * _value(count, symbols, scope, True)
    row, operand = _find(re.sub(r"\s+", " ", text))
    prefix = b"\xcb" if row.opcode >= 256 else b""
    code = prefix + bytes((row.opcode & 255,))
    width = row.length - len(code)
    if not width:
        return code
    value = _value(operand, symbols, scope, final) if operand else 0
    if "e8" in row.mnemonic and row.mnemonic.startswith("jr"):
        value -= place + row.length
        if final and not -128 <= value <= 127:
            raise ValueError(f"jump of {value} bytes is out of reach")
    return code + (value & (256**width - 1)).to_bytes(width, "little")


def _find(text: str) -> tuple[Instruction, str]:
    text = re.sub(r"^(sub|and|xor|or|cp) ([^,]+)$", r"\1 a, \2", text)  # A goes without saying
    if text in _EXACT:
        return _EXACT[text], ""
    for pattern, row in _PATTERNS:
        if match := pattern.fullmatch(text):
            return row, match[1] if match.groups() else ""
    raise ValueError("no such instruction")
