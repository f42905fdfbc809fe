"""Send a run to W&B while it trains: `python -m trainer_core.formats.wandb_online RUN_DIR`, started with the run.

The program follows the run's log and folder, so that a slow, hanging or dead server holds up no training. The end of
its standard input is the end of the run. Whatever it cannot send lies in the log: a resume of the run sends it, and so
does `dmglab export RUN --to wandb_offline` with `wandb sync`.

`... wandb_online --check` prints, as JSON, whether W&B's server takes this user's key.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import shutil
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from trainer_core.formats.tensorboard import tags_of
from trainer_core.formats.wandb_offline import INSTALL, begin, load_client, send
from trainer_core.lab.paths import RunPaths, home_of
from trainer_core.lab.text_episodes import batches, read_batch
from trainer_core.runs.log_reader import read_history
from trainer_core.runs.log_writer import write_json
from trainer_core.runs.wandb_run import FILE, WandbRun, read_wandb
from trainer_core.wire import records
from trainer_core.wire.addresses import without_secrets
from trainer_core.wire.checks import Check
from trainer_core.wire.errors import FailureError, LabError, in_words, shortened
from trainer_core.wire.process_guard import GRACE_S, die_with_parent, end_group, on_stop_signals

POLL_S, RETRY_S, ANSWER_S = 1.0, 15.0, 5.0
"""Seconds between two looks at the log, between two looks at the server, and that one may take."""
FINISH_S = 60.0
"""Seconds that the client gets to send the rest after the run's end; GRACE_S less a few if the parent is gone."""
SETTLED_S = 5.0
"""Age of a clip's or table's last write from which it counts as complete while the run goes on."""
CLIPS = {".mp4", ".gif", ".webm"}
TABLE_ROWS = 10
GAVE_UP = "will not be synced"
"""Words of the client when it sends no more, since the server refused something; `finish` then succeeds too."""
SLICE_BYTES = 1 << 20
REST = "`dmglab export {run} --to wandb_offline`, then `wandb sync`, sends the rest"


def unreachable(url: str) -> str:
    """Return why no HTTP server answers at `url`; empty if one does, whatever it answers. No key is sent."""
    try:
        urllib.request.urlopen(url, timeout=ANSWER_S).close()
    except urllib.error.HTTPError:
        return ""
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        return f"no answer within {ANSWER_S:g} s" if isinstance(reason, TimeoutError) else _one_line(reason)
    return ""


def _one_line(error: object) -> str:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
    return shortened(without_secrets(" ".join(said.split())))


def check() -> Check:
    """Ask W&B's server whether it takes the key that W&B's own rules find: WANDB_API_KEY, netrc, its settings."""
    name = "W&B"
    try:
        wandb = load_client(WANDB_MODE="online")
    except LabError as error:
        return Check(name=name, status="fail", detail=str(error).partition(":")[0], fix=INSTALL)
    url = str(wandb.setup().settings.base_url)
    shown, reason = without_secrets(url), unreachable(url)
    try:
        if not wandb.login(prompt=False, verify=not reason):
            why = "no API key was found"
        elif not reason:
            return Check(name=name, status="ok", detail=f"{shown} takes the key")
        else:
            later = "The run trains; its curves are sent once the server answers"
            return Check(name=name, status="warn", detail=f"{shown} does not answer: {reason}", fix=later)
    except Exception as error:  # AuthenticationError, and others of the client's own process
        why = f"{shown} does not take the key: {_one_line(error)}"
    return Check(name=name, status="fail", detail=why, fix="Set WANDB_API_KEY or run `wandb login`, or leave W&B out")


