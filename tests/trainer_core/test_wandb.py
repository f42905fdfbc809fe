"""Weights & Biases: what is sent, to whom, and that nothing is without the user's agreement.

`extra` tests use the real client with a server of this computer (tests.support.wandb_server); none was run with W&B's
own. The others need no client.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.extras import extra_library
from tests.support.made_records import update_record
from tests.support.processes import PATIENCE_S, SPEC, in_service, until, wait_until
from tests.support.scripted_native import ScriptedNative, scripted_native
from tests.support.wandb_server import WandbServer
from trainer_core.formats.tensorboard import tags_of
from trainer_core.formats.wandb_reader import read_file
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs.archive import LEFT_OUT
from trainer_core.runs.log_writer import RunWriter
from trainer_core.runs.wandb_run import FILE, NOWHERE, WandbRun, agree, guest_variables, read_wandb, wandb_target
from trainer_core.service.wandb_sender import check_wandb, start_sender
from trainer_core.wire import records
from trainer_core.wire.environment import child_environment
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.process_guard import family

KEY = "0123456789" * 4
QUICK = """
import sys
from trainer_core.formats import wandb_online as program
program.RETRY_S = program.SETTLED_S = 0.2
program.FINISH_S = 5.0
sys.exit(program.main(sys.argv[1:]))
"""
CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    return HomePaths(tmp_path / "home").run("20261127-120000-abcd")


def write(paths: RunPaths, *updates: int) -> list[records.Record]:
    """Append update records to the log, as its trainer does."""
    writer = RunWriter(paths)
    written = [writer.keep(update_record(paths.run_id, 0, update, 100.0)) for update in updates]
    writer.close()
    return written


# -- without the client ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ("dmglab", "own")),
        ("p", ("p", "own")),
        ("p/n/m", ("p", "n/m")),
        ("/n", ("dmglab", "n")),
        (" p / ", ("p", "own")),
    ],
)
def test_a_target_is_a_project_and_a_name(text: str, found: tuple[str, str]) -> None:
    assert wandb_target(text, "own") == found


@pytest.mark.parametrize("text", ["a#b", "a%", "a:b/n", "../n", "a\x1b", "p" * 129, "p/" + "n" * 129])
def test_what_wandb_refuses_is_one_line_before_any_process(text: str) -> None:
    with pytest.raises(ConfigError, match="W&B"):
        wandb_target(text, "own")
    assert check_wandb(text).status == "fail"


def test_the_agreement_is_the_runs_own_and_holds_no_key(paths: RunPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    agree(paths, "")
    assert read_wandb(paths) is None
    assert start_sender(paths) is None
    agree(paths, "p", "mine")
    assert read_wandb(paths) == WandbRun(project="p", name="mine")
    assert KEY not in (paths.root / FILE).read_text()
    assert FILE in LEFT_OUT
    (paths.root / FILE).write_bytes(b'{"project": 3}')
    assert read_wandb(paths) is None


def test_without_the_client_the_check_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wandb").mkdir()
    (tmp_path / "wandb/__init__.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = check_wandb("dmglab")
    assert (found.status, found.fix) == ("fail", "pip install 'dmglab[wandb]'")


SPY = """
import os, sys
def note(event, args):
    if event == "socket.connect" and isinstance(args[1], tuple):
        with open(os.environ["SPY"], "a") as file:
            print(*args[1][:2], file=file)
sys.addaudithook(note)
"""
"""Loaded by every Python that a test starts: notes to whom each socket is connected."""
STUBBORN = """
import os, socket
if os.environ["WANDB_MODE"] == "disabled" and not os.environ["WANDB_API_KEY"]:
    where = os.environ["WANDB_BASE_URL"].removeprefix("http://").split(":")
    socket.socket().connect_ex((where[0], int(where[1])))
