"""Hooks at instructions: the same hits in every executor, only in their bank; records, tests, pokes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from micro.assembler import assemble

from emulator import Cartridge, Emulator, EmulatorError
from emulator.hot_code.cpp_superblocks import native_plain
from emulator.hot_code.piece_finder import Counts, pieces
from emulator.launch.launch_shapes import FEW
from emulator.rom.idle_loops import marked_words
from emulator.verify import fuzz_roms

pytestmark = pytest.mark.warp
BANKS = """
; cartridge type=1b rom=02 ram=03
main:
  ld b, 3
.next:
  ld a, 1
  ld ($2000), a
  call $4010
  ld a, 2
  ld ($2000), a
  call $4010
  dec b
  jr nz, .next
  ld a, c
  ld ($c000), a
.end:
  jr .end
org $4010
  inc c
  ret
org $8010
  inc d
  ret
"""
LAUNCHES = [(None, 3, 0), ("a", 5, 2), ("start+up", 1, 0), ("b", 9, 4)]
MOST = 60
EXECUTORS: tuple[Any, ...] = ("native", "uniform")


@pytest.fixture(scope="module")
def banks(tmp_path_factory: pytest.TempPathFactory) -> Cartridge:
    source = tmp_path_factory.mktemp("rom") / "banks.asm"
    source.write_text(BANKS)
    return Cartridge.from_bytes(assemble(source).image, "banks")


@pytest.fixture(scope="module")
def counted(busy: Cartridge) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The hottest places of `busy`, how often each launch executes them, and the states after all."""
    emulator = Emulator(busy, 1, executor="uniform", idle_skip=False)
    counts, seen = emulator.count_places(), [np.zeros(len(busy.rom), np.int64)]
    for buttons, frames, release in LAUNCHES:
        emulator.run(buttons, frames, release)
        seen.append(counts.numpy()[0].astype(np.int64))
    places = np.argsort(-seen[-1], kind="stable")[:MOST]
    return places[seen[-1][places] > 0], np.diff(seen, axis=0), emulator.state_hash()


def compare(emulator: Emulator, counted: tuple[np.ndarray, np.ndarray, list[str]], more: Callable) -> None:
    places, expected, states = counted
    hooks = {at: emulator.on((at >> 14, at if at < 0x4000 else 0x4000 | at % 0x4000)) for at in places.tolist()}
    more()
    for launch, executed in zip(LAUNCHES, expected, strict=True):
        emulator.run(*launch)
        for at, hook in hooks.items():
            assert hook.hits.numpy().tolist() == [executed[at]] * emulator.num_envs, (launch, hex(at))
    assert emulator.state_hash() == states * emulator.num_envs


def test_hooks_count_each_execution(engine: tuple[str, Any], busy: Cartridge, counted: Any) -> None:
    """Waiting loops too, whose turns are skipped where nothing is hooked."""
    device, executor = engine
    for tail in (0,) if device == "cpu" else (0, 1, 2):  # consoles that are left to threaded code
        emulator = Emulator(busy, 2, device, executor=executor, shape=FEW._replace(tail=tail))
        compare(emulator, counted, emulator.wait_for_kernels)


def test_hot_code_is_cut_at_hooks(busy: Cartridge, counted: Any) -> None:
    emulator, counter = Emulator(busy, 2), Emulator(busy, 1, executor="uniform")
    counts = counter.count_places()
    counter.run(None, 60)
    words = marked_words(busy.rom, ends=True)
    found = pieces(Counts(*counts.numpy()), words, native_plain(words))
    hooked = set(counted[0].tolist())
    assert any(len(piece) > 1 and hooked & {*piece[1:]} for piece in found)
    every_third = counted[0][::3], *counted[1:]
    compare(emulator, every_third, lambda: emulator.adopt([found]))


def test_only_the_bank_that_was_named_is_hooked(engine: tuple[str, Any], banks: Cartridge) -> None:
    device, executor = engine
    emulator = Emulator(banks, 2, device, executor=executor)
    second = emulator.on((2, 0x4010), ("b", "pc", "de"), keep=4)
    first = emulator.on("01:4010", {"count": "c"}, poke={"c": 0x40})
    tested = emulator.on("02:4010", [0xC000], when=("b", "==", 2), poke={"hl": 0x1234, (0xC002, 2): 0xABCD})
    start = emulator.registers()
    emulator.run()
    assert [hook.hits.numpy().tolist() for hook in (first, second, tested)] == [[3, 3], [3, 3], [1, 1]]
    assert second["b"].numpy()[1, :3, 0].tolist() == [3, 2, 1]
    assert second["pc"].numpy()[0, 0].tolist() == [0x10, 0x40]
    assert second["de"].numpy()[0, 2, 1] == start["d"] + 2 & 0xFF
    assert first["count"].numpy()[0].tolist() == [0x41], "as before the instruction and the poke"
    assert emulator.peek(1, 0xC000, 4).tolist()[:1] == [0x41]
    assert emulator.peek(1, 0xC002, 2).tolist() == [0xCD, 0xAB]
    assert emulator.registers()["h"] == 0x12
    emulator.off(second)
    emulator.reset()
    emulator.run(mask=[1, 0])
    assert second.hits.numpy().tolist() == [3, 3], "it has ended"
    assert first.hits.numpy().tolist() == [3, 0]
    equal = [emulator.on("01:4010"), emulator.on("02:4010")]
    for hook in (first, tested, equal[1]):
        emulator.off(hook)
    emulator.reset()
    emulator.run()
    assert [hook.hits.numpy().tolist() for hook in equal] == [[3, 3], [0, 0]]
    assert emulator.registers()["c"] == start["c"] + 3 & 0xFF


