"""Replays of single consoles of a large batch: the same start and buttons must give the same end."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from emulator.rom.regular_file import replacing
from emulator.state.npz import ArchiveError, Wanted, read_arrays
from trainer_core.cli.bench.rig import Game
from trainer_core.wire.errors import LabError

if TYPE_CHECKING:
    from emulator import Emulator, Snapshot
    from emulator.launch.launch_shapes import Shape


MOST_CONSOLES, MOST_PLAYED_BYTES = 4096, 64 << 20
REPLAY_ARRAYS = {
    "buttons": ("u", (2,), MOST_PLAYED_BYTES),
    "machines": ("i", (1,), 8 * MOST_CONSOLES),
    "hashes": ("U", (1,), 64 * MOST_CONSOLES),
    "pictures": ("u", (3,), MOST_PLAYED_BYTES),
    "steps": ("i", (1,), 16),
    "made_on": ("U", (0,), 1024),
}
"""Arrays of a file of replays beside its start state, as fields of `emulator.state.npz.Wanted`."""


@dataclass(frozen=True)
class Played:
    """Inputs and final states of M consoles of a batch."""

    start: Snapshot
    buttons: np.ndarray
    """Joypad masks of every step, u8[S, M]."""
    machines: np.ndarray
    """Numbers of the consoles in the batch, i64[M]."""
    hashes: list[str]
    """`Emulator.state_hash` of each console at the end."""
    pictures: np.ndarray
    """Last observation of each console, u8[M, 72, 80]."""
    frames_per_step: int
    release_after: int
    made_on: str

    def save(self, path: Path) -> None:
        """Write one .npz atomically."""
        names = self.start.console.dtype.names or ()
        with replacing(path) as file:
            np.savez_compressed(
                file,
                rom_sha256=np.array(self.start.rom_sha256),
                layout_version=np.int64(self.start.layout_version),
                names=np.array(names),
                console=np.array([int(self.start.console[name][0]) for name in names]),
                row=self.start.row,
                buttons=self.buttons,
                machines=self.machines,
                hashes=np.array(self.hashes),
                pictures=self.pictures,
                steps=np.array([self.frames_per_step, self.release_after]),
                made_on=np.array(self.made_on),
            )

    @classmethod
    def load(cls, path: Path, game: Game) -> Played:
        """Read a file of `save`. Raises LabError for another file, another ROM or another state layout."""
        from emulator.state.batch import CONSOLE_DTYPE, LAYOUT_VERSION
        from emulator.state.snapshot import ARRAYS, Snapshot

        wanted = {name: Wanted(*rest) for name, rest in REPLAY_ARRAYS.items()}

        try:
            found = read_arrays(path, {**ARRAYS, **wanted})
            layout = int(found["layout_version"]), tuple(found["names"].tolist())
            if layout != (LAYOUT_VERSION, CONSOLE_DTYPE.names):
                raise LabError(f"{path}: states of another version of the emulator; save it anew")
            sha256 = str(found["rom_sha256"])
            if sha256 != game.cartridge.sha256:
                raise LabError(f"{path}: made with the ROM {sha256[:12]}..., not this one")
            console = np.zeros(1, dtype=CONSOLE_DTYPE)
            for name, value in zip(layout[1], found["console"].tolist(), strict=True):
                console[name] = value
            frames, release = found["steps"].tolist()
            return cls(
                Snapshot(console, found["row"], sha256),
                found["buttons"],
                found["machines"],
                found["hashes"].tolist(),
                found["pictures"],
                frames,
                release,
                str(found["made_on"]),
            )
        except (OSError, ArchiveError, ValueError, TypeError, OverflowError) as error:
            raise LabError(f"{path}: holds no replays ({error})") from None


def play_again(played: Played, game: Game, device: str, batch_shape: Shape | None = None) -> list[dict[str, Any]]:
    """Return a row for each kind of replay: its consoles, and the numbers of those that end differently.

    On a cpu every console is a batch of its own. On a GPU that would take too long: there all are one
    batch, of another launch shape than the large batch, and the first console is replayed alone too.
    """
    if device == "cpu":
        return [_compare("each alone on the cpu", played, _play_alone(played, game))]
    from emulator.launch import launch_shapes

    shape = launch_shapes.built_in(1)
    if shape == batch_shape:
        shape = launch_shapes.BUILT_IN_LARGEST
    how = f"one batch on {device}, {shape.lanes} lane(s) a warp"
    count = len(played.machines)
    rows = [_compare(how, played, _play_batch(played, game, device, list(range(count)), shape))]
    one = _play_batch(played, game, device, [0], shape)
    return [*rows, _compare(f"the first alone on {device}", played, one)]


def _compare(how: str, played: Played, ends: list[tuple[str, np.ndarray]]) -> dict[str, Any]:
    wrong = [
        int(number)
        for number, wanted, picture, end in zip(played.machines, played.hashes, played.pictures, ends, strict=False)
        if end[0] != wanted or not np.array_equal(end[1], picture)
    ]
    return {"how": how, "machines": len(ends), "steps": len(played.buttons), "different": wrong}


def _play_alone(played: Played, game: Game) -> list[tuple[str, np.ndarray]]:
    from emulator import Emulator

    emulators = [Emulator(game.cartridge, 1, "cpu") for _ in played.machines]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        columns = (played.buttons[:, machine : machine + 1] for machine in range(len(emulators)))
        ends = pool.map(lambda pair: _play(played, *pair), zip(emulators, columns, strict=True))
        return [end for row in ends for end in row]


def _play_batch(
    played: Played, game: Game, device: str, chosen: list[int], shape: Shape
) -> list[tuple[str, np.ndarray]]:
    from emulator import Emulator

    emulator = Emulator(game.cartridge, len(chosen), device, shape=shape)
    return _play(played, emulator, played.buttons[:, chosen])


def _play(played: Played, emulator: Emulator, buttons: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Press `buttons` u8[S, n]; return (state hash, observation) of each console at the end."""
    import warp as wp

    emulator.reset(None, emulator.state_cache([played.start]))
    for row in [wp.array(row, dtype=wp.uint8, device=emulator.device) for row in buttons]:
        emulator.run(row, played.frames_per_step, played.release_after)
    pictures = emulator.observations().numpy()
    return list(zip(emulator.state_hash(), pictures, strict=True))
