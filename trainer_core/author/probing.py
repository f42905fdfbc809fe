"""`dmglab task probe`: test of a captured goal and its tau by random play.

The minute of random play does not depend on the goal, so it can be played and saved in a file before a goal exists;
goal and mask are then judged without an emulator.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from emulator import Emulator, EmulatorError, Snapshot
from emulator.rom.regular_file import replacing
from emulator.state.npz import Wanted, read_arrays
from trainer_core.author.goals import LEAST_DISTANCE, GoalPictures, gather_goal, suggest_tau
from trainer_core.author.new_task import NewTask, choose_codec, read_way
from trainer_core.author.rom_choice import choose_rom
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import FRAMES_PER_SECOND
from trainer_core.lab.tasks import Codec, find_task
from trainer_core.wire.errors import TaskError

MOST_BYTES = 64 << 20
KEPT = {
    "digest": Wanted("U", (0,), 4 * 64),
    "seconds_x10": Wanted("iu", (0,), 8),
    "shape": Wanted("iu", (1,), 8 * 4),
    "pictures": Wanted("u", (1,), MOST_BYTES),
    "at_start": Wanted("u", (1,), MOST_BYTES),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomPlay:
    """Parameters of random play: game, start states, duration, number of consoles, seed."""

    rom: str
    """Path or SHA-256 of the ROM; or give `base`, a task of the same game."""
    base: str
    starts: tuple[Path, ...]
    seconds: float
    """Seconds of game time on each of `consoles`."""
    consoles: int
    seed: int

    def digest(self) -> str:
        """Return a hash of all parameters and start files, which determine the pictures.

        Raises TaskError for a missing start file.
        """
        try:
            states = [hashlib.sha256(path.read_bytes()).hexdigest() for path in self.starts]
        except OSError as error:
            raise TaskError(f"{error.filename}: {error.strerror}") from None
        said = (self.rom, self.base, states, self.seconds, self.consoles, self.seed)
        return hashlib.sha256(repr(said).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Seen:
    """Pictures of random play."""

    pictures: np.ndarray
    """u8[steps, consoles, 72, 80], after each step."""
    at_start: np.ndarray
    """u8[starts, 72, 80], the picture of each start state."""
    seconds: float

    def save(self, path: Path, digest: str) -> None:
        """Save the pictures atomically, four pixels per byte: 3 MB for the usual minute."""
        pairs = (self.pictures.reshape(-1, 4), self.at_start.reshape(-1, 4))
        packed = [p[:, 0] | p[:, 1] << 2 | p[:, 2] << 4 | p[:, 3] << 6 for p in pairs]
        with replacing(path) as file:
            np.savez(
                file,
                digest=np.array(digest),
                seconds_x10=np.int64(round(10 * self.seconds)),
                pictures=packed[0],
                at_start=packed[1],
                shape=np.array(self.pictures.shape),
            )

    @classmethod
    def load(cls, path: Path, digest: str) -> Seen | None:
        """Return the pictures saved in `path` if their digest is `digest`, else None."""
        try:
            data = read_arrays(path, KEPT)
            if str(data["digest"]) != digest:
                return None
            pictures, at_start = (
                np.stack([data[name] >> 2 * pixel & 3 for pixel in range(4)], -1) for name in ("pictures", "at_start")
            )
            shape = data["shape"].tolist()
            seconds = float(data["seconds_x10"]) / 10
            return cls(pictures.reshape(shape), at_start.reshape(-1, *shape[2:]), seconds)
        except (OSError, ValueError):  # no such file or another program's: play again
            return None


def probe_goal(
    play: RandomPlay,
    goal: Path | None,
    home: HomePaths,
    *,
    tau: float,
    way: Path | None = None,
    kept: Path | None = None,
    on_progress: Callable[[float], None] = lambda share: None,
) -> dict[str, Any]:
    """Play at random and return how near the pictures come to the goal; without a goal, only play.

    tau is suggested by the pictures before the goal on the demonstration `way`, as in `dmglab task new`; without one,
    or if an agent could not press its buttons, by those of random play, among which may be the goal's surroundings.
    `kept` is a file for the pictures: read if it was made by the same `play`, else written. `false_positive_rate` is
    the share of consoles that came below tau at the end of any step. Raises LabError, also when a start looks like the
    goal.
    """
    if not play.starts:
        raise TaskError("give at least one start state (--start)")
    if goal is None and kept is None:
        raise TaskError("give a goal (--goal), or a file to keep the random play in (--kept)")
    templates = gather_goal([], (goal,), None, "l1") if goal else None
    digest = play.digest()
    seen = Seen.load(kept, digest) if kept else None
    if seen is None:
        seen = _random_play(play, home, on_progress)
        if kept is not None:
            seen.save(kept, digest)
    if templates is None:
        return {"consoles": play.consoles, "seconds": seen.seconds, "kept": str(kept)}
    steps, consoles = seen.pictures.shape[:2]
    flat = seen.pictures.reshape(steps * consoles, *seen.pictures.shape[2:])
    apart = templates.distances(flat).reshape(steps, consoles)
    at_start = templates.distances(seen.at_start)
    # Consoles that reached the goal itself tell nothing about how near other pictures are.
    before = _before(play, way, templates, home) if way is not None else []
    others = templates.distances(np.concatenate(before)) if before else apart[apart >= LEAST_DISTANCE]
    suggested, why = suggest_tau(np.concatenate([at_start, others]))
    chosen = tau or suggested
    met = (apart < chosen).any(axis=0)
    return {
        "suggested_tau": suggested,
        "why": why,
        "tau": chosen,
        "false_positive_rate": float(met.mean()),
        "consoles": consoles,
        "seconds": seen.seconds,
        "nearest": round(float(apart.min()), 5),
        "nearest_start": round(float(at_start.min()), 5),
        "median": round(float(np.median(apart)), 5),
    }


def _before(play: RandomPlay, way: Path, goal: GoalPictures, home: HomePaths) -> list[np.ndarray]:
    """Return the pictures u8[K, 72, 80] of a demonstration before the goal; [] if it cannot serve as one."""
    request = NewTask(id="", rom=play.rom, base=play.base, starts=play.starts, way=way)
    _, cartridge = choose_rom(play.rom, play.base, home)
    codec = find_task(play.base, home).manifest.codec if play.base else Codec()
    segments, _ = read_way(request, cartridge, choose_codec(request, codec)[0], goal)
    return [part.before for part in segments]


def _random_play(play: RandomPlay, home: HomePaths, on_progress: Callable[[float], None]) -> Seen:
    _, cartridge = choose_rom(play.rom, play.base, home)
    codec = find_task(play.base, home).manifest.codec if play.base else Codec()
    emulator = Emulator(cartridge, play.consoles, "cpu")
    count, everyone = len(play.starts), np.arange(play.consoles, dtype=np.int32)
    try:
        cache = emulator.state_cache([Snapshot.load(path) for path in play.starts])
        # Each start is seen once, with as many resets as that takes.
        shown = []
        for first in range(0, count, play.consoles):
            emulator.reset(None, cache, (everyone + first) % count)
            shown.append(emulator.observations().numpy().copy())
        emulator.reset(None, cache, everyone % count)
    except EmulatorError as error:
        raise TaskError(str(error)) from None
    steps = max(1, round(play.seconds * FRAMES_PER_SECOND / codec.frames_per_step))
    rng = np.random.default_rng(play.seed)
    masks = np.array(codec.masks, np.uint8)
    at_start = np.concatenate(shown)[:count]
    pictures = np.empty((steps, play.consoles, *at_start.shape[1:]), np.uint8)
    for step in range(steps):
        if step % 8 == 0:
            on_progress(step / steps)
        actions = rng.integers(len(masks), size=play.consoles)
        emulator.run(masks[actions], codec.frames_per_step, codec.release_after_frames)
        pictures[step] = emulator.observations().numpy()
    seconds = round(steps * codec.frames_per_step / FRAMES_PER_SECOND, 1)
    return Seen(pictures, at_start, seconds)
