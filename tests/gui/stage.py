"""Runs tests in forks of a process that holds a window: each finds the window as it was made.

To make and to end a window costs 0.35 s of processor, a fork 0.03 s. Nothing that a test does to
the app outlives its fork, so that no test depends on another. What fixtures of a module make, each
fork makes anew: what is dear, a file's function `before_forks` loads once. `--pdb` does without.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from _pytest import runner

from tests.conftest import CPU, processor_s

WRITTEN_S = 60.0


class Stage:
    """A process that makes one app and forks itself for each test."""

    def __init__(self, session: pytest.Session, make: Callable[[Path], Any]) -> None:
        # Else each fork would think that it is the first to ask, and empty it.
        session.config._tmp_path_factory.getbasetemp()  # pyright: ignore[reportAttributeAccessIssue]
        self._root = Path(tempfile.mkdtemp(prefix="dmglab-stage-"))
        self._answer = self._root / "answer"
        asked, self._ask = os.pipe()
        self._told, told = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._ask)
                os.close(self._told)
                self._serve(session, make, asked, told)
            except KeyboardInterrupt:
                os._exit(1)
            except BaseException:
                self._answer.write_text(traceback.format_exc())
                os._exit(1)
            os._exit(0)
        os.close(asked)
        os.close(told)

    # -- in the process of the tests --------------------------------------------------------

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
        """Return the reports of a test that a fork of the stage went through."""
        os.write(self._ask, item.session.items.index(item).to_bytes(4, "big"))
        if not (head := os.read(self._told, 4)):
            raise RuntimeError(f"no tests with a window any more\n{self._why()}")
        status = int.from_bytes(head, "big", signed=True)
        # What tests before this one set up here for their module, which is over by now.
        item.session._setupstate.teardown_exact(nextitem)
        if status:
            return [_crashed(item, status, self._why())]
        spent, told = pickle.loads(self._answer.read_bytes())
        hook = item.config.hook
        reports = [hook.pytest_report_from_serializable(config=item.config, data=data) for data in told]
        properties = dict(reports[-1].user_properties) | {CPU: spent}
        reports[-1].user_properties = list(properties.items())
        return reports

    def _why(self) -> str:
        return self._answer.read_text() if self._answer.exists() else ""

    def close(self) -> None:
        """End the process; what it used is this one's to count from now on."""
        os.close(self._ask)
        os.waitpid(self._pid, 0)
        os.close(self._told)
        shutil.rmtree(self._root, ignore_errors=True)

    # -- in the stage -----------------------------------------------------------------------

    def _serve(self, session: pytest.Session, make: Callable[[Path], Any], asked: int, told: int) -> None:
        global _app
        home, kept = self._root / "home", self._root / "kept"
        home.mkdir()
        _app = make(home)
        for thread in threading.enumerate():
            if thread is not threading.current_thread():
                thread.join(WRITTEN_S)  # the one that writes the settings
        if threading.active_count() > 1:
            raise RuntimeError(f"forks would have one of the threads {threading.enumerate()}")
        shutil.copytree(home, kept)
        counted = 0.0
        prepared = set()
        while place := os.read(asked, 4):
            item = session.items[int.from_bytes(place, "big")]
            module = getattr(item, "module", None)
            if module not in prepared:
                prepared.add(module)
                getattr(module, "before_forks", object)()
            self._answer.unlink(missing_ok=True)
            pid = os.fork()
            if pid == 0:
                os.close(asked)
                os.close(told)
                self._perform(item)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if status == 0 and not self._answer.exists():
                status = 1  # a test that ended its own process has not passed
            shutil.rmtree(home, ignore_errors=True)
            shutil.copytree(kept, home, dirs_exist_ok=True)
            if status == 0:
                spent = processor_s()
                reports = pickle.loads(self._answer.read_bytes())
                self._answer.write_bytes(pickle.dumps((spent - counted, reports)))
                counted = spent
            os.write(told, status.to_bytes(4, "big", signed=True))

    def _perform(self, item: pytest.Item) -> None:
        """Go through the test in this fork, which then is no more."""
        status = 1
        try:
            item.session._setupstate = runner.SetupState()  # nothing here is anybody's to tear down
            reports = runner.runtestprotocol(item, log=False, nextitem=None)
            hook = item.config.hook
            told = [hook.pytest_report_to_serializable(config=item.config, report=report) for report in reports]
            self._answer.write_bytes(pickle.dumps(told))
            status = 0
        except BaseException:
            self._answer.write_text(traceback.format_exc())
        finally:
            os._exit(status)


_app: Any = None
"""In a fork of the stage: the app, until the test takes it."""


def take() -> Any:
    """Return the app that nobody has touched, None for who asks again or is in no fork."""
    global _app
    taken, _app = _app, None
    return taken


def _crashed(item: pytest.Item, status: int, why: str) -> pytest.TestReport:
    name = signal.Signals(-status).name if status < 0 else f"status {status}"
    words = f"{item.nodeid}: its process ended with {name}\n{why}"
    return pytest.TestReport(
        item.nodeid, item.location, dict.fromkeys(item.keywords, 1), "failed", words, "call", duration=0.0
    )
