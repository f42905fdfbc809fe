"""Nothing between two records may make the host wait for the device: read from the source.

torch's sync debug mode proves the same on a GPU; this test keeps it true where there is none.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from trainer_core.lab.paths import CHECKOUT
from trainer_core.learn.measures import MEASURES
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.learn.registry import implementation
from trainer_core.wire.algorithms import ALGORITHMS

HOT = {
    "learn/update.py": {"run_update", "_collect", "sample"},
    "learn/gae.py": {"compute_gae", "normalized"},
    "learn/ppo.py": {"ppo_update"},
    "learn/ppo_loss.py": {"at", "minibatch", "ppo_loss"},
    "learn/a2c.py": {"a2c_losses", "a2c_update"},
    "learn/policy.py": {"forward"},
    "learn/learner.py": {"forward", "step", "add", "add_all"},
    "learn/adam.py": {"set_rate", "step"},
    "learn/gemm/learner.py": {"forward", "_heads", "epoch"},
    "learn/gemm/network.py": {"forward", "backward", "launch", "_stream"},
    "learn/gemm/ppo_epoch.py": {"run", "_play", "_steps", "_step", "_differentiate"},
    "learn/gemm/adam.py": {"step"},
    "learn/rollout.py": {"begin", "add_decision", "add_outcome", "end", "finish", "observations", "final_observations"},
    "learn/metrics.py": {"add", "_sums"},
    "learn/measures.py": {
        "as_stored",
        "percentiles",
        "explained_variance",
        "own_successes",
        "demo_successes",
        "demo_episodes",
        "own_goals",
        "own_return",
        "own_length",
    },
    "envs/episodes.py": {"distances", "_sums", "judge", "draw_starts", "step_info", "step_stats"},
    "envs/mixed_env.py": {"step", "_judge", "_merged"},
    "envs/curriculum.py": {"fold", "weights", "draw"},
    "envs/frame_stack.py": {"push"},
    "envs/novelty.py": {"visit"},
    "envs/game_env.py": {"step", "reset", "_info"},
    "envs/sharded_emulator.py": {"run", "observe", "reset", "_run", "_reset"},
}
READS = {"item", "tolist", "cpu", "numpy", "nonzero", "synchronize", "masked_select", "bincount",
         "multinomial", "unique", "any", "all"}  # fmt: skip
"""Methods and functions that read the device, or that a branch on would."""
CASTS = {"float", "int", "bool", "print"}
ALLOWED = {
    ("envs/game_env.py", "bool(out.reset_mask.any())"),  # behind skip_reset_if_empty
    ("envs/game_env.py", "out.reset_mask.any()"),
    ("envs/mixed_env.py", "bool(out.reset_mask.any())"),
    ("envs/mixed_env.py", "out.reset_mask.any()"),
    ("envs/episodes.py", "bool(reset_mask.any())"),  # asked on a CPU only
    ("envs/episodes.py", "reset_mask.any()"),
}


def reads(path: Path, names: set[str]) -> tuple[set[str], list[str]]:
    """(functions of `names` that were found, calls in them that read the device)."""
    found: set[str] = set()
    wrong = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef) or node.name not in names:
            continue
        found.add(node.name)
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and _reads(call):
                wrong.append(ast.unparse(call))
    return found, wrong


def _reads(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(attr=name):
            return name in READS
        case ast.Name(id=name):
            return name in CASTS and not all(isinstance(a, ast.Constant) for a in call.args)
        case _:
            return False


@pytest.mark.parametrize("file", HOT)
def test_the_hot_path_reads_nothing_from_the_device(file: str) -> None:
    assert CHECKOUT is not None
    found, wrong = reads(CHECKOUT / "trainer_core" / file, HOT[file])
    assert found == HOT[file], "a function was renamed: the test would prove nothing"
    assert [call for call in wrong if (file, call) not in ALLOWED] == []


def test_every_algorithm_and_every_measure_is_read() -> None:
    updates = {implementation(name, PixelActorCritic.HEADS).update.__qualname__ for name in ALGORITHMS}
    assert updates <= HOT["learn/ppo.py"] | HOT["learn/a2c.py"]
    assert {measure.function.__name__ for measure in MEASURES} <= HOT["learn/measures.py"]


def test_the_check_finds_what_it_looks_for(tmp_path: Path) -> None:
    source = tmp_path / "hot.py"
    source.write_text("def step(x):\n    if float(x.sum()) > 0:\n        return x.tolist()\n")
    assert len(reads(source, {"step"})[1]) == 2
