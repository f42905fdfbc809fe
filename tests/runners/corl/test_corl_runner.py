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
from tests.support.guests import history, home_with, newest, run_to_end
from tests.support.processes import in_service
from trainer_core.lab.checkpoint_manifest import read_meta
from trainer_core.lab.datasets import DatasetCache
from trainer_core.lab.paths import HomePaths, default_home
from trainer_core.runners.corl.flags import SCRIPTS, arguments
from trainer_core.runners.corl.runner import CORL, CorlConfig, check_spaces
from trainer_core.runners.guest.checkout import KNOWN_COMMITS, check_checkout, checkout_commit
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.records import UpdateRecord
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
    assert kept.file.is_relative_to(cache.root / sha256[:16])
    assert cache.find(sha256).file == cache.find(sha256[:12]).file == cache.find("lab/x-v0").file == kept.file
    assert cache.keep(kept) == kept
    kept.file.write_bytes(b"damaged")
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
    found = DatasetCache(HomePaths(tmp_path)).find(str(dataset(tmp_path / "x", **changes)))
    with pytest.raises(ConfigError, match=words) as error:
        check_spaces(found, "")
    assert "\n" not in str(error.value)


def test_a_wrong_hash_and_what_is_no_dataset_are_one_line(tmp_path: Path) -> None:
    cache, folder = DatasetCache(HomePaths(tmp_path / "home")), dataset(tmp_path / "x")
    for data, sha256, words in (
        (str(folder), "0" * 64, "was asked for 000000000000"),
        (str(tmp_path), "", "no Minari dataset"),
        (str(folder / "data" / "metadata.json"), "", "is no HDF5 file"),
        (str(tmp_path / "none"), "", "no such folder or file"),
        ("D4RL/pen/human-v2", "", "datasets download"),
        ("a" * 16, "", "no dataset aaaa"),
        ("", "", "--data"),
        ("~nobody-of-that-name", "", "^dataset ~nobody"),
        ("x" * 5000, "", "^dataset xxx"),
        ("a\0b", "", "^no dataset a"),
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
    script = tmp_path / "algorithms" / "offline" / "iql.py"
    script.parent.mkdir(parents=True)
    script.touch()
    (tmp_path / ".git").mkdir()
    for commit, status in ((KNOWN_COMMITS["CORL"][1], "ok"), ("0" * 40, "warn")):
        (tmp_path / ".git" / "HEAD").write_text(f"{commit}\n")
        checked = check_checkout("CORL", tmp_path, CorlConfig(checkout=str(tmp_path)).check)
        assert (checked.status, commit[:8] in checked.detail) == (status, status == "warn")
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / ".git" / "packed-refs").write_text(f"# pack-refs\n{KNOWN_COMMITS['CORL'][1]} refs/heads/main\n")
    assert checkout_commit(tmp_path) == KNOWN_COMMITS["CORL"][1]


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
            online_steps=7,
            eval_every=10,
            episodes=2,
            load="w.pt" if flags.load else "",
            target_return=-5.0,
            more="--batch_size '8'",
        )
    )
    named = dict(zip(argv[::2], argv[1::2], strict=True))
    assert named[f"--{flags.steps}"] == ("2" if flags.epochs else "20")
    assert named.get("--num_updates_on_epoch") == ("10" if flags.epochs else None)
    assert named.get("--online_iterations") == ("7" if algo.startswith("finetune") else None)
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
            online_steps=0,
            eval_every=1,
            episodes=1,
            load="",
            target_return=0.0,
            more="'",
        )


