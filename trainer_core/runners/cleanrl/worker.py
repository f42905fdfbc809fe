"""Worker that runs one unmodified CleanRL script.

The script runs as `__main__` in this process. Three imported names are replaced: the vector environment (each step is
where a run can be saved, paused or ended), the TensorBoard writer (which still writes its files) and Adam (a warm start
loads weights once the optimizer is built).
"""

from __future__ import annotations

import math
import runpy
import shlex
import shutil
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter

from trainer_core.host.run import Host
from trainer_core.host.trainee import RunEnded
from trainer_core.host.validator import Validator
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.cleanrl import networks
from trainer_core.runners.cleanrl.runner import CleanRlConfig
from trainer_core.runners.cleanrl.vector import ConsoleVector, HookedSyncVector
from trainer_core.runners.guest.checkout import checkout_commit
from trainer_core.runners.guest.trainee import GuestTrainee, write_thumbnail
from trainer_core.wire.errors import ConfigError, LabError

CANONICAL = {
    "losses/policy_loss": "policy_loss",
    "losses/value_loss": "value_loss",
    "losses/approx_kl": "approx_kl",
    "losses/clipfrac": "clipfrac",
    "losses/explained_variance": "explained_variance",
    "losses/entropy": "entropy_mean",
    "charts/learning_rate": "learning_rate",
}
"""Fields of our update records by CleanRL's metric name; every metric is kept in `metrics` as well."""


class CleanRlTrainee(GuestTrainee):
    """Trainee that runs one script, from its arguments to the last checkpoint."""

    file, knows_spaces = networks.MODEL, False
    counts_steps = True  # the script's last update follows its last step

    def __init__(self, host: Host, config: CleanRlConfig) -> None:
        super().__init__(host, config)
        self.policy = networks.CLASS[config.algo]
        self.envs: Any = None
        self.script: dict[str, Any] = {}
        """Global variables of the script by name, available from its first step on."""
        self.scalars: dict[str, float] = {}
        self.scalars_at = self.recorded = 0

    def make_validator(self) -> Validator | None:
        return None if self.config.on_gymnasium else super().make_validator()

    def train(self) -> None:
        """Run the script to its end. Raises RunEnded when a limit or a person ends it."""
        config = self.config
        networks.put_on_path(config)
        self.replace_names()
        self.host.listen_between_gradient_steps()
        sys.argv = [str(config.script), *script_arguments(config)]
        try:
            self.script = runpy.run_path(str(config.script), run_name="__main__")
        except SystemExit as end:
            raise ConfigError(f"{config.script.name} refused its arguments, see above") from end
        except Exception as error:
            if isinstance(error, RunEnded | LabError) or not self.saved_models():
                raise
            # Its model is written; the video of its own evaluation needs packages that are not installed.
            print(f"{config.script.name} trained and saved, then: {error}")
        finally:
            self.flush()
        self.host.counters.env_steps = self.global_step

    def replace_names(self) -> None:
        launch = self
        add_scalar = SummaryWriter.add_scalar

        def add_and_record(writer: Any, tag: str, value: Any, step: Any = None, *rest: Any, **named: Any) -> Any:
            launch.add(tag, value, step)
            return add_scalar(writer, tag, value, step, *rest, **named)

        SummaryWriter.add_scalar = add_and_record  # type: ignore[method-assign]
        gymnasium.vector.SyncVectorEnv = self.make_vector
        sys.modules["wandb"] = self.wandb()
        if self.config.task.startswith("ALE/") or "NoFrameskip" in self.config.task:
            import ale_py  # pyright: ignore

            ale_py.registration.register_v0_v4_envs()
        if self.config.warm_start:
            layout.verify(Path(self.config.warm_start), (networks.MODEL,))
            self.load_after_adam(Path(self.config.warm_start) / networks.MODEL)

    # -- what the script meets --------------------------------------------------------------

    def make_vector(self, env_fns: Sequence[Callable[[], Any]], **_: Any) -> Any:
        config = self.config
        if config.on_gymnasium:
            envs: Any = HookedSyncVector(env_fns, self.before_step)
        else:
            envs = ConsoleVector(config, self.host.home, len(env_fns), self.before_step)
        if self.envs is None:
            self.envs, self.num_envs = envs, len(env_fns)
            self.obs_shape = self.shape(envs)
            self.num_actions = int(envs.single_action_space.n)
            commit = checkout_commit(config.script.parents[1])
            self.versions = {"gymnasium": gymnasium.__version__, "cleanrl": commit}
            self.host.begin()
            if not config.on_gymnasium:
                self.host.watch(envs.consoles)
        return envs

    def shape(self, envs: Any) -> tuple[int, int, int]:
        """Return the task's picture shape, or another environment's observation shape padded to three numbers."""
        if not self.config.on_gymnasium:
            return envs.consoles.obs_shape
        found = tuple(int(size) for size in envs.single_observation_space.shape[-3:])
        return (*(1,) * (3 - len(found)), *found)  # type: ignore[return-value]

    def before_step(self, envs: Any) -> None:
        if envs is not self.envs:  # the script's own evaluation at its end
            return
        self.script = script_globals()
        self.flush()
        step = self.global_step
        self.host.tick(step)
        self.host.boundary(step)

    def add(self, tag: str, value: Any, step: Any) -> None:
        """Collect one scalar that the script logs.

        A name that was collected already starts another record; the values before are written.
        """
        if tag in self.scalars:
            self.flush()
        self.scalars_at = step if isinstance(step, int) else self.global_step
        self.scalars[tag] = float(np.asarray(_on_host(value)).reshape(-1)[0])

    def flush(self) -> None:
        if not self.scalars:
            return
        found, self.scalars = self.scalars, {}
        # In its evaluation at the end dqn.py counts episodes, not steps.
        self.recorded = max(self.recorded, self.scalars_at)
        self.host.record(self.recorded, found, CANONICAL)

    def wandb(self) -> types.ModuleType:
        """Return a replacement for the module wandb whose `log` calls `add`.

        The script's option --track then sends nothing over the network.
        """
        module = types.ModuleType("wandb")

        def log(values: dict[str, Any], step: int | None = None, **_: Any) -> None:
            for name, value in values.items():
                if isinstance(value, int | float) and math.isfinite(value):
                    self.add(name, value, step)

        module.log, module.init = log, lambda *_, **__: module  # type: ignore[attr-defined]
        module.finish = lambda *_, **__: None  # type: ignore[attr-defined]
        return module

    def load_after_adam(self, weights: Path) -> None:
        donor = torch.load(weights, map_location="cpu", weights_only=True)
        build, algo = torch.optim.Adam.__init__, self.config.algo

        def build_and_load(optimizer: Any, *rest: Any, **named: Any) -> None:
            build(optimizer, *rest, **named)
            network = script_globals().get(networks.NETWORK[algo])
            if network is not None:
                network.load_state_dict(donor[networks.NETWORK[algo]])

        torch.optim.Adam.__init__ = build_and_load  # type: ignore[method-assign]

    # -- what is kept -----------------------------------------------------------------------

    @property
    def global_step(self) -> int:
        return int(self.script.get("global_step", 0))

    def logits(self, shades: torch.Tensor) -> torch.Tensor:
        algo = self.config.algo
        return networks.action_logits(algo, self.script[networks.NETWORK[algo]], shades)

    def saved_models(self) -> list[Path]:
        """Return the files that the script itself wrote for --save-model, at its end."""
        return list(self.host.paths.root.glob("runs/*/*.cleanrl_model"))

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        kept = {
            name: value.state_dict()
            for name, value in self.script.items()
            if isinstance(value, torch.nn.Module | torch.optim.Optimizer)
        }
        torch.save(kept | {"global_step": self.global_step}, folder / networks.MODEL)
        for path in self.saved_models():
            shutil.copy(path, folder / path.name)
        if not self.config.on_gymnasium:
            write_thumbnail(folder, self.envs.consoles)


