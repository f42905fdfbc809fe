"""Good bytes with something wrong: what hypothesis feeds the decoders."""

from __future__ import annotations

import contextlib
import io
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from trainer_core.formats.logged_run import LoggedRun
from trainer_core.formats.protobuf import masked_crc, varint
from trainer_core.formats.wandb_reader import HEAD, _messages

EXTREMES: tuple[Any, ...] = (
    0, -1, 1, 255, 256, 2**31, 2**63, 2**70, -(2**63) - 1, 10**400, 1e308, -1e308, float("nan"),
    float("inf"), "", "x", "\0", "../../etc/passwd", "/dev/zero", "x" * 5000, "\ud800", None, True,
    [], {}, [[]], {"a": {}}, [0] * 1000, "²", "ACTION²", "--help", "a\x1b[2Jb\nc", [1e300] * 3,
)  # fmt: skip
DEEP = 100_000
RAW: tuple[str, ...] = (
    "1e999", "-1e999", "9" * 400, "9" * 5000, "1.0", "-0", "NaN", "Infinity", '"\\ud800"',
    "[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP, "[" * 900 + "]" * 900,
    "[" + "[]," * 700_000 + "[]]", "[" + "{}," * 700_000 + "{}]", "[" + "0," * 1_000_000 + "0]",
    '"' + "x" * 2_000_000 + '"', '{"' + '":0,"'.join(map(str, range(100_000))) + '":0}',
)  # fmt: skip
"""What Python's own module would not write: a value's text in a file of JSON."""
TOML_RAW = (
    "1e999", "9" * 400, "9" * 5000, '"\\u0000"', '"²"', "nan", "-1", "[]", '"../../x"', '""',
    "true", "1979-05-27", "{}", "[" * 900 + "]" * 900, '"' + "x" * 5000 + '"',
)  # fmt: skip
PROTO_TEXTS = (b"", b"\xff\xfe", b"\0", *(text.encode() for text in RAW if len(text) < 10_000))
"""What a text or a message is replaced by; values of W&B's records are JSON."""
Change = Callable[[], bytes]
"""Makes a changed file: all of them at once would take gigabytes."""
Bytes = st.SearchStrategy[bytes]
Place = tuple[Any, ...]
"""Keys and indices that lead to a value."""


def mutated(good: bytes) -> Bytes:
    """`good` cut, torn, flipped, doubled, or with a run of it replaced."""
    size = len(good)
    at = st.integers(0, size)

    def flip(places: list[tuple[int, int]]) -> bytes:
        data = bytearray(good)
        for place, bit in places:
            data[place % max(size, 1)] ^= 1 << bit
        return bytes(data)

    def splice(found: tuple[int, int, bytes]) -> bytes:
        first, second, put = found
        low, high = sorted((first, second))
        return good[:low] + put + good[high:]

    flips = st.lists(st.tuples(at, st.integers(0, 7)), min_size=1, max_size=8)
    runs = st.binary(max_size=64) | st.sampled_from([b"\0" * 64, b"\xff" * 64, b"9" * 40])
    return st.one_of(
        at.map(lambda end: good[:end]),
        flips.map(flip) if size else st.just(b""),
        st.tuples(at, at, runs).map(splice),
        at.map(lambda place: good[:place] + good),
        st.binary(max_size=200),
    )


def json_changes(good: bytes) -> Iterator[Change]:
    """Each value of the object replaced by each of EXTREMES and RAW, and removed."""
    places = list(_places(json.loads(good)))
    for place in places if len(places) <= 60 else places[:30] + places[-30:]:  # pixels are alike
        yield partial(json_without, good, place)
        for value in EXTREMES:
            yield partial(json_with, good, place, value)
        for text in RAW:
            yield partial(json_with_raw, good, place, text)
    yield from (text.encode for text in RAW)


def json_with(good: bytes, place: Place, value: Any) -> bytes:
    top = json.loads(good)
    _inner(top, place)[place[-1]] = value
    return json.dumps(top).encode()


