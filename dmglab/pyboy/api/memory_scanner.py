"""`PyBoy.memory_scanner`: a search for the address of a value that the player sees."""

from __future__ import annotations

import operator
from enum import Enum
from typing import Any

from dmglab.pyboy.utils import bcd_to_dec


class StandardComparisonType(Enum):
    """Comparison of a value in memory with the wanted one."""

    EXACT = 1
    LESS_THAN = 2
    GREATER_THAN = 3
    LESS_THAN_OR_EQUAL = 4
    GREATER_THAN_OR_EQUAL = 5


class DynamicComparisonType(Enum):
    """Comparison of a value in memory with its last one."""

    UNCHANGED = 1
    CHANGED = 2
    INCREASED = 3
    DECREASED = 4
    MATCH = 5


class ScanMode(Enum):
    """Way a value is stored."""

    INT = 1
    BCD = 2


_STANDARD = dict(
    zip(StandardComparisonType, (operator.eq, operator.lt, operator.gt, operator.le, operator.ge), strict=True)
)
_DYNAMIC = dict(
    zip(DynamicComparisonType, (operator.eq, operator.ne, operator.gt, operator.lt, operator.eq), strict=True)
)


class MemoryScanner:
    """Addresses whose value has behaved as wanted in every scan so far."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self._found: dict[int, int] = {}
        self._width = 1

    def scan_memory(
        self,
        target_value: int | None = None,
        start_addr: int = 0x0000,
        end_addr: int = 0xFFFF,
        standard_comparison_type: StandardComparisonType = StandardComparisonType.EXACT,
        value_type: ScanMode = ScanMode.INT,
        byte_width: int = 1,
        byteorder: Any = "little",
    ) -> list[int]:
        """Return the addresses from `start_addr` to `end_addr` whose value compares so with `target_value`."""
        self._width = byte_width
        compare = _STANDARD[standard_comparison_type]
        self._found = {}
        data = bytes(self._memory[start_addr : end_addr + 1])
        for place in range(len(data) - byte_width + 1):
            value = int.from_bytes(data[place : place + byte_width], byteorder)
            if value_type is ScanMode.BCD:
                value = bcd_to_dec(value, byte_width, byteorder)
            if target_value is None or compare(value, target_value):
                self._found[start_addr + place] = value
        return list(self._found)

    def rescan_memory(
        self,
        new_value: int | None = None,
        dynamic_comparison_type: DynamicComparisonType = DynamicComparisonType.UNCHANGED,
        byteorder: Any = "little",
    ) -> list[int]:
        """Return the addresses of the last scan whose value now compares so with its last one, or with `new_value`."""
        wanted = new_value if dynamic_comparison_type is DynamicComparisonType.MATCH else 0
        if wanted is None:
            raise ValueError("new_value: DynamicComparisonType.MATCH needs it")
        compare = _DYNAMIC[dynamic_comparison_type]
        matches = dynamic_comparison_type is DynamicComparisonType.MATCH
        kept = {}
        for address, last in self._found.items():
            value = int.from_bytes(self._memory[address : address + self._width], byteorder)
            if compare(value, wanted if matches else last):
                kept[address] = value
        self._found = kept
        return list(kept)