"""
"""A guest that calls W&B in the online mode whatever its environment says."""


@pytest.fixture
def connected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[str]]:
    """Return a function that returns the "host port" of all connections of processes started from now on."""
    (tmp_path / "spy").mkdir()
    (tmp_path / "spy/sitecustomize.py").write_text(SPY)
    note = tmp_path / "spy/note"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "spy"))
    monkeypatch.setenv("SPY", str(note))
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    return lambda: set(note.read_text().splitlines()) if note.exists() else set()


class Stubborn(ScriptedNative):
    def command(self, run_dir: Path) -> list[str]:
        return [sys.executable, "-c", STUBBORN]


async def test_without_agreement_a_guests_own_calls_reach_nobody(
    tmp_path: Path, connected: Callable[[], set[str]]
) -> None:
    fields = {spec.name: getattr(scripted_native(), spec.name) for spec in dataclasses.fields(Stubborn)}
    async with in_service(tmp_path / "home", Stubborn(**fields)) as service:
        plan = service.plan(SPEC)
        await service.start(plan)
        await until(lambda: service.runs[plan.run_id].state.is_end)
        assert service.senders == {}
        assert connected() == {NOWHERE.removeprefix("http://").replace(":", " ")}


def test_with_agreement_a_guests_own_calls_go_to_the_same_project(paths: RunPaths) -> None:
    agree(paths, "p/mine")
    assert guest_variables(paths) == {"WANDB_PROJECT": "p", "WANDB_RUN_GROUP": "mine"}


# -- with the real client --------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WandbServer]:
    extra_library("wandb")
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("HOME", str(tmp_path))  # no netrc, no settings of whoever runs the tests
    with WandbServer() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        yield server


def sending(paths: RunPaths) -> subprocess.Popen[bytes]:
    """Start the program that sends a run, less patient than it is."""
    argv = [sys.executable, "-c", QUICK, str(paths.root)]
    return subprocess.Popen(argv, cwd=CHECKOUT, stdin=subprocess.PIPE, env=child_environment(**family()))


def end(sender: subprocess.Popen[bytes]) -> WandbRun:
    """End the run that `sender` sends; what became of it."""
    assert sender.stdin is not None
    sender.stdin.close()
    sender.wait(PATIENCE_S)
    found = read_wandb(RunPaths(Path(str(sender.args[-1]))))  # type: ignore[index]
    assert found is not None
    return found


def state(paths: RunPaths) -> str:
    return getattr(read_wandb(paths), "state", "")


def curves(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of W&B's history without its own columns and without rows of clips and tables alone."""
    plain = [{name: value for name, value in row.items() if not name.startswith(("_", "samples/"))} for row in rows]
    return [row for row in plain if row]


def logged(written: list[Any]) -> list[dict[str, Any]]:
    return [{**tags_of(record), "env_steps": record.env_steps} for record in written]


