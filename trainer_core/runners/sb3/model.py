"""Making, loading, querying and saving Stable-Baselines3's models."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import torch
from sb3_contrib import RecurrentPPO  # pyright: ignore
from sb3_contrib.common.recurrent.type_aliases import RNNStates  # pyright: ignore
from stable_baselines3 import DQN, PPO  # pyright: ignore
from stable_baselines3.common.save_util import load_from_zip_file  # pyright: ignore
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor  # pyright: ignore
from torch import Tensor, nn

from trainer_core.envs.translation import GREY_STEP
from trainer_core.lab.trust import require_trust
from trainer_core.learn.policy import small_trunk
from trainer_core.runners.guest import generators
from trainer_core.runners.sb3.runner import Sb3Config
from trainer_core.wire.errors import CheckpointError

CLASSES: dict[str, Any] = {"ppo": PPO, "dqn": DQN, "recurrent_ppo": RecurrentPPO}
MODEL = "model.zip"
"""SB3's own file format, for its `load`."""
FOREVER = 10**9
"""Number of steps passed to SB3, which requires one; the run's own limits end it earlier."""
_BUFFER = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


class SmallCnn(BaseFeaturesExtractor):
    """Feature extractor with the layers of our small network: one 8x8 patch per tile.

    On a CPU it takes a third of the time of SB3's NatureCNN.
    """

    def __init__(self, observation_space: Any, features_dim: int = 128) -> None:
        super().__init__(observation_space, features_dim)
        planes = observation_space.shape[0]
        trunk = small_trunk(planes)
        with torch.no_grad():
            width = trunk(torch.zeros(1, *observation_space.shape)).shape[-1]
        self.layers = nn.Sequential(trunk, nn.Linear(width, features_dim), nn.ReLU())

    def forward(self, observations: Tensor) -> Tensor:
        return self.layers(observations)


SMALL = {"features_extractor_class": SmallCnn, "net_arch": []}


def make_model(config: Sb3Config, envs: Any) -> Any:
    """Return a new model that will learn on `envs`."""
    small, recurrent = config.policy == "SmallCnn", config.algo == "recurrent_ppo"
    policy = "CnnPolicy" if small else config.policy
    kwargs: dict[str, Any] = dict(SMALL) if small else {}
    if recurrent:
        policy = policy.replace("Policy", "LstmPolicy")
        kwargs["lstm_hidden_size"] = config.lstm_hidden_size
    common = {
        "policy": policy,
        "env": envs,
        "policy_kwargs": kwargs or None,
        "seed": config.seed,
        "device": config.device,
        "learning_rate": config.learning_rate,
        "gamma": config.gamma,
        "batch_size": config.batch_size,
    }
    if config.algo != "dqn":
        return CLASSES[config.algo](
            **common,
            n_steps=config.n_steps,
            n_epochs=config.n_epochs,
            gae_lambda=config.gae_lambda,
            clip_range=config.clip_range,
            ent_coef=config.ent_coef,
        )
    return DQN(
        **common,
        buffer_size=config.buffer_size,
        learning_starts=config.learning_starts,
        train_freq=config.train_freq,
        gradient_steps=config.gradient_steps,
        target_update_interval=config.target_update_interval,
        exploration_fraction=config.exploration_steps / FOREVER,
        exploration_final_eps=config.exploration_final_eps,
    )


def open_model(folder: Path, algo: str, device: str, envs: Any = None) -> Any:
    """Return the model of a checkpoint with verified hashes: loading SB3's file unpickles.

    With `envs` it can continue training. Raises CheckpointError, also for a file that is not trusted.
    """
    require_trust(folder / MODEL, "SB3")
    try:
        return CLASSES[algo].load(folder / MODEL, env=envs, device=device, force_reset=False, print_system_info=False)
    except (ValueError, KeyError, RuntimeError, AssertionError) as error:
        text = " ".join(str(error).split())
        raise CheckpointError(f"{folder / MODEL}: {text}; use another checkpoint") from None


def load_weights(model: Any, folder: Path) -> None:
    """Load the network weights of another checkpoint, and no optimizer or counter. Raises CheckpointError."""
    require_trust(folder / MODEL, "SB3")
    try:
        _, parameters, _ = load_from_zip_file(folder / MODEL, device=model.device, load_data=False)
        model.policy.load_state_dict(parameters["policy"])
    except (ValueError, KeyError, RuntimeError) as error:
        text = " ".join(str(error).split())
        raise CheckpointError(f"{folder}: weights do not fit the network: {text}") from None


def action_logits(model: Any, shades: Tensor) -> Tensor:
    """Return logits f32[N, 7] of shades u8[N, K, 72, 80].

    For DQN they are log probabilities of epsilon-greedy play at the final exploration rate. Not for RecurrentPPO: see
    memory.py.
    """
    greys = (shades * GREY_STEP).to(model.device)
    model.policy.set_training_mode(False)
    if isinstance(model, PPO):
        return model.policy.get_distribution(greys).distribution.logits
    values = model.q_net(greys)
    chosen = torch.nn.functional.one_hot(values.argmax(-1), values.shape[-1])
    share = model.exploration_final_eps
    return torch.log(chosen * (1 - share) + share / values.shape[-1] + 1e-12)


def loop_state(model: Any) -> dict[str, Any]:
    """Return the state that SB3's zip lacks for an exact resume: consoles, random generators, replay buffer."""
    state: dict[str, Any] = {
        "envs": model.get_env().state_dict(),
        **generators.state(),
        "actions": json.dumps(model.action_space.np_random.bit_generator.state),
    }
    buffer = getattr(model, "replay_buffer", None)
    if buffer is not None:
        filled = buffer.buffer_size if buffer.full else buffer.pos
        arrays = {name: getattr(buffer, name)[:filled] for name in _BUFFER}
        state["replay"] = {name: torch.from_numpy(value) for name, value in arrays.items()}
        state["at"] = (buffer.pos, buffer.full)
    if isinstance(model, RecurrentPPO):  # SB3's `load` starts with empty states
        actor, critic = model._last_lstm_states
        state["lstm"] = torch.stack([*actor, *critic]).cpu()
    return state


def load_loop_state(model: Any, state: dict[str, Any]) -> None:
    """Restore the state that `loop_state` returned, so that the next step is the one that would have followed."""
    model.get_env().load_state_dict(state["envs"])
    buffer = getattr(model, "replay_buffer", None)
    if buffer is not None:
        for name, value in state["replay"].items():
            getattr(buffer, name)[: len(value)] = value.numpy()
        buffer.pos, buffer.full = state["at"]
    if isinstance(model, RecurrentPPO):
        hidden = state["lstm"].to(model.device)
        model._last_lstm_states = RNNStates((hidden[0], hidden[1]), (hidden[2], hidden[3]))
    generators.load_state(state)
    model.action_space.np_random.bit_generator.state = json.loads(state["actions"])


def model_bytes(model: Any) -> bytes:
    """Return the model as the bytes of SB3's zip file."""
    buffer = io.BytesIO()
    model.save(buffer)
    return buffer.getvalue()
