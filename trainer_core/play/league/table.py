"""League: every player plays the same starts; the results as a table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from trainer_core.author.demonstration import play_inputs
from trainer_core.author.inputs import read_inputs
from trainer_core.author.minari_export import score_pictures
from trainer_core.envs.recording_writer import RecordingWriter
from trainer_core.envs.single_game import Game, open_game
from trainer_core.envs.task_files import load_rom
from trainer_core.lab.tasks import find_task
from trainer_core.play.episode import Chooser, Played, play_episode
from trainer_core.play.league.llm import LlmPlayer
from trainer_core.play.league.players import Entry, Settings, open_player, recordings_in
from trainer_core.wire.errors import LabError

Tell = Callable[[Entry, Played], None]


@dataclass(frozen=True, slots=True)
class Row:
    """Results of one player over the episodes played; `error` is why it did not finish."""

    player: str
    kind: str
    episodes: int
    success_rate: float
    median_steps_to_goal: float
    """Median steps of the successful episodes; 0 without one."""
    mean_return: float
    seconds_per_step: float
    starts: str
    """"test": the task's test states; "own": the states in which recordings began."""
    note: str = ""
    error: str = ""
    recording: str = ""
    """Folder with its first episode; "" if not recorded."""
    task: str = ""


def test_starts(game: Game, episodes: int) -> list[int]:
    """Return at most `episodes` of the test states, the ones that `dmglab eval` plays."""
    held_out = list(range(game.held_out_start, game.num_starts))
    chosen = held_out[1::2] if game.held_out_start and len(held_out) > 1 else held_out
    return chosen[:episodes]


def play_league(
    entries: Sequence[Entry], settings: Settings, episodes: int, tell: Tell, keep: Path | None = None
) -> list[Row]:
    """Play every player; return the rows, best first, with an error in the row of a player that failed.

    Records each player's first episode below `keep`, if given. Raises LabError when the task cannot be played.
    """
    game = open_game(settings.task, settings.home)
    starts = test_starts(game, episodes)
    rows = [
        _recorded(entry, settings, episodes, tell)
        if entry.kind == "recorded"
        else _played(entry, settings, game, starts, tell, keep / f"{number:02d}" if keep else None)
        for number, entry in enumerate(entries, 1)
    ]
    return sorted((replace(row, task=settings.task) for row in rows), key=_rank)


def _rank(row: Row) -> tuple[bool, float, float, str]:
    """Return a sort key; players that did not finish come last."""
    return bool(row.error), -row.success_rate, row.median_steps_to_goal, row.player


def _played(entry: Entry, settings: Settings, game: Game, starts: Sequence[int], tell: Tell, keep: Path | None) -> Row:
    episodes: list[Played] = []
    player, error, seconds = None, "", 0.0
    try:
        player = open_player(entry, settings)
        for start in starts:
            began = time.monotonic()
            if keep is not None and not episodes:
                episodes.append(_recorded_episode(game, player, start, keep, entry))
            else:
                episodes.append(play_episode(game, player, start))
            seconds += time.monotonic() - began
            tell(entry, episodes[-1])
    except LabError as failure:
        error = str(failure)
    finally:
        close = getattr(player, "close", None)
        if close is not None:
            close()
    note = ""
    if isinstance(player, LlmPlayer):
        model = player.model
        note = f"{model.answers} answers, {player.nonsense} named no button, {model.failures} requests failed"
    recording = str(keep) if keep is not None and episodes else ""
    return _row(entry, episodes, seconds, "test", note, error, recording)


def _recorded_episode(game: Game, player: Chooser, start: int, keep: Path, entry: Entry) -> Played:
    game.restart(start)
    writer = RecordingWriter(
        keep, game, mode="script", checkpoint=entry.what if entry.kind == "checkpoint" else "", checkpoint_sha256=""
    )
    try:
        return play_episode(game, player, start, recording=writer)
    finally:
        writer.finish()


def _recorded(entry: Entry, settings: Settings, episodes: int, tell: Tell) -> Row:
    """Replay recordings from their own states, judge them by the task's rules; return the player's row."""
    found: list[Played] = []
    error = ""
    began = time.monotonic()
    try:
        task = find_task(settings.task, settings.home)
        cartridge, codec = load_rom(task, settings.home), task.manifest.codec
        for folder in recordings_in(Path(entry.what))[:episodes]:
            for inputs in read_inputs(folder, codec):
                pictures = play_inputs(cartridge, inputs, codec).pictures
                rewards, done = score_pictures(task, pictures)
                steps = done.index(True) + 1 if any(done) else len(done)
                found.append(Played(-1, any(done), steps, sum(rewards[:steps]), ()))
                tell(entry, found[-1])
    except LabError as failure:
        error = str(failure)
    return _row(entry, found, time.monotonic() - began, "own", "", error)


def _row(
    entry: Entry, played: Sequence[Played], seconds: float, starts: str, note: str, error: str, recording: str = ""
) -> Row:
    won = [episode.steps for episode in played if episode.success]
    count, steps = max(1, len(played)), sum(episode.steps for episode in played)
    return Row(
        entry.name,
        entry.kind,
        len(played),
        len(won) / count,
        statistics.median(won) if won else 0.0,
        sum(episode.episode_return for episode in played) / count,
        seconds / max(1, steps),
        starts,
        note,
        error,
        recording,
    )


def as_dicts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [asdict(row) for row in rows]


def markdown(tasks: Sequence[str], rows: Sequence[Row]) -> str:
    """Return the tables as Markdown, one per task."""
    return "\n".join(_table(task, [row for row in rows if row.task == task]) for task in tasks)


def _table(task: str, rows: Sequence[Row]) -> str:
    lines = [
        f"# League: {task}",
        "",
        "| player | episodes | starts | success | median steps | mean return | s/step | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        said = row.error or row.note
        median = f"{row.median_steps_to_goal:g}" if row.success_rate else "-"
        lines.append(
            f"| {row.player} | {row.episodes} | {row.starts} | {row.success_rate:.3f} | "
            f"{median} | {row.mean_return:.3f} | "
            f"{row.seconds_per_step:.3f} | {said} |"
        )
    return "\n".join(lines) + "\n"
