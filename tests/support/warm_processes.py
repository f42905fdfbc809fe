"""Start Python programs as forks of a process that has imported torch: for tests of processes.

A new interpreter takes 2 s of processor time to import what a worker needs. The fixture `warm`
(tests/conftest.py) has every `subprocess` of the test that starts a module of ours,
`python -c` or a script below tests/ fork it instead. What it starts is a process of its own all
the same: a child of the test's with its arguments, environment, folder, pipes, session, signals and
status. Only /proc shows the command line and the environment of the tests, so `end_family` does not
find it, and what it starts itself is a new interpreter again. Worker, player and command line are
started for real in tests without the fixture, in test_processes.py and test_run_life.py. Two
processes share the work:

    the tests --request--> the template --fork, fork--> the program

The template is forked once tests are collected: it has imported what they do and has run none of
them, so it knows neither their threads nor their patches. A program's first parent ends at once,
and whoever asked adopts it: as a subreaper, the kernel's word for that.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import fcntl
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

CHECKOUT = Path(__file__).resolve().parents[2]
WARM = "warm"
"""The fixture."""
LOADED = (
    "torch",
    "numpy",
    "warp",
    "emulator.emulator",
    "trainer_core.host.worker",
    "trainer_core.player",
    "trainer_core.host.run",
    "trainer_core.cli.train",
    "trainer_core.cli.resume",
)
MOST = 1 << 17
"""Bytes of a request."""
HIGH = 500
"""Descriptors from here on are the template's own, while a program gets its."""
_PR_SET_CHILD_SUBREAPER = 36


THREADS = "OMP_NUM_THREADS"


