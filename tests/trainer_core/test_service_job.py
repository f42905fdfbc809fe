"""Tools in processes of their own: progress, result, failure, cancel, and never an orphan."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from tests.support.processes import group_of, wait_until
from trainer_core.service import Job, run_job
from trainer_core.wire.errors import LabError

TOOL = """
import json, sys, time
print("a greeting that is no JSON")
for share in (0.25, 0.75):
    print(json.dumps({"progress": share}), flush=True)
print(json.dumps({"ok": True, "answer": 42}))
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_tool_reports_its_progress_and_its_result() -> None:
    seen: list[float] = []
    result = asyncio.run(run_job(python(TOOL), on_progress=seen.append))
    assert seen == [0.25, 0.75]
    assert result == {"ok": True, "answer": 42}


def test_a_tool_that_fails_says_why() -> None:
    with pytest.raises(LabError, match=r"^the lamp is out$"):
        asyncio.run(run_job(python("raise SystemExit('the lamp is out')")))
    with pytest.raises(LabError, match=r"^/no/such/tool cannot be started"):
        asyncio.run(run_job(["/no/such/tool"]))


def test_a_tool_that_talks_without_end_costs_bounded_memory() -> None:
    chatter = "import sys\nfor _ in range(4000): sys.stderr.write('x' * 9999 + '\\n')\n"
    tracemalloc.start()
    with pytest.raises(LabError, match=r"^the lamp is out$"):
        asyncio.run(run_job(python(chatter + "raise SystemExit('the lamp is out')")))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20  # of 40 MB
    with pytest.raises(LabError, match="a line of more than"):
        asyncio.run(run_job(python("print('x' * (5 << 20), flush=True); input()")))


def test_a_cancelled_tool_ends_with_what_it_started() -> None:
    pids: list[int] = []

    def cancel_soon(job: Job) -> None:
        pids.append(job._process.pid)
        asyncio.get_running_loop().call_later(0.3, job.cancel)

    code = "import subprocess, time; subprocess.Popen(['sleep', '60']); time.sleep(60)"
    with pytest.raises(LabError, match="cancelled"):
        asyncio.run(run_job(python(code), on_start=cancel_soon))
    wait_until(lambda: not group_of(pids[0]))


def test_a_tool_does_not_outlive_its_parent() -> None:
    code = f"""
import asyncio, sys
sys.path.insert(0, {str(Path.cwd())!r})
from trainer_core.service import run_job
asyncio.run(run_job(["sleep", "60"], on_start=lambda job: print(job._process.pid, flush=True)))
"""
    parent = subprocess.Popen(python(code), stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    wait_until(lambda: len(group_of(pid)) == 2)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not group_of(pid))
