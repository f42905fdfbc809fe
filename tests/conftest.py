"""All tests: their order, what is left out, what they cost.

--order SEED|random    files, and tests in them, in an order drawn by chance; the head names the
                       seed, which gives the same order again
--extras               tests that need another library's environment or server, too
--dearest 25           so many tests by the processor time that they and their children took
"""

from __future__ import annotations

import asyncio
import collections
import gc
import inspect
import os
import random
import resource
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.warm_processes import WARM, Template, no_threads_of_torch

gc.disable()  # what tests import stays: no collection of garbage has to look at it again

# As `begin_process` sets it for programs: torch's threads sleep while they wait for each other.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# A user's shell has not set it, and it hides output that is flushed too late or never.
os.environ.pop("PYTHONUNBUFFERED", None)

STATE = tempfile.TemporaryDirectory(prefix="dmglab-state-")
"""What a person consented to is noted here, not in the folder of whoever runs the tests."""
os.environ["XDG_STATE_HOME"] = STATE.name

CPU = "processor_s"
SLOW = Path(__file__).with_name("slow.txt")
"""Names the tests that `make quick` leaves out, beside those that are marked."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dmglab")
    group.addoption("--order", default="", metavar="SEED", help="a number, or: random")
    group.addoption("--extras", action="store_true", help="tests of guests and servers, too")
    group.addoption("--dearest", type=int, default=0, metavar="N", help="by processor time")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.extras:
        os.environ["DMGLAB_EXTRAS"] = "1"
    if config.option.order == "random":  # one number for all workers
        drawn = os.environ.setdefault("DMGLAB_TEST_ORDER", str(random.randrange(1_000_000)))
        config.option.order = drawn


@pytest.hookimpl(tryfirst=True)  # pytest then brings together what shares a fixture's parameter
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    slow = {line for line in SLOW.read_text().splitlines() if not line.startswith("#")}
    for item in items:
        if f"{item.path.relative_to(SLOW.parents[1])}::{getattr(item, 'originalname', '')}" in slow:
            item.add_marker(pytest.mark.slow)
    if not config.option.order:
        return
    rng, files = random.Random(int(config.option.order)), {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    chosen = list(files.values())
    rng.shuffle(chosen)
    for tests in chosen:
        rng.shuffle(tests)
    items[:] = [item for tests in chosen for item in tests]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    with no_threads_of_torch():
        return (yield)


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()
    config = session.config
    if not config.option.collectonly and any(WARM in getattr(item, "fixturenames", ()) for item in session.items):
        config.stash[_TEMPLATE] = template = Template()
        config.add_cleanup(template.close)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine to its end, in a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(autouse=True)
def same_chance() -> None:
    """Seed the global generators: what a test draws without a seed depends on no test before it."""
    random.seed(0)
    for module in ("numpy.random", "torch"):
        if loaded := sys.modules.get(module):
            (loaded.seed if module == "numpy.random" else loaded.manual_seed)(0)


@pytest.fixture
def warm(pytestconfig: pytest.Config) -> Iterator[None]:
    """Have this test's Python programs forked from one that has imported torch."""
    with pytestconfig.stash[_TEMPLATE].instead_of_interpreters():
        yield


def processor_s() -> float:
    """The processor time of this process and of the children that it has seen end."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    item.stash[_BEGAN] = processor_s()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    if call.when == "teardown":
        began = item.stash.get(_BEGAN, 0.0)  # a fork (tests/gui/stage.py) began with nothing
        item.user_properties.append((CPU, processor_s() - began))
    return (yield)


_BEGAN = pytest.StashKey[float]()
_TEMPLATE = pytest.StashKey[Template]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say in one line why tests were skipped; pytest's own -rs says which."""
    write = terminalreporter.write_line
    if config.option.order:
        write(f"order: the same again with --order {config.option.order}")
    skipped = terminalreporter.stats.get("skipped", [])
    why = collections.Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    if skipped:
        reasons = "; ".join(f"{count} {reason}" for reason, count in why.most_common())
        write(f"skipped: {reasons}" if len(reasons) < 600 else f"skipped: {reasons[:600]}...")
    if config.option.dearest:
        _tell_dearest(terminalreporter, config.option.dearest)


def _tell_dearest(terminalreporter: pytest.TerminalReporter, count: int) -> None:
    costs = {
        report.nodeid: value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == CPU
    }
    dearest = sorted(costs.items(), key=lambda pair: -pair[1])[:count]
    terminalreporter.write_sep("=", f"the dearest {len(dearest)} of {len(costs)} tests")
    for name, value in dearest:
        terminalreporter.write_line(f"{value:7.2f} s of processor  {name}")
    terminalreporter.write_line(f"{sum(costs.values()):7.2f} s in all")
