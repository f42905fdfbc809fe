"""From a configuration to an environment, and the facts about its task that records carry."""

from __future__ import annotations

from dataclasses import dataclass

from trainer_core.envs import toy
from trainer_core.envs.noise import NoiseEnv
from trainer_core.envs.vec_env import VecEnv
from trainer_core.protocol.buttons import CODEC_ID
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.tasks import OBSERVATION_RULE, find_task


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """What meta records and checkpoints say about a task."""

    id: str
    rom_sha256: str = ""
    starts_sha256: str = ""
    goal_sha256: str = ""
    codec: str = CODEC_ID
    observation_rule: str = OBSERVATION_RULE
    frames_per_step: int = 24
    release_after_frames: int = 8

    @property
    def hashes(self) -> dict[str, str]:
        return {"rom": self.rom_sha256, "starts": self.starts_sha256, "goal": self.goal_sha256}


def task_facts(task_id: str, home: HomePaths) -> TaskFacts:
    """Raises TaskError for an unknown task."""
    if task_id == toy.TASK_ID:
        return TaskFacts(id=task_id)
    manifest = find_task(task_id, home).manifest
    return TaskFacts(
        id=manifest.id,
        rom_sha256=manifest.rom.sha256,
        starts_sha256=manifest.starts.sha256,
        goal_sha256=manifest.goal.sha256,
        codec=manifest.codec.id,
        observation_rule=manifest.observation.rule,
        frames_per_step=manifest.codec.frames_per_step,
        release_after_frames=manifest.codec.release_after_frames,
    )


def make_env(
    config: RunConfig,
    home: HomePaths,
    *,
    num_envs: int | None = None,
    held_out: bool = False,
    seed: int | None = None,
) -> VecEnv:
    """The environment of a run, or with `held_out` the one that validates it.

    Validation pays no novelty bonus: its returns compare across runs.
    """
    count = config.num_envs if num_envs is None else num_envs
    seed = config.seed if seed is None else seed
    env: VecEnv
    if config.task == toy.TASK_ID:
        env = toy.TinyGoalEnv(
            count, stack_k=config.stack_k, seed=seed, held_out=held_out, device=config.device
        )
    else:
        from trainer_core.envs.game_env import GameEnv  # warp takes seconds to load

        env = GameEnv(
            find_task(config.task, home),
            count,
            device=config.device,
            stack_k=config.stack_k,
            seed=seed,
            held_out=held_out,
            home=home,
        )
    if config.obs_source == "noise":
        return NoiseEnv(env, seed)  # type: ignore[return-value]  # stopwatch is a property
    return env
