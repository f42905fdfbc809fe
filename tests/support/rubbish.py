"""A small home with one of everything, and what may stand in the place of each of its files."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.support.echo_sweeps import made_sweep
from tests.support.made_checkpoints import make_checkpoint
from tests.support.made_records import eval_record, update_record
from tests.support.processes import SPEC
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.runs import queue_steps
from trainer_core.runs.life import RunLife
from trainer_core.runs.log_writer import RunWriter
from trainer_core.wire import records
from trainer_core.wire.run_record import RunState

SHIPPED = ASSETS / "tasks" / "pocket_quest" / "leave_bedroom"
ROM = ASSETS / "games" / "pocket_quest" / "pocket_quest.gb"


def rich_home(root: Path) -> HomePaths:
    """A home with runs, one that waits, a checkpoint, a task, ROMs, a sweep, notes and watches."""
    home = HomePaths(root)
    life = RunLife.begin(home, "done", SPEC, algo="ppo", name="first")
    with contextlib.closing(RunWriter(life.paths)) as writer:
        writer.append(records.MetaRecord, runner="native", task="tiny_goal", algo="ppo")
    with life.paths.train_log.open("ab") as log:
        log.write(records.encode(update_record("done", 1, 1, 100.0)))
        log.write(records.encode(eval_record("done", 2, success_rate=0.5)))
    make_checkpoint(life.paths.checkpoint(4096))
    life.end(RunState.FINISHED, "target reached")
    queue_steps.enqueue(home, "waits", SPEC, algo="ppo")
    task = home.tasks / "mine" / "door"
    shutil.copytree(SHIPPED, task)
    manifest = (task / "task.toml").read_text("utf-8")
    (task / "task.toml").write_text(manifest.replace("pocket_quest/leave_bedroom", "mine/door"))
    made_sweep(home, [{"learning_rate": 0.1}, {"learning_rate": 0.2}])
    (home.root / "training" / "sweeps" / "echo" / "ended.jsonl").write_text('{"trial":0,"reason":"worse"}\n')
    settings = {
        "roms.json": {"ab" * 32: {"path": str(ROM), "title": "T", "size": 32768}},
        "run_notes.json": {"done": {"tags": ["good"], "text": "a note"}},
        "watches.json": {"ab" * 32: [{"name": "x", "address": 0xC000}]},
        "app.json": {"v": 1, "values": {"session/task": "mine/door"}, "blobs": {}},
    }
    home.settings.mkdir()
    for name, value in settings.items():
        (home.settings / name).write_text(json.dumps(value))
    arc = home.root / "arc" / "ab12"
    arc.mkdir(parents=True)
    (arc / "metadata.json").write_text('{"game_id": "ab12", "title": "An ARC game"}')
    (arc / "ab12.py").touch()
    player = home.players / "20260101-000000-abcdefgh"
    player.mkdir(parents=True)
    (player / "config.json").write_text('{"task": "tiny_goal"}')
    return home


FILES = (
    "training/runs.jsonl", "training/queue.json", "training/queue.json.tmp",
    "training/moving.lock", "training/keeper.log", "training/runs/done/worker.log",
    "settings/.roms.lock", "training/queue.lock", "training/keeper.lock",
    "training/runs.sqlite", "training/devices/cpu.lock", "training/sweeps/echo/sweep.json",
    "training/sweeps/echo/ended.jsonl", "training/runs/done/config.json",
    "training/runs/done/train_log.jsonl", "training/runs/done/lock",
    "training/runs/done/checkpoints/000000004096/meta.json",
    "training/runs/done/checkpoints/000000004096/policy.pt", "training/runs/waits/config.json",
    "tasks/mine/door/task.toml", "tasks/mine/door/starts.npz", "tasks/mine/door/goal.npz",
    "tasks/mine/door/demo.npz", "tasks/mine/door/starts.json", "settings/roms.json",
    "settings/run_notes.json", "settings/watches.json", "settings/app.json", "settings/app.ini",
    "arc/ab12/metadata.json", "arc/ab12/ab12.py",
    "players/20260101-000000-abcdefgh/config.json",
)  # fmt: skip
FOLDERS = (
    "training", "training/runs", "training/devices", "training/sweeps", "training/sweeps/echo",
    "training/runs/done", "training/runs/done/checkpoints", "training/runs/done/mail", "tasks",
    "tasks/mine", "tasks/mine/door", "settings", "arc", "players", "archives", "library",
    "recordings", "slots", "drafts", "envs",
)  # fmt: skip


def _write(data: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(data)

    return write


def _json(value: object) -> Callable[[Path], None]:
    return _write(json.dumps(value).encode())


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10 << 30)


def _dangling_into_nothing(path: Path) -> None:
    path.symlink_to("/nonexistent/of/nobody")


DEEP = 100_000
RUBBISH: dict[str, Callable[[Path], None]] = {
    "empty": _write(b""),
    "a folder": lambda path: path.mkdir(),
    "a pipe": lambda path: os.mkfifo(path),
    "a loop": lambda path: path.symlink_to(path.name),
    "a dead link": _dangling_into_nothing,
    "zeros without an end": lambda path: path.symlink_to("/dev/zero"),
    "10 GiB": _sparse,
    "random bytes": _write(random.Random(1).randbytes(1 << 20)),
    "lines": _write(b"\n" * 100_000),
    "NULs": _write(b"\0" * 4_096),
    "no UTF-8": _write(b'{"\xff": "\xfe"}'),
    "a list": _json([]),
    "a number": _json(3),
    "a text": _json("x" * 1_000),
    "null": _write(b"null"),
    "an object": _json({}),
    "another object": _json({"v": 1, "entries": {}, "run": [], "path": 3, "id": None}),
    "an object of objects": _json({"ab" * 32: {}, "done": {"tags": 3, "text": None}}),
    "a huge number": _write(b'{"v": ' + b"9" * 5_000 + b"}"),
    "a number beyond floats": _write(b'{"v": 1e999, "horizon": 1e999}'),
    "deep lists": _write(b"[" * DEEP + b"]" * DEEP),
    "deep objects": _write(b'{"v":' * DEEP),
    "a lone surrogate": _write(b'{"v": "\\ud800", "\\udfff": 1}'),
    "toml": _write(b"a = 1\n[b]\nc = [[[1]]]\n"),
    "a zip": _write(b"PK\x03\x04" + bytes(64)),
}


def put(home: HomePaths, place: str, rubbish: str) -> None:
    """Have that in the place of what is there."""
    path = home.root / place
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    RUBBISH[rubbish](path)
