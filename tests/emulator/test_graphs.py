"""Recorded launches: equal states and pictures, whatever changes between two replays."""

from __future__ import annotations

import os

import numpy as np
import pytest
import warp as wp

from emulator import Cartridge, Emulator
from emulator.kernels.ppu.picture_arrays import Pictures
from emulator.launch.cuda_graphs import MOST_GRAPHS, Recorder
from emulator.launch.launch_shapes import BUILT_IN_LARGEST, Shape

pytestmark = pytest.mark.warp
BUTTONS = np.array([1, 2, 4, 8, 16, 32, 64, 128], dtype=np.uint8)


def pair(cartridge: Cartridge, device: str, shape: Shape | None) -> tuple[Emulator, Emulator]:
    """The same consoles launched one kernel at a time, and recorded (on a CPU by force)."""
    plain = Emulator(cartridge, 8, device, shape=shape, executor="uniform")
    recorded = Emulator(cartridge, 8, device, shape=shape, executor="uniform", cuda_graphs=True)
    if recorded._frames.recorder is None:
        recorded._frames.recorder = Recorder(device)
        recorded._pictures = Pictures(recorded.batch, wp.launch)  # Warp sees no packed launch
    return plain, recorded


@pytest.mark.parametrize("shape", [None, BUILT_IN_LARGEST])
def test_a_replay_does_what_the_launches_do(device: str, busy: Cartridge, shape: Shape | None) -> None:
    if shape and device == "cpu" and not os.environ.get("DMGLAB_SLOW_PROOFS"):
        shape = shape._replace(tail=0)  # of threaded code, which compiles for 20 s there
    plain, recorded = pair(busy, device, shape)
    held = [wp.zeros(8, dtype=wp.uint8, device=device) for _ in range(2)]
    seen = [wp.zeros((8, 72, 80), dtype=wp.uint8, device=device) for _ in range(2)]
    draw = np.random.default_rng(0)
    start = plain.snapshot(0)
    for step in range(12):
        buttons = draw.choice(BUTTONS, 8)
        for emulator, mine, out in zip((plain, recorded), held, seen, strict=True):
            mine.assign(buttons)
            emulator.run(mine, 3, 1)
            if step == 7:
                emulator.run(mine, 2)  # another launch in between, and a reset of some consoles
                emulator.reset(buttons > 4, emulator.state_cache([start]))
            emulator.observations(out)
        assert plain.state_hash() == recorded.state_hash()
        assert np.array_equal(seen[0].numpy(), seen[1].numpy())


def test_numpy_buttons_and_none_are_recorded_too(device: str, busy: Cartridge) -> None:
    plain, recorded = pair(busy, device, None)
    for buttons in [BUTTONS, None, BUTTONS[::-1], None, BUTTONS, None]:
        for emulator in (plain, recorded):
            emulator.run(buttons, 2)
        assert plain.state_hash() == recorded.state_hash()
        assert np.array_equal(plain.screens.numpy(), recorded.screens.numpy())


def test_the_first_launch_is_plain_the_second_captured_the_third_replayed(device: str) -> None:
    recorder, values = Recorder(device), wp.zeros(4, dtype=wp.int32, device=device)
    calls = []

    def launch() -> None:
        calls.append(len(calls))
        values.fill_(len(calls))

    for _ in range(4):
        recorder.play("fill", launch)
    assert len(calls) == 2, "a captured launch is not launched by the host again"
    assert values.numpy().tolist() == [2] * 4


def test_graphs_are_forgotten_before_they_are_too_many(device: str) -> None:
    recorder = Recorder(device)
    for key in range(3 * MOST_GRAPHS):
        recorder.play(key, lambda: None)
        assert len(recorder._graphs) <= MOST_GRAPHS


def test_on_a_cpu_nothing_is_recorded(busy: Cartridge) -> None:
    if not wp.is_cpu_available():
        pytest.skip("Warp without a CPU back end")
    assert Emulator(busy, 1, "cpu", cuda_graphs=True)._frames.recorder is None
