"""Symbol files: names of addresses, as RGBDS (.sym) and SDCC (.map) write them."""

from __future__ import annotations

import bisect
import difflib
import os
import re

from emulator.rom.cartridge import Cartridge, EmulatorError

_SYM_LINE = re.compile(r"([0-9A-Fa-f]+):([0-9A-Fa-f]+)\s+(\S+)\s*$")
_MAP_LINE = re.compile(r"\s*([0-9A-Fa-f]{8})\s+(\S+)\s+\S*\s*$")
_PLACE = re.compile(r"([0-9A-Fa-f]{1,3}):([0-9A-Fa-f]{4})$")
_ROM_END = 0x8000
_BANK = 0x4000


class SymbolError(EmulatorError, ValueError):
    """Error of a name that a symbol file lacks, or of a file of another ROM, as one line."""


class SymbolFileError(EmulatorError, FileNotFoundError):
    """Error of a symbol file that is not there."""


class Symbols:
    """Bank and address by name: of the file at `path`, and of those beside `rom`.

    `by_name`: (bank, address) by name. `by_place`: the names of each address by bank. Raises SymbolFileError if there
    is no file at `path`.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, rom: str | None = None) -> None:
        self.by_name: dict[str, tuple[int, int]] = {}
        self.by_place: dict[int, dict[int, list[str]]] = {}
        self.name = "" if path is None else os.path.basename(os.fspath(path))
        if path is not None and not os.path.isfile(path):
            raise SymbolFileError(f"{path}: no such symbol file")
        stems = [os.path.splitext(rom)[0], rom] if rom else []
        for found in [path, *(stem + end for end in (".sym", ".map") for stem in stems)]:
            if found is not None and os.path.isfile(found):
                self._read(os.fspath(found))

    def __repr__(self) -> str:
        return f"<Symbols: {len(self.by_name)} of {self.name or 'no file'}>"

    def _read(self, path: str) -> None:
        group = "[labels]"
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                group = line.strip() if line.startswith("[") else group
                if path.endswith(".map"):
                    match = _MAP_LINE.match(line)
                    is_new = match is not None and match[2] not in self.by_name
                    found = (*divmod(int(match[1], 16), 1 << 16), match[2]) if match and is_new else None
                else:
                    match = _SYM_LINE.match(line.partition(";")[0].strip()) if group == "[labels]" else None
                    found = (int(match[1], 16), int(match[2], 16), match[3]) if match else None
                if found:
                    bank, address, name = found
                    self.by_name[name] = (bank, address)
                    self.by_place.setdefault(bank, {}).setdefault(address, []).append(name)

    def lookup(self, name: str) -> tuple[int, int]:
        """Return bank and address of a name, or of `BANK:ADDRESS` in hexadecimal digits.

        Raises SymbolError with the nearest names for an unknown one.
        """
        if name in self.by_name:
            return self.by_name[name]
        if place := _PLACE.match(name):
            return int(place[1], 16), int(place[2], 16)
        near = ", ".join(difflib.get_close_matches(str(name), self.by_name, 3))
        hint = (
            f"did you mean {near}" if near else "give symbols=FILE.sym" if not self.by_name else "see the symbol file"
        )
        raise SymbolError(f"Symbol not found: {name}; {hint}")

    def size(self, name: str) -> int:
        """Return the number of bytes from a symbol to the next one of its bank; 1 for the last."""
        bank, address = self.lookup(name)
        places = sorted(self.by_place.get(bank, ()))
        after = bisect.bisect_right(places, address)
        return places[after] - address if after < len(places) else 1

    def check(self, cartridge: Cartridge) -> None:
        """Raise SymbolError if a name lies in a ROM bank that the cartridge does not have."""
        for bank, names in self.by_place.items():
            for address, found in names.items():
                if _BANK <= address < _ROM_END and bank >= cartridge.rom_banks:
                    raise SymbolError(
                        f"{self.name}: {found[0]} lies in ROM bank {bank:02X}, {cartridge.name} ends with bank "
                        f"{cartridge.rom_banks - 1:02X}; give the symbol file of this ROM"
                    )
