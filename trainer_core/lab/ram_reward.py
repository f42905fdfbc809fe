"""The table `[ram]` of a task: watched bytes, terms of the reward, and what else reads memory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from trainer_core.lab.ram_expressions import Program
from trainer_core.wire.errors import TaskError, shown

BADGE = "reads RAM"
"""Words of lists, cards and run info for such a task."""
MOST_BYTES, MOST_SEEN = 4_096, 512
"""Most watched bytes of a task; most that its policy can see."""
BYTES_A_ROW, ROWS = 10, 8
"""Bytes that a row of 80 pixels shows, a bit each; rows come in eights, as networks take the picture in squares."""
MOST_TERMS, MOST_GROUPS, MOST_ITEMS = 32, 256, 256
MOST_PLACES = 1 << 16
"""Most entries of a console's set of met bytes; a full set pays nothing more."""
LARGEST_WEIGHT = 1_000
_NAME = re.compile(r"(?!(?:and|or|not)\Z)[A-Za-z_]\w{0,39}")
_PLACE = re.compile(r"[0-9A-Fa-f]{1,3}:[0-9A-Fa-f]{4}")


def set_places(horizon: int) -> int:
    """Return the entries of the set that a `new` fills in an episode of so many steps: half as many again, or more."""
    return min(MOST_PLACES, 1 << (3 * horizon // 2 + 2).bit_length())


class Term(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Term of the reward: `weight` times `value`, an expression of lab/ram_expressions.py."""

    name: str
    value: str
    weight: float = 1.0


class Ram(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Bytes of memory that a task's reward, success or policy reads."""

    watch: dict[str, Any]
    """By name: an address 0xC123, "01:A123" in a bank, [address, length], or a list of these."""
    reads_ram: bool = False
    """The policy sees the watched bytes, as rows of pixels below the picture."""
    values: dict[str, str] = {}
    """Names of expressions that later ones may use."""
    terms: tuple[Term, ...] = ()
    maximise: str = ""
    """Expression whose increase is paid, and which is reported as the score."""
    done: str = ""
    """Expression that ends the episode with success where it is not 0."""

    @property
    def items(self) -> dict[str, Any]:
        """The watched places as `Emulator.watch` takes them."""
        return {name: _item(value) for name, value in self.watch.items()}

    @property
    def groups(self) -> dict[str, slice]:
        """Columns of each name in the watched bytes. Raises TaskError for an impossible place."""
        found, begin = {}, 0
        for name, value in self.watch.items():
            if not _NAME.fullmatch(name):
                raise TaskError(f"[ram.watch] '{shown(name)}': use letters, digits and _ for a name")
            count = _count(name, value)
            found[name] = slice(begin, begin + count)
            begin += count
        return found

    @property
    def rows(self) -> int:
        """Rows of pixels below the picture in which the policy sees the watched bytes; 0 if it does not."""
        count = max(part.stop for part in self.groups.values())
        return -(-count // (BYTES_A_ROW * ROWS)) * ROWS if self.reads_ram else 0

    def program(self) -> Program:
        """Return the program of all expressions. Raises TaskError naming the expression, line and column of an
        error."""
        groups, program = self.groups, Program()
        for name, value in self.values.items():
            if not _NAME.fullmatch(name) or name in groups:
                raise TaskError(f"[ram.values] name '{shown(name)}': letters, digits and _, not that of watched bytes")
            program.add_value(name, value, groups)
        for term in self.terms:
            program.add_term(term.name, term.value, term.weight, groups)
        if self.maximise:
            program.add_score(self.maximise, groups)
        if self.done:
            program.add_done(self.done, groups)
        return program


def _item(value: Any) -> Any:
    return tuple(map(_item, value)) if isinstance(value, list) else value


def _count(name: str, value: Any) -> int:
    """Return the number of bytes of a watched place."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 0xFFFF:
        return 1
    if isinstance(value, str) and _PLACE.fullmatch(value):
        return 1
    if isinstance(value, list) and 0 < len(value) <= MOST_ITEMS:
        if len(value) == 2 and isinstance(value[1], int) and 0 < value[1] <= MOST_BYTES:
            return value[1]
        return sum(_count(name, one) for one in value)
    raise TaskError(
        f'[ram.watch] {name} = {shown(repr(value), 60)}: give an address as 0xC123 or "01:A123", '
        "[address, length], or a list of these"
    )


def check_ram(path: Path, ram: Ram, has_goal: bool) -> None:
    """Raise TaskError naming `path` and the key for an invalid table."""
    try:
        count = max((part.stop for part in ram.groups.values()), default=0)
        limits = (
            (count, MOST_BYTES, "watched bytes"),
            (len(ram.watch), MOST_GROUPS, "watched names"),
            (len(ram.values), MOST_GROUPS, "values"),
        )
        for number, most, what in (*limits, (len(ram.terms), MOST_TERMS, "terms")):
            if number > most:
                raise TaskError(f"[ram] has {number} {what}, at most {most}")
        if not count:
            raise TaskError("[ram.watch] is empty: name the bytes that the task reads")
        if ram.reads_ram and count > MOST_SEEN:
            raise TaskError(f"[ram] reads_ram: the policy can see {MOST_SEEN} bytes, {count} are watched")
        names = [term.name for term in ram.terms]
        for term in ram.terms:
            if not _NAME.fullmatch(term.name) or names.count(term.name) > 1 or term.name == "maximise":
                raise TaskError(f"[ram.terms] name '{shown(term.name)}': letters, digits and _, each name once")
            if not -LARGEST_WEIGHT <= term.weight <= LARGEST_WEIGHT:
                raise TaskError(
                    f"[ram.terms] {term.name}: weight must lie in -1,000 to 1,000, got {shown(term.weight)}"
                )
        if not has_goal and not ram.terms and not ram.maximise:
            raise TaskError("a task without [goal] needs [ram] maximise or [[ram.terms]]: nothing is rewarded")
        ram.program()
    except TaskError as error:
        raise TaskError(f"{path}: {error}") from None
