"""Stable-Baselines3 and CleanRL themselves, where their environments are; else skipped, and why.

dmglab runner install sb3; dmglab runner install cleanrl; pytest -rs tests/runners/test_guest_runners.py
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from tests.support.guests import PATIENCE_S, cleanrl_checkout, ended, history, home_with, newest, plays, run_to_end
from tests.support.processes import in_service, until
from trainer_core.lab import checkpoint_manifest
from trainer_core.runners.catalog import find_runner
from trainer_core.runners.cleanrl.networks import action_logits
from trainer_core.runs.config_file import read_spec, write_config
from trainer_core.runs.log_check import check_log
from trainer_core.service.preflight import run_checks
from trainer_core.wire import commands, records
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

SMALL: dict[str, dict[str, Any]] = {
    "ppo": {"num_envs": 8, "n_steps": 16, "batch_size": 64},
    "dqn": {
        "num_envs": 8,
        "batch_size": 32,
        "buffer_size": 800,
        "learning_starts": 64,
        "train_freq": 4,
        "gradient_steps": 2,
        "target_update_interval": 64,
    },
    "recurrent_ppo": {"num_envs": 8, "n_steps": 16, "batch_size": 64, "lstm_hidden_size": 16},
}


def sb3_spec(algo: str, steps: int, **options: Any) -> RunSpec:
    every = {"eval_every": 0, "checkpoint_every": 0, "policy": "MlpPolicy", "threads": 1}
    return RunSpec(
        runner="sb3", task="tiny_goal", total_env_steps=steps, options={"algo": algo, **SMALL[algo], **every, **options}
    )


def sb3_weights(folder: Path) -> dict[str, torch.Tensor]:
    with zipfile.ZipFile(folder / "model.zip") as archive:
        return torch.load(io.BytesIO(archive.read("policy.pth")), weights_only=True)


@pytest.mark.slow
@pytest.mark.parametrize("algo", SMALL)
async def test_sb3_resumed_is_the_run_that_was_never_stopped(algo: str, tmp_path: Path) -> None:
    home = home_with("sb3", tmp_path)
    async with in_service(home.root) as service:
        whole = await run_to_end(service, sb3_spec(algo, 512))
        assert whole.state is RunState.FINISHED, whole.reason
        half = await run_to_end(service, sb3_spec(algo, 256))
        assert half.env_steps == 256
        paths = home.run(half.run_id)
        write_config(paths, sb3_spec(algo, 512))
        await service.resume(half.run_id)
        again = await ended(service, half.run_id)
        assert (again.state, again.env_steps) == (RunState.FINISHED, 512), again.reason
        one, other = (sb3_weights(newest(home, r.run_id)) for r in (whole, again))
        assert all(torch.equal(one[name], other[name]) for name in one)
        assert check_log(paths.train_log).errors == []
        updates = await history(service, again.run_id, records.UpdateRecord)
        names = set().union(*(event.metrics for event in updates))
        expected = "rollout/exploration_rate" if algo == "dqn" else "train/approx_kl"
        assert expected in names or algo == "dqn", names


@pytest.mark.slow
async def test_sb3_does_what_its_capabilities_say(tmp_path: Path) -> None:
    home = home_with("sb3", tmp_path)
    async with in_service(home.root) as service:
        spec = sb3_spec("ppo", 0, eval_every=512, eval_episodes=8)
        record = await service.start(service.plan(spec))
        run_id, paths = record.run_id, home.run(record.run_id)
        await until(lambda: service.runs[run_id].env_steps >= 512, PATIENCE_S)
        await service.request(run_id, commands.Watch, envs=2)
        await until(paths.frames.exists, PATIENCE_S)
        await service.pause(run_id)
        await until(lambda: service.runs[run_id].state is RunState.PAUSED, PATIENCE_S)
        before = service.runs[run_id].env_steps
        await service.request(run_id, commands.SaveCheckpoint)
        await until(lambda: newest(home, run_id).name >= f"{before:012d}", PATIENCE_S)
        await service.unpause(run_id)
        await until(lambda: service.runs[run_id].env_steps > before, PATIENCE_S)
        group = psutil.Process(record.pid)
        await service.stop(run_id)
        stopped = service.runs[run_id]
        assert (stopped.state, stopped.reason) == (RunState.STOPPED, "stopped by you")
        assert not group.is_running()
        saved = await history(service, run_id, records.CheckpointRecord)
        assert saved[-1].reason == "stop"
        assert "best" in {event.reason for event in saved}
        evals = await history(service, run_id, records.EvalRecord)
        assert {event.mode for event in evals} == {"greedy", "sample", "leave_loops"}
        for folder in checkpoint_manifest.list_checkpoints(paths):
            assert checkpoint_manifest.verify(folder).runner == "sb3"


@pytest.mark.slow
async def test_sb3_begins_with_a_donors_weights_and_plays(tmp_path: Path) -> None:
    home = home_with("sb3", tmp_path)
    async with in_service(home.root) as service:
        donor = await run_to_end(service, sb3_spec("ppo", 512))
        folder = newest(home, donor.run_id)
        warm = sb3_spec("ppo", 128, warm_start=str(folder), learning_rate=1e-7)
        heir = await run_to_end(service, warm)
        one, other = sb3_weights(folder), sb3_weights(newest(home, heir.run_id))
        assert all(torch.allclose(one[name], other[name], atol=1e-4) for name in one)
        refused = [
            check
            async for check in run_checks(sb3_spec("dqn", 64, warm_start=str(folder)), home, find_runner("sb3"))
            if check.status == "fail"
        ]
        assert ["made by sb3 ppo, this run is sb3 dqn" in check.detail for check in refused] == [True]
        await plays(home, folder)


REMEMBERING = """
import sys; from pathlib import Path; import numpy as np, torch
from trainer_core.envs.translation import GREY_STEP
from trainer_core.runners.sb3.player import Sb3Agent
folder, draw = Path(sys.argv[1]), np.random.default_rng(1)
mine, memory, differs = Sb3Agent(folder, mode="greedy"), None, 0.0
policy = mine._model.policy
for episode in range(2):
    for step in range(6):
        seen = draw.integers(0, 4, (72, 80), np.uint8)
        (mine.see if step else mine.begin)(seen)
        greys = (torch.from_numpy(mine._stack)[None] * GREY_STEP).numpy()
        first = np.array([step == 0])
        theirs, memory = policy.predict(greys, memory, first, deterministic=True)
        if step == 2:
            continue  # a person is at the buttons: nobody asks the policy
        assert mine.act() == mine.act() == theirs[0], (episode, step)
        assert all(
            np.allclose(a.numpy(), b, atol=1e-5)
            for a, b in zip(mine._memory._state, memory, strict=True)
        ), (episode, step)
        fresh = policy.predict(greys, None, np.array([True]))[1]
        differs = max(differs, np.abs(fresh[0] - memory[0]).max())
