"""Expressions over watched bytes, as a task's reward has them: parsed, checked and translated to a stack program.

    expression  comparison, joined by `and`, `or`, `not`
    comparison  sum, or two joined by < <= > >= == !=; 1 if it holds, else 0
    sum         products joined by + and -; product: values joined by * and / (by 0 gives 0)
    value       a number, 12 or 0xFF or 0.5; BYTES of one byte; a named value; FUNCTION(...); -value; (expression)
    BYTES       a watched name, or a part of it: name[2] or name[2:4], counted from 0, the end excluded

    u16le(B) u16be(B)  two bytes, the low one or the high one first; le(B) be(B) up to six
    bcd(B) digits(B)   two decimal digits a byte, or one, the highest first
    sum(B) popcount(B) bit(B, n)  sum of bytes; bits that are set; one bit, 8 is the lowest of the second byte
    min(a, b, ...) max(a, b, ...) abs(a) floor(a)
    old(a)             a as it was one step before
    gain(a)            by how much a exceeds its greatest value of the episode, else 0
    new(a, b, c, d)    1 if the episode meets the bytes a, b, c the first time; with d only where d is not 0
    novelty(a, b, c)   1 / sqrt(how often all consoles of the run met these bytes)

All numbers are float64, so that every device and the interpreter in Python give equal results.
"""

from __future__ import annotations

import difflib
import enum
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from trainer_core.wire.errors import TaskError, shown

MOST_LETTERS, MOST_DEPTH = 2_000, 40
MOST_STACK = 16
MOST_INSTRUCTIONS = 1_024
LARGEST = 6
"""Bytes of a whole number: float64 holds seven exactly."""
_TOKEN = re.compile(r"\s*(?:(0x[0-9A-Fa-f]+|\d+(?:\.\d+)?)|([A-Za-z_]\w*)|(<=|>=|==|!=|[-+*/<>()\[\],:]))")


Emit = Callable[[int], None]
"""Writer of a value's instructions; its argument is 0 for the bytes of before the step, 1 for those after it."""


class Op(enum.IntEnum):
    """Instruction of a program. A word is (op, a, b, c); values are taken from a stack and put on it."""

    CONST = 0
    """Put constant a."""
    LITTLE = 1
    """Put a number of c bytes from b on, of before (a = 0) or after the step (1); likewise the next six."""
    BIG = 2
    BCD = 3
    DIGITS = 4
    SUM = 5
    POPCOUNT = 6
    BIT = 7
    """Put bit c of the bytes from b on."""
    ADD = 8
    SUB = 9
    MUL = 10
    DIV = 11
    MIN = 12
    MAX = 13
    LESS = 14
    LESS_EQUAL = 15
    EQUAL = 16
    AND = 17
    OR = 18
    NOT = 19
    NEG = 20
    ABS = 21
    FLOOR = 22
    GAIN = 23
    """Replace old value and new value by the gain over record a of the episode."""
    NEW = 24
    """Replace the keys of before and of now by 1 if set a of the episode lacked the latter; add those not below 0."""
    NOVELTY = 25
    """Take a key as the a-th one to count; put 0. Training adds the bonus, which depends on all consoles."""
    TERM = 26
    """Take the value of term a."""
    DONE = 27
    SCORE = 28


@dataclass(slots=True)
class Program:
    """Program of a task's terms; `run` of envs/ram_judge.py and the kernel of envs/ram_kernel.py interpret it."""

    words: list[tuple[int, int, int, int]] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    values: dict[str, Emit] = field(default_factory=dict)
    """Named values."""
    terms: list[str] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    records: int = 0
    """Number of `gain`s."""
    sets: int = 0
    """Number of `new`s."""
    counted: list[int] = field(default_factory=list)
    """Term of each `novelty`."""
    scores: bool = False
    ends: bool = False

    def put(self, op: Op, a: int = 0, b: int = 0, c: int = 0) -> None:
        self.words.append((int(op), a, b, c))

    def add_value(self, name: str, value: str, groups: Mapping[str, slice]) -> None:
        """Name a value that later expressions use. Raises TaskError like `add_term`."""
        self.values[name] = _Parser(f"value {name}", value, groups, self).named()

    def add_term(self, name: str, value: str, weight: float, groups: Mapping[str, slice]) -> None:
        """Add a term of the reward. Raises TaskError naming it, with line and column of an error in `value`."""
        self.terms.append(name)
        self.weights.append(weight)
        self._add(f"term {name}", value, groups, Op.TERM)

    def add_done(self, value: str, groups: Mapping[str, slice]) -> None:
        """End episodes with success where `value` is not 0."""
        self._add("done", value, groups, Op.DONE)
        self.ends = True

    def add_score(self, value: str, groups: Mapping[str, slice]) -> None:
        """Pay the increase of `value` in the term `maximise`, and report it as the score."""
        self._add("maximise", value, groups, Op.SCORE)
        self.scores = True
        self.add_term("maximise", f"({value}) - old({value})", 1.0, groups)

    def _add(self, what: str, value: str, groups: Mapping[str, slice], op: Op) -> None:
        first = len(self.words)
        _Parser(what, value, groups, self).whole()
        if any(word[0] == Op.NOVELTY for word in self.words[first : -1 if op is Op.TERM else None]):
            raise TaskError(f"[ram] {what}: novelty(...) must be the whole value of a term; its weight scales it")
        self.put(op, len(self.terms) - 1)
        if len(self.words) > MOST_INSTRUCTIONS:
            raise TaskError(f"[ram] {what}: all expressions together have more than {MOST_INSTRUCTIONS} instructions")