def json_with_raw(good: bytes, place: Place, text: str) -> bytes:
    mark = "a mark that no file holds"
    return json_with(good, place, mark).replace(json.dumps(mark).encode(), text.encode())


def json_without(good: bytes, place: Place) -> bytes:
    top = json.loads(good)
    del _inner(top, place)[place[-1]]
    return json.dumps(top).encode()


def _inner(top: Any, place: Place) -> Any:
    for step in place[:-1]:
        top = top[step]
    return top


def mutated_json(good: bytes) -> Bytes:
    """`mutated`, or one value anywhere in the object replaced, removed, or buried in brackets."""
    places = list(_places(json.loads(good)))
    whole = [
        st.sampled_from([1, 100, 50_000]).map(lambda depth: b'{"a":' * depth + good + b"}" * depth),
        st.sampled_from(RAW).map(str.encode),
        mutated(good),
    ]
    if not places:
        return st.one_of(whole)
    one = st.sampled_from(places)
    return st.one_of(
        st.tuples(one, st.sampled_from(EXTREMES)).map(lambda found: json_with(good, *found)),
        st.tuples(one, st.sampled_from(RAW)).map(lambda found: json_with_raw(good, *found)),
        one.map(lambda place: json_without(good, place)),
        *whole,
    )


def _places(value: Any, path: tuple[Any, ...] = ()) -> Any:
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*path, key)
        yield from _places(inner, (*path, key))


def lines_changes(good: bytes) -> Iterator[Change]:
    """`json_changes` of the first line; the others are like it."""
    first, _, rest = good.partition(b"\n")
    for change in json_changes(first):
        yield lambda change=change: change() + b"\n" + rest


def mutated_lines(good: bytes) -> Bytes:
    """One of the lines as `mutated_json` has it, or all of them as `mutated` has."""
    lines = good.splitlines(keepends=True)

    def put(found: tuple[int, bytes]) -> bytes:
        at, line = found
        return b"".join([*lines[:at], line, b"\n", *lines[at + 1 :]])

    of = [
        mutated_json(line).map(lambda text, at=at: (at, text))
        for at, line in enumerate(lines[:3])  # the others are like these
    ]
    return st.one_of(st.one_of(of).map(put), mutated(good))


def toml_changes(good: bytes) -> Iterator[Change]:
    """Each value replaced by each of TOML_RAW, and its line left out."""
    lines = good.decode().splitlines()
    for at, line in enumerate(lines):
        if re.match(r"\s*[\w.]+\s*=", line):
            for text in ("", *TOML_RAW):
                changed = f"{line.partition('=')[0]}= {text}" if text else ""
                whole = "\n".join([*lines[:at], changed, *lines[at + 1 :]])
                yield whole.encode


def mutated_toml(good: bytes) -> Bytes:
    """`mutated`, or one value replaced or dropped."""
    changes = list(toml_changes(good))
    return st.one_of(st.sampled_from(changes).map(lambda change: change()), mutated(good))


def proto_changes(good: bytes, depth: int = 4) -> Iterator[Change]:
    """Each field of a protobuf message, and of those in it, of another type, content, or gone."""
    fields = list(_proto_fields(good))
    for at, (number, wire, value) in enumerate(fields):
        before, after = (b"".join(_field(*other) for other in part) for part in (fields[:at], fields[at + 1 :]))
        others = [b"", _field(number, 0, 2**64 - 1), _field(number, 1, b"\xff" * 8)]
        others += [_field(number, 2, text) for text in PROTO_TEXTS]
        others += [_field(number, wire, value) * 1000, bytes([number << 3 & 127 | 3])]
        for other in others:
            yield lambda whole=before + other + after: whole
        with contextlib.suppress(ValueError, IndexError):
            for change in proto_changes(value, depth - 1) if wire == 2 and depth else ():
                yield (
                    lambda change=change, number=number, before=before, after=after: (
                        before + _field(number, 2, change()) + after
                    )
                )


def mutated_proto(good: bytes) -> Bytes:
    changes = list(proto_changes(good))
    return st.one_of(st.sampled_from(changes).map(lambda change: change()), mutated(good))