class Sender:
    """Process's one run of W&B, from the connection to the last record."""

    def __init__(
        self, run: RunPaths, told: WandbRun, over: Callable[[float], bool], grace_s: Callable[[], float]
    ) -> None:
        """Store the run; `over` waits some seconds for the run's end and tells whether it came, `grace_s` returns the
        seconds for sending the rest after it."""
        self._run, self.told, self._over, self._grace_s = run, told, over, grace_s
        self._folder = run.root / "wandb_sending"
        self._step = self._offset = self._rows = 0
        self._next_look = 0.0
        self._url = ""
        self._failed = False
        self._lost: list[str] = []
        """Clips and tables that the client did not take."""
        self._said = io.StringIO()
        """Warnings of the client, which it prints on standard error."""

    def tell(self, state: str, reason: str = "", **more: Any) -> None:
        """Write the state into `wandb.json` if it changed, and on standard error."""
        new = msgspec.structs.replace(self.told, state=state, reason=reason, rows=self._rows, **more)
        if new == self.told:
            return
        if (new.state, new.reason, new.url) != (self.told.state, self.told.reason, self.told.url):
            print(f"W&B: {new.words} {new.url}".rstrip(), file=sys.__stderr__, flush=True)
        self.told = new
        if not self._agreed:
            return
        with contextlib.suppress(OSError):  # a full disk: the line above suffices
            write_json(self._run.root / FILE, msgspec.to_builtins(new))

    def run(self) -> int:
        """Send the run until its end; return the exit status."""
        try:
            with contextlib.redirect_stderr(self._said):
                self._send()
        except (LabError, OSError) as error:
            self.tell("failed", in_words(error))
        except Exception as error:  # the client has many, and its own process may die
            self.tell("failed", f"{_one_line(error)}; {self._rest}")
        shutil.rmtree(self._folder, ignore_errors=True)
        return self.told.state != "sent"

    def _send(self) -> None:
        self._wandb = load_client(WANDB_MODE="online", WANDB_SILENT="false")
        self._url = str(self._wandb.setup().settings.base_url)
        logged = self._connect()
        if logged is not None:
            self._follow(logged)
            self._finish(logged)

    @property
    def _agreed(self) -> bool:
        """False once the user deleted `wandb.json`: nothing more is sent then."""
        return (self._run.root / FILE).exists()

    def _connect(self) -> Any:
        """Return W&B's run; None if it cannot be begun. Waits for a server that does not answer."""
        while self._agreed:
            is_last = self._over(0)
            why, is_final = unreachable(self._url), False
            if not why:
                try:
                    return self._begun()
                except (self._wandb.errors.AuthenticationError, self._wandb.errors.UsageError) as error:
                    why, is_final = _one_line(error), True
                except self._wandb.Error as error:
                    why = _one_line(error)
            why = f"{without_secrets(self._url)}: {why}"
            if is_last or is_final:
                self.tell("failed", f"{why}; {self._rest}")
                return None
            self.tell("waiting", why)
            self._over(RETRY_S)

    def _begun(self) -> Any:
        logged = begin(self._wandb, self._run, self.told, self._folder, "online")
        self._step = logged.starting_step  # the number after the last one that the server has
        self.tell("connected", url=str(logged.url))
        return logged

    @property
    def _rest(self) -> str:
        return REST.format(run=self._run.run_id)

    def _follow(self, logged: Any) -> None:
        while self._agreed:
            is_over = self._over(0)  # before the read, which then includes everything
            past = read_history(self._run.train_log, self._offset, SLICE_BYTES)
            for event in past.events:
                self._failed |= isinstance(event, records.ErrorRecord)
                is_there = event.seq < self._step and not isinstance(event, records.MetaRecord)
                self._rows += bool(tags_of(event)) if is_there else send(logged, event)
                self._step = max(self._step, event.seq)
            has_more, self._offset = past.offset > self._offset, past.offset
            if not has_more:
                self._send_files(logged, is_over)
                if is_over:
                    return
                self._look_at_server()
                self._over(POLL_S)

    def _look_at_server(self) -> None:
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + RETRY_S
            why = unreachable(self._url)
            self.tell("waiting" if why else "connected", f"{without_secrets(self._url)}: {why}" if why else "")
            self._require_sending()

    def _require_sending(self) -> None:
        """Raise FailureError if the client sends no more."""
        if GAVE_UP in self._said.getvalue():
            raise FailureError(f"{without_secrets(self._url)} refused what W&B's client sent; {self._rest}")

    def _send_files(self, logged: Any, is_over: bool) -> None:
        """Log the clips and sample tables that are complete and not yet sent, at the newest record."""
        for path, make in self._media():
            name, age = f"{path.parent.name}/{path.name}", 0.0
            with contextlib.suppress(OSError):  # deleted meanwhile
                age = time.time() - path.stat().st_mtime
            if name not in self.told.files and (is_over or age >= SETTLED_S):
                self.tell(self.told.state, self.told.reason, files={**self.told.files, name: False})
                try:
                    logged.log({f"samples/{path.stem}": make()}, step=self._step)
                except Exception as error:  # a broken clip, or a server that takes none
                    self._lost.append(name)
                    self.tell(self.told.state, f"{name}: {_one_line(error)}")

    def _media(self) -> Iterator[tuple[Path, Callable[[], Any]]]:
        clips = home_of(self._run).videos.glob(f"{self._run.run_id}-*")
        for path in sorted([*self._run.videos.rglob("*"), *clips]):
            if path.suffix in CLIPS and path.is_file():
                yield path, lambda path=path: self._wandb.Video(str(path), format=path.suffix[1:])
        for batch in batches(self._run.root):
            if batch.mode == "val":
                yield batch.folder, lambda batch=batch: self._table(batch)

    def _table(self, batch: Any) -> Any:
        rows = [
            [one.question, one.answer, one.reward, one.is_right, one.text] for one in read_batch(batch)[:TABLE_ROWS]
        ]
        return self._wandb.Table(columns=["question", "answer", "reward", "right", "text"], data=rows)

    def _finish(self, logged: Any) -> None:
        """Let the client send the rest and end the run; a server that answers gets ten times as long."""
        problems: list[str] = []

        def finish() -> None:
            try:
                logged.finish(exit_code=int(self._failed))
            except Exception as error:  # the client's own process died
                problems.append(_one_line(error))

        ended = threading.Thread(target=finish, daemon=True)
        ended.start()
        began, rounds = time.monotonic(), 1
        while ended.is_alive() and time.monotonic() - began < rounds * self._grace_s():
            ended.join(0.2)
            is_due = time.monotonic() - began >= rounds * FINISH_S
            rounds += is_due and rounds < 10 and not unreachable(self._url)
        self._require_sending()
        if ended.is_alive() or problems:
            why = "".join(problems) or unreachable(self._url) or "the server is slow"
            raise FailureError(f"{without_secrets(self._url)}: {why}; {self._rest}")
        reason = f"W&B did not take {', '.join(self._lost)}" if self._lost else ""
        self.tell("sent", reason, files={name: name not in self._lost for name in self.told.files})


def _read_to_end(over: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    over.set()


def main(argv: list[str]) -> int:
    if argv == ["--check"]:
        print(msgspec.json.encode(check()).decode(), flush=True)
        end_group(0)  # the client's own process would be waited for
    run = RunPaths(Path("".join(argv)).resolve())
    told = read_wandb(run)
    if len(argv) != 1 or told is None:
        print("usage: python -m trainer_core.formats.wandb_online RUN_DIR, with the user's agreement", file=sys.stderr)
        return 2
    over, hurry = threading.Event(), threading.Event()

    def leave(_: int) -> None:
        hurry.set()
        over.set()

    on_stop_signals(leave)
    threading.Thread(target=_read_to_end, args=(over,), daemon=True).start()
    told = msgspec.structs.replace(told, files={name: True for name, sent in told.files.items() if sent})
    end_group(Sender(run, told, over.wait, lambda: GRACE_S - 3 if hurry.is_set() else FINISH_S).run())


if __name__ == "__main__":
    die_with_parent()
    sys.exit(main(sys.argv[1:]))
