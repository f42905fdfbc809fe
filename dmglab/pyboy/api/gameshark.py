"""`PyBoy.gameshark`: codes that write a byte at the beginning of every tick."""

from __future__ import annotations

from dmglab.pyboy.memory import PyBoyMemoryView
from dmglab.pyboy.utils import PyBoyInvalidInputException


class GameShark:
    """Codes such as `010138CD`: type 01, value 01, address CD38."""

    def __init__(self, memory: PyBoyMemoryView) -> None:
        self._memory = memory
        self.cheats: dict[str, tuple[int, int, int]] = {}
        """Codes with their address, value, and the byte that was there before."""

    @property
    def enabled(self) -> bool:
        """True while there are codes."""
        return bool(self.cheats)

    def add(self, code: str) -> None:
        """Apply a code from the next tick on. Raises ValueError unless it is one for RAM."""
        try:
            kind, value, low, high = bytes.fromhex(code)
        except ValueError:
            raise ValueError(f"{code!r}: give a code of 8 hexadecimal digits, such as 010138CD") from None
        address = high << 8 | low
        if kind != 1 or address < 0x8000:
            raise ValueError(f"{code!r}: only codes of type 01 for RAM, 8000 and above, are applied")
        if code in self.cheats:
            raise PyBoyInvalidInputException(f"{code}: applied already")
        self.cheats[code] = (address, value, self._memory[address])

    def remove(self, code: str, restore_value: bool = True) -> None:
        """Apply a code no more, and write back the old byte. Raises ValueError unless it is applied."""
        if code not in self.cheats:
            raise ValueError(f"{code}: not applied; there are {', '.join(self.cheats) or 'no codes'}")
        address, _, old = self.cheats.pop(code)
        if restore_value:
            self._memory[address] = old

    def clear_all(self, restore_value: bool = True) -> None:
        """Remove every code."""
        for code in list(self.cheats):
            self.remove(code, restore_value)

    def tick(self) -> None:
        """Write the bytes of all codes."""
        for address, value, _ in self.cheats.values():
            self._memory[address] = value
