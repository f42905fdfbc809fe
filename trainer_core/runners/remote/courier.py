"""Program `python -m trainer_core.runners.remote.courier RUN_DIR`: a run that trains in a job on a Ray cluster.

To the service it is the run's worker: the same lock, log, events and stop command. It submits the job, writes the
records that the job prints, and fetches each checkpoint before its record. The job goes on when this process ends;
another one for the same run follows it again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib
import json
import os
import secrets
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from trainer_core.host.worker import LIMITS
from trainer_core.lab.checkpoint_manifest import (
    META,
    CheckpointMeta,
    is_machines,
    list_checkpoints,
    merit,
    put_in_place,
    read_meta,
    retain,
    tidy,
)
from trainer_core.lab.paths import RunPaths, home_of
from trainer_core.runners.remote.jobs import ENDED, ClusterError, RayJobs, UnknownError
from trainer_core.runners.remote.parcel import pack
from trainer_core.runs.config_file import read_run_config
from trainer_core.runs.log_writer import RunWriter, write_json
from trainer_core.runs.run_lock import INHERITED, RunLock
from trainer_core.wire import commands, records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import (
    BAD_JSON,
    CheckpointError,
    ConfigError,
    FailureError,
    LabError,
    ProtocolError,
    in_words,
)
from trainer_core.wire.event_pipe import LossyPipe
from trainer_core.wire.process_guard import die_with_parent, end_group
from trainer_core.wire.regular_files import read_regular
from trainer_core.wire.run_record import END_STATES, RunState
from trainer_core.wire.standard_streams import outlive_reader_of_stderr

AGAIN_S, GIVE_UP_S = 1.0, 120.0
"""Seconds between two attempts to reach the cluster, and after which it counts as gone."""
STOP_S = 120
"""Seconds that Ray waits for a stopped job to save, before it kills it."""
PROGRAM = "import dmglab; print('dmglab', dmglab.__version__, flush=True); from dmglab.programs import job; job()"
ATTEMPTS = 3
OF_EVERY_RECORD = {"v", "run_id", "seq", "time"}
T = TypeVar("T")


class LostError(FailureError):
    """Error that the cluster or the job's node is gone; what was fetched stays."""