assert differs > 1e-3, "an LSTM that forgets would pass"
"""
"""Ours beside SB3's own `predict`, over two episodes."""


@pytest.mark.slow
async def test_recurrent_ppo_is_validated_plays_and_remembers_as_sb3_does(tmp_path: Path) -> None:
    home = home_with("sb3", tmp_path)
    async with in_service(home.root) as service:
        spec = sb3_spec("recurrent_ppo", 256, eval_every=256, eval_episodes=8, policy="SmallCnn")
        record = await run_to_end(service, spec)
        assert record.state is RunState.FINISHED, record.reason
        evals = await history(service, record.run_id, records.EvalRecord)
        assert {event.mode for event in evals} == {"greedy", "sample", "leave_loops"}
        folder = newest(home, record.run_id)
        await plays(home, folder)
        python = home.root / "envs" / "sb3" / "bin" / "python"
        done = subprocess.run(
            [str(python), "-P", "-c", REMEMBERING, str(folder)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def cleanrl_spec(algo: str, task: str, steps: int, **options: Any) -> RunSpec:
    named = {"algo": algo, "checkout": cleanrl_checkout(), "threads": 1, **options}
    return RunSpec(runner="cleanrl", task=task, total_env_steps=steps, options=named)


@pytest.mark.slow
async def test_the_owners_gate_cleanrl_dqn_started_streamed_and_stopped_from_python(tmp_path: Path) -> None:
    """Phase 1: no user interface is touched, and their script is not either."""
    home = home_with("cleanrl", tmp_path)
    spec = cleanrl_spec("dqn", "CartPole-v1", 400_000, arguments="--learning-starts 200")
    script = Path(spec.options["checkout"]) / "cleanrl" / "dqn.py"
    before = hashlib.sha256(script.read_bytes()).digest()
    async with in_service(home.root) as service:
        record = await service.start(service.plan(spec))
        run_id, log = record.run_id, home.run(record.run_id).train_log
        await until(lambda: service.runs[run_id].env_steps > 600, PATIENCE_S)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        names = set().union(*(line.get("metrics", ()) for line in lines))
        assert {"charts/episodic_return", "losses/td_loss", "charts/SPS"} <= names
        await service.pause(run_id)
        await until(lambda: service.runs[run_id].state is RunState.PAUSED, PATIENCE_S)
        await service.unpause(run_id)
        await service.stop(run_id)
        stopped = service.runs[run_id]
        assert (stopped.state, stopped.reason) == (RunState.STOPPED, "stopped by you")
        meta = checkpoint_manifest.verify(newest(home, run_id))
        assert (meta.runner, meta.task, meta.num_actions) == ("cleanrl", "CartPole-v1", 2)
        assert check_log(log).errors == []
        with pytest.raises(ConfigError, match="CleanRL cannot resume a run"):
            await service.resume(run_id)
    assert hashlib.sha256(script.read_bytes()).digest() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algo", "arguments"),
    [
        ("ppo", "--num-envs 8 --num-steps 16"),
        ("dqn", "--learning-starts 100 --buffer-size 500"),
        ("ppo_atari", "--num-envs 2 --num-steps 8"),
    ],
)
async def test_cleanrl_trains_on_our_task_is_validated_and_plays(algo: str, arguments: str, tmp_path: Path) -> None:
    home = home_with("cleanrl", tmp_path)
    async with in_service(home.root) as service:
        spec = cleanrl_spec(algo, "tiny_goal", 256, arguments=arguments, eval_every=128, eval_episodes=4)
        record = await run_to_end(service, spec)
        assert record.state is RunState.FINISHED, record.reason
        evals = await history(service, record.run_id, records.EvalRecord)
        assert {event.mode for event in evals} == {"greedy", "sample", "leave_loops"}
        folder = newest(home, record.run_id)
        assert checkpoint_manifest.verify(folder).reason in ("final", "best")
        await plays(home, folder)
        if algo != "ppo":
            return
        warm = cleanrl_spec(
            algo, "tiny_goal", 128, warm_start=str(folder), eval_every=0, arguments=f"{arguments} --learning-rate 1e-9"
        )
        heir = await run_to_end(service, warm)
        assert read_spec(home.run(heir.run_id)).options["warm_start"] == str(folder)
        one, other = (
            torch.load(path / "model.pt", weights_only=True)["agent"] for path in (folder, newest(home, heir.run_id))
        )
        assert all(torch.allclose(one[name], other[name], atol=1e-5) for name in one)


@pytest.mark.slow
async def test_a_stop_does_not_wait_for_the_end_of_an_update(tmp_path: Path) -> None:
    home = home_with("cleanrl", tmp_path)
    async with in_service(home.root) as service:
        # Long enough for an episode to end: what tells that it steps.
        forever = "--num-envs 8 --num-steps 128 --update-epochs 1000000"
        spec = cleanrl_spec("ppo", "tiny_goal", 100_000, arguments=forever, eval_every=0)
        record = await service.start(service.plan(spec))
        await until(lambda: service.runs[record.run_id].env_steps >= 8, PATIENCE_S)
        await service.stop(record.run_id)
        stopped = service.runs[record.run_id]
        assert (stopped.state, stopped.reason) == (RunState.STOPPED, "stopped by you")
        assert checkpoint_manifest.verify(newest(home, record.run_id)).reason == "stop"


@pytest.mark.slow
async def test_arguments_that_a_script_refuses_are_one_line(tmp_path: Path) -> None:
    home = home_with("cleanrl", tmp_path)
    async with in_service(home.root) as service:
        record = await run_to_end(service, cleanrl_spec("ppo", "tiny_goal", 64, arguments="--no"))
        assert record.state is RunState.FAILED
        assert record.reason == "ppo.py refused its arguments, see above"


def test_logits_are_what_each_script_would_act_by() -> None:
    """`ppo` has an actor, `ppo_atari` one behind a network that sees 0 to 1, `dqn` Q values."""
    shades = torch.full((2, 4, 72, 80), 3, dtype=torch.uint8)
    mean = lambda seen: seen.flatten(1).mean(1, keepdim=True)  # noqa: E731
    weights = torch.nn.Linear(1, 7)

    class Agent(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = weights

        def actor(self, seen: torch.Tensor) -> torch.Tensor:
            return weights(mean(seen))

        def network(self, seen: torch.Tensor) -> torch.Tensor:
            assert seen.shape[1:] == (4, 84, 84)
            assert 0.0 <= float(seen.min()) <= float(seen.max()) <= 1.0
            return seen

        def forward(self, seen: torch.Tensor) -> torch.Tensor:
            return weights(mean(seen))

    frame = 72 * 80 / 84**2  # the rest of the 84 x 84 is black or white, as padding has it
    with torch.no_grad():
        told = action_logits("ppo", Agent(), shades[:, :1])
        assert torch.allclose(told, weights(torch.ones(2, 1)))
        told = action_logits("ppo_atari", Agent(), shades)
        assert torch.allclose(told, weights(torch.full((2, 1), frame)), atol=1e-5)
        told = action_logits("dqn", Agent(), shades[:, :1]).exp()
    best = int(weights(torch.ones(1, 1)).argmax())
    assert torch.allclose(told[:, best], torch.full((2,), 0.95 + 0.05 / 7))
    assert torch.allclose(told.sum(1), torch.ones(2), atol=1e-5)
