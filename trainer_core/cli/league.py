"""`dmglab league`: compare policies, recordings and language models on the same tasks."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from trainer_core.cli.options import Home, home_paths, make_out, parse
from trainer_core.cli.output import Result, table
from trainer_core.cli.progress import tell_progress
from trainer_core.lab.task_lists import SEPARATOR
from trainer_core.runs.log_writer import disk_error, write_json
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import MAX_SEED, limits

HEAD = ("task", "player", "episodes", "success", "median steps", "mean return", "s/step", "note")


@dataclass(frozen=True)
class Options:
    players: Annotated[tuple[str, ...], tyro.conf.Positional]
    """random, checkpoint=RUN, nearest=FOLDER, recorded=FOLDER, llm=http://127.0.0.1:8080/v1"""
    task: str = ""
    """Task id, or several as a,b with one row for each player and task. Default the tasks of the first
    checkpoint, else pocket_quest/leave_bedroom."""
    episodes: int = field(default=16, metadata=limits(1, 10_000))
    """Episodes of each player on a task, one from each of its test starts."""
    mode: Literal["greedy", "sample", "leave_loops"] = "greedy"
    """Buttons of policies: the most likely ones, drawn ones, or the most likely ones except where a
    picture came back."""
    llm_model: str = ""
    """Name of the language model; its key is read from DMGLAB_LLM_KEY."""
    llm_timeout: float = field(default=30.0, metadata=limits(0.1, 3600))
    """Longest time in seconds of one answer; the game waits for it."""
    out: Path | None = None
    """Folder for league.json and league.md."""
    record: bool = False
    """Save the first episode of each player below HOME/players, for the Replay tab of the app."""
    seed: int = field(default=1, metadata=limits(0, MAX_SEED))
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "league", argv)
    from trainer_core.play.episode import Played
    from trainer_core.play.league.players import Entry, Settings, league_tasks, parse_entry
    from trainer_core.play.league.table import Row, as_dicts, markdown, play_league

    if not options.players:
        raise ConfigError("name at least one player; `dmglab league --help` lists them")
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
        nonlocal done
        done += 1
        tell_progress(done / (len(tasks) * len(entries) * options.episodes), entry.name)

    keep = None
    if options.record:
        players = settings.home.players
        players.mkdir(parents=True, exist_ok=True)
        stamp = time.strftime("league-%Y%m%d-%H%M%S-")  # two leagues may begin within a second
        keep = Path(tempfile.mkdtemp(prefix=stamp, dir=players)) / "recordings"
    rows: list[Row] = []
    for number, task in enumerate(tasks):
        folder = keep / f"task-{number}" if keep and len(tasks) > 1 else keep
        on_task = dataclasses.replace(settings, task=task)
        rows += play_league(entries, on_task, options.episodes, tell, folder)
    result = {"task": SEPARATOR.join(tasks), "rows": as_dicts(rows)}
    if options.out is not None:
        try:
            options.out.mkdir(parents=True, exist_ok=True)
            write_json(options.out / "league.json", result)
            (options.out / "league.md").write_text(markdown(tasks, rows), encoding="utf-8")
        except OSError as error:
            raise disk_error(options.out, error, "--out") from None
    lines = (
        (
            row.task,
            row.player,
            row.episodes,
            f"{row.success_rate:.3f}",
            f"{row.median_steps_to_goal:g}" if row.success_rate else "",
            f"{row.mean_return:.3f}",
            f"{row.seconds_per_step:.3f}",
            row.error or row.note,
        )
        for row in rows
    )
    return Result({"ok": not any(row.error for row in rows), **result}, table(HEAD, lines))
