"""Good bytes with something wrong: what hypothesis feeds the decoders."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

EXTREMES: tuple[Any, ...] = (
    0, -1, 1, 255, 256, 2**31, 2**63, 2**70, -(2**63) - 1, 10**400, 1e308, -1e308, float("nan"),
    float("inf"), "", "x", "\0", "../../etc/passwd", "/dev/zero", "x" * 5000, "\ud800", None, True,
    [], {}, [[]], {"a": {}}, [0] * 1000,
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

    def drop(place: tuple[Any, ...]) -> bytes:
        top = json.loads(good)
        inner = top
        for step in place[:-1]:
            inner = inner[step]
        del inner[place[-1]]
        return json.dumps(top).encode()

    def bury(depth: int) -> bytes:
        return b'{"a":' * depth + good + b"}" * depth

    one = st.sampled_from(places)
    return st.one_of(
        st.tuples(one, st.sampled_from(EXTREMES)).map(change),
        one.map(drop),
        st.sampled_from([1, 100, 50_000]).map(bury),
        mutated(good),
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


Decoder = Callable[[bytes], object]