_BYTES = {"le": Op.LITTLE, "be": Op.BIG, "u16le": Op.LITTLE, "u16be": Op.BIG, "bcd": Op.BCD, "digits": Op.DIGITS,
          "sum": Op.SUM, "popcount": Op.POPCOUNT}  # fmt: skip
_VALUES = {"min": (1, 16), "max": (1, 16), "abs": (1, 1), "floor": (1, 1), "old": (1, 1), "gain": (1, 1),
           "new": (1, 4), "novelty": (1, 3)}  # fmt: skip
"""Least and most arguments of the functions of values."""
REMEMBERING = ("gain", "new", "novelty")
"""Functions that keep something from step to step."""
FUNCTIONS = (*_BYTES, "bit", *_VALUES)


class _Parser:
    """Parser of one expression by recursive descent; each method returns an Emit."""

    def __init__(self, what: str, text: str, groups: Mapping[str, slice], program: Program) -> None:
        self._what, self._text, self._groups, self._program = what, text, groups, program
        self._at, self._depth, self._inside = 0, 0, ""
        if len(text) > MOST_LETTERS:
            raise TaskError(f"[ram] {what}: {len(text)} letters, at most {MOST_LETTERS} are read")
        self._next()

    def whole(self) -> None:
        value = self._either()
        if self._token:
            self._fail(f"'{self._token}' is not expected here")
        first = len(self._program.words)
        value(1)
        depth = deepest = 0
        for op, *_ in self._program.words[first:]:
            depth += 1 if op <= Op.BIT else -1 if op <= Op.OR or op in (Op.GAIN, Op.NEW) else 0
            deepest = max(deepest, depth)
        if deepest > MOST_STACK:
            raise TaskError(f"[ram] {self._what}: needs {deepest} numbers at a time, at most {MOST_STACK}: split it")

    def named(self) -> Emit:
        """Return the value of the whole text, which keeps nothing from step to step."""
        self._inside = "a named value"
        value = self._either()
        if self._token:
            self._fail(f"'{self._token}' is not expected here")
        return value

    # ---- tokens ----------------------------------------------------------------------------

    def _next(self) -> str:
        """Go to the next token; return the one before."""
        token = getattr(self, "_token", "")
        rest = self._text[self._at :]
        self._begin = self._at + len(rest) - len(rest.lstrip())
        found = _TOKEN.match(rest)
        if found is None and rest.strip():
            self._token = rest.lstrip()[0]
            self._fail(f"'{self._token}' has no meaning here")
        self._token = found[0].strip() if found else ""
        self._at += found.end() if found else 0
        return token

    def _take(self, *tokens: str) -> str:
        return self._next() if self._token in tokens else ""

    def _need(self, token: str) -> None:
        if not self._take(token):
            self._fail(f"'{token}' is missing" + (f" before '{self._token}'" if self._token else ""))

    def _fail(self, why: str) -> None:
        before = self._text[: self._begin]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        raise TaskError(f"[ram] {self._what}, line {line}, column {column}: {shown(why, 200)}")

    # ---- grammar ---------------------------------------------------------------------------

    def _either(self) -> Emit:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            self._fail(f"more than {MOST_DEPTH} expressions inside one another")
        left = self._both()
        while self._take("or"):
            left = self._pair(Op.OR, left, self._both())
        self._depth -= 1
        return left

    def _both(self) -> Emit:
        left = self._compared()
        while self._take("and"):
            left = self._pair(Op.AND, left, self._compared())
        return left

    def _compared(self) -> Emit:
        if self._take("not"):
            return self._one(Op.NOT, self._compared())
        left = self._sum()
        operator = self._take("<", "<=", ">", ">=", "==", "!=")
        if not operator:
            return left
        right = self._sum()
        if operator in (">", ">="):
            left, right = right, left
        op = Op.EQUAL if operator in ("==", "!=") else Op.LESS if len(operator) == 1 else Op.LESS_EQUAL
        found = self._pair(op, left, right)
        return self._one(Op.NOT, found) if operator == "!=" else found

    def _sum(self) -> Emit:
        left = self._product()
        while operator := self._take("+", "-"):
            left = self._pair(Op.ADD if operator == "+" else Op.SUB, left, self._product())
        return left

    def _product(self) -> Emit:
        left = self._value()
        while operator := self._take("*", "/"):
            left = self._pair(Op.MUL if operator == "*" else Op.DIV, left, self._value())
        return left

    def _value(self) -> Emit:
        if self._take("-"):
            return self._one(Op.NEG, self._value())
        if self._take("("):
            found = self._either()
            self._need(")")
            return found
        if self._token[:1].isdigit():
            text = self._next()
            return self._constant(float(int(text, 16) if text.startswith("0x") else float(text)))
        if not self._token[:1].isalpha() and self._token[:1] != "_":
            self._fail(f"a value is missing before '{self._token}'" if self._token else "a value is missing at the end")
        if self._token in FUNCTIONS and self._text[self._at :].lstrip().startswith("("):
            return self._call(self._next())
        if self._token in self._program.values:
            return self._program.values[self._next()]
        begin = self._begin
        part = self._part()
        if part.stop - part.start != 1:
            self._begin = begin
            count = part.stop - part.start
            self._fail(f"{count} bytes are no number: say how to read them, as u16be(...), bcd(...), sum(...)")
        return self._read(Op.BIG, part.start, 1)

    def _part(self) -> slice:
        """Return the columns of a watched name, or of a part of it."""
        begin, name = self._begin, self._next()
        if name not in self._groups:
            self._begin = begin
            near = difflib.get_close_matches(name[:40], [*self._groups, *self._program.values, *FUNCTIONS], 3)
            self._fail(f"'{name}' is not watched; {'near: ' if near else 'watched: '}{', '.join(near or self._groups)}")
        whole = self._groups[name]
        if not self._take("["):
            return whole
        first = self._whole_number()
        last = self._whole_number() if self._take(":") else first + 1
        self._need("]")
        if not first < last <= whole.stop - whole.start:
            self._begin = begin
            self._fail(f"{name} has the bytes 0 to {whole.stop - whole.start - 1}")
        return slice(whole.start + first, whole.start + last)

    def _whole_number(self) -> int:
        if not self._token.isdigit():
            self._fail("a whole number is missing")
        return int(self._next())

    def _call(self, name: str) -> Emit:
        self._need("(")
        begin = self._begin
        if name in _BYTES or name == "bit":
            part = self._part()
            count = part.stop - part.start
            bit = 0
            if name == "bit":
                self._need(",")
                begin, bit = self._begin, self._whole_number()
            self._need(")")
            self._begin = begin
            wanted = {"u16le": 2, "u16be": 2}.get(name, count)
            if count != wanted or (name in ("le", "be", "bcd", "digits") and count > LARGEST):
                self._fail(
                    f"{name} reads {wanted if count != wanted else f'at most {LARGEST}'} bytes, here are {count}"
                )
            if bit >= 8 * count:
                self._fail(f"bit {bit}: there are the bits 0 to {8 * count - 1}")
            return self._read(Op.BIT if name == "bit" else _BYTES[name], part.start, bit if name == "bit" else count)
        outer = self._inside
        if outer and name in REMEMBERING:
            self._fail(f"{name}(...) cannot stand inside {outer}" + ("(...)" if outer in FUNCTIONS else ""))
        self._inside = outer or (name if name in ("old", *REMEMBERING) else "")
        given = [self._either()]
        while self._take(","):
            given.append(self._either())
        self._inside = outer
        self._need(")")
        least, most = _VALUES[name]
        if not least <= len(given) <= most:
            self._begin = begin
            self._fail(f"{name} takes {least if least == most else f'{least} to {most}'} values, here are {len(given)}")
        return self._function(name, given)

    def _function(self, name: str, given: Sequence[Emit]) -> Emit:
        program = self._program
        if name in ("min", "max"):
            found = given[0]
            for one in given[1:]:
                found = self._pair(Op.MIN if name == "min" else Op.MAX, found, one)
            return found
        if name in ("abs", "floor"):
            return self._one(Op.ABS if name == "abs" else Op.FLOOR, given[0])
        if name == "old":
            return lambda when: given[0](0)
        key = given[0]
        for place, one in enumerate(given[1:3], 1):  # a number of up to three bytes
            key = self._pair(Op.ADD, key, self._pair(Op.MUL, one, self._constant(256.0**place)))
        if len(given) == 4:  # -1 where the condition is 0
            is_not = self._one(Op.NOT, given[3])
            key = self._pair(Op.SUB, self._pair(Op.MUL, key, self._one(Op.NOT, is_not)), is_not)
        if name == "novelty":
            number = len(program.counted)
            program.counted.append(len(program.terms) - 1)
            return lambda when: (key(1), program.put(Op.NOVELTY, number))[1]
        op, number = (Op.GAIN, program.records) if name == "gain" else (Op.NEW, program.sets)
        program.records += op is Op.GAIN
        program.sets += op is Op.NEW
        return lambda when: (key(0), key(1), program.put(op, number))[2]

    def _constant(self, value: float) -> Emit:
        constants = self._program.constants
        if value not in constants:
            constants.append(value)
        return lambda when: self._program.put(Op.CONST, constants.index(value))

    def _read(self, op: Op, first: int, last: int) -> Emit:
        return lambda when: self._program.put(op, when, first, last)

    def _one(self, op: Op, of: Emit) -> Emit:
        return lambda when: (of(when), self._program.put(op))[1]

    def _pair(self, op: Op, left: Emit, right: Emit) -> Emit:
        return lambda when: (left(when), right(when), self._program.put(op))[2]
