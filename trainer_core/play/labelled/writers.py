"""Labelled frames on disk: shards for WebDataset, a Minari dataset, or only the inputs that make them again."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from trainer_core.author.minari_export import load_minari
from trainer_core.play.labelled.frames import Labelled, shades_of
from trainer_core.play.labelled.sources import Source, write_inputs
from trainer_core.wire.environment import tell_libraries
from trainer_core.wire.errors import ConfigError

SHARD_BYTES = 256 << 20
CLIP = 128
"""Most steps of a sample: an episode is cut into clips, each of which begins with the last label of the one before."""
MINARI_ID = "dmglab/frames-v0"


def write_webdataset(out: Path, source: Source, episodes: Iterable[Labelled], every: int) -> list[str]:
    """Write shards `frames-000000.tar` of samples, each a clip of an episode; return the episodes' hashes.

    A sample has pictures.npy u8[S + 1, 144, 2, 20] (bit planes), buttons.npy u8[S, every], an array for each label, and
    meta.json. Raises OSError.
    """
    hashes: list[str] = []
    with contextlib.ExitStack() as opened:
        shard = None
        for episode in episodes:
            hashes.append(episode.hash)
            for begin in range(0, len(episode.buttons), CLIP):
                if shard is None or shard.offset > SHARD_BYTES:
                    opened.close()
                    name = out / f"frames-{len(list(out.iterdir())):06d}.tar"
                    shard = opened.enter_context(tarfile.open(name, "w", format=tarfile.USTAR_FORMAT))
                _add_clip(shard, source, episode, begin, every)
    return hashes


def _add_clip(shard: tarfile.TarFile, source: Source, episode: Labelled, begin: int, every: int) -> None:
    steps = slice(begin, begin + CLIP)
    labels = slice(begin, min(begin + CLIP, len(episode.buttons)) + 1)
    meta = {"episode": episode.number, "begin": begin, "frames_per_step": every, "hash": episode.hash}
    meta |= {"rom_sha256": source.cartridge.sha256, "source": source.name}
    files = {"meta.json": json.dumps(meta).encode(), "pictures.npy": _npy(episode.pictures[labels])}
    files["buttons.npy"] = _npy(episode.buttons[steps])
    files |= {f"{name}.npy": _npy(values[labels]) for name, values in episode.labels.items()}
    for name, data in files.items():
        entry = tarfile.TarInfo(f"{episode.number:06d}-{begin:06d}.{name}")
        entry.size = len(data)
        shard.addfile(entry, io.BytesIO(data))


def _npy(values: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(values), allow_pickle=False)
    return buffer.getvalue()


def write_minari(out: Path, source: Source, episodes: Iterable[Labelled], every: int) -> list[str]:
    """Write the Minari dataset MINARI_ID below `out`, an episode at a time; return the episodes' hashes.

    Observations are dicts of `picture` u8[144, 160] (shades) and the labels; an action is the joypad mask of the first
    frame of a step. Rewards are 0: make them of the labels. Raises ConfigError.
    """
    tell_libraries(MINARI_DATASETS_PATH=str(out.resolve()))
    minari, collector, spaces = load_minari()
    hashes: list[str] = []
    rest = iter(episodes)
    first = next(rest)

    def buffers() -> Iterator[Any]:
        for episode in itertools.chain((first,), rest):
            hashes.append(episode.hash)
            steps = len(episode.buttons)
            yield collector.EpisodeBuffer(
                id=episode.number,
                observations={"picture": shades_of(episode.pictures), **episode.labels},
                actions=episode.buttons[:, 0].astype(np.int64),
                rewards=np.zeros(steps),
                terminations=np.zeros(steps, bool),
                truncations=np.arange(steps) == steps - 1,
                infos={},
            )

    shapes = {"picture": (144, 160)} | {name: values.shape[1:] for name, values in first.labels.items()}
    space = {name: spaces.Box(0, 3 if name == "picture" else 255, shape, np.uint8) for name, shape in shapes.items()}
    try:
        minari.create_dataset_from_buffers(
            MINARI_ID,
            buffer=buffers(),
            observation_space=spaces.Dict(space),
            action_space=spaces.Discrete(256),
            algorithm_name=source.name,
            description=f"{source.cartridge.header.title}: every {every}. frame, joypad masks, labels (rewards are 0)",
        )
    except (ValueError, OSError) as error:
        raise ConfigError(f"minari: {str(error).splitlines()[0]}") from None
    return hashes


def write_only_inputs(out: Path, source: Source, episodes: Iterable[Labelled], every: int) -> list[str]:
    """Write start states, buttons and hashes; return the hashes. Raises OSError."""
    hashes = [episode.hash for episode in episodes]
    write_inputs(out, source, every, hashes)
    return hashes


WRITERS: dict[str, Callable[[Path, Source, Iterable[Labelled], int], list[str]]] = {
    "webdataset": write_webdataset,
    "minari": write_minari,
    "inputs": write_only_inputs,
}