class Courier:
    """Submitter and follower of one run's job; `stop` is called on another thread."""

    def __init__(self, paths: RunPaths, config: RunConfig, writer: RunWriter) -> None:
        self._paths, self._config, self._writer = paths, config, writer
        self._jobs = RayJobs(config.on)
        self._ours = importlib.import_module("dmglab").__version__
        self._job = self._node = self._theirs = ""
        self._is_stopping = False
        self._said = self._complaint = ""
        """Last line of the job that is no event: the likely cause of its failure."""

    def run(self, limits: dict[str, Any]) -> tuple[RunState, str]:
        """Train to the end; return the run's end state and its reason. `limits` replace the run's own.

        Raises LostError, LabError, OSError.
        """
        tidy(self._paths)
        if not self._find_job():
            self._submit(dataclasses.replace(self._config, **limits))
        elif limits:
            raise ConfigError(f"its job still trains on {self._config.on}: stop it first")
        for line in self._lines():
            if (end := self._take(line.rstrip())) is not None:
                return end
        return self._end_of_job()

    def stop(self) -> None:
        """Have the job save and end. Raises ClusterError."""
        self._is_stopping = True
        if self._job:
            self._jobs.stop(self._job)

    # -- the job ----------------------------------------------------------------------------

    def _find_job(self) -> bool:
        """Return whether the cluster has a job of this run whose output was not read to its end."""
        if not (job := unread_job(self._paths)):
            return False
        try:
            self._jobs.info(job)
        except UnknownError:
            return False
        self._job = job
        return True

    def _submit(self, config: RunConfig) -> None:
        """Submit the run as a job, from its newest checkpoint."""
        if self._writer.seq and not list_checkpoints(self._paths):
            raise ConfigError("its job is gone and no checkpoint of it was fetched: start a new run")
        self._tell("starting", f"submitting the run to {config.on}")
        self._jobs.version()
        package = pack(self._paths, home_of(self._paths), config)
        address = self._jobs.upload(hashlib.sha256(package).hexdigest()[:16], package)
        job = f"dmglab-{self._paths.run_id}-{secrets.token_hex(3)}"
        self._note_job(job, done=False)
        self._jobs.submit(
            submission_id=job,
            entrypoint=shlex.join(["python", "-c", PROGRAM, self._paths.run_id, self._ours, job]),
            entrypoint_num_cpus=config.threads or 1,
            entrypoint_num_gpus=0 if config.device == "cpu" else 1,
            runtime_env={"working_dir": address, "env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": str(STOP_S)}},
        )
        self._job = job
        if self._is_stopping:
            self._jobs.stop(job)
        self._tell("starting", "waiting for a place in the Ray cluster")

    def _note_job(self, job: str, *, done: bool) -> None:
        write_json(self._paths.job, {"job": job, "done": done})

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines of the job's output to its end, through broken connections. Raises LostError."""
        seen, heard, has_ended = 0, time.monotonic(), False
        while not has_ended:
            try:
                info = self._jobs.info(self._job)
                has_ended, self._node = info["status"] in ENDED, info.get("driver_node_id") or ""
                heard = heard if self._node else time.monotonic()  # it may wait long for its place
                for line in self._output(seen, follow=not has_ended):
                    seen, heard = seen + len(line), time.monotonic()
                    yield line
            except UnknownError as error:
                raise LostError(f"{error}; was the cluster started anew?") from None
            except ClusterError as error:
                self._bear(error, heard)
            if not has_ended:
                time.sleep(AGAIN_S)

    def _output(self, skip: int, *, follow: bool) -> Iterator[bytes]:
        """Yield the job's output after `skip` bytes; nothing before it begins."""
        if self._node:
            with contextlib.suppress(UnknownError):
                yield from self._jobs.lines(self._node, f"job-driver-{self._job}.log", skip, follow=follow)

    def _end_of_job(self) -> tuple[RunState, str]:
        """Return end state and reason of a job that ended without its worker's word. Raises LostError, LabError."""
        info = self._reach(lambda: self._jobs.info(self._job))
        self._note_job(self._job, done=True)
        told = str(info.get("message")).partition("\n")[0][:300]
        if info["status"] == "STOPPED":
            return RunState.STOPPED, "its job was stopped on the cluster"
        if info.get("driver_exit_code") is None:
            raise (LostError if self._node else FailureError)(f"{self._config.on}: {told}")
        if not self._theirs:
            raise ConfigError(f"dmglab does not start in a job of {self._config.on} (see the guide): {self._said}")
        raise FailureError(self._said or told)

    # -- what the job says ------------------------------------------------------------------

    def _take(self, line: bytes) -> tuple[RunState, str] | None:
        """Pass one line of the job's output on; return the run's end if the line tells it."""
        try:
            event = records.decode(line)
        except ProtocolError:
            self._take_words(line.decode("utf-8", "replace"))
            return None
        if event.seq < self._writer.seq:  # read before a connection broke
            return None
        if isinstance(event, records.StateEvent) and event.state in END_STATES:
            self._note_job(self._job, done=True)
            return RunState(event.state), event.detail
        if isinstance(event, records.CheckpointRecord):
            self._fetch_checkpoint(event.path)
        elif isinstance(event, records.EpisodeRecord) and event.gif:
            self._fetch_picture(event.gif)
        if isinstance(event, records.LogRecord):
            self._writer.keep(event)
        else:
            fields = msgspec.structs.asdict(event)
            self._writer.tell(type(event), **{name: fields[name] for name in fields.keys() - OF_EVERY_RECORD})
        if isinstance(event, records.CheckpointRecord):
            self._remove_old_checkpoints()
        return None

    def _take_words(self, text: str) -> None:
        name, _, version = text.partition(" ")
        if name == "dmglab" and not self._theirs:
            self._theirs = version
            if version != self._ours:
                self._note_job(self._job, done=True)
                raise ConfigError(
                    f"{self._config.on} has dmglab {version[:40]}, this computer {self._ours}: install the same version"
                )
            return
        self._said = text or self._said
        print(text, file=sys.stderr, flush=True)

    def _tell(self, state: str, detail: str) -> None:
        self._writer.tell(records.StateEvent, state=state, detail=detail)

    # -- files ------------------------------------------------------------------------------

    def _fetch_checkpoint(self, path: str) -> None:
        """Fetch a checkpoint, verified by its hashes. Raises LostError, and CheckpointError for damaged files."""
        final = self._paths.checkpoints / Path(path).name
        if not final.name.isdigit():
            raise CheckpointError(f"{path!r} is no checkpoint's path")
        self._writer.checkpoints_in_place()
        for attempt in range(ATTEMPTS):  # a late validation may replace it meanwhile
            try:
                put_in_place(final, self._verified(path))
                return
            except UnknownError:
                print(f"{path}: removed there before it was fetched", file=sys.stderr, flush=True)
                return
            except CheckpointError:
                if attempt == ATTEMPTS - 1:
                    raise
            time.sleep(AGAIN_S)

    def _verified(self, path: str) -> Iterator[tuple[str, bytes]]:
        manifest = self._file(f"{path}/{META}")
        try:
            meta = msgspec.json.decode(manifest, type=CheckpointMeta)
        except BAD_JSON as error:
            raise CheckpointError(f"{path}/{META} came damaged: {error}") from None
        for name, sha256 in meta.files.items():
            try:
                data = self._file(f"{path}/{name}")
            except UnknownError:
                if is_machines(name):
                    continue  # there is a newer checkpoint already
                raise
            if hashlib.sha256(data).hexdigest() != sha256:
                raise CheckpointError(f"{path}/{name} came damaged from {self._config.on}: its SHA-256 differs")
            yield name, data
        yield META, manifest

    def _fetch_picture(self, path: str) -> None:
        folder, name = self._paths.episodes, Path(path).name
        try:
            folder.mkdir(exist_ok=True)
            (folder / name).write_bytes(self._file(f"{folder.name}/{name}"))
        except UnknownError:
            return  # curves and checkpoints do without it

    def _remove_old_checkpoints(self) -> None:
        """Keep the checkpoints that the run keeps there."""
        if found := list_checkpoints(self._paths):
            best = max(found, key=lambda folder: merit(read_meta(folder)))
            retain(self._paths, best.name, self._config.keep_checkpoints)

    def _file(self, path: str) -> bytes:
        return self._reach(lambda: self._jobs.file(self._node, f"{self._job}/{path}"))

    def _reach(self, ask: Callable[[], T]) -> T:
        """Return the answer of `ask`, tried until the cluster is given up. Raises UnknownError, LostError."""
        began = time.monotonic()
        while True:
            try:
                return ask()
            except UnknownError:
                raise
            except ClusterError as error:
                self._bear(error, began)
            time.sleep(AGAIN_S)

    def _bear(self, error: ClusterError, since: float) -> None:
        """Print an error that may pass. Raises LostError if nothing was heard for too long `since` then."""
        if time.monotonic() - since > GIVE_UP_S:
            raise LostError(f"{error}; silent for {GIVE_UP_S:g} s") from None
        if str(error) != self._complaint:
            self._complaint = str(error)
            print(f"{error}; trying again", file=sys.stderr, flush=True)