def script_arguments(config: CleanRlConfig) -> list[str]:
    """Return the script's command line. Raises ConfigError for arguments that no shell could split."""
    name = config.task if config.on_gymnasium else "DMGLab-" + config.task.replace("/", ".")
    arguments = ["--env-id", name, "--seed", str(config.seed)]
    arguments += ["--no-cuda"] if config.device == "cpu" else ["--cuda"]
    if config.total_env_steps:
        arguments += ["--total-timesteps", str(config.total_env_steps)]
    try:
        return arguments + shlex.split(config.arguments)
    except ValueError as error:
        raise ConfigError(f"arguments {config.arguments!r}: {error}") from None


def script_globals() -> dict[str, Any]:
    """Return the script's global variables by name, found on the call stack."""
    frame = sys._getframe(1)
    while frame is not None:
        names = frame.f_globals
        if names.get("__name__") == "__main__" and "make_env" in names and "args" in names:
            return names
        frame = frame.f_back
    return {}


def _on_host(value: Any) -> Any:
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value


def make_trainee(host: Host) -> CleanRlTrainee:
    config = host.spec.configure(CleanRlConfig)
    if not config.script.is_file():
        raise ConfigError(f"there is no {config.script}: give CleanRL's folder as checkout")
    if host.writer.seq:
        raise ConfigError("CleanRL's scripts cannot go on with a run: start a new one")
    if not config.on_gymnasium:
        host.find_task()
    if config.device.startswith("cuda"):
        torch.cuda.set_device(config.device)
    return CleanRlTrainee(host, config)
