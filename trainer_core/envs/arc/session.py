"""ARC-AGI-3 games from our side: through pipes to the library, or HTTP to a server.

`HostedGames` are N games in the library's own process, for training and for playing offline; `RestGame` is one game on
a server of the ARC-AGI-3 API: the library's on loopback, or one on the network that the user names. Both return
`Shown`.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from trainer_core.lab.arc_games import CLICK, MODULES, NOTHING, PYTHONS, RESET, RUNNER_ID, SIDE, TITLE, ArcGameInfo
from trainer_core.lab.guest_environment import RunnerEnvironment
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.lab.trust import require_own_environment, require_trust
from trainer_core.wire.environment import child_environment
from trainer_core.wire.errors import FailureError, LabError
from trainer_core.wire.process_guard import family, hear

GRID_BYTES = SIDE * SIDE
ANSWER_S = 600.0
"""Time limit in seconds for loading a game, or for one step of all its copies."""


@dataclass(frozen=True, slots=True)
class Shown:
    """State of one game after an action, as the library answers it."""

    frames: np.ndarray
    """u8[F, 64, 64] colours 0 to 15, F >= 1: an animation, the grid to act on last."""
    levels: int
    """Levels completed."""
    win_levels: int
    state: str
    """NOT_FINISHED, WIN or GAME_OVER."""
    available: tuple[int, ...]
    """Ids of the actions that the game takes."""


class ArcSession(Protocol):
    """Interface to one game in progress, in the library's process or on a server."""

    def begin(self, seed: int) -> Shown:
        """Start the game again from its first level. A server has no seeds."""
        ...

    def act(self, action: int, x: int = 0, y: int = 0) -> Shown:
        """Apply one action, with the position of a click; return the new state. RESET restarts the level. Raises
        LabError."""
        ...

    def card(self) -> dict[str, Any]:
        """Return the library's scorecard of the game so far."""
        ...

    def close(self) -> None: ...


def arc_environment(home: HomePaths) -> RunnerEnvironment:
    """Return the virtual environment below `home` that has the library which runs the games."""
    return RunnerEnvironment(RUNNER_ID, MODULES, home, PYTHONS, torch=False)


class HostedGames:
    """N games of one folder in the library's process, which ends with this process."""

    def __init__(
        self,
        game: ArcGameInfo,
        home: HomePaths,
        count: int = 1,
        *,
        scored: bool = False,
        recordings: Path | None = None,
    ) -> None:
        """Start the process and N games.

        `recordings` is the folder where the library writes its JSON lines of scored games; None writes none. Raises
        LabError when the environment is missing, or the game cannot be started, and for a game of the home, which is a
        program, until the user trusts it.
        """
        if not game.folder.is_relative_to(ASSETS):
            require_trust(game.folder, TITLE)
        environment = arc_environment(home)
        if not environment.exists:
            raise LabError(f"ARC-AGI-3 has no environment at {environment.folder}; {environment.advice}")
        self._scratch = None if recordings else tempfile.TemporaryDirectory(prefix="dmglab-arc-")
        folder = Path(self._scratch.name) if self._scratch else recordings
        assert folder is not None
        folder.mkdir(parents=True, exist_ok=True)
        require_own_environment(environment.python)
        argv = [str(environment.python), "-P", "-m", "trainer_core.envs.arc.host", str(game.folder), str(folder)]
        self.game, self.count = game, count
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=child_environment(
                argv[0],
                **family(),
                # Bytecode beside the game would be run in place of the trusted source.
                PYTHONPYCACHEPREFIX=os.devnull,
                PYTHONDONTWRITEBYTECODE="1",
            ),
        )
        try:
            self._answer()
            self.shown = self._ask(do="open", seeds=[0] * count, scored=scored)
        except LabError:
            self.close()
            raise

    def begin(self, envs: Sequence[int], seeds: Sequence[int]) -> list[Shown]:
        """Start the games `envs` again; return the states of all N, without animations."""
        self.shown = self._ask(do="begin", envs=list(envs), seeds=list(seeds))
        return self.shown

    def act(self, actions: Sequence[int], xs: Sequence[int], ys: Sequence[int], *, last: bool = True) -> list[Shown]:
        """Apply one action to each game, NOTHING for none; with `last` return only an animation's last grid."""
        self.shown = self._ask(do="act", actions=list(actions), x=list(xs), y=list(ys), last=last)
        return self.shown

    def card(self) -> dict[str, Any]:
        return self._header(do="card")["card"]

    def close(self) -> None:
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._scratch is not None:
            self._scratch.cleanup()

    def _ask(self, **asked: Any) -> list[Shown]:
        header = self._header(**asked)
        counts: list[int] = header["frames"]
        assert self._process.stdout is not None
        data = self._process.stdout.read(sum(counts) * GRID_BYTES)
        if len(data) != sum(counts) * GRID_BYTES:
            raise FailureError(f"{self.game.id}: the library's process has ended")
        grids = np.frombuffer(data, np.uint8).reshape(-1, SIDE, SIDE)
        if grids.size and int(grids.max()) > 15:
            raise LabError(f"{self.game.id}: a colour beyond 15")
        parts = np.split(grids, np.cumsum(counts)[:-1])
        available = tuple(header["available"])
        return [
            Shown(frames, levels, wins, state, available)
            for frames, levels, wins, state in zip(
                parts, header["levels"], header["wins"], header["states"], strict=True
            )
        ]

    def _header(self, **asked: Any) -> dict[str, Any]:
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise FailureError(f"{self.game.id}: the library's process has ended") from None
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = hear(self._process, ANSWER_S, f"{self.game.id}: the game").readline()
        try:
            header = json.loads(line)
        except ValueError:
            raise FailureError(
                f"{self.game.id}: the library's process has ended; try: dmglab runner check {RUNNER_ID}"
            ) from None
        if not header["ok"]:
            raise FailureError(f"{self.game.id}: {header.get('error', 'the library refused')}")
        return header


class HostedSession:
    """ArcSession of one scored game in the library's process."""

    def __init__(self, game: ArcGameInfo, home: HomePaths, recordings: Path | None = None) -> None:
        self._games = HostedGames(game, home, scored=True, recordings=recordings)
        self._fresh = True

    def begin(self, seed: int) -> Shown:
        if seed or not self._fresh:
            self._games.begin([0], [seed])
        self._fresh = False
        return self._games.shown[0]

    def act(self, action: int, x: int = 0, y: int = 0) -> Shown:
        check_action(action, x, y)
        return self._games.act([action], [x], [y], last=False)[0]

    def card(self) -> dict[str, Any]:
        return self._games.card()

    def close(self) -> None:
        self._games.close()


def check_action(action: int, x: int, y: int) -> None:
    """Raise LabError unless `action` exists and `x`, `y` are inside the grid: the API refuses anything else."""
    if action == NOTHING or not RESET <= action <= 7:
        raise LabError(f"action {action}: ARC-AGI-3 has 0 (RESET) to 7")
    if action == CLICK and not (0 <= x < SIDE and 0 <= y < SIDE):
        raise LabError(f"ACTION6 at {x}, {y}: x and y go from 0 to {SIDE - 1}")
