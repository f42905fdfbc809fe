"""CORL: what needs no checkout, and its scripts where its environment and a checkout are.

dmglab runner install corl; clone tinkoff-ai/CORL to var/corl or name it in DMGLAB_CORL
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.extras import need_extras
from tests.support.guests import home_with, in_service, newest, run_to_end
from trainer_core.lab.datasets import DatasetCache
from trainer_core.lab.paths import HomePaths, default_home
from trainer_core.runners.corl.flags import SCRIPTS, arguments
from trainer_core.runners.corl.runner import CORL, CorlConfig
from trainer_core.service import TrainerService
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

BOX = {"type": "Box", "shape": [3]}


def dataset(folder: Path, **changes: Any) -> Path:
    metadata = {
        "dataset_id": "lab/x-v0",
        "total_episodes": 1,
        "total_steps": 2,
        "observation_space": json.dumps(BOX),
        "action_space": json.dumps(BOX),
        "env_spec": json.dumps({"id": "Pendulum-v1"}),
    }
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "main_data.hdf5").write_bytes(b"episodes")
    (folder / "data" / "metadata.json").write_text(json.dumps(metadata | changes))
    return folder


def test_a_dataset_is_kept_under_its_hash_and_found_by_it(tmp_path: Path) -> None:
    cache, folder = DatasetCache(HomePaths(tmp_path / "home")), dataset(tmp_path / "x")
    sha256 = hashlib.sha256(b"episodes").hexdigest()
    kept = cache.keep(cache.find(str(folder), sha256))
    assert (kept.sha256, kept.environment) == (sha256, "Pendulum-v1")
    assert kept.folder == cache.root / sha256[:16]
    assert cache.find(sha256).folder == cache.find(sha256[:12]).folder == kept.folder
    assert cache.keep(kept) == kept
    (kept.folder / "data" / "main_data.hdf5").write_bytes(b"damaged")
    with pytest.raises(ConfigError, match="its manifest says"):
        cache.find(sha256)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"action_space": json.dumps({"type": "Discrete"})}, "--runner d3rlpy"),
        ({"observation_space": json.dumps({"type": "Box", "shape": [72, 80]})}, "need vectors"),
        ({"env_spec": None}, "names no environment"),
    ],
)
def test_a_dataset_of_another_shape_is_one_line(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    folder = dataset(tmp_path / "x", **changes)
    with pytest.raises(ConfigError, match=words) as error:
        DatasetCache(HomePaths(tmp_path)).find(str(folder))
    assert "\n" not in str(error.value)


def test_a_wrong_hash_and_what_is_no_dataset_are_one_line(tmp_path: Path) -> None:
    cache, folder = DatasetCache(HomePaths(tmp_path / "home")), dataset(tmp_path / "x")
    for data, sha256, words in (
        (str(folder), "0" * 64, "was asked for 000000000000"),
        (str(tmp_path), "", "no Minari dataset"),
        (str(tmp_path / "none"), "", "no such folder"),
        ("a" * 16, "", "no dataset aaaa"),
        ("", "", "--data"),
    ):
        with pytest.raises(ConfigError, match=words):
            cache.find(data, sha256)


def test_a_checkout_without_the_script_and_a_warm_start_it_has_not(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no .*algorithms/offline/dt.py"):
        CorlConfig(algo="dt", checkout=str(tmp_path)).check()
    with pytest.raises(ConfigError, match=r"awac\.py loads no weights"):
        CorlConfig(algo="awac", checkout=str(tmp_path), warm_start="x").check()
    spec = RunSpec(runner="corl", task="offline", options={"checkout": str(tmp_path)})
    told = {c.name: c for c in CORL.check_options(spec, None, HomePaths(tmp_path))}  # type: ignore[arg-type]
    assert (told["Checkout"].status, told["Dataset"].status) == ("fail", "fail")


@pytest.mark.parametrize("algo", SCRIPTS)
def test_each_script_is_asked_in_its_own_words(algo: str) -> None:
    flags = SCRIPTS[algo]
    argv = list(
        arguments(
            algo,
            environment="E-v1",
            device="cpu",
            seed=3,
            steps=20,
            eval_every=10,
            episodes=2,
            load="w.pt" if flags.load else "",
            target_return=-5.0,
            more="--batch_size '8'",
        )
    )
    named = dict(zip(argv[::2], argv[1::2], strict=True))
    assert named[f"--{flags.steps}"] == "20"
    assert named[f"--{flags.environment}"] == "E-v1"
    assert named["--batch_size"] == "8"
    assert named.get("--load_model") == ("w.pt" if flags.load else None)
    with pytest.raises(ConfigError, match="arguments"):
        arguments(
            algo,
            environment="E",
            device="cpu",
            seed=1,
            steps=1,
            eval_every=1,
            episodes=1,
            load="",
            target_return=0.0,
            more="'",
        )


@pytest.mark.slow
@pytest.mark.parametrize("algo", SCRIPTS)
def test_a_script_runs_unmodified_and_saves(tmp_path: Path, algo: str) -> None:
    need_extras()
    checkout = Path(os.environ.get("DMGLAB_CORL", default_home() / "corl"))
    if not (checkout / "algorithms" / "offline" / f"{algo}.py").is_file():
        pytest.skip(f"clone tinkoff-ai/CORL into {checkout}, or name it in DMGLAB_CORL")
    home = home_with("corl", tmp_path / "home")
    python = str(CORL.environment(home).python)
    maker = [python, "-P", "-m", "trainer_core.runners.corl.pendulum", str(tmp_path / "m")]
    subprocess.run(maker, check=True, capture_output=True)
    script = CorlConfig(algo=algo, checkout=str(checkout)).script  # type: ignore[arg-type]
    before = script.read_bytes()
    options = {
        "algo": algo,
        "checkout": str(checkout),
        "data": str(tmp_path / "m/dmglab/pendulum-v0"),
        "eval_every": 20,
        "eval_episodes": 1,
        "log_every": 10,
        "arguments": "--batch_size 16",
    }

    async def body(service: TrainerService) -> None:
        spec = RunSpec(runner="corl", task="offline", total_env_steps=20, options=options)
        run = await run_to_end(service, spec)
        assert (run.state, run.env_steps) == (RunState.FINISHED, 20), run.reason
        folder = newest(home, run.run_id)
        assert (folder / "model.pt").is_file()
        if SCRIPTS[algo].load:
            warm = RunSpec(
                runner="corl", task="offline", total_env_steps=5, options=options | {"warm_start": str(folder)}
            )
            heir = await run_to_end(service, warm)
            assert (heir.state, heir.env_steps) == (RunState.FINISHED, 25), heir.reason

    in_service(home, body)
    assert script.read_bytes() == before
