"""A process opens its GPU while torch loads, and keeps what Python compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from trainer_core.host import process_start


def run_python(source: str, **variables: str) -> str:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
    }
    done = subprocess.run(
        [sys.executable, "-c", source],
        env={**environment, **variables},
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


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
    monkeypatch.setattr(process_start, "_begin", lambda work: work())
    monkeypatch.setattr(process_start, "_open_gpu", opened.append)
    monkeypatch.setattr(process_start, "_map_libraries", lambda: None)
    monkeypatch.setattr(process_start, "importlib", SimpleNamespace(import_module=lambda name: None))
    process_start.load_torch(device)
    assert opened == ([index] if sys.platform.startswith("linux") else [])


@pytest.mark.parametrize("may_write", [True, False])
def test_bytecode_is_kept_in_a_cache_of_ours(may_write: bool, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    if not may_write:
        cache.write_text("no folder")
    (tmp_path / "dmglab_imported.py").write_text("")
    source = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from trainer_core.host.process_start import keep_bytecode\n"
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
