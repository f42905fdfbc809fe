"""What a start leaves out can be had later; what Python compiles is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from trainer_core import early_start

LATER = """
import os, sys
from trainer_core import early_start
early_start.load_torch()
import torch
assert not set(early_start.LATER) & set(sys.modules), sys.modules.keys() & set(early_start.LATER)
assert early_start.AUTOLOAD not in os.environ
assert torch.distributions.Normal(0.0, 1.0).sample().shape == ()
assert isinstance(torch.nn.quantized, early_start._Later)
from torch import _meta_registrations
assert _meta_registrations.__file__
import torch.masked.maskedtensor
assert torch.masked is sys.modules["torch.masked"]
early_start.leave_compiler_out()
weight = torch.nn.Parameter(torch.ones(3))
weight.grad = torch.ones(3)
optimizer = torch.optim.Adam([weight], lr=0.5)
optimizer.step()
assert torch.allclose(weight, torch.full((3,), 0.5)), weight
assert "torch._dynamo.config" not in sys.modules
import torch._dynamo.config
assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2)).tolist() == [2.0] * 2
"""


def run_python(source: str, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in
                   ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", source], env={**environment, **variables}, text=True,
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_what_torch_is_loaded_without_comes_when_it_is_asked_for() -> None:
    """An optimizer, too, takes no compiler, and whoever wants it gets it."""
    run_python(LATER)


def test_a_torch_that_nobody_tried_is_loaded_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(early_start, "TRIED", ("1.0.",))
    assert not early_start.is_tried()
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.delitem(sys.modules, early_start.COMPILER, raising=False)
    monkeypatch.setattr(early_start, "is_tried", lambda: False)
    monkeypatch.setattr(early_start, "_begin", lambda work: None)
    monkeypatch.setattr(early_start, "_keep_memory", lambda: None)
    monkeypatch.setattr(early_start, "_load_without_later", lambda: loaded.append("in part"))
    monkeypatch.setattr(early_start, "importlib", SimpleNamespace(import_module=loaded.append))
    early_start.load_torch()
    early_start.leave_compiler_out()
    assert loaded == ["emulator.emulator", "torch"]
    assert early_start.COMPILER not in sys.modules


@pytest.mark.parametrize(
    ("device", "rank", "index"),
    [("cuda", "", 0), ("cuda:0", "", 0), ("cuda:3", "", 3), ("cuda:3", "1", 1), ("cuda", "2", 2)],
)
def test_the_gpu_that_is_named_is_opened_while_torch_loads(
    device: str, rank: str, index: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setenv("LOCAL_RANK", rank)
    monkeypatch.setattr(early_start, "_begin", lambda work: work())
    monkeypatch.setattr(early_start, "_open_gpu", opened.append)
    monkeypatch.setattr(early_start, "_map_libraries", lambda: None)
    monkeypatch.setattr(early_start, "_load_without_later", lambda: None)
    monkeypatch.setattr(early_start, "is_tried", lambda: True)
    monkeypatch.setattr(early_start, "importlib", SimpleNamespace(import_module=lambda name: None))
    early_start.load_torch(device)
    assert opened == ([index] if sys.platform.startswith("linux") else [])


@pytest.mark.parametrize("may_write", [True, False])
def test_bytecode_is_kept_in_a_cache_of_ours(may_write: bool, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    if not may_write:
        cache.write_text("no folder")
    (tmp_path / "dmglab_imported.py").write_text("")
    source = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from trainer_core.early_start import keep_bytecode\n"
        "keep_bytecode()\nimport dmglab_imported, os\n"
        "print(os.environ.get('PYTHONPYCACHEPREFIX'), sys.dont_write_bytecode)"
    )
    said = run_python(source, PYTHONDONTWRITEBYTECODE="1", XDG_CACHE_HOME=str(cache)).split()
    found = list(tmp_path.rglob("dmglab_imported.*.pyc"))
    assert not (tmp_path / "__pycache__").exists(), "nothing beside the sources, as was asked"
    if may_write:
        assert said == [str(cache / "dmglab" / "bytecode"), "False"]
        assert len(found) == 1
    else:
        assert said == ["None", "True"]
        assert not found