def test_random_programs_hit_hooks_equally() -> None:
    """Tests, records and pokes too: both executors come to the same states."""
    random = np.random.default_rng(5)
    hits = 0
    for kind in fuzz_roms.KINDS[:5]:
        cartridge = Cartridge.from_bytes(fuzz_roms.random_rom(random, kind, False), f"{kind}")
        counter, pair = Emulator(cartridge, executor="uniform"), [Emulator(cartridge, executor=e) for e in EXECUTORS]
        counts = counter.count_places()
        for launch in range(3):
            counter.run(None, 2)
            fuzz_roms.set_going(np.random.default_rng(launch), counter)
        for at in np.argsort(-counts.numpy()[0].astype(np.int64))[:12].tolist():
            register, value = random.choice([*"abcdehl"]), int(random.integers(0, 256))
            what: dict[str, Any] = {"record": ["af", "hl", "sp", "pc", (0xC000, 4)], "keep": int(random.integers(1, 4))}
            what |= {"poke": {register: value, 0xC000 + value: value}} if value & 1 else {}
            what |= {"when": (register, random.choice(["<", "!=", "&"]), value)} if value & 2 else {}
            for emulator in pair:
                emulator.on((at >> 14, at if at < 0x4000 else 0x4000 | at % 0x4000), **what)
        for launch in range(4):
            for emulator in pair:
                emulator.run([16 << launch], 1 + launch, 1)
            assert pair[0].state_hash() == pair[1].state_hash()
            for one, other in zip(*(emulator._hooks._hooks for emulator in pair), strict=True):
                hits += int(one.hits.numpy()[0])
                assert one.hits.numpy()[0] == other.hits.numpy()[0]
                assert np.array_equal(one.records.numpy(), other.records.numpy())
            for emulator in pair:
                fuzz_roms.set_going(np.random.default_rng(launch), emulator)
    assert hits > 500


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "RAM": (lambda e: e.on(0xC000), "address 0xC000 is no ROM: hooks are for code"),
    "no bank": (lambda e: e.on(0x4000), "address 0x4000: in which ROM bank"),
    "bank outside": (lambda e: e.on((9, 0x4000)), "address 09:4000: there is no such code; banks has ROM bank 00"),
    "wrong bank": (lambda e: e.on((3, 0x150)), "address 03:0150: there is no such code"),
    "name": (lambda e: e.on("Main"), "Symbol not found: Main"),
    "timer read": (lambda e: e.on(0x150, [0xFF05]), "address 0xFF05: a hook cannot read it; give RAM"),
    "video memory written": (lambda e: e.on(0x150, poke={0x8000: 1}), "address 0x8000: a hook cannot write it"),
    "pc": (lambda e: e.on(0x150, poke={"pc": 1}), "pc: a hook does not change where the CPU goes on"),
    "poke": (lambda e: e.on(0x150, poke=["a"]), "poke=.'a'.: give a number for each register"),
    "value": (lambda e: e.on(0x150, poke={"a": 256}), "value for 'a'=256: give 0 to 255"),
    "when": (lambda e: e.on(0x150, when=("a", "=", 1)), "give .register or bytes, == != <"),
    "keep": (lambda e: e.on(0x150, keep=17), "keep=17: give 1 to 16"),
    "rom": (lambda e: e.on(0x150, rom=1), "rom=1: give 0 to 0"),
    "too much": (lambda e: e.on(0x150, [(0xC000, 3100)]), "no room for another hook; at most 64"),
    "no record": (lambda e: e.on(0x150, ["a"])["b"], "'b' is not recorded; recorded: a"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_hook_that_cannot_be_is_told_in_a_line(name: str, banks: Cartridge) -> None:
    call, message = REFUSED[name]
    with pytest.raises(EmulatorError, match=message) as error:
        call(Emulator(banks))
    assert "\n" not in str(error.value)