@pytest.mark.slow
@pytest.mark.parametrize("algo", SCRIPTS)
async def test_a_script_runs_unmodified_and_saves(tmp_path: Path, algo: str) -> None:
    need_extras()
    checkout = Path(os.environ.get("DMGLAB_CORL", default_home() / "corl"))
    if not (checkout / "algorithms" / SCRIPTS[algo].path).is_file():
        pytest.skip(f"clone tinkoff-ai/CORL into {checkout}, or name it in DMGLAB_CORL")
    home = home_with("corl", tmp_path / "home")
    python = str(CORL.environment(home).python)
    maker = [python, "-P", "-m", "trainer_core.runners.corl.pendulum", str(tmp_path / "m")]
    subprocess.run(maker, check=True, capture_output=True)
    script = CorlConfig(algo=algo, checkout=str(checkout)).script  # type: ignore[arg-type]
    before = script.read_bytes()
    folder, more = tmp_path / "m/dmglab/pendulum-v0", "--batch_size 16"
    if algo == "finetune_spot":
        more += " --vae_iterations 5"
    if algo.startswith("finetune"):
        more += " --buffer_size 20000"
    options = {
        "algo": algo,
        "checkout": str(checkout),
        "data": str(folder),
        "online_steps": 10,
        "eval_every": 20,
        "eval_episodes": 1,
        "log_every": 10,
        "arguments": more,
    }
    async with in_service(home.root) as service:
        spec = RunSpec(runner="corl", task="offline", total_env_steps=20, options=options)
        run = await run_to_end(service, spec)
        steps = 35 if algo == "finetune_spot" else 30 if algo.startswith("finetune") else 20
        assert (run.state, run.env_steps) == (RunState.FINISHED, steps), run.reason
        folder = newest(home, run.run_id)
        assert (folder / "model.pt").is_file()
        assert read_meta(folder).offline_dataset.startswith("dmglab/pendulum-v0@")
        if algo.startswith("finetune"):
            updates = await history(service, run.run_id, UpdateRecord)
            assert {update.metrics["phase"] for update in updates if update.env_steps <= steps - 10} == {0.0}
            assert {update.metrics["phase"] for update in updates if update.env_steps > steps - 10} == {1.0}
        if SCRIPTS[algo].load:
            warm = RunSpec(
                runner="corl", task="offline", total_env_steps=5, options=options | {"warm_start": str(folder)}
            )
            heir = await run_to_end(service, warm)
            assert (heir.state, heir.env_steps > 20) == (RunState.FINISHED, True), heir.reason
    assert script.read_bytes() == before


@pytest.mark.slow
def test_a_file_with_d4rls_layout_is_learned_from_and_a_wrong_one_is_one_line(tmp_path: Path) -> None:
    home = home_with("corl", tmp_path / "home")
    code = """
import sys
from pathlib import Path
import h5py, numpy as np
from trainer_core.lab.datasets import DatasetCache
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.corl.shims import Offline
from trainer_core.wire.errors import ConfigError

def load(name, **columns):
    path = Path(sys.argv[1], name + ".hdf5")
    with h5py.File(path, "w") as file:
        file.update(columns)
    return Offline(DatasetCache(HomePaths(Path(sys.argv[1]))).find(str(path)), "Pendulum-v1")

seen = np.arange(18, dtype=np.float64).reshape(6, 3)
good = dict(observations=seen, actions=np.zeros((6, 1)), rewards=np.ones(6))
good |= dict(terminals=np.eye(6)[1], timeouts=np.eye(6)[4])
offline = load("good", **good)
found = offline.transitions()
assert found["observations"][:, 0].tolist() == [0, 3, 6, 9], found
assert found["next_observations"][:, 0].tolist() == [3, 6, 9, 12] and found["terminals"].tolist() == [0, 1, 0, 0]
assert (offline.worst, offline.best) == (1, 3) and offline.make("x").reset().shape == (3,)
for name, change, words in (
    ("lacks", {"timeouts": None}, "lacks timeouts"),
    ("short", {"rewards": np.ones(5)}, "one row per step"),
    ("nan", {"rewards": np.full(6, np.nan)}, "has rewards that are no finite numbers"),
    ("blind", {"observations": seen * np.nan}, "has observations that are no finite numbers"),
    ("flat", {"actions": np.zeros(6)}, "one row per step"),
    ("empty", {name: rows[:0] for name, rows in good.items()}, "has no steps"),
    ("wide", {"observations": np.zeros((6, 4))}, "has observations of [4] numbers, Pendulum-v1 of [3]"),
):
    try:
        load(name, **{key: value for key, value in (good | change).items() if value is not None}).make(name)
    except ConfigError as error:
        assert words in str(error), error
    else:
        raise AssertionError(name)
"""
    argv = [str(CORL.environment(home).python), "-P", "-c", code, str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
