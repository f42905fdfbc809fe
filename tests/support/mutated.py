"""Good bytes with something wrong: what hypothesis feeds the decoders."""

from __future__ import annotations

import io
import json
import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

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
Bytes = st.SearchStrategy[bytes]


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


def mutated_json(good: bytes) -> Bytes:
    """`mutated`, or one value anywhere in the object replaced, removed, or buried in brackets."""
    places = list(_places(json.loads(good)))

    def change(found: tuple[tuple[Any, ...], Any]) -> bytes:
        place, value = found
        top = json.loads(good)
        inner = top
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = value
        return json.dumps(top).encode()

    def change_raw(found: tuple[tuple[Any, ...], str]) -> bytes:
        place, text = found
        mark = "a mark that no file holds"
        return change((place, mark)).replace(json.dumps(mark).encode(), text.encode())

    def drop(place: tuple[Any, ...]) -> bytes:
        top = json.loads(good)
        inner = top
        for step in place[:-1]:
            inner = inner[step]
        del inner[place[-1]]
        return json.dumps(top).encode()

    def bury(depth: int) -> bytes:
        return b'{"a":' * depth + good + b"}" * depth

    whole = [
        st.sampled_from([1, 100, 50_000]).map(bury), st.sampled_from(RAW).map(str.encode),
        mutated(good),
    ]  # fmt: skip
    if not places:
        return st.one_of(whole)
    one = st.sampled_from(places)
    return st.one_of(
        st.tuples(one, st.sampled_from(EXTREMES)).map(change),
        st.tuples(one, st.sampled_from(RAW)).map(change_raw),
        one.map(drop),
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


def mutated_toml(good: bytes) -> Bytes:
    """`mutated`, or one value replaced or dropped."""
    lines = good.decode().splitlines()
    places = [at for at, line in enumerate(lines) if re.match(r"\s*[\w.]+\s*=", line)]

    def change(found: tuple[int, str]) -> bytes:
        at, text = found
        line = f"{lines[at].partition('=')[0]}= {text}" if text else ""
        return "\n".join([*lines[:at], line, *lines[at + 1 :]]).encode()

    one = st.sampled_from(places)
    return st.one_of(st.tuples(one, st.sampled_from(("", *TOML_RAW))).map(change), mutated(good))


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
        np.savez_compressed(out, **changed)  # type: ignore[arg-type]
        return out.getvalue()

    one = st.tuples(st.sampled_from(sorted(arrays)), st.sampled_from(others))
    return st.one_of(one.map(change), mutated(good))


# -- what lies inside of another format -----------------------------------------------------------


Inside = tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]
"""How to take the content out of a good file, and how to wrap a mutation of it again."""
ZLIB: Inside = (zlib.decompress, zlib.compress)


def tfrecords(data: bytes) -> bytes:
    """One TFRecord around the bytes, its check sums right."""
    from trainer_core.imports.tfrecord_crc import masked_crc

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
    from trainer_core.imports.logged_run import LoggedRun
    from trainer_core.imports.wandb_files import _messages

    return list(_messages(Path(), data, LoggedRun()))[-2]


def wandb_log(data: bytes) -> bytes:
    """A `.wandb` file of one record, in as many pieces as it needs, their check sums right."""
    from trainer_core.imports.wandb_files import HEAD

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
