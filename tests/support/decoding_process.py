"""A process with little memory and time in which decoders meet damaged files.

One process serves many inputs and is begun anew when it died or grew. It is forked, since the
imports of all decoders take seconds.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from tests.support.decoders import DECODERS, PROJECT_ERRORS

MOST_BYTES, MOST_CPU_S = 300 << 20, 2.0
PATIENCE_S = 120.0
"""For an answer: a decoder that waits for something takes no CPU."""
MOST_INPUTS = 1000
"""Of one process: what the interpreter keeps is not to be held against a decoder."""
ROOT = Path(__file__).resolve().parents[2]


def _size() -> int:
    """Bytes of this process's address space."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _limit() -> None:
    most = _size() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _serve(link: Connection) -> None:
    # Threads are not forked: a pool that torch believes to have would be waited for without end.
    torch.set_num_threads(1)
    gc.freeze()
    _limit()
    while True:
        try:
            name, folder, traces = link.recv()
        except EOFError:  # the test is over
            return
        read = DECODERS[name].read
        used = time.process_time()
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (int(used + MOST_CPU_S) + 2, hard))
        visited: set[tuple[str, str]] = set()
        try:
            if traces:
                sys.setprofile(_noting(visited))
            read(Path(folder))
            said = ("read", "")
        except PROJECT_ERRORS as error:
            said = ("refused", str(error))
        except BaseException:
            said = ("raised", traceback.format_exc())
        finally:
            sys.setprofile(None)
        link.send((*said, time.process_time() - used, visited))


def _noting(visited: set[tuple[str, str]]) -> Callable[[FrameType, str, Any], None]:
    """Profile function that notes which functions of ours are called."""
    root = f"{ROOT}{os.sep}"

    def note(frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root):
            visited.add((code.co_filename.removeprefix(root), code.co_qualname))

    return note


class DecodingProcess:
    """Asked by `read`; closed by `close`."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("fork")
        self._inputs = MOST_INPUTS
        self._process: Any = None
        self._link: Connection | None = None

    def read(self, name: str, folder: Path) -> str:
        """The error's text, empty where it was decoded; asserts that the limits were kept."""
        return self._ask(name, folder, traces=False)[0]

    def functions(self, name: str, folder: Path) -> set[tuple[str, str]]:
        """(file, qualified name) of what decoding a good sample calls of ours."""
        said, visited = self._ask(name, folder, traces=True)
        assert not said, f"{name}: the good sample was refused: {said}"
        return visited

    def _ask(self, name: str, folder: Path, traces: bool) -> tuple[str, set[tuple[str, str]]]:
        if self._inputs >= MOST_INPUTS:
            self._begin()
        assert self._link is not None
        self._inputs += 1
        self._link.send((name, str(folder), traces))
        try:
            assert self._link.poll(PATIENCE_S), f"{name}: still decoding after {PATIENCE_S} s"
            kind, said, seconds, visited = self._link.recv()
        except (EOFError, AssertionError) as error:
            self.close()
            status = self._process.exitcode
            raise AssertionError(
                f"{name}: the process died with status {status} (-24: more than {MOST_CPU_S} s of "
                f"CPU; -9, -11: killed, crashed): {error}"
            ) from None
        assert kind != "raised", f"{name}: no error of this project:\n{said}"
        assert "fit into memory" not in said, f"{name}: takes more than {MOST_BYTES >> 20} MiB"
        is_line = len(said) < 300 and said.isprintable()
        assert is_line, f"{name}: no short printable line: {said!r}"
        assert seconds < MOST_CPU_S, f"{name}: {seconds:.1f} s of CPU"
        return said, visited

    def _begin(self) -> None:
        self.close()
        self._link, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._inputs = 0

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._process.kill()
            self._process.join()
            self._link = None
        self._inputs = MOST_INPUTS