def test_a_run_is_sent_with_clips_and_tables_and_a_resume_goes_on(paths: RunPaths, server: WandbServer) -> None:
    agree(paths, "p/mine")
    written = write(paths, 1, 2, 3)
    paths.videos.mkdir()
    (paths.videos / "first.mp4").write_bytes(b"a clip")
    table = paths.episodes / "val_step_2_epoch_0"
    table.mkdir(parents=True)
    said = {"role": "user", "content": "7?"}
    episode = {"trajectories": [{"steps": [{"chat_completions": [said]}], "reward": 1.0}], "is_correct": True}
    (table / "episode_0.json").write_text(json.dumps(episode))
    sender = sending(paths)
    wait_until(lambda: getattr(read_wandb(paths), "rows", 0) == 3)
    assert state(paths) == "connected"
    written += write(paths, 4, 2)  # the second one after a resume at an older checkpoint
    found = end(sender)
    assert (found.state, found.url) == ("sent", f"{server.url}/me/p/runs/{paths.run_id}")
    assert found.files == {"videos/first.mp4": True, "episodes/val_step_2_epoch_0": True}
    assert {name.split("/")[1] for name in server.files if name.startswith("media/")} == {"table", "videos"}
    written += write(paths, 5)
    again = end(sending(paths))
    assert (again.state, again.rows) == ("sent", 6)
    assert curves(server.rows()) == logged(written)
    assert (server.told["project"], server.told["displayName"]) == ("p", "mine")
    assert server.keys == {"Basic " + base64.b64encode(f"api:{KEY}".encode()).decode()}
    assert not [path for path in paths.root.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_a_server_that_dies_in_the_middle_loses_nothing(paths: RunPaths, server: WandbServer, tmp_path: Path) -> None:
    agree(paths, "p")
    written = write(paths, 1)
    sender = sending(paths)
    wait_until(lambda: state(paths) == "connected")
    server.stop()
    written += write(paths, 2)
    wait_until(lambda: state(paths) == "waiting")
    found = end(sender)
    assert found.state == "failed"
    assert server.url in found.reason
    assert f"`dmglab export {paths.run_id} --to wandb_offline`, then `wandb sync`" in found.reason
    assert curves(offline(paths, tmp_path)) == logged(written)


def test_a_server_that_refuses_in_the_middle_is_not_taken_for_one_that_has_all(
    paths: RunPaths, server: WandbServer
) -> None:
    agree(paths, "p")
    write(paths, 1)
    sender = sending(paths)
    wait_until(lambda: state(paths) == "connected")
    server.mode = "refuse"
    write(paths, 2)
    found = end(sender)
    assert (found.state, "refused what W&B's client sent" in found.reason) == ("failed", True), found


def test_a_server_that_refuses_or_was_never_there_is_told(paths: RunPaths, server: WandbServer) -> None:
    agree(paths, "p")
    write(paths, 1)
    server.mode = "refuse"
    refused = sending(paths)
    assert refused.wait(PATIENCE_S) == 1
    assert state(paths) == "failed"
    server.stop()
    absent = sending(paths)
    wait_until(lambda: state(paths) == "waiting")
    assert end(absent).state == "failed"


def test_deleting_the_agreement_ends_the_sending(paths: RunPaths, server: WandbServer) -> None:
    agree(paths, "p")
    write(paths, 1)
    sender = sending(paths)
    wait_until(lambda: getattr(read_wandb(paths), "rows", 0) == 1)
    (paths.root / FILE).unlink()
    assert sender.wait(PATIENCE_S) == 0
    assert read_wandb(paths) is None
    assert len(server.rows()) == 1


def offline(paths: RunPaths, out: Path) -> list[dict[str, Any]]:
    """Rows of the `.wandb` file that the exporter wrote in a process of its own."""
    argv = [sys.executable, "-m", "trainer_core.formats.wandb_offline", str(paths.root), str(out)]
    done = subprocess.run(argv, cwd=CHECKOUT, check=True, capture_output=True)
    (file,) = Path(json.loads(done.stdout.splitlines()[-1])["folder"]).glob("*.wandb")
    return read_file(file).rows


def test_the_offline_file_holds_what_the_log_holds(paths: RunPaths, tmp_path: Path) -> None:
    extra_library("wandb")
    written = write(paths, 1, 2, 3)
    assert curves(offline(paths, tmp_path)) == logged(written)


@pytest.mark.parametrize(
    ("mode", "key", "status", "said"),
    [
        ("ok", KEY, "ok", "p/mine: http://127.0.0.1"),
        ("ok", "", "fail", "no API key"),
        ("ok", "short", "fail", "does not take the key"),
        ("refuse", KEY, "fail", "does not take the key"),
        ("hang", KEY, "warn", "no answer within"),
        ("hang", "", "fail", "no API key"),
        ("dead", KEY, "warn", "does not answer"),
    ],
)
def test_the_check_says_what_is_wrong_before_the_run(
    server: WandbServer, monkeypatch: pytest.MonkeyPatch, mode: str, key: str, status: str, said: str
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", key)
    server.mode = mode
    if mode == "dead":
        server.stop()
    found = check_wandb("p/mine")
    assert (found.status, said in found.detail) == (status, True), found
    assert KEY not in f"{found}"


@pytest.mark.slow
def test_the_shell_sends_with_the_option_and_connects_to_nobody_without(
    tmp_path: Path, server: WandbServer, connected: Callable[[], set[str]]
) -> None:
    def train(*more: str) -> subprocess.CompletedProcess[str]:
        words = ["train", "--task", "tiny_goal", "--num-envs", "4", "--total-env-steps", "300", "--threads", "1"]
        argv = [sys.executable, "-m", "trainer_core.cli.main", *words, "--home", str(tmp_path / "home"), *more]
        return subprocess.run(argv, cwd=CHECKOUT, capture_output=True, text=True, check=True)

    train()
    assert connected() == set()
    assert not server.keys
    assert f"{server.url}/me/p/runs/" in train("--wandb", "p/mine").stderr
    assert f"127.0.0.1 {server.server_port}" in connected()
    assert {line.split()[0] for line in connected()} == {"127.0.0.1"}
    assert server.rows()
