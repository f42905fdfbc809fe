"""Launch shapes: the built-in table, and shapes that cannot be."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from emulator import Cartridge, Emulator, EmulatorError
from emulator.launch import launch_shapes
from emulator.launch.launch_shapes import BUILT_IN, BUILT_IN_LARGEST, Shape, built_in, checked_shape, find_shape


def test_every_built_in_shape_is_one_that_ends() -> None:
    for shape in [*(shape for _, shape in BUILT_IN), BUILT_IN_LARGEST]:
        assert checked_shape(shape) is shape


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
    "shape",
    [
        Shape(33, 4, 2),
        Shape(1, 0, 2),
        Shape(1, 17, 2),
        Shape(1, 4, 0),
        Shape(1, 4, 9),
        Shape(1, 16, 5),
        Shape(1, 4, 2, -1),
        Shape("8", 4, 2),  # pyright: ignore[reportArgumentType]
        (1, 8, 4),
    ],
)
def test_a_shape_that_would_never_end_is_refused(busy: Cartridge, shape: Shape) -> None:
    with pytest.raises(EmulatorError, match="shape: ") as refused:
        Emulator(busy, 2, "cpu", shape=shape)
    assert "\n" not in str(refused.value)
    with pytest.raises(EmulatorError, match="shape: "):
        Emulator(busy, 2, "cpu").shape = shape