@contextlib.contextmanager
def no_threads_of_torch() -> Iterator[None]:
    """Have whatever is imported meanwhile compute on its own thread: a pool of threads is not
    forked, and a fork that believes to have one waits for it without end."""
    if THREADS in os.environ:
        yield
        return
    os.environ[THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[THREADS]
        _set_threads()


def _set_threads() -> None:
    """Let torch, if it is loaded, compute on as many threads as a new process would."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(int(os.environ.get(THREADS) or len(os.sched_getaffinity(0))))


def is_ours(arguments: list[str]) -> bool:
    """Return True for a program of this checkout that this interpreter is to run."""
    if len(arguments) < 3 or arguments[0] != sys.executable:
        return False
    _, kind, program, *_ = arguments if arguments[1] != "-P" else arguments[1:]
    if kind == "-m":
        return program.split(".")[0] in ("trainer_core", "emulator")
    return kind == "-c" or Path(kind).is_relative_to(CHECKOUT / "tests")


# -- the side of the tests ------------------------------------------------------------------


class Template:
    """Has programs forked; made before tests run."""

    def __init__(self) -> None:
        self._ask, served = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._turn = threading.Lock()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                _serve(served.detach())
            finally:
                os._exit(1)
        served.close()

    def close(self) -> None:
        self._ask.close()
        os.waitpid(self.pid, 0)

    @contextlib.contextmanager
    def instead_of_interpreters(self) -> Iterator[None]:
        """Have `subprocess` start our programs here."""
        real = subprocess._fork_exec  # type: ignore[attr-defined]

        def start(*given: Any) -> int:
            arguments = [os.fsdecode(argument) for argument in given[0]]
            prepares = next((one for one in given[-2:] if callable(one)), None)
            if prepares is not None or not is_ours(arguments):
                return real(*given)
            return self._start(arguments, given)

        subprocess._fork_exec = start  # type: ignore[attr-defined]
        try:
            yield
        finally:
            subprocess._fork_exec = real  # type: ignore[attr-defined]

    def _start(self, arguments: list[str], given: tuple[Any, ...]) -> int:
        _, _, _, kept, folder, environment, stdin, _, _, stdout, _, stderr, _, own_end = given[:14]
        standard = [own if own >= 0 else at for at, own in enumerate((stdin, stdout, stderr))]
        kept = [number for number in kept if number != own_end and number > 2]
        if environment is None:
            environment = [name + b"=" + value for name, value in os.environb.items()]
        request = {
            "arguments": arguments,
            "folder": os.fsdecode(folder) if folder else os.getcwd(),
            "environment": [os.fsdecode(line) for line in environment],
            "numbers": [0, 1, 2, *kept],
            "session": bool(given[15]),
        }
        libc = ctypes.CDLL(None)
        with self._turn:
            libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._ask, [json.dumps(request).encode()], [*standard, *kept])
                answer = self._ask.recv(MOST)
            finally:
                libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        if not answer:
            raise OSError("the process that forks programs has ended")
        return int(answer)


# -- the template ---------------------------------------------------------------------------


def _serve(place: int) -> NoReturn:
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    served = socket.socket(fileno=fcntl.fcntl(place, fcntl.F_DUPFD_CLOEXEC, HIGH))
    os.closerange(3, served.fileno())
    os.closerange(served.fileno() + 1, 4096)
    faulthandler.disable()
    loaded = False
    while True:
        text, descriptors, _, _ = socket.recv_fds(served, MOST, 64)
        if not text:
            os._exit(0)
        if not loaded:
            for name in LOADED:
                importlib.import_module(name)
            gc.collect()
            gc.freeze()
            loaded = True
        served.send(str(_fork_orphan(json.loads(text), descriptors)).encode())
        for number in descriptors:
            os.close(number)


def _fork_orphan(request: dict[str, Any], descriptors: list[int]) -> int:
    """Fork a program and let its parent end; its number, once it is adopted."""
    told, tell = os.pipe()
    begin, wait = os.pipe()
    parent = os.fork()
    if parent == 0:
        pid = os.fork()
        if pid == 0:
            os.close(wait)
            os.read(begin, 1)  # until the template closes its end: adopted
            try:
                _become(request, descriptors)
            finally:
                os._exit(1)
        os.write(tell, b"%d" % pid)
        os._exit(0)
    os.close(tell)
    os.close(begin)
    pid = int(os.read(told, 32))
    os.close(told)
    os.waitpid(parent, 0)
    os.close(wait)
    return pid


# -- the program ----------------------------------------------------------------------------


def _become(request: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Be what exec would have made of this process, run the program and end."""
    _take_descriptors(descriptors, request["numbers"])
    if request["session"]:
        os.setsid()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(line.split("=", 1) for line in request["environment"])
    _forget_handlers()
    _open_streams()
    _set_threads()
    sys.orig_argv = request["arguments"]
    os._exit(_run(sys.orig_argv[1:]))


def _take_descriptors(descriptors: list[int], numbers: list[int]) -> None:
    high = [fcntl.fcntl(one, fcntl.F_DUPFD, HIGH) for one in descriptors]
    os.closerange(3, HIGH)
    for descriptor, number in zip(high, numbers, strict=True):
        os.dup2(descriptor, number)
    os.closerange(HIGH, 4096)


def _forget_handlers() -> None:
    """What exec resets, and what the tests would do at their end."""
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    atexit._clear()
    weakref.finalize._registry.clear()  # type: ignore[attr-defined]
    weakref.finalize._registered_with_atexit = False  # type: ignore[attr-defined]
    tempfile.tempdir = None
    gc.enable()


def _open_streams() -> None:
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # noqa: SIM115
    said = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = said


def _run(arguments: list[str]) -> int:
    """Run a program as `python ARGUMENTS` would; its status."""
    code: object = None
    try:
        _run_main(arguments)
    except SystemExit as left:
        code = left.code
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        code = 120
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    return (code or 0) & 0xFF


def _run_main(arguments: list[str]) -> None:
    kind, *rest = arguments[1:] if arguments[0] == "-P" else arguments
    if arguments[0] != "-P":
        sys.path.insert(0, os.getcwd() if kind in ("-m", "-c") else str(Path(kind).parent))
    if kind == "-m":
        sys.argv = rest
        sys.modules.pop(rest[0], None)  # it runs as __main__
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.modules["__main__"] = main = ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), vars(main))
    else:
        sys.argv = arguments
        runpy.run_path(kind, run_name="__main__")
