"""A trainer that is light enough to be killed hundreds of times: counts along a hallway.

`python -m tests.proofs.hallway RUN_DIR` speaks our protocol by our own code, saves as ours
does and resumes exactly; what it "learns" is a chain of hashes, so that a run which went on wrong
ends with another one. Its preparing, saving and ending take a while, to be met in the middle of.
It has a child in another session, which must not outlive it, and SIGUSR2 fills its disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.proofs import faults
from trainer_core.host.control import Control
from trainer_core.host.worker import PARENT_GONE, beat, listen
from trainer_core.lab import durable_files
from trainer_core.lab.paths import RunPaths
from trainer_core.runners.base import AgentRunner
from trainer_core.runs.config_file import read_spec
from trainer_core.runs.log_writer import RunWriter
from trainer_core.runs.run_lock import INHERITED, RunLock
from trainer_core.wire import records
from trainer_core.wire.capabilities import RunnerCapabilities
from trainer_core.wire.errors import LabError
from trainer_core.wire.event_pipe import LossyPipe
from trainer_core.wire.fields import described
from trainer_core.wire.process_guard import die_with_parent, end_group, on_stop_signals

COMPILING = "compiling the hallway"
HELPER = "helper.pid"
"""In the run's folder: the number of the process that the trainer has started."""
STEPS, SAVE_EVERY, INTERVAL_S, SLOW_S = 64, 5, 0.01, 0.03
"""Environment steps of an update; updates between checkpoints; of an update; of a save's steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HallwayConfig:
    updates: int = field(default=40, metadata=described("Updates", "basics", minimum=1))
    """How far."""


class HallwayRunner(AgentRunner):
    def command(self, run_dir: Path) -> list[str]:
        return [sys.executable, "-m", "tests.proofs.hallway", str(run_dir)]

    def find_checkpoints(self, run_dir: Path) -> list[Path]:
        return sorted(run_dir.glob("checkpoints/[0-9]*"))

    def play(self, player_dir: Path) -> list[str]:
        raise NotImplementedError

    def folder(self, run_dir: Path) -> Path:
        return Path(__file__).resolve().parents[2]


HALLWAY = HallwayRunner(
    id="hallway",
    title="Hallway",
    summary="Counts.",
    algorithms=("counting",),
    capabilities=RunnerCapabilities(pause=True, graceful_stop=True, checkpoints=True, exact_resume=True),
    config_type=HallwayConfig,
    writes_log=True,
)


def chain(digest: str, update: int) -> str:
    return hashlib.sha256(f"{digest}{update}".encode()).hexdigest()


def last_state(run_dir: Path) -> tuple[int, str]:
    """(updates, digest) of the newest checkpoint; of the beginning without one."""
    saved = HALLWAY.find_checkpoints(run_dir)
    if not saved:
        return 0, ""
    state = json.loads((saved[-1] / "state.json").read_text())
    return int(state["update"]), str(state["digest"])


class Hallway:
    def __init__(self, paths: RunPaths, writer: RunWriter, control: Control) -> None:
        self.paths, self.writer, self.control = paths, writer, control
        self.update, self.digest = last_state(paths.root)
        self.saved = self.update

    def walk(self, updates: int) -> str:
        """To the end, or until somebody stops it; why it ended."""
        self._announce()
        self.writer.tell(records.StateEvent, state="starting", detail=COMPILING, progress=0.5)
        time.sleep(SLOW_S)
        self.control.begin()
        self.writer.tell(records.StateEvent, state="running")
        while self.update < updates and not self.control.stop_reason:
            time.sleep(INTERVAL_S)
            self.update += 1
            self.digest = chain(self.digest, self.update)
            self.writer.append(
                records.UpdateRecord,
                env_steps=self.update * STEPS,
                wall_time_s=self.update * INTERVAL_S,
                sps=1.0,
                update=self.update,
            )
            if self.update % SAVE_EVERY == 0:
                self._save("periodic")
            if self.control.paused:
                self.writer.tell(records.StateEvent, state="paused")
                self.control.wait_while_paused()
                self.writer.tell(records.StateEvent, state="running")
        if self.control.stop_reason:
            time.sleep(SLOW_S)
        if self.update > self.saved:
            self._save("stop" if self.control.stop_reason else "final")
        return self.control.stop_reason

    def _announce(self) -> None:
        seq = self.writer.seq
        if not seq:
            self.writer.append(
                records.MetaRecord,
                runner="hallway",
                task="tiny_goal",
                algo="counting",
                config={},
                argv=sys.orig_argv,
                device="cpu",
            )
        else:
            saved = HALLWAY.find_checkpoints(self.paths.root)
            self.writer.append(
                records.ResumeRecord,
                env_steps=self.update * STEPS,
                update=self.update,
                checkpoint=f"checkpoints/{saved[-1].name}" if saved else "",
                previous_seq=seq - 1,
            )

    def _save(self, reason: str) -> None:
        target = self.paths.checkpoint(self.update * STEPS)
        partial = target.with_name(f".{target.name}.tmp")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        time.sleep(SLOW_S)
        data = json.dumps({"update": self.update, "digest": self.digest}).encode()
        durable_files.write_file(partial / "state.json", data)
        durable_files.sync_folder(partial)
        if not target.is_dir():  # announced by nobody, since its process died: it is the same
            durable_files.rename(partial, target)
        self.saved = self.update
        self.writer.append(
            records.CheckpointRecord,
            env_steps=self.update * STEPS,
            path=f"checkpoints/{target.name}",
            sha256=hashlib.sha256(data).hexdigest(),
            size_bytes=len(data),
            success_rate=0.0,
            reason=reason,
        )


def run(run_dir: Path, inherited: str) -> int:
    paths, pipe, control = RunPaths(run_dir.resolve()), LossyPipe(), Control()
    try:
        updates = int(read_spec(paths).options["updates"])
        RunLock.take_or_inherit(paths, inherited)
        writer = RunWriter(paths, pipe.write)
    except LabError as error:
        print(f"worker: {error}", file=sys.stderr)
        return 1
    control.on_begin = lambda: on_stop_signals(lambda number: control.stop("terminated"))
    threading.Thread(target=beat, args=(writer,), daemon=True).start()
    threading.Thread(target=listen, args=(control, writer), daemon=True).start()
    try:
        with helped(paths):
            reason = Hallway(paths, writer, control).walk(updates)
    except (LabError, OSError) as error:
        print(f"worker: {error}", file=sys.stderr)
        writer.tell(records.StateEvent, state="failed", detail=str(error))
        return 1
    writer.tell(records.StateEvent, state="stopped" if reason else "finished", detail=reason)
    return 1 if reason == PARENT_GONE else 0


@contextlib.contextmanager
def helped(paths: RunPaths) -> Iterator[None]:
    """With a child that leads a session of its own, as a library's may."""
    helper = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        (paths.root / HELPER).write_text(str(helper.pid))
        yield
    finally:
        helper.kill()


def fill_disk_on_request() -> None:
    """SIGUSR2: from then on nothing that this process writes to a file fits."""
    signal.signal(signal.SIGUSR2, lambda *_: faults.arm("write:1:ENOSPC"))


if __name__ == "__main__":
    fill_disk_on_request()
    die_with_parent()
    code = run(Path(sys.argv[1]), os.environ.pop(INHERITED, ""))
    sys.stderr.flush()
    end_group(code)
