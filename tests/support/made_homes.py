"""Homes with many ended runs in them, for tests and benches of what lists and overlays them."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tests.support.made_records import run_record, update_record
from trainer_core.lab.paths import HomePaths
from trainer_core.wire import records
from trainer_core.wire.run_record import RunState


def make_home(root: Path, runs: int, log_records: int, checkpoints: int = 0) -> HomePaths:
    """`runs` finished runs with one log between them, linked into each, and empty checkpoints.

    Run ids are run-00000 and so on; run-00000 is the oldest.
    """
    home = HomePaths(root)
    home.runs_index.parent.mkdir(parents=True, exist_ok=True)
    log = root / "log.jsonl"
    with log.open("wb") as file:
        for seq in range(log_records):
            file.write(records.encode(update_record("any", seq, seq + 1, 1000.0)))
    lines = []
    for number in range(runs):
        record = run_record(f"run-{number:05}", RunState.FINISHED, env_steps=number, name="" if number % 3 else "n")
        lines.append(msgspec.json.encode(msgspec.structs.replace(record, created_at=1.0 + number)))
        paths = home.run(record.run_id)
        paths.root.mkdir(parents=True)
        os.link(log, paths.train_log)
        if checkpoints:
            for step in range(checkpoints):
                paths.checkpoint(step).mkdir(parents=True)
    home.runs_index.write_bytes(b"\n".join(lines) + b"\n")
    return home


def contents(root: Path) -> dict[str, bytes]:
    """The files of a run's folder by their path in it, without links and those of the process that trains."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink() and path.name not in ("lock", "frames.bin")
    }
