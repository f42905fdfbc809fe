"""`dmglab league`: a policy, a script, a person's recordings and a language model in one table."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from trainer_core.cli.options import home_paths, make_out, parse
from trainer_core.cli.output import on_terminal, say, tell_progress
from trainer_core.lab.task_lists import SEPARATOR
from trainer_core.runs.log_writer import disk_error, write_json
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import MAX_SEED, limits


@dataclass(frozen=True)
class Options:
    players: Annotated[tuple[str, ...], tyro.conf.Positional]
    """random, checkpoint=RUN, nearest=FOLDER, recorded=FOLDER, llm=http://127.0.0.1:8080/v1"""
    task: str = ""
    """Task id, or several as a,b: then every player has a row a task. Default those that the first
    checkpoint was trained on, else pocket_quest/leave_bedroom."""
    episodes: int = field(default=16, metadata=limits(1, 10_000))
    """Episodes of each player on a task, one from each of its test starts."""
    mode: Literal["greedy", "sample", "leave_loops"] = "greedy"
    """How policies play: the most likely buttons, or drawn ones."""
    llm_model: str = ""
    """Name of the model that is asked for; a key for it is read from DMGLAB_LLM_KEY."""
    llm_timeout: float = field(default=30.0, metadata=limits(0.1, 3600))
    """Seconds to wait for an answer; the game stands still meanwhile."""
    out: Path | None = None
    """Folder for league.json and league.md."""
    record: bool = False
    """Keep each player's first episode below HOME/players, for the app's Replay tab."""
    seed: int = field(default=1, metadata=limits(0, MAX_SEED))
    home: Path | None = None
    """Where runs and tasks lie; default DMGLAB_HOME or var/ of the checkout."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "league", argv)
    from trainer_core.play.episode import Played
    from trainer_core.play.league.players import Entry, Settings, league_tasks, parse_entry
    from trainer_core.play.league.table import Row, as_dicts, markdown, play_league

    if not options.players:
        raise ConfigError("name at least one player; `dmglab league --help` says which there are")
    entries = [parse_entry(text) for text in dict.fromkeys(options.players)]
    home = home_paths(options.home)
    tasks = league_tasks(options.task, entries, home)
    settings = Settings(
        task=tasks[0],
        home=home,
        mode=options.mode,
        seed=options.seed,
        llm_model=options.llm_model,
        llm_timeout_s=options.llm_timeout,
    )
    if options.out is not None:
        make_out(options.out)

    done = 0

    def tell(entry: Entry, played: Played) -> None:
        end = "goal" if played.success else "no goal"
        say(f"{entry.name}: {end} after {played.steps} steps")
        nonlocal done
        done += 1
        if not on_terminal():  # there the line above says enough
            tell_progress(done / (len(tasks) * len(entries) * options.episodes))

    keep = None
    if options.record:
        players = settings.home.players
        players.mkdir(parents=True, exist_ok=True)
        stamp = time.strftime("league-%Y%m%d-%H%M%S-")  # two may begin within a second
        keep = Path(tempfile.mkdtemp(prefix=stamp, dir=players)) / "recordings"
    rows: list[Row] = []
    for number, task in enumerate(tasks):
        folder = keep / f"task-{number}" if keep and len(tasks) > 1 else keep
        on_task = dataclasses.replace(settings, task=task)
        rows += play_league(entries, on_task, options.episodes, tell, folder)
    result = {"task": SEPARATOR.join(tasks), "rows": as_dicts(rows)}
    text = markdown(tasks, rows)
    say(text, sys.stdout if on_terminal() else sys.stderr)
    if options.out is not None:
        try:
            options.out.mkdir(parents=True, exist_ok=True)
            write_json(options.out / "league.json", result)
            (options.out / "league.md").write_text(text, encoding="utf-8")
        except OSError as error:
            raise disk_error(options.out, error, "--out") from None
    wrong = [row.error for row in rows if row.error]
    if on_terminal():  # the table says it
        return {"ok": False, "error": wrong[0]} if wrong else {}
    return {"ok": not wrong, **result}
