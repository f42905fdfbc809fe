"""A bug report holds what explains a run and nothing that is somebody's; the load of the machine is shares."""

from __future__ import annotations

import json
import urllib.error
import zipfile
from email.message import Message
from io import BytesIO
from pathlib import Path

import pytest

from tests.support.made_checkpoints import make_checkpoint
from trainer_core.cli.main import main
from trainer_core.envs.arc.rest import RestGame
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.resource_usage import machine_load
from trainer_core.service import folder_bytes, write_report
from trainer_core.wire.errors import LabError


def test_a_report_has_the_logs_end_without_rom_weights_and_home(tmp_path: Path) -> None:
    home = HomePaths(tmp_path / "home")
    root = home.run("r1").root
    for name, text in (
        ("config.json", f'{{"warm_start": "{home.root}/x"}}'),
        ("train_log.jsonl", "line\n"),
        ("worker.log", "Traceback\n"),
        ("checkpoints/1/policy.safetensors", "weights"),
        ("game.gb", "rom"),
        ("failures/t1/summary.json", "{}"),
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    names = write_report(home, "r1", tmp_path / "report.zip", ["told"])
    with zipfile.ZipFile(tmp_path / "report.zip") as bundle:
        assert sorted(bundle.namelist()) == sorted(names)
        assert bundle.read("config.json") == b'{"warm_start": "HOME/x"}'
        assert bundle.read("app.log") == b"told"
    wanted = {"versions.json", "app.log", "config.json", "train_log.jsonl", "worker.log"}
    assert set(names) == wanted | {"failures/t1/summary.json"}


def test_a_report_that_cannot_be_written_says_where_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="the report was not written"):
        write_report(HomePaths(tmp_path), "", tmp_path / "none" / "report.zip", [])
    assert not list(tmp_path.iterdir())


def test_the_load_of_the_machine_is_shares_of_what_there_is(tmp_path: Path) -> None:
    load = machine_load(tmp_path)
    assert {"cpu", "memory", "own_memory", "disk"} <= set(load)
    assert all(0.0 <= share <= 1.0 for share in load.values())
    assert load["own_memory"] < load["memory"]
    assert machine_load(tmp_path) is load, "read once a second"


def test_a_folder_takes_what_its_files_take(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"12345")
    (tmp_path / "y").write_bytes(b"123")
    assert folder_bytes(tmp_path) == 8
    assert folder_bytes(tmp_path / "gone") == 0


@pytest.mark.parametrize(
    "words",
    [
        ["train", "--runner", "arc", "--task", "arc/wk01", "--server", "http://me:SESAME@host"],
        ["train", "--runner", "arc", "--server", "http://host/v1?key=SESAME"],
        ["train", "--runner", "arc", "--server", "me:SESAME@host"],
        ["queue", "add", "--runner", "arc", "--server", "https://SESAME@host:1/x"],
        ["league", "random", "llm=http://me:SESAME@host/v1", "--task", "tiny_goal"],
        ["league", "llm=me:SESAME@host", "--task", "tiny_goal"],
        ["play", "--checkpoint", "POLICY", "--task", "arc/wk01@http://me:SESAME@host"],
        ["eval", "--checkpoint", "POLICY", "--task", "arc/wk01@http://me:SESAME@host"],
        ["train", "--task", "arc/wk01@http://me:SESAME@host"],
        ["train", "--task", "tiny_goal", "--nodes", "2", "--rendezvous", "me:SESAME@host:1"],
    ],
)
def test_a_password_in_an_address_is_refused_before_anything_keeps_it(
    words: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    policy = str(make_checkpoint(tmp_path / "policy"))
    words = [policy if word == "POLICY" else word for word in words]
    assert main([*words, "--home", str(home)]) == 2
    out, err = capfd.readouterr()
    error = json.loads(out.splitlines()[-1])["error"]
    assert len(error) < 300
    assert "SESAME" not in out + err
    kept = [path for path in home.rglob("*") if path.is_file()]
    assert not [path for path in kept if b"SESAME" in path.read_bytes()]
    assert not (home / "training" / "runs.jsonl").exists()


def test_keys_are_no_part_of_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of before held them: a server's answer repeated the key, an address a password."""
    monkeypatch.setenv("ARC_API_KEY", "open-sesame")
    monkeypatch.setenv("HF_TOKEN", "hf_sesame")
    monkeypatch.setenv("SHORT_KEY", "a")
    home = HomePaths(tmp_path / "home")
    root = home.run("r1").root
    root.mkdir(parents=True)
    (root / "config.json").write_text('{"server": "http://me:pass@host/v1", "mail": "a@b"}')
    (root / "worker.log").write_text("401 no such key 'open-sesame'\nhf_sesame\n")
    write_report(home, "r1", tmp_path / "report.zip", ["https://sesame@host said open-sesame"])
    with zipfile.ZipFile(tmp_path / "report.zip") as bundle:
        texts = {name: bundle.read(name).decode() for name in bundle.namelist()}
    assert texts["config.json"] == '{"server": "http://***@host/v1", "mail": "a@b"}'
    assert texts["worker.log"] == "401 no such key '***'\n***\n"
    assert texts["app.log"] == "https://***@host said ***"


def test_what_a_server_answers_is_kept_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARC_API_KEY", "open-sesame")
    said = b'{"message": "no such key: open-sesame"}'
    failed = urllib.error.HTTPError("http://host", 401, "no", Message(), BytesIO(said))

    def refuse(*_: object, **__: object) -> None:
        raise failed

    monkeypatch.setattr("urllib.request.OpenerDirector.open", refuse)
    with pytest.raises(LabError, match=r"401 no such key: \*\*\*$"):
        RestGame("http://host", "wk01")
    with pytest.raises(LabError, match="ARC_API_KEY"):
        RestGame("http://me:pass@host", "wk01")
