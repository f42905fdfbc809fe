"""The watch on Warp's compiler: what this Warp compiles is told, what it has cached is not."""

from __future__ import annotations

from pathlib import Path

import pytest
import warp as wp
from warp._src import build

from emulator.launch.compile_watch import CompileWatch
from emulator.launch.warp_start import start_warp


def test_a_module_that_compiles_is_told_before_and_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_warp()
    for name in ("build_cpu", "build_cuda"):  # as they were, afterwards
        monkeypatch.setattr(build, name, getattr(build, name))
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    told: list[tuple[int, str, bool]] = []
    watch = CompileWatch(lambda part, name, seconds: told.append((part, name, seconds >= 0)))
    assert watch.install()
    assert watch.install()

    @wp.kernel(module="unique", enable_backward=False)
    def touch(cells: wp.array(dtype=wp.int32)):  # type: ignore[valid-type]
        cells[wp.tid()] = 7

    cells = wp.zeros(1, dtype=wp.int32, device="cpu")
    for _ in range(2):
        wp.launch(touch, dim=1, inputs=[cells], device="cpu")
    assert cells.numpy().tolist() == [7]
    assert [(part, is_done) for part, _, is_done in told] == [(1, False), (1, True)]
    assert "touch" in told[0][1]
