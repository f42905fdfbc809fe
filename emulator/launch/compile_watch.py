"""Reports of Warp's compilations, which take most of the first start on a new computer.

Warp reports a compilation only afterwards and only in its log, so its two compiler functions are wrapped. They are no
public interface: with a Warp that lacks them nothing is reported.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Listener = Callable[[int, str, float], None]
"""Callback with the compilation's number from 1, the Warp module's name, and the seconds it took, -1 before it
starts.
"""
COMPILERS = ("build_cpu", "build_cuda")


class CompileWatch:
    """Counter of this process's compilations by Warp, which reports each to a listener."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._parts = 0
        self._installed = False
        self._lock = threading.Lock()

    def install(self) -> bool:
        """Wrap Warp's two compiler functions, once; return False if this version of Warp does not have them."""
        if self._installed:
            return True
        with contextlib.suppress(ImportError):
            from warp._src import build

            if all(callable(getattr(build, name, None)) for name in COMPILERS):
                for name in COMPILERS:
                    setattr(build, name, self._wrapped(getattr(build, name)))
                self._installed = True
        return self._installed

    def _wrapped(self, compiler: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(compiler)
        def compile_and_tell(*args: Any, **options: Any) -> Any:
            with self._lock:
                self._parts += 1
                part = self._parts
            name = _module_name(args)
            self._listener(part, name, -1.0)
            begun = time.monotonic()
            try:
                return compiler(*args, **options)
            finally:
                self._listener(part, name, time.monotonic() - begun)

        return compile_and_tell


def _module_name(args: tuple[Any, ...]) -> str:
    """Return the Warp module's name for the arguments of a compiler call.

    `launch.native` for the source file `wp_emulator.launch.native_18aad9f.cpp`.
    """
    sources = [Path(one).name for one in args if isinstance(one, str) and one.endswith(_SOURCES)]
    stem = sources[0].rpartition(".")[0].rpartition("_")[0] if sources else ""
    return stem.removeprefix("wp_").removeprefix("emulator.").removeprefix("kernels.")


_SOURCES = (".cpp", ".cu")
