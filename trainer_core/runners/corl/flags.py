"""Names that each CORL script gives to the common options."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from trainer_core.wire.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Flags:
    """Option names of one script, without dashes, and the number of its first step."""

    path: str
    """The script, below `algorithms/` of the checkout."""
    environment: str = "env"
    seed: str = "seed"
    steps: str = "max_timesteps"
    online_steps: str = ""
    """Option for the gradient steps of the online phase; empty if the script has none."""
    eval_every: str = "eval_freq"
    episodes: str = "n_episodes"
    load: str = "load_model"
    """Option for the weights file to load; empty if the script cannot load weights."""
    trainer: str = "trainer"
    """Local name, in the script's `train` or `main`, of the object that is saved."""
    first_step: int = 0
    """Number of the first gradient step in its log."""
    epochs: bool = False
    """True if it counts epochs of `num_updates_on_epoch` steps, and evaluates after an epoch."""
    steps_per_log: int = 1
    """Gradient steps between two lines of its log; 0 = an epoch."""
    device: str = "device"
    """Option for the device; empty if the script chooses."""
    always: tuple[str, ...] = ()


NEVER = 10**9
EPOCH = 1000
"""Gradient steps of an epoch of the scripts that count epochs, if no evaluation is asked for."""
_FINETUNE = Flags(path="", steps="offline_iterations", online_steps="online_iterations", first_step=1)
_ENSEMBLE = Flags(
    path="",
    environment="env_name",
    seed="train_seed",
    steps="num_epochs",
    eval_every="",
    episodes="eval_episodes",
    load="",
    epochs=True,
    always=("--log_every", "1"),
)
SCRIPTS = {
    "iql": Flags(path="offline/iql.py", first_step=1),
    "td3_bc": Flags(path="offline/td3_bc.py", first_step=1),
    "any_percent_bc": Flags(path="offline/any_percent_bc.py", first_step=1),
    "cql": Flags(path="offline/cql.py", first_step=1),
    "awac": Flags(
        path="offline/awac.py",
        environment="env_name",
        steps="num_train_ops",
        eval_every="eval_frequency",
        episodes="n_test_episodes",
        load="",
        trainer="awac",
    ),
    "dt": Flags(
        path="offline/dt.py",
        environment="env_name",
        seed="train_seed",
        steps="update_steps",
        eval_every="eval_every",
        episodes="eval_episodes",
        load="",
        trainer="model",
        # Its data workers would be processes, each with the whole dataset.
        always=("--num_workers", "0"),
    ),
    "sac_n": replace(_ENSEMBLE, path="offline/sac_n.py"),
    "edac": replace(_ENSEMBLE, path="offline/edac.py"),
    "lb_sac": replace(_ENSEMBLE, path="offline/lb_sac.py"),
    "rebrac": replace(
        _ENSEMBLE,
        path="offline/rebrac.py",
        environment="dataset_name",
        trainer="update_carry",
        steps_per_log=0,
        device="",
        always=(),
    ),
    "finetune_iql": replace(_FINETUNE, path="finetune/iql.py"),
    "finetune_cql": replace(_FINETUNE, path="finetune/cql.py"),
    "finetune_cal_ql": replace(_FINETUNE, path="finetune/cal_ql.py"),
    "finetune_spot": replace(_FINETUNE, path="finetune/spot.py"),
    "finetune_awac": replace(
        _FINETUNE,
        path="finetune/awac.py",
        environment="env_name",
        eval_every="eval_frequency",
        episodes="n_test_episodes",
        load="",
        trainer="awac",
        first_step=0,
    ),
}


def arguments(
    algo: str,
    *,
    environment: str,
    device: str,
    seed: int,
    steps: int,
    online_steps: int,
    eval_every: int,
    episodes: int,
    load: str,
    target_return: float,
    more: str,
) -> Sequence[str]:
    """Return the command-line arguments of a script, the user's own last. Raises ConfigError."""
    flags = SCRIPTS[algo]
    named: dict[str, object] = {flags.environment: environment, flags.seed: seed, flags.episodes: episodes}
    if flags.device:
        named[flags.device] = device
    if flags.online_steps:
        named[flags.online_steps] = online_steps
    if flags.epochs:
        epoch = epoch_of(steps, eval_every)
        named |= {"num_updates_on_epoch": epoch, "eval_every": 1 if eval_every else NEVER}
        if steps:
            named[flags.steps] = -(-steps // epoch)
    else:
        named[flags.eval_every] = eval_every or NEVER
        if steps or flags.online_steps:
            named[flags.steps] = steps
    if load:
        named[flags.load] = load
    if algo == "dt":
        named["target_returns"] = f"[{target_return}]"
    argv = [text for name, value in named.items() for text in (f"--{name}", str(value))]
    try:
        return [*argv, *flags.always, *shlex.split(more)]
    except ValueError as error:
        raise ConfigError(f"arguments {more!r}: {error}") from None


def epoch_of(steps: int, eval_every: int) -> int:
    """Return the gradient steps of an epoch, so that scripts that count epochs evaluate every `eval_every` steps."""
    return min(eval_every or EPOCH, steps or eval_every or EPOCH)
