"""The processes that `tests.proofs.kills` kills, forked from one that has loaded torch.

Each role below is the program of a process: an app with its worker, a launcher with its ranks, the
app's service with a worker of its own interpreter. They leave their numbers in a file of the home.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.proofs import faults
from trainer_core.cli import launch_ranks
from trainer_core.cli import main as cli
from trainer_core.host import worker
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runners.native import NATIVE
from trainer_core.runs.config_file import read_run_config
from trainer_core.runs.life import RunLife
from trainer_core.runs.run_lock import RunLock
from trainer_core.service import RunChanged, TrainerService
from trainer_core.service.event_stream import LineParser
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import LabError
from trainer_core.wire.event_pipe import Pipe
from trainer_core.wire.process_guard import PARENT, die_with_parent
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

RUN = "run"
NUM_ENVS, NUM_STEPS, UPDATES = 4, 8, 12


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One home and what goes wrong in it."""

    home: HomePaths
    fault: str = ""
    """For faults.arm, in the process that writes the log."""

    def config(self, ranks: int) -> RunConfig:
        return RunConfig(
            task="tiny_goal",
            num_envs=NUM_ENVS,
            num_steps=NUM_STEPS,
            num_minibatches=2,
            update_epochs=1,
            threads=1,
            eval_every=5,
            eval_episodes=4,
            checkpoint_every=2,
            keep_checkpoints=2,
            total_env_steps=NUM_ENVS * NUM_STEPS * UPDATES * ranks,
        )

    @property
    def announced(self) -> Path:
        return self.home.root / "announced.jsonl"

    def note(self, name: str, pid: int) -> None:
        """Leave a process's number for whoever kills it."""
        self.home.root.mkdir(parents=True, exist_ok=True)
        (self.home.root / f"{name}.tmp").write_text(str(pid))
        (self.home.root / f"{name}.tmp").replace(self.home.root / f"{name}.pid")

    def paths(self) -> RunPaths | None:
        """The run of this home, once there is one."""
        found = [path.parent for path in self.home.runs.glob("[!.]*/config.json")]
        return RunPaths(found[0]) if found else None


class Forked:
    """A process of a function, with what launch_ranks.Rank asks for."""

    def __init__(self, body: Callable[[], int]) -> None:
        self.pid = os.fork()
        self._code: int | None = None
        if self.pid == 0:
            code = 1
            try:
                code = body()
            except LabError as error:
                print(error, file=sys.stderr)
            except BaseException as error:  # what a process of its own would print at its end
                sys.excepthook(type(error), error, error.__traceback__)
            finally:
                with contextlib.suppress(OSError, ValueError):
                    sys.stderr.flush()
                os._exit(code)

    def poll(self) -> int | None:
        if self._code is None and (found := os.waitpid(self.pid, os.WNOHANG))[0]:
            self._code = os.waitstatus_to_exitcode(found[1])
        return self._code

    def wait(self) -> int:
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code

    def send_signal(self, sig: int) -> None:
        os.kill(self.pid, sig)