def listen(courier: Courier, writer: RunWriter) -> None:
    """Take commands until standard input ends; then end this process, while the job goes on."""
    for command in commands.from_standard_input("worker"):
        is_stop = isinstance(command, commands.Stop)
        detail = "" if is_stop else f"a run on another host takes no {type(command).__name__}"
        writer.tell(records.AckEvent, id=command.id, ok=is_stop, detail=detail)
        if is_stop:
            threading.Thread(target=_stop, args=(courier, writer), daemon=True).start()
    end_group(1)


def _stop(courier: Courier, writer: RunWriter) -> None:
    """Stop the job, and show that it is being waited for as long as Ray waits."""
    deadline = time.monotonic() + STOP_S
    try:
        courier.stop()
    except ClusterError as error:
        print(f"worker: {error}", file=sys.stderr, flush=True)
        return
    while time.monotonic() < deadline:
        writer.tell(records.StateEvent, state="stopping", detail=f"{records.FINISHING} on the cluster")
        time.sleep(AGAIN_S)


def unread_job(paths: RunPaths) -> str:
    """Return the id of the job whose output was not read to its end; "" without one, or for a damaged file."""
    try:
        kept = json.loads(read_regular(paths.job))
        return "" if kept["done"] else str(kept["job"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""


def follow(run_dir: Path, pipe: LossyPipe, inherited: str, limits: str) -> int:
    """Follow the run in `run_dir` to its end; return the exit status. `inherited` and `limits` as for a worker."""
    paths = RunPaths(run_dir.resolve())
    try:
        config = read_run_config(paths)
        RunLock.take_or_inherit(paths, inherited)  # never released: the kernel frees it with this process
        writer = RunWriter(paths, pipe.write)
    except LabError as error:
        print(f"worker: {error}", file=sys.stderr)
        return 1
    courier = Courier(paths, config, writer)
    threading.Thread(target=listen, args=(courier, writer), daemon=True).start()
    try:
        state, reason = courier.run(json.loads(limits))
    except LostError as error:
        state, reason = RunState.LOST, str(error)
    except (LabError, OSError) as error:
        state, reason = RunState.FAILED, in_words(error)
        print(f"worker: {reason}", file=sys.stderr)
    writer.tell(records.StateEvent, state=state.value, detail=reason)
    return int(state is RunState.FAILED)


def main() -> int:
    die_with_parent()
    outlive_reader_of_stderr()
    pipe = LossyPipe()
    inherited, limits = os.environ.pop(INHERITED, ""), os.environ.pop(LIMITS, "{}")
    code = follow(Path(sys.argv[1]), pipe, inherited, limits)
    sys.stderr.flush()
    end_group(code)  # the listener blocks in read(0)


if __name__ == "__main__":
    sys.exit(main())
