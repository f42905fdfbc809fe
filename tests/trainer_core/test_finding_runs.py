"""`latest` as a run that is being started means it: the newest of the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trainer_core.lab.paths import HomePaths
from trainer_core.runs.names import find_run
from trainer_core.wire.errors import LabError


def test_latest_is_never_the_run_that_asks(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    for age, run_id in enumerate(("asker", "newer", "older")):
        config = home.run(run_id).root / "config.json"
        config.parent.mkdir(parents=True)
        config.write_text("{}")
        os.utime(config, (1000 - age, 1000 - age))
    assert find_run("latest", home).run_id == "asker"
    assert find_run("latest", home, "asker").run_id == "newer"
    assert find_run("asker", home, "asker").run_id == "asker"
    for run_id in ("newer", "older"):
        (home.run(run_id).root / "config.json").unlink()
    with pytest.raises(LabError, match="no runs yet"):
        find_run("latest", home, "asker")
