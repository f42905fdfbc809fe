"""A trial of launch shapes finds the fastest one, also when that becomes another."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from emulator import Cartridge, Emulator
from emulator.launch import trial
from emulator.launch.shapes import (
    ALONE,
    BUILT_IN_LARGEST,
    Shape,
    built_in,
    impossible,
    worth_trying,
)
from emulator.tools.warmup import blank_rom

BASE = built_in(4096)


class FakeSpan:
    """Takes what the shape that runs meanwhile takes; known some launches later."""

    def __init__(self, device: FakeDevice) -> None:
        self.device = device

    def begin(self) -> None:
        self.looks = 0
        self.began = self.device.now

    def end(self) -> None:
        self.taken = self.device.now - self.began

    def milliseconds(self) -> float | None:
        self.looks += 1
        return self.taken if self.looks > 2 else None


class FakeDevice:
    def __init__(self, takes: dict[Shape, float]) -> None:
        self.takes = takes
        self.now = 0.0
        self.trial = trial.Trial(list(takes), FakeSpan(self))

    def run(self, launches: int, frames: int = 24) -> list[Shape]:
        """The shapes of so many launches."""
        chosen: list[Shape] = []

        def launch(shape: Shape) -> None:
            chosen.append(shape)
            self.now += self.takes[shape]

        for _ in range(launches):
            self.trial.launch(frames, launch)
        return chosen


def test_the_fastest_shape_is_found_and_kept_until_another_one_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trial, "AGAIN_AFTER", 50)
    fast, slow, hopeless = BASE._replace(tail=1024), BASE, ALONE
    device = FakeDevice({slow: 11.0, fast: 10.0, hopeless: 40.0})
    first = device.run(40)
    assert first[:1] == [slow]
    assert first.count(hopeless) == 1, "it is not tried again in this trial"
    assert first.count(slow) > 1
    assert first[-10:] == [fast] * 10
    assert device.run(10, frames=1) is not None
    device.takes[hopeless] = 5.0
    assert device.run(150)[-1] == hopeless, "it is the fastest now"


def test_what_is_worth_trying_can_be_launched() -> None:
    fewer = BASE._replace(serving=1)
    assert worth_trying(BASE, 4096, hot=False) == [BASE, fewer]
    hot = worth_trying(BASE, 4096, hot=True)
    assert [shape.tail for shape in hot] == [512, 512, 1024, 2048, 4096]
    assert worth_trying(BASE, 1500, hot=True)[2:] == [BASE._replace(tail=1024)]
    assert worth_trying(ALONE, 256, hot=True) == [ALONE]
    large = worth_trying(BUILT_IN_LARGEST, 65536, hot=True)
    assert [shape.serving for shape in large] == [4, 3, 2, 4, 4]
    for shape in (*hot, *large):
        assert not impossible(shape)
        assert shape.block <= large[0].block


@pytest.mark.warp
def test_a_batch_that_tries_shapes_comes_to_the_same_states(device: str) -> None:
    if device == "cpu":
        pytest.skip("a CPU has nothing to try")
    rom = bytearray(blank_rom())
    rom[0x100:0x102] = bytes.fromhex("18 4e")  # jr 0150
    rom[0x150:0x158] = bytes.fromhex("04 78 ea 00 c0 00 18 f8")  # inc b; ld (c000), b; jr 0150
    cartridge = Cartridge.from_bytes(bytes(rom), "counts")
    free, fixed = Emulator(cartridge, 1100, device), Emulator(cartridge, 1100, device, shape=BASE)
    random = np.random.default_rng(3)
    free.wait_for_kernels()
    assert free.shape == BASE
    free.adopt([[(0x150, 0x151, 0x152, 0x155, 0x156)]])
    for _ in range(20):
        buttons = random.integers(0, 256, 1100).astype(np.uint8)
        for emulator in (free, fixed):
            emulator.run(wp.array(buttons, device=device), 2, 1)
        wp.synchronize_device(device)
    assert free.state_hash()[::50] == fixed.state_hash()[::50]
    assert np.array_equal(free.work(), fixed.work())