def stage_process(role: Callable[[Stage], int], stage: Stage) -> Forked:
    """`role` in a session of its own; its words go to a file of the home."""

    def body() -> int:
        os.setsid()
        stage.home.root.mkdir(parents=True, exist_ok=True)
        said = os.open(stage.home.root / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(said, 1)
        os.dup2(said, 2)
        return role(stage)

    return Forked(body)


# -- one process ----------------------------------------------------------------------------


def app(stage: Stage) -> int:
    """Keep the life of a run and train it in a worker, as the service does."""
    home, paths = stage.home, stage.home.run(RUN)
    if paths.config.exists():
        life = RunLife.resume(home, RUN, RunLock.take(paths), algo="ppo")
    else:
        life = RunLife.begin(home, RUN, RunSpec.of(stage.config(1)), algo="ppo")
    commands, events = os.pipe(), os.pipe()
    child = Forked(lambda: _worker(stage, life, commands, events))
    os.close(commands[0])
    os.close(events[1])
    life.launched(child.pid)
    stage.note("worker", child.pid)
    _follow(stage, life, events[0])
    code = child.wait()
    life.end(RunState.FINISHED if code == 0 else RunState.FAILED, f"status {code}")
    return code


def _worker(stage: Stage, life: RunLife, commands: tuple[int, int], events: tuple[int, int]) -> int:
    os.environ[PARENT] = str(os.getppid())
    os.setsid()
    os.dup2(commands[0], 0)
    os.dup2(events[1], 1)
    for descriptor in (*commands, *events):
        os.close(descriptor)
    die_with_parent()
    if stage.fault:
        faults.arm(stage.fault)
    code = worker.run(life.paths.root, Pipe(), str(life.lock.descriptor))
    _leave_counts(stage)
    return code


def _follow(stage: Stage, life: RunLife, events: int) -> None:
    """Fold what the worker says; what it announced is kept in a file as proof."""
    proof = os.open(stage.announced, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    half = b""
    parser = LineParser()
    while chunk := os.read(events, 1 << 16):
        *lines, half = (half + chunk).split(b"\n")
        for line in lines:
            os.write(proof, line + b"\n")
        parser.feed(chunk)
        while (event := parser.next()) is not None:
            if isinstance(event, records.Record):
                life.fold(event)


def _leave_counts(stage: Stage) -> None:
    """How often each call was made, and what was loaded on the way."""
    if stage.fault:
        found = {"calls": faults.CALLED, "modules": sorted(sys.modules)}
        (stage.home.root / "counts.json").write_text(json.dumps(found))


# -- several ranks --------------------------------------------------------------------------


def launcher(stage: Stage) -> int:
    """Two ranks, forked; the first of them writes."""
    stage.note("launcher", os.getpid())

    def start(environment: dict[str, str]) -> Forked:
        return Forked(lambda: _rank(stage, environment))

    ranks = launch_ranks.start_ranks(start, 2, stage.home.root / f"meeting-{os.getpid()}")
    signal.signal(signal.SIGTERM, lambda *_: launch_ranks.tell(ranks, signal.SIGTERM))
    for number, rank in enumerate(ranks):
        assert isinstance(rank, Forked)
        stage.note(f"rank {number}", rank.pid)
    return launch_ranks.supervise(ranks)


def _rank(stage: Stage, environment: dict[str, str]) -> int:
    os.environ.update(environment)
    die_with_parent()
    if stage.fault and environment["RANK"] == "0":
        faults.arm(stage.fault)
    code = cli.main(_words(stage, 2))
    if environment["RANK"] == "0":
        _leave_counts(stage)
    return code


def own_launcher(stage: Stage) -> int:
    """Two ranks with interpreters of their own, which load torch while they may be killed."""
    stage.note("launcher", os.getpid())
    return 0 if not launch_ranks.spread(_words(stage, 2), 2) else 1


def _words(stage: Stage, ranks: int) -> list[str]:
    home = ["--home", str(stage.home.root)]
    paths = stage.paths()
    if paths is not None:
        return ["resume", str(paths.root), *home]
    config = stage.config(ranks)
    names = (
        "task",
        "num_envs",
        "num_steps",
        "num_minibatches",
        "update_epochs",
        "threads",
        "eval_every",
        "eval_episodes",
        "checkpoint_every",
        "keep_checkpoints",
        "total_env_steps",
    )
    pairs = ((f"--{name.replace('_', '-')}", str(getattr(config, name))) for name in names)
    return ["train", *(word for pair in pairs for word in pair), *home]


def ranks_of_one(stage: Stage) -> int:
    """The command line in one process, for a run that some app began."""
    return cli.main(_words(stage, 1))


# -- the app's service ----------------------------------------------------------------------


def service(stage: Stage) -> int:
    """TrainerService with our worker in an interpreter of its own."""

    async def whole() -> None:
        keeper = TrainerService(stage.home)
        keeper.open()
        done = asyncio.Event()

        def hear(notice: object) -> None:
            if isinstance(notice, RunChanged) and notice.record.state.is_end:
                done.set()

        keeper.subscribe(hear)
        if (paths := stage.paths()) is None:
            record = await keeper.start(keeper.plan(RunSpec.of(stage.config(1), NATIVE.id)))
        else:
            record = await keeper.resume(paths.run_id)
        stage.note("service", os.getpid())
        stage.note("worker", record.pid)
        await done.wait()

    asyncio.run(whole())
    return 0


def resumed(stage: Stage, role: Callable[[Stage], int]) -> int:
    """Go on with the run to its end in a fresh process of `role`; its status."""
    paths = stage.paths()
    assert paths is not None
    read_run_config(paths)
    return stage_process(role, Stage(home=stage.home)).wait()
