"""Symbol files: names of addresses, as RGBDS (.sym) and SDCC (.map) write them."""

from __future__ import annotations

import difflib
import os
import re

_SYM_LINE = re.compile(r"([0-9A-Fa-f]+):([0-9A-Fa-f]+)\s+(\S+)\s*$")
_MAP_LINE = re.compile(r"\s*([0-9A-Fa-f]{8})\s+(\S+)\s+\S*\s*$")


class Symbols:
    """Bank and address by name, of a file and of those beside the ROM; `by_place` has the names of each address."""

    def __init__(self, path: str | os.PathLike[str] | None, rom: str | None) -> None:
        self.by_name: dict[str, tuple[int, int]] = {}
        self.by_place: dict[int, dict[int, list[str]]] = {}
        if path is not None and not os.path.isfile(path):
            raise FileNotFoundError(f"{path}: no such symbol file")
        stems = [os.path.splitext(rom)[0], rom] if rom else []
        for found in [path, *(stem + end for end in (".sym", ".map") for stem in stems)]:
            if found is not None and os.path.isfile(found):
                self._read(os.fspath(found))

    def _read(self, path: str) -> None:
        group = "[labels]"
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                group = line.strip() if line.startswith("[") else group
                if path.endswith(".map"):
                    match = _MAP_LINE.match(line)
                    found = (0, int(match[1], 16), match[2]) if match and match[2] not in self.by_name else None
                else:
                    match = _SYM_LINE.match(line.strip()) if group == "[labels]" else None
                    found = (int(match[1], 16), int(match[2], 16), match[3]) if match else None
                if found:
                    bank, address, name = found
                    self.by_name[name] = (bank, address)
                    self.by_place.setdefault(bank, {}).setdefault(address, []).append(name)

    def lookup(self, name: str) -> tuple[int, int]:
        """Return bank and address of a symbol. Raises ValueError with the nearest names for an unknown one."""
        if name in self.by_name:
            return self.by_name[name]
        near = ", ".join(difflib.get_close_matches(str(name), self.by_name, 3))
        hint = (
            f"did you mean {near}" if near else "give symbols=FILE.sym" if not self.by_name else "see the symbol file"
        )
        raise ValueError(f"Symbol not found: {name}; {hint}")
