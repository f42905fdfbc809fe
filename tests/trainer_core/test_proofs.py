"""The resume proof itself: it holds, and it would notice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.proofs.resume import Options, Verdict, differences, prove


def test_a_changed_bit_is_a_difference() -> None:
    one = {"update": 3, "grad_norm": 0.1 + 0.2}
    assert differences(one, dict(one)) == []
    assert differences(one, {"update": 3, "grad_norm": 0.3}) == ["grad_norm"]
    assert differences(one, {"update": 3}) == ["grad_norm"]


def test_a_verdict_holds_only_when_nothing_is_wrong() -> None:
    good: dict[str, Any] = {
        "instant_s": 1.0,
        "killed_at_update": 4,
        "resumed_from": 3,
        "equal_records": 3,
        "differing": (),
        "lost_lines": 0,
        "log_errors": (),
    }
    assert Verdict(**good).holds
    spoilt: list[dict[str, Any]] = [{"equal_records": 2}, {"differing": ("x",)}, {"lost_lines": 1}]
    for bad in spoilt:
        assert not Verdict(**(good | bad)).holds


@pytest.mark.usefixtures("warm")
@pytest.mark.slow
def test_a_killed_run_resumes_bit_for_bit(tmp_path: Path) -> None:
    found = prove(Options(kills=1, num_envs=16, num_steps=8, updates=12), tmp_path)
    assert (found["ok"], found["equal"], found["records_compared"]) == (True, 1, 3)
