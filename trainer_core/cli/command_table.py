"""Every command and verb of `dmglab`: its name, what it does in a line, the function that does it.

Help, dispatch and the words above a command's options are read from this table.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Command(NamedTuple):
    """A row of the table."""

    name: str
    """As it is typed: "train", or with its verb "queue add"."""
    summary: str
    function: str = ""
    """Where it is below `trainer_core.cli`; it takes the words after the name. Empty where a verb has to follow."""
    prints: bool = False
    """Whether it prints more than its result; of any other command only the result reaches standard output."""

    @property
    def verbs(self) -> list[Command]:
        """Return the commands whose names begin with this one's."""
        return [row for row in COMMANDS.values() if row.name.startswith(f"{self.name} ")]

    def load(self) -> Callable[[list[str]], dict[str, Any]]:
        """Import the function's module, and no other command's."""
        module, _, name = self.function.rpartition(".")
        return getattr(importlib.import_module(f"trainer_core.cli.{module}"), name)


_ROWS = (
    Command("train", "train a policy on a task", "train.run"),
    Command("resume", "continue a run from its newest checkpoint, or one that is paused", "resume.run"),
    Command("stop", "stop any run of the home, whichever process keeps it", "stop.run"),
    Command("pause", "hold any run of the home", "pause.run"),
    Command("queue", "runs that wait for a device: list, add, move, hold, release, remove, run"),
    Command("queue list", "what waits, the next first", "queue.list_waiting", prints=True),
    Command("queue add", "let a run wait for its device; the options are those of `dmglab train`", "queue.add"),
    Command("queue move", "to another place in the queue", "queue.move"),
    Command("queue hold", "keep a run waiting until it is released", "queue.hold"),
    Command("queue release", "let a held run have its turn again", "queue.release"),
    Command("queue remove", "take a run out of the queue", "queue.remove"),
    Command("queue run", "work the queue until nothing is left that could be started", "queue.work"),
    Command("eval", "success of a checkpoint, or of a baseline, on held-out starts", "eval.run"),
    Command("rollout", "one episode as GIF, JSON lines and a manifest", "rollout.run"),
    Command(
        "league", "a policy, a script, a recording, a language model on one task: one table", "league.run", prints=True
    ),
    Command("record", "a checkpoint's episodes as recordings, to learn from offline", "record.run"),
    Command("play", "one Game Boy in real time, frames to a file", "play.run"),
    Command("plot", "curves of one or more logs as a PNG", "plot.run"),
    Command("disk", "what each run takes of the disk", "disk.run", prints=True),
    Command("archive", "runs as one file each, with hashes; --remove makes room", "archive.run"),
    Command("restore", "archived runs back into a home", "restore.run"),
    Command("curves", "curves for TensorBoard, or in the form of W&B's history", "curves.run"),
    Command("import", "a file of W&B as a run with its curves, or a checkpoint's folder", "importing.run"),
    Command("validate", "check a train_log.jsonl", "validate.run"),
    Command("runs", "list runs", "runs.run", prints=True),
    Command("export", "a recording as GIF, APNG, MP4 or PNGs: range, speed, scale", "export.run", prints=True),
    Command("clip", "a rollout, GIF, input movie or failed run's receipt as a recording", "clip.run", prints=True),
    Command("query", "ask runs and records in SQL, read-only", "query.run", prints=True),
    Command("task", "make, check, audit, share and list tasks"),
    Command("task list", "every task, and what is wrong with those that cannot be used", "task_reports.list_all"),
    Command(
        "task new", "a task from a ROM and a script or recording: starts, goal, horizon are chosen", "task_making.new"
    ),
    Command("task make", "a task from start states and goal pictures that are there", "task_making.make"),
    Command(
        "task capture", "a start state, a goal or a picture from a step of a script or recording", "task_making.capture"
    ),
    Command("task update", "give a task of yours the reward that new ones get", "task_making.update"),
    Command("task demo", "cut a recording to the task's goal and add it as a demonstration", "task_making.demo"),
    Command("task check", "does it work: files, states, demonstrations, false goals", "task_reports.check"),
    Command("task audit", "is it a problem: random play, single buttons, aliasing", "task_reports.audit"),
    Command("task probe", "what a goal would mean: distances of starts, the way and random play", "task_reports.probe"),
    Command("task export", "an archive of it, without the ROM", "task_sharing.export"),
    Command("task import", "an archive of `dmglab task export` into a home", "task_sharing.import_"),
    Command("task remove", "a task of yours, for good (--yes)", "task_sharing.remove"),
    Command("rom", "register your own ROMs: add, list, remove"),
    Command("rom add", "register ROMs by their hashes; the files stay where they are", "rom.add"),
    Command("rom list", "which are there, missing, moved or changed, and which games have profiles", "rom.list_all"),
    Command("rom remove", "forget one; its file stays", "rom.remove"),
    Command(
        "runner",
        "the environments of other libraries: install, check, remove; trust a checkpoint",
        "runner.run",
        prints=True,
    ),
    Command("gif", "a recording as an animated GIF", "gif.run", prints=True),
    Command("replay", "press a recording's buttons again and compare the pictures", "replay.run"),
    Command("sound", "what a game sounds like, as a WAV file", "sound.run"),
    Command("bench", "measure training, the consoles alone, or the consoles beside PyBoy", "bench.command.run"),
    Command(
        "verify-claims", "measure the figures of docs/results again, where this machine can", "verify_claims.run", True
    ),
    Command("doctor", "device, driver, versions, compiled kernels and caches of this machine", "doctor.run"),
    Command("sweep", "many runs side by side: grid or random, on this computer or a Ray cluster", "sweep.run"),
    Command("demo", "train Pocket Quest's first stage and leave plot, checkpoint and GIF", "demo.run"),
)
COMMANDS = {row.name: row for row in _ROWS}


def find(words: Sequence[str]) -> tuple[Command | None, list[str]]:
    """Return the command that `words` begin with, None for no command, and the words after its name."""
    first, rest = words[0], list(words[1:])
    if rest and (verb := COMMANDS.get(f"{first} {rest[0]}")):
        return verb, rest[1:]
    return (COMMANDS.get(first) if " " not in first else None), rest


def usage(of: Command | None = None) -> str:
    """Return the help of all commands, or of one with verbs."""
    rows = of.verbs if of else [row for row in COMMANDS.values() if " " not in row.name]
    lines = "\n".join(f"  {row.name.rpartition(' ')[2]:<9} {row.summary}" for row in rows)
    what = f"dmglab {of.name} VERB" if of else "dmglab COMMAND"
    note = "" if of else "   (no command: open the app)"
    return f"usage: {what} [options]{note}\n{lines}\n`{what} --help` shows its options."
