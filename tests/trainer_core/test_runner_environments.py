"""Environments of runners: made whole or not at all, checked, removed. pip is a script here."""

from __future__ import annotations

import ast
import dataclasses
import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from importlib.machinery import ModuleSpec
from pathlib import Path

import psutil
import pytest

from tests.support.imports import CHECKOUT
from trainer_core.cli.main import main
from trainer_core.lab import guest_environment
from trainer_core.lab.guest_environment import PACKAGES, TORCH, RunnerEnvironment, explain
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.catalog import find_runner, registered_runners
from trainer_core.runners.guest.runner import PROCESS, GuestRunner
from trainer_core.wire.environment import PROGRESS
from trainer_core.wire.errors import LabError
from trainer_core.wire.spec import RunSpec

GUESTS = [each for each in registered_runners() if isinstance(each, GuestRunner) and each.own_environment]


@pytest.fixture
def environment(tmp_path: Path) -> RunnerEnvironment:
    return RunnerEnvironment("sb3", ("json",), HomePaths(tmp_path / "home"))


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An interpreter whose pip does what PIP_SCRIPT says, and installs nothing."""
    fake = tmp_path / "python"
    # -m venv makes a real environment without pip, whose python is then this script's twin.
    fake.write_text(
        f"""#!/bin/sh
if [ "$2" = venv ]; then
    "{sys.executable}" -m venv --without-pip "$3" || exit 1
    mv "$3/bin/python" "$3/bin/real"
    sed 's|^REAL=.*|REAL="$(dirname "$0")/real"|' "$0" > "$3/bin/python"
    chmod +x "$3/bin/python"
    exit
