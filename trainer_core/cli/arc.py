"""`dmglab arc eval`: an agent plays one ARC-AGI-3 game; the result has its state, reward, score and scorecard."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result, say
from trainer_core.envs.arc.agents import ArcAgent, make_agent
from trainer_core.envs.arc.game import ArcGame, open_arc_game, open_static_game
from trainer_core.envs.arc.llm_agent import LlmAgent
from trainer_core.envs.arc.static import SESSION
from trainer_core.lab.arc_games import RESET, WIN, is_arc
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.log_writer import write_json
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.fields import MAX_SEED, limits

PROGRESS_S = 2.0
"""Seconds between two lines of progress."""


@dataclass(frozen=True)
class Options:
    task: str = ""
    """Game, arc/ID: one of ours or of HOME/arc by the library, one of a server's with --server; default: the session of
    --session."""
    session: Path | None = None
    """JSON file with a game of a few scenes, which needs neither the library nor a network; default: one that comes
    with DMG Lab."""
    server: str = ""
    """Address of an ARC-AGI-3 server, for example https://three.arcprize.org; its key is read from ARC_API_KEY."""
    agent: str = "explore"
    """explore, random, script (with --script), llm (with --llm), or MODULE:CLASS of your own."""
    script: str = ""
    """File with one action a line: RESET, ACTION1 ... ACTION7, ACTION6 X Y."""
    llm: str = ""
    """Address of a language model's OpenAI-compatible API; its key is read from DMGLAB_LLM_KEY."""
    llm_model: str = ""
    """Name of the model at that address."""
    actions: int = field(default=500, metadata=limits(1, 10**6))
    """Greatest number of actions, RESET included."""
    seed: int = field(default=1, metadata=limits(0, MAX_SEED))
    out: Path | None = None
    """Folder for scorecard.json and, of a game by the library, its recording; default: they are not kept."""
    home: Home = None


def evaluate(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "arc eval", argv)
    agent = make_agent(options.agent, options.seed, script=options.script, llm=options.llm, llm_model=options.llm_model)
    game = _open(options, home_paths(options.home))
    try:
        found = _played(game, agent, options.actions)
        found["card"] = _card(game)
        found |= getattr(game.session, "pages", {})
    finally:
        game.close()
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        write_json(options.out / "scorecard.json", found["card"])
        found["scorecard"] = str(options.out / "scorecard.json")
        recordings = sorted(options.out.rglob("*.jsonl"), key=lambda path: path.stat().st_mtime)
        found |= {"replay": str(recordings[-1])} if recordings else {}
    found["score"] = float(found["card"].get("score") or 0.0)
    return Result(found, _text(found))


def _open(options: Options, home: HomePaths) -> ArcGame:
    if not options.task:
        if options.server:
            raise ConfigError("name one of the server's games with --task arc/ID")
        return open_static_game(options.session or SESSION)
    if not is_arc(options.task):
        raise ConfigError(f"{options.task} is no ARC game; they are called arc/ID")
    address = f"{options.task}@{options.server}" if options.server else options.task
    return open_arc_game(address, home, options.out)


def _played(game: ArcGame, agent: ArcAgent, most: int) -> dict[str, Any]:
    """Let the agent play until the game is won, it has no action left, it fails, or `most` actions were made."""
    judge, rewards, actions, resets = game.judge, 0.0, 0, 0
    assert judge is not None
    judge.begin(game.observation())
    error, next_word = "", time.monotonic() + PROGRESS_S
    try:
        while actions + resets < most and game.shown.state != WIN:
            turn = agent.act(game)
            if turn is None:
                break
            game.act(turn)
            resets, actions = resets + (turn.action == RESET), actions + (turn.action != RESET)
            rewards += judge.judge(game.observation())[0]
            if time.monotonic() >= next_word:
                next_word += PROGRESS_S
                say(f"{actions} actions  {resets} resets  level {game.levels} of {game.shown.win_levels}")
    except LabError as failure:  # what was played until then is still a result
        error = str(failure)
    found: dict[str, Any] = {"ok": not error, "task": game.task, "state": game.shown.state}
    found |= {"reward": round(rewards, 4), "levels": game.levels, "win_levels": game.shown.win_levels}
    found |= {"actions": actions, "resets": resets}
    if isinstance(agent, LlmAgent):
        model = agent.model
        found |= {"answers": model.answers, "unusable_answers": agent.nonsense, "failed_requests": model.failures}
    return found | ({"error": error} if error else {})


def _card(game: ArcGame) -> dict[str, Any]:
    try:
        return game.card()
    except LabError as error:
        say(f"no scorecard: {error}")
        return {}


def _text(found: dict[str, Any]) -> str:
    lines = [f"{name.replace('_', ' '):<17} {found[name]}" for name in found if name not in ("ok", "card", "error")]
    lines += ["scorecard:", json.dumps(found["card"], indent=2)]
    return "\n".join([*lines, *([f"error: {found['error']}"] if "error" in found else [])])
