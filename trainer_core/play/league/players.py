"""Players that can take part in a league, and their names.

random                uniformly random buttons
checkpoint=RUN        a policy of any runner, in its own interpreter
nearest=FOLDER        a script: presses the button of the most similar recorded picture
recorded=FOLDER       recordings, a person's for example, judged again
llm=URL               a model behind an OpenAI-compatible server
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from trainer_core.author.demonstration import play_inputs
from trainer_core.author.inputs import read_inputs, steps_of
from trainer_core.envs.language_model import DEFAULT_TIMEOUT_S, LanguageModel
from trainer_core.envs.task_files import load_rom
from trainer_core.lab.checkpoint_manifest import read_meta
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import list_recordings
from trainer_core.lab.task_lists import expand_tasks, split_tasks
from trainer_core.lab.tasks import find_task
from trainer_core.play.episode import Chooser
from trainer_core.play.league.contestant import Contestant
from trainer_core.play.league.llm import LlmPlayer
from trainer_core.runners.catalog import runner_of_checkpoint
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.runs.names import find_checkpoint
from trainer_core.wire.addresses import LLM_EXAMPLE, LLM_KEY, check_server, without_secrets
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.environment import server_key
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.playing import PolicyMode

DEFAULT_TASK = "pocket_quest/leave_bedroom"
KINDS = ("random", "checkpoint", "nearest", "recorded", "llm")


@dataclass(frozen=True, slots=True)
class Entry:
    """Player in a league as the user named it: kind and source."""

    kind: Literal["random", "checkpoint", "nearest", "recorded", "llm"]
    what: str

    @property
    def name(self) -> str:
        return f"{self.kind}={self.what}" if self.what else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings that all players of a league share."""

    task: str
    home: HomePaths
    mode: PolicyMode = "greedy"
    seed: int = 1
    llm_model: str = ""
    llm_timeout_s: float = DEFAULT_TIMEOUT_S


class RandomPlayer:
    """Player of uniformly random buttons."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def begin(self, observation: np.ndarray) -> None:
        """Ignore the observation."""

    see = begin

    def act(self) -> int:
        return int(self._rng.integers(len(ACTIONS)))


class NearestPlayer:
    """Player that presses the recorded button of the most similar recorded picture.

    When a picture recurs within an episode, the button of the next nearest recorded picture is pressed.
    """

    def __init__(self, pictures: np.ndarray, actions: np.ndarray) -> None:
        """Store `actions` i64[M], the buttons pressed at `pictures` u8[M, 72, 80]."""
        self._pictures = pictures.astype(np.int16)
        self._actions = actions

    def begin(self, observation: np.ndarray) -> None:
        self._met: dict[bytes, int] = {}
        self._seen = observation

    def see(self, observation: np.ndarray) -> None:
        self._seen = observation

    def act(self) -> int:
        times = self._met.get(self._seen.tobytes(), 0)
        self._met[self._seen.tobytes()] = times + 1
        apart = np.abs(self._pictures - self._seen).sum((1, 2))
        nearest = self._actions[np.argsort(apart, kind="stable")]
        _, first = np.unique(nearest, return_index=True)
        by_distance = nearest[np.sort(first)]
        return int(by_distance[times % len(by_distance)])


def parse_entry(text: str) -> Entry:
    """Parse a player's name; raises ConfigError listing the kinds."""
    kind, equals, what = text.partition("=")
    if kind not in KINDS or bool(equals) != (kind != "random") or (equals and not what):
        raise ConfigError(
            f"player {without_secrets(text)[:100]!r}: say random, checkpoint=RUN, nearest=FOLDER, "
            f"recorded=FOLDER or llm={LLM_EXAMPLE}"
        )
    if kind == "llm":
        check_server(what, LLM_KEY, LLM_EXAMPLE)
    return Entry(kind, what)


def league_tasks(asked: str, entries: Sequence[Entry], home: HomePaths) -> tuple[str, ...]:
    """Return the tasks named in `asked`; if none, those of the first checkpoint, else DEFAULT_TASK.

    Raises LabError for a checkpoint that cannot be found, and for invalid names.
    """
    if not asked:
        policies = [entry.what for entry in entries if entry.kind == "checkpoint"]
        asked = read_meta(find_checkpoint(policies[0], home)).task if policies else DEFAULT_TASK
    return split_tasks(expand_tasks(asked, home))


def open_player(entry: Entry, settings: Settings) -> Chooser:
    """Open the player of `entry`, of any kind but `recorded`. Raises LabError."""
    match entry.kind:
        case "random":
            return RandomPlayer(settings.seed)
        case "nearest":
            return NearestPlayer(*recorded_steps(Path(entry.what), settings))
        case "llm":
            timeout_s, key = settings.llm_timeout_s, server_key(LLM_KEY)
            return LlmPlayer(LanguageModel(entry.what, settings.llm_model, timeout_s=timeout_s, key=key))
        case "checkpoint":
            return open_checkpoint(entry.what, settings)
    raise ConfigError(f"{entry.name} has been played already")


def open_checkpoint(what: str, settings: Settings) -> Contestant:
    """Return the policy of a checkpoint folder or a run of any runner. Raises LabError."""
    folder = find_checkpoint(what, settings.home)
    runner = runner_of_checkpoint(folder)
    if not runner.capabilities.play:
        raise ConfigError(f"{folder}: {runner.title} has no player for its checkpoints")
    if read_meta(folder).num_actions != len(ACTIONS):
        raise ConfigError(f"{folder}: made for other buttons than a Game Boy's")
    python, module = sys.executable, ""
    if isinstance(runner, GuestRunner):
        environment = runner.environment(settings.home)
        environment.check()
        python, module = str(environment.python), runner.player
    return Contestant(python, module, folder, mode=settings.mode, seed=settings.seed)


def recorded_steps(folder: Path, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Return pictures u8[M, 72, 80] and actions i64[M] of the recordings' steps in which one button was pressed.

    Raises LabError when there is none.
    """
    task = find_task(settings.task, settings.home)
    cartridge, codec = load_rom(task, settings.home), task.manifest.codec
    pictures, actions = [], []
    for recording in recordings_in(folder):
        for inputs in read_inputs(recording, codec):
            pressed = steps_of(inputs.masks[inputs.first_step :], codec)
            shown = play_inputs(cartridge, inputs, codec).pictures[: len(pressed)]
            pictures.append(shown[pressed >= 0])
            actions.append(pressed[pressed >= 0])
    if not sum(map(len, actions)):
        raise ConfigError(f"{folder}: no step of its recordings holds one button")
    return np.concatenate(pictures), np.concatenate(actions)


def recordings_in(folder: Path) -> list[Path]:
    """Return finished recordings below `folder`. Raises ConfigError without one."""
    found = sorted(list_recordings(folder.expanduser()))
    if not found:
        raise ConfigError(f"{folder}: holds no recording; `dmglab record` or the app makes them")
    return found
