"""`dmglab verify-claims`: figures that can be measured here are, and a missed one is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.imports import CHECKOUT
from trainer_core.cli.main import main
from trainer_core.cli.verify_claims import WALL, read_claims, verify

HERE = ["this processor"]


def write_claim(folder: Path, name: str, printed: dict[str, Any], **changed: Any) -> None:
    """Write a figure whose command prints `printed`."""
    program = f"print('words'); print({json.dumps(json.dumps(printed))})"
    check = {"command": ["python", "-c", program], "read": "found.value", "expect": 10.0, "minutes": 0.1}
    claim = {
        "row": "what",
        "text": "ten",
        "value": 10.0,
        "unit": "things",
        "kind": "count",
        "device": "this processor",
        "date": "2026-11-27",
        "commit": "0123abc",
        "command": "python -c ...",
        "check": None if changed.get("why_not") else check | changed.pop("check", {}),
    }
    (folder / f"{name}.json").write_text(json.dumps(claim | changed))


def verdict(folder: Path, value: float, **changed: Any) -> str:
    write_claim(folder, "one", {"found": {"value": value}}, **changed)
    return verify("one", read_claims(folder)["one"], HERE).state


def test_a_count_has_to_be_met(tmp_path: Path) -> None:
    assert verdict(tmp_path, 10) == "holds"
    assert verdict(tmp_path, 11) == "holds"
    assert verdict(tmp_path, 9) == "missed"
    assert verdict(tmp_path, 8, check={"tolerance": 0.2}) == "holds"
    assert verdict(tmp_path, 11, better="lower") == "missed"


def test_a_speed_may_be_a_tenth_worse_on_its_device_and_is_not_measured_elsewhere(tmp_path: Path) -> None:
    assert verdict(tmp_path, 9.1, kind="speed") == "holds"
    assert verdict(tmp_path, 8.9, kind="speed") == "missed"
    assert verdict(tmp_path, 10.9, kind="speed", better="lower") == "holds"
    assert verdict(tmp_path, 11.1, kind="speed", better="lower") == "missed"
    assert verdict(tmp_path, 0, kind="speed", device="another processor") == "not measured"


def test_seeds_give_a_median_and_a_process_its_time(tmp_path: Path) -> None:
    program = 'print(\'{"found": {"value": \' + str({seed}) + "}}")'
    check = {"command": ["python", "-c", program], "seeds": [1, 30, 10]}
    write_claim(tmp_path, "seeds", {}, check=check)
    write_claim(tmp_path, "time", {}, check={"read": WALL, "expect": 60.0}, better="lower")
    claims = read_claims(tmp_path)
    assert verify("seeds", claims["seeds"], HERE).measured == 10
    found = verify("time", claims["time"], HERE)
    assert found.state == "holds"
    assert found.measured is not None
    assert 0 < found.measured < 60


def test_the_command_fails_for_a_missed_figure_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_claim(tmp_path, "good", {"found": {"value": 10}})
    write_claim(tmp_path, "never", {}, why_not="needs a day")
    assert main(["verify-claims", "--json", "--results", str(tmp_path)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {row["name"]: row["state"] for row in said["figures"]} == {"good": "holds", "never": "not measured"}
    write_claim(tmp_path, "bad", {"found": {}})
    assert main(["verify-claims", "--json", "--results", str(tmp_path)]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["error"] == "not confirmed: bad"
    assert main(["verify-claims", "--json", "--results", str(tmp_path), "--only", "good"]) == 0


@pytest.mark.parametrize("text", ["{", '{"row": 1}', '{"no": "field"}'])
def test_a_bad_file_is_one_line(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.json").write_text(text)
    assert main(["verify-claims", "--results", str(tmp_path)]) != 0
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert str(tmp_path / "bad.json") in last


def test_every_figure_of_the_checkout_can_be_read_and_readme_has_six_rows() -> None:
    claims = read_claims(CHECKOUT / "docs" / "results")
    assert sorted({claim.readme for claim in claims.values()} - {0}) == [1, 2, 3, 4, 5, 6]
    assert all(bool(claim.check) != bool(claim.why_not) for claim in claims.values())
