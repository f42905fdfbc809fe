"""Launch shapes: the built-in table, and shapes that cannot be."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from emulator import Cartridge, Emulator, EmulatorError
from emulator.launch import launch_shapes
from emulator.launch.launch_shapes import BUILT_IN, BUILT_IN_LARGEST, FEW, built_in, find_shape, impossible


def test_every_built_in_shape_is_one_that_ends() -> None:
    for shape in [*(shape for _, shape in BUILT_IN), BUILT_IN_LARGEST]:
        assert not impossible(shape)


def test_a_gpu_gets_the_shape_for_as_many_consoles_on_an_sm(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = SimpleNamespace(is_cuda=True, sm_count=launch_shapes.MEASURED_SMS)
    monkeypatch.setattr(launch_shapes.wp, "get_device", lambda name: gpu)
    most, shape = BUILT_IN[0]
    assert [find_shape(n, "cuda:0") for n in (1, most, most + 1)] == [shape, shape, BUILT_IN[1][1]]
    assert find_shape(1 << 17, "cuda:0") == BUILT_IN_LARGEST
    gpu.sm_count //= 4
    assert find_shape(most // 4, "cuda:0") == shape
    assert find_shape(most, "cuda:0") == built_in(4 * most)


@pytest.mark.warp
@pytest.mark.parametrize(
    "change", [{"lanes": 33}, {"running": 0}, {"serving": 0}, {"serving": 9}, {"running": 17}, {"tail": -1}]
)
def test_a_shape_that_would_never_end_is_refused(busy: Cartridge, change: dict[str, int]) -> None:
    with pytest.raises(EmulatorError, match="shape: "):
        Emulator(busy, 2, "cpu", shape=FEW._replace(**change))
