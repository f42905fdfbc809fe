"""The last consoles of a launch, which go over from the data path to threaded code."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest
import warp as wp

from emulator import Cartridge, Emulator, EmulatorError
from emulator.kernels.sm83.service_requests import ASKED_AT
from emulator.launch import compile_beside, launch_tail, uniform_cpu
from emulator.launch.compile_beside import CompiledBeside
from emulator.launch.launch_shapes import FEW
from emulator.verify import fuzz_roms

CONSOLES = 20
DONE = 0x80000000


@pytest.mark.warp
def test_the_last_consoles_are_listed_with_what_they_ask_for(busy: Cartridge) -> None:
    left, frozen = 3, 7  # a CPU runs one console after another, so those with the highest numbers
    pair = [Emulator(busy, CONSOLES, "cpu", executor="uniform") for _ in range(2)]
    seen = []
    for emulator in pair:
        emulator.freeze(frozen)
    batch = pair[0].batch

    def look() -> None:
        words = batch.tail.numpy().copy()
        asked = batch.ram.numpy()[:, batch.scratch + ASKED_AT :][:, :4].copy().view(np.uint32)
        seen.append((words, asked[:, 0]))

    buttons = wp.zeros(CONSOLES, dtype=wp.uint8, device="cpu")
    uniform_cpu.launch(batch, buttons, 2, 0, FEW._replace(tail=left), True, look)
    pair[1].run(None, 2)
    words, asked = seen[0]
    assert words[0] == CONSOLES - left, "done, one of them frozen"
    assert words[1] == left
    envs = words[2 : 2 + left] & launch_tail.ENV_MASK
    assert envs.tolist() == [17, 18, 19]
    assert not (words[2 : 2 + left] >> launch_tail.ASKED_SHIFT & ~np.uint32(31)).any()
    assert (asked[envs] == DONE).all()
    assert pair[0].state_hash()[:17] == pair[1].state_hash()[:17]
    assert not batch.tail.numpy()[:2].any(), "the next launch begins with none"


@pytest.mark.slow
@pytest.mark.warp
@pytest.mark.parametrize("idle_skip", [True, False])
def test_states_are_the_same_whatever_is_left(device: str, idle_skip: bool) -> None:
    """On a CPU only if asked for: it compiles for 20 s what nothing else uses."""
    if device == "cpu" and not os.environ.get("DMGLAB_SLOW_PROOFS"):
        pytest.skip("set DMGLAB_SLOW_PROOFS=1")
    random = np.random.default_rng(7)
    roms = [fuzz_roms.random_rom(random, fuzz_roms.KINDS[i % 5], bool(i // 5 % 2)) for i in range(CONSOLES)]
    cartridges = [Cartridge.from_bytes(rom, f"{i}") for i, rom in enumerate(roms)]
    emulators = [
        Emulator(cartridges, CONSOLES, device, executor="uniform", idle_skip=idle_skip, shape=FEW._replace(tail=left))
        for left in (0, 1, 7, CONSOLES)
    ]
    for emulator in emulators:
        emulator.wait_for_kernels()
    for launch in range(12):
        buttons = random.integers(0, 256, CONSOLES).astype(np.uint8)
        for emulator in emulators:
            emulator.run(buttons, 1 + launch, launch // 2)
        first, *others = emulators
        for emulator in others:
            assert emulator.state_hash() == first.state_hash()
            assert idle_skip or np.array_equal(emulator.work(), first.work()), (
                "the executor decides which turns to skip"
            )
            assert np.array_equal(emulator.screens.numpy(), first.screens.numpy())
        for emulator in emulators:
            fuzz_roms.set_going(np.random.default_rng(launch), emulator)


@pytest.mark.parametrize(
    ("find", "said"),
    [
        (lambda: (_ for _ in ()).throw(OSError("no room")), "kernels not compiled, launches go without: no room"),
        (lambda: None, "kernels not loaded, launches go without: .*; delete "),
    ],
)
def test_kernels_that_fail_are_done_without(
    find: Callable[[], None], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_beside, "is_cached", lambda *_: True)

    def tried() -> list[bool]:
        beside = CompiledBeside(lambda: find() or Damaged(), "cpu", 1)
        beside.wait()
        return [beside.usable(), beside.usable()]

    with pytest.warns(RuntimeWarning, match=said) as caught:
        assert tried() == [False, False]
    assert len(caught) == 1


class Damaged:
    """A Warp module whose file in the cache is cut short."""

    def load(self, *_: object) -> None:
        raise RuntimeError("Failed to load CUDA module")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Failed to allocate 99 bytes on device 'cuda:0'", "cpu: no room for 7 consoles; give fewer"),
        ("CUDA kernel build failed with error code 6", "cpu: CUDA kernel build failed with error code 6; delete "),
        ("Failed to load CUDA module 'x' (block_dim=1)", "cpu: Failed to load CUDA module 'x' .*; delete "),
    ],
)
def test_what_warp_says_comes_with_a_way_out(
    said: str, told: str, busy: Cartridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(said)

    monkeypatch.setattr("emulator.emulator.allocate", fail)
    with pytest.raises(EmulatorError, match=told):
        Emulator(busy, 7)