def _proto_fields(message: bytes) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and value. Raises ValueError, IndexError where it is no protobuf."""
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        number, wire = tag >> 3, tag & 7
        if wire not in (0, 1, 2, 5) or not number:
            raise ValueError
        if wire == 0:
            value, at = varint(message, at)
        else:
            size, at = varint(message, at) if wire == 2 else (8 if wire == 1 else 4, at)
            value, at = message[at : at + size], at + size
            if len(value) < size:
                raise ValueError
        yield number, wire, value


def _field(number: int, wire: int, value: Any) -> bytes:
    head = _varint(number << 3 | wire)
    if wire == 0:
        return head + _varint(value)
    return head + (_varint(len(value)) if wire == 2 else b"") + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def mutated_npz(good: bytes) -> Bytes:
    """`mutated`, or a whole archive with one array lost or turned into another."""
    with np.load(io.BytesIO(good), allow_pickle=False) as data:
        arrays = dict(data)
    others: list[Callable[[np.ndarray], np.ndarray] | None] = [
        None,
        lambda array: array[..., :-1] if array.ndim else array[None],
        lambda array: array[None],
        lambda array: array.astype("U3") if array.dtype.kind in "iub" else np.zeros(3),
        lambda array: np.full_like(array, 255) if array.dtype.kind in "iub" else array[None][:0],
        lambda array: array.astype(float) * np.nan if array.dtype.kind in "iub" else np.array("x"),
        lambda array: np.array(-(1 << 62)),
        lambda array: np.zeros((1, 0), array.dtype),
        lambda array: np.zeros((3, 5_000_000), array.dtype if array.dtype.kind in "iubf" else "u1"),
    ]

    def change(found: tuple[str, Callable[[np.ndarray], np.ndarray] | None]) -> bytes:
        name, turn = found
        changed = {other: array for other, array in arrays.items() if other != name}
        if turn is not None:
            changed[name] = turn(arrays[name])
        out = io.BytesIO()
        np.savez_compressed(out, **changed)
        return out.getvalue()

    one = st.tuples(st.sampled_from(sorted(arrays)), st.sampled_from(others))
    return st.one_of(one.map(change), mutated(good))


# -- what lies inside of another format -----------------------------------------------------------


CHANGES = {"json": json_changes, "lines": lines_changes, "toml": toml_changes, "proto": proto_changes}
"""Every change of one value, by the form of a file; bytes and arrays have too many."""
FORMS = {
    "bytes": mutated,
    "json": mutated_json,
    "lines": mutated_lines,
    "npz": mutated_npz,
    "toml": mutated_toml,
    "proto": mutated_proto,
}
Inside = tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]
"""How to take the content out of a good file, and how to wrap a mutation of it again."""
ZLIB: Inside = (zlib.decompress, zlib.compress)


def tfrecords(data: bytes) -> bytes:
    """One TFRecord around the bytes, its check sums right."""
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", masked_crc(head)) + data + struct.pack("<I", masked_crc(data))


def first_tfrecord(data: bytes) -> bytes:
    """The second record of an event file: the first is its version."""
    (length,) = struct.unpack_from("<Q", data)
    at = length + 16
    (length,) = struct.unpack_from("<Q", data, at)
    return data[at + 12 : at + 12 + length]


def wandb_record(data: bytes) -> bytes:
    """The last record but one of a `.wandb` file: rows of a history come last."""
    return list(_messages(Path(), data, LoggedRun()))[-2]


def wandb_log(data: bytes) -> bytes:
    """A `.wandb` file of one record, in as many pieces as it needs, their check sums right."""
    out, left, first = bytearray(HEAD), data, True
    while left or first:
        room = (32 << 10) - len(out) % (32 << 10)
        if room < 8:
            out += bytes(room)
            continue
        piece, left = left[: room - 7], left[room - 7 :]
        kind = (1 if first else 4) if not left else (2 if first else 3)
        crc = zlib.crc32(bytes([kind]) + piece)
        out += struct.pack("<IHB", crc, len(piece), kind) + piece
        first = False
    return bytes(out)