fi
REAL="{sys.executable}"
if [ "$2" = pip ]; then eval "$PIP_SCRIPT"; exit; fi
exec "$REAL" "$@"
"""
    )
    fake.chmod(0o755)
    return fake


def left_in(environment: RunnerEnvironment) -> list[str]:
    names = sorted(path.name for path in environment.folder.parent.iterdir())
    return [name for name in names if not name.endswith(".lock")]


def test_an_environment_runs_our_code_and_sees_nothing_else_of_ours(
    environment: RunnerEnvironment, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_SCRIPT", 'echo "Collecting numpy==1"')
    seen: list[tuple[float, str]] = []
    environment.install(lambda share, words: seen.append((share, words)), str(python))
    shares = [share for share, _ in seen]
    assert (shares, shares[-1]) == (sorted(shares), 1.0)
    assert left_in(environment) == ["sb3"]
    code = "import trainer_core; print(trainer_core.__file__)"
    done = subprocess.run([str(environment.python), "-P", "-c", code], capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(environment.folder / "dmglab")
    hidden = [str(environment.python), "-P", "-c", "import torch"]
    assert subprocess.run(hidden, capture_output=True, check=False).returncode
    assert environment.check()["modules"] == {"json": "?"}
    environment.remove()
    assert left_in(environment) == []
    with pytest.raises(LabError, match="has no environment"):
        environment.remove()


def test_a_failed_installation_leaves_the_old_environment_and_nothing_else(
    environment: RunnerEnvironment, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_SCRIPT", "true")
    environment.install(lambda *_: None, str(python))
    made = (environment.folder / "environment.json").read_text()
    for script, words in (
        ('echo "ERROR: [Errno 28] No space left on device"; exit 1', "the disk is full"),
        ('echo "NewConnectionError(...)"; echo "ERROR: No matching"; exit 1', "no network"),
        ('echo "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES"; exit 1', "not the one"),
        ('echo "ERROR: something new"; exit 1', "^something new$"),
    ):
        monkeypatch.setenv("PIP_SCRIPT", script)
        with pytest.raises(LabError, match=words) as error:
            environment.install(lambda *_: None, str(python))
        assert "\n" not in str(error.value)
        assert left_in(environment) == ["sb3"]
    assert (environment.folder / "environment.json").read_text() == made


def installing(environment: RunnerEnvironment, python: Path, pip: str) -> subprocess.Popen[str]:
    """`dmglab runner install` with a pip that does `pip`, which is to say that it collects `slow`;
    returns once it has."""
    argv = ["runner", "install", "sb3", "--home", str(environment.home.root)]
    child = subprocess.Popen(
        [sys.executable, "-m", "trainer_core.cli.main", *argv, "--python", str(python)],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PIP_SCRIPT": pip, PROGRESS: "json"},
        # Of tests that a script runs in the background SIGINT is ignored, and its children's.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert child.stderr is not None
    said = []
    for line in child.stderr:
        said.append(line)
        if "fetching slow" in line:
            return child
    raise AssertionError((said, child.communicate()))


def test_torch_is_built_for_what_the_machine_has(
    environment: RunnerEnvironment, python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    script = f'echo "$*" >>{shlex.quote(str(calls))}; case "$*" in *--no-index*) exit 1; esac'
    monkeypatch.setenv("PIP_SCRIPT", script)
    for chosen, wanted in (
        ("cpu", ["--no-index", "--index-url=https://download.pytorch.org/whl/cpu", ""]),
        ("cuda", [""]),
    ):
        monkeypatch.setenv("DMGLAB_TORCH", chosen)
        environment.install(lambda *_: None, str(python))
        of_torch = [line for line in calls.read_text().splitlines() if TORCH in line]
        assert [line.split(TORCH)[1].split(" ")[-1] for line in of_torch] == wanted
        calls.unlink()
    monkeypatch.delenv("DMGLAB_TORCH")
    for build, cpu in (("None", True), ("'13.0'", False)):
        (tmp_path / "version.py").write_text(f"cuda: Optional[str] = {build}\n")
        spec = ModuleSpec("torch", None, origin=str(tmp_path / "__init__.py"))
        monkeypatch.setattr(guest_environment.importlib.util, "find_spec", lambda name, spec=spec: spec)
        assert guest_environment.wants_cpu_torch() == cpu


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_installation_leaves_nothing(
    environment: RunnerEnvironment, python: Path, number: signal.Signals
) -> None:
    child = installing(environment, python, 'echo "Collecting slow"; exec sleep 60')
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert json.loads(out.splitlines()[-1]) == {"ok": False, "error": "interrupted"}, (out, err)
    assert child.returncode == 130
    assert left_in(environment) == []


def test_a_killed_installation_takes_its_tools_along_before_another_can_begin(
    environment: RunnerEnvironment, python: Path, tmp_path: Path
) -> None:
    """venv and pip went on writing, and the next installation deleted below them."""
    pids = tmp_path / "pids"
    child = installing(environment, python, f'sleep 600 & echo $! $$ > {pids}; echo "Collecting slow"; wait')
    tools = [int(word) for word in pids.read_text().split()]
    assert len(tools) == 2
    assert all(map(psutil.pid_exists, tools))
    child.kill()
    deadline = time.monotonic() + 30
    lock = environment.folder.parent / ".sb3.lock"
    while True:
        free = not is_flocked(lock)
        left = [pid for pid in tools if is_running(pid)]
        if free:
            assert not left, "another installation would delete under it"
            break
        assert time.monotonic() < deadline, left
        time.sleep(0.005)
    child.communicate()
    environment.discard()
    assert left_in(environment) == []


def is_flocked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_second_ctrl_c_while_it_clears_up_leaves_nothing_either(
    environment: RunnerEnvironment, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_SCRIPT", 'echo "ERROR: no"; exit 1')
    remove = guest_environment._delete

    def interrupted(folder: Path) -> None:
        if folder.exists():
            os.kill(os.getpid(), signal.SIGINT)
        remove(folder)

    monkeypatch.setattr(guest_environment, "_delete", interrupted)
    with pytest.raises(LabError, match=r"^no$"):
        environment.install(lambda *_: None, str(python))
    assert left_in(environment) == []


def test_what_a_kill_left_is_cleared_and_two_do_not_install_at_once(
    environment: RunnerEnvironment, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (environment.folder.parent / ".sb3.partial" / "bin").mkdir(parents=True)
    monkeypatch.setenv("PIP_SCRIPT", "true")

    def second(share: float, words: str) -> None:
        if share == 0.0:
            with pytest.raises(LabError, match="by another process"):
                environment.install(lambda *_: None, str(python))

    environment.install(second, str(python))
    assert left_in(environment) == ["sb3"]


def test_a_wrong_python_and_a_full_disk_are_one_line(
    environment: RunnerEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\necho 3 9\n")
    old.chmod(0o755)
    with pytest.raises(LabError, match=r"is Python 3.9; 3.11 to 3.13 are known to work"):
        environment.install(lambda *_: None, str(old))
    with pytest.raises(LabError, match="no Python that starts"):
        environment.install(lambda *_: None, str(tmp_path / "none"))
    monkeypatch.setattr(guest_environment, "NEEDED_BYTES", 1 << 60)
    with pytest.raises(LabError, match="GiB free, an environment needs"):
        environment.install(lambda *_: None)
    assert left_in(environment) == []


def test_check_says_what_is_wrong_and_the_command_that_mends_it(
    environment: RunnerEnvironment, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LabError, match="run: dmglab runner install sb3"):
        environment.check()
    monkeypatch.setenv("PIP_SCRIPT", "true")
    environment.install(lambda *_: None, str(python))
    lacking = RunnerEnvironment("sb3", ("json", "stable_baselines3"), environment.home)
    with pytest.raises(LabError, match="lacks stable_baselines3; run: dmglab runner install"):
        lacking.check()
    monkeypatch.setattr(guest_environment, "TORCH", "torch==9")
    with pytest.raises(LabError, match="for other requirements than this version's"):
        environment.check()


def test_the_command_lists_and_refuses_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ["--home", str(tmp_path)]
    assert main(["runner", "list", *home]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)["runners"]}
    assert (rows["native"]["ready"], rows["sb3"]["ready"]) == (True, False)
    assert "dmglab runner install cleanrl" in rows["cleanrl"]["detail"]
    for argv, words in (
        (["runner", "check", "sb3"], "no environment"),
        (["runner", "install", "native"], "runs in this interpreter"),
        (["runner", "install", "sb4"], "no runner 'sb4'"),
        (["runner", "remove"], "name a trainer: sb3, cleanrl"),
        (["train", "--runner", "sb3", "--task", "tiny_goal"], "dmglab runner install sb3"),
        (["train", "--runner", "sb3", "--batch-size", "99999"], "more than a rollout holds"),
    ):
        assert main([*argv, *home]) == 2
        assert words in json.loads(capsys.readouterr().out)["error"]
    assert not (tmp_path / "training" / "runs.jsonl").exists(), "nothing was started"


@pytest.mark.parametrize("runner", GUESTS, ids=lambda runner: runner.id)
def test_requirements_are_pinned_and_hashed(runner: GuestRunner) -> None:
    text = runner.pins.read_text()
    blocks = [block for block in text.split("\n") if "==" in block and not block.startswith("#")]
    assert len(blocks) > 15
    assert all(block.rstrip().endswith("\\") for block in blocks), "each pin has hashes below"
    assert text.count("--hash=sha256:") >= len(blocks)
    assert TORCH in (CHECKOUT / "scripts" / "constraints.txt").read_text().split()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("WARNING: Retrying (...) 'ProxyError('Cannot connect to proxy.', NewConnectionError(", "the proxy refuses"),
        (
            "ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)",
            "no package index answered",
        ),
    ],
)
def test_what_pip_says_without_a_network_is_a_way_out(said: str, words: str) -> None:
    assert words in explain([said, "ERROR: No matching distribution found"], ["pip"])


def test_pip_that_says_nothing_is_named() -> None:
    assert explain([], ["python", "-m", "pip", "install"]).startswith("python -m pip install failed")


@pytest.mark.parametrize("runner", GUESTS, ids=lambda runner: runner.id)
def test_a_guest_is_placed_in_the_home_of_its_run(runner: GuestRunner, tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    python = str(tmp_path / "envs" / runner.id / "bin" / "python")
    assert runner.at(home).interpreter == python
    if runner.id != "arc":  # its worker is ours, and asks its environment by pipes
        assert runner.command(home.run("r").root)[0] == python
        assert runner.play(home.players / "p")[0] == python
    assert runner.at(home).install == f"dmglab runner install {runner.id}"
    spec = runner.complete(RunSpec(runner=runner.id, task="tiny_goal"))
    assert runner.configure(spec).task == "tiny_goal"
    assert find_runner(runner.id) is runner


def test_a_guest_may_run_in_our_own_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = HomePaths(tmp_path)
    ours = dataclasses.replace(find_runner("sb3"), own_environment=False, modules=("json",))
    assert isinstance(ours, GuestRunner)
    assert ours.at(home).interpreter == sys.executable
    run_dir = home.run("r").root
    assert ours.command(run_dir)[:2] == [sys.executable, "-m"]
    assert ours.folder(run_dir) == CHECKOUT
    assert (ours.installation(home), ours.removal(home)) == (None, None)
    assert ours.environment(home).check()["modules"] == {"json": "?"}
    lacking = dataclasses.replace(ours, modules=("not_here",)).environment(home)
    with pytest.raises(LabError, match=r"lacks not_here; run: python.* -m pip install not_here"):
        lacking.check()
    monkeypatch.setattr("trainer_core.cli.runner.find_runner", lambda runner_id: ours)
    for verb in ("install", "remove", "check"):
        assert main(["runner", verb, "sb3", "--home", str(tmp_path)]) == 2
        assert "runs in this interpreter" in json.loads(capsys.readouterr().out)["error"]


def test_the_probe_stays_below_three_seconds(environment: RunnerEnvironment) -> None:
    """Its processor time: wall-clock is the computer's load."""
    runner = find_runner("native")
    before = os.times()
    began = time.monotonic()
    subprocess.run(runner.readiness(), capture_output=True, check=True)
    after = os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    assert spent < 3.0, f"{time.monotonic() - began:.1f} s of wall time"


def test_every_guests_run_begins_in_the_process_that_does_the_protocol(tmp_path: Path) -> None:
    guests = [runner for runner in registered_runners() if isinstance(runner, GuestRunner)]
    assert len(guests) == len(registered_runners()) - 1
    for runner in guests:
        folder = HomePaths(tmp_path).run("r").root
        assert runner.command(folder)[-4:] == ["-m", PROCESS, str(folder), runner.worker]
        tree = ast.parse((PACKAGES / f"{runner.worker.replace('.', '/')}.py").read_text())
        assert "make_trainee" in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
