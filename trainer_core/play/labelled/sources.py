"""Episodes to make labelled frames of: recordings, demonstrations, a policy's or random play, inputs of another export.

Each is a start state and the joypad mask of each frame, so that any computer can play it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from emulator import Cartridge, Emulator, EmulatorError, Snapshot
from emulator.state.npz import Wanted, read_arrays
from emulator.state.snapshot import load_snapshots, save_snapshots
from trainer_core.envs.demonstrations import Demonstration, load_demonstrations, play_actions
from trainer_core.envs.start_states import load_starts
from trainer_core.envs.task_files import load_rom
from trainer_core.lab.durable_files import replace_file
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import list_recordings, read_buttons, read_recording, refuse_pictures_only
from trainer_core.lab.roms import ROM_SUFFIXES, find_game_again, named_rom
from trainer_core.lab.tasks import Codec, Task, known_task
from trainer_core.wire.decoding import parsing, read_json
from trainer_core.wire.errors import ConfigError

ROM_FRAMES = 1200
"""Frames of an episode of a ROM, if none are given: 20 seconds."""
ARRAYS = {
    "masks": Wanted("u", (1,), 1 << 30),
    "frames": Wanted("i", (1,), 8 << 17),
    "starts": Wanted("i", (1,), 8 << 17),
}
INPUTS, ABOUT = "inputs.npz", "inputs.json"


class Inputs(msgspec.Struct, kw_only=True, frozen=True):
    """Content of inputs.json, beside the buttons in inputs.npz."""

    v: int = 1
    rom_sha256: str
    rom_title: str
    source: str
    every: int
    """Frames from one label to the next."""
    hashes: list[str]
    """Hash of each episode's labels."""


@dataclass(frozen=True, slots=True)
class Source:
    """Episodes of one ROM, and what they are."""

    name: str
    cartridge: Cartridge
    episodes: list[Demonstration]
    task: Task | None = None
    about: Inputs | None = None
    """Of inputs that another export has written: the hashes to be found again."""


def find_source(text: str, home: HomePaths, *, episodes: int, frames: int, seed: int) -> Source | None:
    """Return the episodes that `text` names, or None if it names no file, task or ROM (but perhaps a policy).

    A folder of inputs or recordings, or a demo.npz, gives its own episodes. A task or ROM is played at random:
    `episodes` times for `frames` frames (0: to the task's horizon, or 1,200), from the task's training starts in turn
    or from power-on. Raises LabError.
    """
    path = Path(text).expanduser()
    if (path / ABOUT).is_file():
        return read_inputs(path, home)
    if path.is_dir() and (folders := list_recordings(path)):
        found = [_recorded(folder) for folder in folders]
        return _of_one_rom(text, [sha256 for sha256, _ in found], [e for _, some in found for e in some], home)
    if path.suffix == ".npz":
        demos = load_demonstrations(path)
        return _of_one_rom(text, [demo.start.rom_sha256 for demo in demos], demos, home)
    rng = np.random.default_rng(seed)
    if task := known_task(text, home):
        cartridge, codec = load_rom(task, home), task.manifest.codec
        states = load_starts(task, cartridge)
        starts = [states[number] for number in task.manifest.starts.indices(held_out=False)]
        steps = -(-frames // codec.frames_per_step) or task.manifest.episode.horizon
    elif path.is_file() or text.lower().endswith(ROM_SUFFIXES):
        cartridge, codec = _cartridge(named_rom(text, home)), Codec()
        starts = [Emulator(cartridge).snapshot()]
        steps = -(-(frames or ROM_FRAMES) // codec.frames_per_step)
    else:
        return None
    actions = rng.integers(len(codec.actions), size=(episodes, steps))
    found = [Demonstration(starts[n % len(starts)], play_actions(row, codec)) for n, row in enumerate(actions)]
    return Source(f"random play of {text}", cartridge, found, task)


def _recorded(folder: Path) -> tuple[str, list[Demonstration]]:
    """Return the ROM's hash and the episodes of a recording: what lies between its jumps. Raises LabError."""
    recording = read_recording(folder)
    refuse_pictures_only(folder, recording)
    masks = np.frombuffer(read_buttons(folder, recording), np.uint8)
    begins = [(0, recording.state), *((jump.frame, jump.state) for jump in recording.jumps)]
    ends = [frame for frame, _ in begins[1:]] + [len(masks)]
    with parsing(folder):
        return recording.rom_sha256, [
            Demonstration(Snapshot.load(folder / state), masks[begin:end])
            for (begin, state), end in zip(begins, ends, strict=True)
            if end > begin
        ]


def _of_one_rom(name: str, roms: list[str], episodes: list[Demonstration], home: HomePaths) -> Source:
    if len(set(roms)) != 1:
        raise ConfigError(f"{name}: of {len(set(roms))} games; give the folder of one")
    return Source(name, _rom(roms[0], name, home), episodes)


def _rom(sha256: str, title: str, home: HomePaths) -> Cartridge:
    """Return the known ROM with this hash. Raises TaskError."""
    return _cartridge(Path(find_game_again(f"the ROM of {title}.gb", sha256, home)))


def _cartridge(path: Path) -> Cartridge:
    try:
        return Cartridge.from_file(path)
    except EmulatorError as error:
        raise ConfigError(str(error)) from None


# ---- inputs ---------------------------------------------------------------------------------


def write_inputs(folder: Path, source: Source, every: int, hashes: list[str]) -> None:
    """Write the episodes' start states, buttons and hashes to a folder. Raises OSError."""
    starts = list({id(episode.start): episode.start for episode in source.episodes}.values())
    number = {id(start): n for n, start in enumerate(starts)}
    save_snapshots(
        folder / INPUTS,
        starts,
        masks=np.concatenate([episode.masks for episode in source.episodes]),
        frames=np.array([len(episode.masks) for episode in source.episodes]),
        starts=np.array([number[id(episode.start)] for episode in source.episodes]),
    )
    about = Inputs(
        rom_sha256=source.cartridge.sha256,
        rom_title=source.cartridge.header.title or source.cartridge.name,
        source=source.name,
        every=every,
        hashes=hashes,
    )
    replace_file(folder / ABOUT, msgspec.json.format(msgspec.json.encode(about)))


def read_inputs(folder: Path, home: HomePaths) -> Source:
    """Return the episodes of a folder of `write_inputs`. Raises LabError."""
    with parsing(folder / ABOUT, ConfigError):
        about = read_json(folder / ABOUT, Inputs, 64 << 20)
    with parsing(folder / INPUTS, ConfigError):
        states, data = load_snapshots(folder / INPUTS), read_arrays(folder / INPUTS, ARRAYS)
    masks, frames, starts = data["masks"], data["frames"], data["starts"]
    whole = len(frames) == len(starts) == len(about.hashes) and (frames > 0).all() and frames.sum() == len(masks)
    if not whole or masks.dtype != np.uint8 or starts.min() < 0 or starts.max() >= len(states):
        raise ConfigError(f"{folder}: its episodes and {ABOUT} do not fit together; export it again")
    parts = np.split(masks, np.cumsum(frames)[:-1])
    episodes = [Demonstration(states[start], part) for start, part in zip(starts, parts, strict=True)]
    return Source(about.source, _rom(about.rom_sha256, about.rom_title, home), episodes, about=about)
