"""Description of the ARC-AGI-3 runner; ARC-AGI-3's library is not imported here."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from trainer_core.lab.arc_games import EXAMPLE, MODULES, PYTHONS, RUNNER_ID, TITLE, find_game, is_arc
from trainer_core.lab.paths import HomePaths, child_folder
from trainer_core.runners.guest.runner import PROCESS, GuestRunner
from trainer_core.wire.addresses import ARC_KEY, LLM_EXAMPLE, LLM_KEY, check_server
from trainer_core.wire.capabilities import RunnerCapabilities
from trainer_core.wire.checks import Check, Found, judged
from trainer_core.wire.errors import ConfigError, TaskError
from trainer_core.wire.fields import check_fields, option
from trainer_core.wire.spec import RunSpec

Algorithm = Literal["explore", "random", "script", "llm"]
ALGORITHMS = get_args(Algorithm)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArcConfig:
    """Options of an ARC run: agent, game, limits."""

    task: str = option("arc/wk01", "Game", "basics")
    """arc/ID: a game of ours or one in HOME/arc; on a server, one of its games."""
    seconds: float = option(0.0, "Time limit", "basics", minimum=0, unit="s")
    """Stop after so many seconds of wall time; 0 = no limit."""
    total_env_steps: int = option(2_000, "Actions", "basics", minimum=0, maximum=10**8)
    """Stop after so many actions; 0 = no limit."""
    seed: int = option(1, "Seed", "basics", minimum=0)
    """Seed of random choices."""
    algo: Algorithm = option("explore", "Agent", "basics", choices=ALGORITHMS)
    """explore: tries in each grid what it has not tried there, and goes where something is left;
    random: any action that the game takes; script: a file of actions; llm: what a language model
    answers. PPO plays these games as DMG Lab's own runner, with the same task."""
    script: str = option("", "Script", "basics", is_file=True)
    """script: file with one action a line: RESET, ACTION1 ... ACTION7, ACTION6 X Y."""
    llm: str = option("", "Language model", "basics")
    """llm: address of an OpenAI-compatible API, for example http://127.0.0.1:8080/v1; its key is read from
    DMGLAB_LLM_KEY."""
    llm_model: str = option("", "Its name", "basics")
    """llm: name of the model at that address."""
    episodes: int = option(1, "Games", "basics", minimum=1, maximum=100_000)
    """Stop after so many games won."""
    server: str = option("", "Server", "env")
    """Address of an ARC-AGI-3 server, http://...; empty = the library here, without a network. A
    key for it is read from ARC_API_KEY."""
    log_every: int = option(100, "Log every", "logging", minimum=1, unit="actions")
    """Actions between two records."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.server:
            check_server(self.server, ARC_KEY, EXAMPLE)
        if self.llm:
            check_server(self.llm, LLM_KEY, LLM_EXAMPLE)
        if self.algo == "llm" and not self.llm:
            raise ConfigError(f"the agent llm needs the address of a language model: --llm {LLM_EXAMPLE}")
        if self.algo == "script" and not self.script:
            raise ConfigError("the agent script needs a file of actions: name it with --script")


@dataclass(frozen=True, kw_only=True)
class ArcRunner(GuestRunner):
    """Runner whose worker process is our own code; the games run in the library's environment, connected by pipes."""

    def command(self, run_dir: Path) -> list[str]:
        return [sys.executable, "-m", PROCESS, str(run_dir), self.worker]

    def folder(self, run_dir: Path) -> Path:
        return child_folder()

    def check_task(self, spec: RunSpec, home: HomePaths) -> Check:
        config: ArcConfig = self.configure(spec)
        if config.server:
            return Check(name="Task", status="ok", detail=f"{spec.task} on {config.server}")

        def find() -> str:
            if not is_arc(spec.task):
                raise TaskError(f"{spec.task} is no ARC game; they are called arc/ID")
            game = find_game(spec.task, home)
            return f"{game.title}: {game.folder}"

        return judged("Task", find, "Pick a task arc/ID")

    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        yield from super().check_options(spec, found, home)
        config: ArcConfig = self.configure(spec)
        if config.script and not Path(config.script).expanduser().is_file():
            yield Check(
                name="Script",
                status="fail",
                detail=f"{config.script}: no such file",
                fix="Name a file with one action a line",
            )


ARC = ArcRunner(
    id=RUNNER_ID,
    title=TITLE,
    summary="Agents that play ARC-AGI-3 games, ours or a server's: levels, actions, scorecards.",
    capabilities=RunnerCapabilities(pause=True, graceful_stop=True, watch=True),
    algorithms=ALGORITHMS,
    config_type=ArcConfig,
    modules=MODULES,
    worker="trainer_core.runners.arc.worker",
    pythons=PYTHONS,
    torch=False,
)
