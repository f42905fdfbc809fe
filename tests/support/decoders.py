"""Everything that reads what others wrote, a line each: the fuzz test feeds all of them damage.

A new decoder joins by one `Decoder` in DECODERS: its name, what writes a good sample into an empty
folder, what reads it there, and which files are damaged, how. `test_every_decoder.py` finds the
functions that decode foreign bytes and fails for one that reading the samples does not call.
"""

from __future__ import annotations

import functools
import io
import json
import os
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
from PIL import Image

from emulator import Cartridge, Emulator, EmulatorError
from emulator.state.battery import put_battery
from emulator.state.snapshot import load_snapshots
from emulator.state.state_files import read_state
from emulator.tools.job_files import read_jobs
from emulator.tools.rom_list import read_list
from gui.features.curves.plots import PlotChoices
from gui.features.curves.saved_views import SavedViews
from gui.features.games.model import roms_in, unpack
from gui.features.memory.controller import MemoryWatches
from gui.features.replay.model import Replay
from gui.features.runs.columns import RunColumns, RunConfigs
from gui.features.tasks.model import read_template
from gui.kit.settings import LAYOUT_VERSION, Settings, read_ini
from gui.shell.layout_state import frame_place, is_sound_geometry, is_sound_state
from gui.state import telemetry as view_memory
from gui.state.run_notes import RunNotes
from gui.state.task_pictures import read_pictures
from tests.support.imports import CHECKOUT
from tests.support.made_checkpoints import made_meta
from tests.support.made_records import eval_record, run_record, update_record
from tests.support.mutated import ZLIB, Inside, first_tfrecord, tfrecords, wandb_log, wandb_record
from trainer_core.author.archive import export_task, import_task
from trainer_core.author.demonstration import save_demonstrations
from trainer_core.author.inputs import read_inputs
from trainer_core.envs.arc import rest, static
from trainer_core.envs.arc.game import ArcGame
from trainer_core.envs.arc.rest import RestGame
from trainer_core.envs.demonstrations import Demonstration, load_demonstrations
from trainer_core.envs.language_model import LanguageModel
from trainer_core.envs.recording_writer import RecordingWriter, first_difference
from trainer_core.envs.single_game import TinyGame
from trainer_core.envs.start_states import read_scripts
from trainer_core.envs.task_files import load_goal, save_goal
from trainer_core.formats.import_curves import import_curves
from trainer_core.formats.plot import read_series
from trainer_core.host.checkpoint import load_policy, load_trainer_state, pack_state
from trainer_core.lab import checkpoint_manifest
from trainer_core.lab.arc_games import read_game
from trainer_core.lab.dataset_download import _mark, _pins
from trainer_core.lab.datasets import DatasetCache
from trainer_core.lab.guest_environment import RunnerEnvironment
from trainer_core.lab.paths import ASSETS, HomePaths, RunPaths
from trainer_core.lab.recording import MANIFEST
from trainer_core.lab.roms import load_profiles, registered_roms
from trainer_core.lab.storage_profiles import TEMPLATE, read_storage
from trainer_core.lab.tasks import find_task, list_tasks, load_task
from trainer_core.lab.text_episodes import read_episode
from trainer_core.lab.unfinished_recordings import UNFINISHED, recover
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.play.clips.movies import read_movie
from trainer_core.play.clips.opening import open_clip
from trainer_core.play.labelled.sources import Source, write_inputs
from trainer_core.play.labelled.sources import read_inputs as read_labelled
from trainer_core.runners.corl.runner import check_spaces
from trainer_core.runners.d3rlpy.runner import is_demonstration
from trainer_core.runners.remote.courier import unread_job
from trainer_core.runners.rllm import countdown, verl
from trainer_core.runs.archive import archive, restore
from trainer_core.runs.command_files import Mailbox
from trainer_core.runs.config_file import read_spec, write_config
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.log_check import check_log
from trainer_core.runs.log_reader import read_history
from trainer_core.runs.queue import RunQueue
from trainer_core.runs.run_lock import RunLock
from trainer_core.runs.sql import ask
from trainer_core.runs.wandb_run import read_wandb
from trainer_core.sweeps.sweep import load_ended, load_sweep
from trainer_core.wire import commands, frames, records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import LabError
from trainer_core.wire.playing import PlayerConfig, read_player_config, write_player_config
from trainer_core.wire.spec import RunSpec

PROJECT_ERRORS = (LabError, EmulatorError)
GOLDEN = Path(__file__).resolve().parents[1] / "trainer_core" / "golden"
TASK = ASSETS / "tasks" / "pocket_quest" / "leave_bedroom"
ROM = ASSETS / "games" / "pocket_quest" / "pocket_quest.gb"
CODEC = load_task(TASK).manifest.codec
RUN = "20261121-000000-beef"


@dataclass(frozen=True)
class Part:
    """A file of the sample that is damaged."""

    file: str
    """Its path in the folder; may be a pattern of one file."""
    form: str = "bytes"
    """How its content, or what is `inside` of it, is mutated: one of mutated.FORMS."""
    inside: Inside | None = None


@dataclass(frozen=True)
class Decoder:
    name: str
    make: Callable[[Path], Any]
    """Writes a good sample into the folder, which is empty."""
    read: Callable[[Path], Any]
    """Decodes it; raises one of PROJECT_ERRORS for what is wrong with it, and nothing else."""
    parts: tuple[Part, ...]


# -- samples --------------------------------------------------------------------------------------


def _json(name: str, value: Any) -> Callable[[Path], None]:
    return lambda folder: _put(folder / name, json.dumps(value).encode())


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _copied(source: Path, name: str) -> Callable[[Path], None]:
    return lambda folder: _put(folder / name, source.read_bytes())


def _npz(path: Path, **arrays: Any) -> None:
    np.savez_compressed(path, **arrays)


def _log(folder: Path) -> None:
    told = [update_record(RUN, 1, 1, 100.0), eval_record(RUN, 2, success_rate=0.5)]
    golden = (GOLDEN / "records.jsonl").read_bytes().splitlines(keepends=True)
    _put(folder / "train_log.jsonl", golden[0] + b"".join(map(records.encode, told)))


def _checkpoint(folder: Path) -> None:
    torch = __import__("torch")
    policy = PixelActorCritic("small", (1, 72, 80), 7)
    files = {
        checkpoint_manifest.POLICY: __import__("safetensors.torch").torch.save(policy.state_dict()),
        checkpoint_manifest.MACHINES: pack_state({"obs": torch.zeros(2, 3), "episodes": {"a": 1}}),
    }
    for name, data in files.items():
        _put(folder / name, data)
    torch.save({"trainer": {}, "metrics": {}, "run": {}}, folder / checkpoint_manifest.TRAINER)
    _sealed(folder)


def _sealed(folder: Path) -> None:
    """The manifest, with the hashes of the files as they are."""
    names = (checkpoint_manifest.POLICY, checkpoint_manifest.TRAINER, checkpoint_manifest.MACHINES)
    files = {name: checkpoint_manifest.file_sha256(folder / name) for name in names}
    meta = made_meta(config=RunConfig(task="tiny_goal", num_envs=2).to_dict(), files=files)
    _put(folder / checkpoint_manifest.META, msgspec.json.encode(meta))


def _weights(folder: Path) -> None:
    """Read a checkpoint whose files were damaged on purpose: the hashes are made to fit."""
    _sealed(folder)
    _both(lambda: load_policy(folder), lambda: load_trainer_state(folder))


def _both(*reads: Callable[[], Any]) -> None:
    """Each, whatever becomes of the others; the first error of the project is raised again."""
    errors = []
    for read in reads:
        try:
            read()
        except PROJECT_ERRORS as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _recording(folder: Path) -> None:
    game = TinyGame()
    game.restart(0)
    writer = RecordingWriter(folder / "rec", game, mode="human", checkpoint="", checkpoint_sha256="")
    for frame in range(72):
        held = 8 if frame % 24 < 8 else 0
        game.frame(held)
        writer.add_frame(game.picture(), held)
        if frame % 24 == 23:
            writer.add_step(step=frame // 24 + 1, action=4, reward=0.0, dist=0.5)
    writer.finish()


def _frames(folder: Path) -> None:
    writer = frames.FrameWriter(folder / "frames.bin", frames.FrameShape(8, 4))
    writer.publish(bytes(32), frames.FrameInfo(env_steps=3))
    writer.close()


def _look_at_frames(folder: Path) -> None:
    reader = frames.FrameReader(folder / "frames.bin")
    reader.latest()
    reader.close()


def _receipt(folder: Path) -> None:
    _json(
        "receipt.json",
        {
            "error": "ValueError: x",
            "wrong": {"step": 1, "env": 3, "what": "dist is nan"},
            "config": {"task": "tiny_goal"},
            "dist": {"p10": 0.5},
        },
    )(folder)
    zeros = np.zeros((2, 3), np.float32)
    _npz(
        folder / "last_steps.npz",
        pictures=np.zeros((2, 3, 72, 80), np.uint8),
        actions=np.zeros((2, 3), np.int64),
        rewards=zeros,
        values=zeros,
        dist=zeros,
        done=zeros.astype(bool),
        trunc=zeros.astype(bool),
        success=zeros.astype(bool),
    )


def _rollout(folder: Path) -> None:
    meta = {
        "task": "none/such",
        "mode": "greedy",
        "start_index": 0,
        "frames_per_step": 24,
        "gif_every_frames": 24,
        "release_after_frames": 8,
        "rom_sha256": "ab",
    }
    _json("meta.json", meta)(folder)
    row = {"step": 0, "action": 3, "reward": 0.5, "dist": 0.5, "done": False, "trunc": False}
    _put(folder / "rollout.jsonl", (json.dumps(row) + "\n").encode() * 2)
    _gif(folder, "rollout.gif", (160, 144))


def _gif(folder: Path, name: str = "a.gif", size: tuple[int, int] = (40, 30)) -> None:
    pictures = [Image.new("RGB", size, color) for color in ((15, 56, 15), (155, 188, 15))]
    pictures[0].save(folder / name, save_all=True, append_images=pictures[1:], duration=400)


def _movie(folder: Path) -> None:
    rows = [[100, [8], "AAAA"], [106, [16, 5], ""]]
    sha256 = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
    _put(folder / "m.replay", zlib.compress(json.dumps([rows, sha256, None]).encode()))


def _vbm(folder: Path) -> None:
    data = bytearray(80)
    data[:4], data[0x15] = b"VBM\x1a", 1
    struct.pack_into("<III", data, 4, 1, 7, 8)
    struct.pack_into("<I", data, 0x3C, 64)
    _put(folder / "m.vbm", bytes(data))


def _arc_lines(folder: Path) -> None:
    said = {"game_id": "ls20-1", "frame": [[[0] * 64] * 64], "state": "WIN", "score": 1}
    rows = [{"data": {**said, "action_input": {"id": found}}} for found in (0, "ACTION6")]
    _put(folder / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())


def _clip(name: str) -> Callable[[Path], None]:
    """Make a recording of a file, or of the folder itself."""

    def read(folder: Path) -> None:
        out = folder.with_name("clip")
        try:
            open_clip(folder / name, out, "", HomePaths(folder / "home"))
            Replay(out)
        finally:
            shutil.rmtree(out, ignore_errors=True)

    return read


def _imported(name: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        home = HomePaths(folder.with_name("import"))
        try:
            import_curves(folder / name, home)
            RunRegistry(home).load()
        finally:
            shutil.rmtree(home.root, ignore_errors=True)

    return read


def _task_zip(folder: Path) -> None:
    export_task(find_task("nectar_run/fill_jar", HomePaths(folder)), folder / "task.zip")


def _task_of(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read("task.toml")


def _zip_of(manifest: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("task.toml", manifest)
    return out.getvalue()


def _import_zip(folder: Path) -> None:
    home = HomePaths(folder.with_name("taskhome"))
    try:
        import_task(folder / "task.zip", "mine/torn", home)
    finally:
        shutil.rmtree(home.root, ignore_errors=True)


def _home_with_run(folder: Path) -> None:
    home = HomePaths(folder)
    home.run(RUN).root.mkdir(parents=True)
    write_config(home.run(RUN), RunSpec(task="t", seconds=3.5, options={"num_envs": 3}), "name")
    RunRegistry(home).append(msgspec.structs.replace(run_record(RUN), state="finished", pid=0))
    _log(home.run(RUN).root)


def _archive(folder: Path) -> None:
    _home_with_run(folder / "home")
    archive(HomePaths(folder / "home"), RUN, folder)
    shutil.rmtree(folder / "home")


def _restored(folder: Path) -> None:
    home = HomePaths(folder.with_name("restored"))
    try:
        restore(folder / f"{RUN}.tar.gz", home)
        RunRegistry(home).load()
    finally:
        shutil.rmtree(home.root, ignore_errors=True)


def _manifest_of(data: bytes) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        member = tar.extractfile("archive.json")
        assert member is not None
        return member.read()


def _archive_of(manifest: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as tar:
        info = tarfile.TarInfo("archive.json")
        info.size = len(manifest)
        tar.addfile(info, io.BytesIO(manifest))
    return out.getvalue()


def _starts(folder: Path) -> None:
    """Two demonstrations of five frames each."""
    starts = load_snapshots(TASK / "starts.npz")[:2]
    save_demonstrations(folder / "demo.npz", [Demonstration(start, np.arange(5, dtype=np.uint8)) for start in starts])


def _tiny_state(folder: Path) -> None:
    game = TinyGame()
    game.restart(0)
    game.save_state(folder / "state.npz")


def _load_tiny_state(folder: Path) -> None:
    game = TinyGame()
    game.load_state(folder / "state.npz")
    game.picture()


def _zipped_rom(folder: Path) -> None:
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a.gb", bytes(range(256)) * 64)


def _unzip(folder: Path) -> None:
    for name in roms_in(folder / "a.zip"):
        shutil.rmtree(folder / "out", ignore_errors=True)
        (folder / "out").mkdir()
        shutil.copy(folder / "a.zip", folder / "out" / "a.zip")
        unpack(folder / "out" / "a.zip", name)


SWEEP = {
    "sweep_id": "s",
    "created_at": 1.0,
    "search": "grid",
    "vary": ["learning_rate"],
    "base": RunConfig(task="tiny_goal", total_env_steps=8192).to_dict(),
    "early_stop": {"rule": "halving", "first_rung": 8192},
    "trials": [{"number": 0, "setting": 0, "seed": 1, "values": {"learning_rate": 0.1}, "run_id": "s-0"}],
}


def _sweep(folder: Path) -> None:
    _json("training/sweeps/s/sweep.json", SWEEP)(folder)
    _put(folder / "training/sweeps/s/ended.jsonl", b'{"trial": 0, "reason": "r"}\n')


def _look_at_sweep(folder: Path) -> None:
    load_ended(HomePaths(folder), "s")
    load_sweep(HomePaths(folder), "s")


def _mail(folder: Path) -> None:
    mail = HomePaths(folder).run(RUN).mail
    _put(mail / "0-1-a.request", b'{"cmd":"watch","id":1,"envs":16}')
    _put(mail / "b.answer", b'{"ok": true, "detail": "d"}')
    Mailbox(HomePaths(folder).run(RUN)).post(commands.Pause)


def _take_mail(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("taken"))
    try:
        box = Mailbox(HomePaths(folder.with_name("taken")).run(RUN))
        box.take()
        box.answer_to("b")
    finally:
        shutil.rmtree(folder.with_name("taken"))


def _queue(folder: Path) -> None:
    entry = {"run_id": RUN, "devices": ["cpu"], "priority": 1}
    _json("training/queue.json", {"v": 1, "entries": [entry]})(folder)


def _environment(folder: Path) -> None:
    _json("runners/sb3/environment.json", {"requirements": "ab"})(folder)


def _dataset(folder: Path) -> None:
    box = json.dumps({"type": "Box", "shape": [3], "dtype": "float32"})
    found = {
        "dataset_id": "a/b-v0",
        "observation_space": box,
        "action_space": box,
        "env_spec": json.dumps({"id": "Pendulum-v1"}),
        "total_episodes": 1,
    }
    _json("data/metadata.json", found)(folder)
    _put(folder / "data" / "main_data.hdf5", b"\x89HDF")


def _kept_dataset(folder: Path) -> None:
    sha256 = "0a" * 32
    _json("datasets/0a0a0a0a0a0a0a0a/manifest.json", {"sha256": sha256, "stamp": [1, 2], "checked_at": 1.0})(folder)
    _json("datasets/pins.json", {"a": {"sha256": sha256, "url": "u"}})(folder)
    _json("x.json", {"url": "u", "mark": "m"})(folder)
    _json("training/runs/r/train_log.jsonl", {"versions": {"dataset_sha256": sha256}})(folder)


class _Settings(Settings):
    """What the app remembers: the text of each key is the file's."""

    def __init__(self, folder: Path) -> None:
        self._text = (folder / "value.json").read_text("utf-8", "replace")

    def text(self, key: str, default: str = "") -> str:
        return self._text


def _setting(kind: Callable[[Any], Any]) -> Callable[[Path], Any]:
    return lambda folder: kind(_Settings(folder))


def _arc_state(folder: Path) -> None:
    game = ArcGame.__new__(ArcGame)  # the library's process is not started
    game.__dict__.update(
        info=SimpleNamespace(id="ls20"),
        task="arc/ls20",
        num_starts=4,
        _begin=lambda seed: None,
        act=lambda turn: None,
        _waiting=0,
    )
    game.load_state(folder / "state.json")


def _watches(folder: Path) -> None:
    found = MemoryWatches(HomePaths(folder))
    found.turn_to("ab")
    found.as_text(np.zeros(1 << 15, np.uint8))


class _Opener:
    """Answers every request with a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self, request: Any, timeout: float) -> Any:
        return self._path.open("rb")


def _arc_server(folder: Path) -> None:
    transport = rest.HttpTransport("http://127.0.0.1:1", 1.0)
    transport.__dict__["_opener"] = _Opener(folder / "a.json")
    game = RestGame.__new__(RestGame)
    game.__dict__.update(server="http://x", _ask=transport, _full_id="ls20", _card_id="c", _guid="", _shown=None)
    game.act(1)
    rest._reason((folder / "a.json").read_text("utf-8", "replace"))


def _model_server(folder: Path) -> None:
    model = LanguageModel("http://127.0.0.1:1")
    model._url = (folder / "a.json").as_uri()
    model._once([], 16)


CHAT = {"choices": [{"message": {"content": "A"}}]}
ANSWER = {"frame": [[[0] * 64] * 64], "state": "WIN", "score": 1, "guid": "g"}


def _layout(folder: Path) -> None:
    """The layout that an app of 0.1 kept."""
    with tarfile.open(CHECKOUT / "tests" / "old_homes" / "home-340a303.tar.xz") as archive:
        ini = archive.extractfile("lab/settings/app.ini")
        assert ini is not None
        blobs = read_ini(ini.read().decode("latin-1"))[1]
    _put(folder / "state", blobs["layout/state"])
    _put(folder / "geometry", blobs["layout/geometry"])


def _look_at_layout(folder: Path) -> None:
    docks = ("agentDock", "logDock", "runsDock")
    is_sound_state((folder / "state").read_bytes(), LAYOUT_VERSION, docks)
    geometry = (folder / "geometry").read_bytes()
    if is_sound_geometry(geometry):
        frame_place(geometry)


@functools.cache
def _clocked() -> Cartridge:
    """A game on an MBC3 with RAM and clock."""
    rom = bytearray(ROM.read_bytes())
    rom[0x147], rom[0x149] = 0x10, 2
    return Cartridge.from_bytes(bytes(rom))


def _foreign_states(folder: Path) -> None:
    console = Emulator(_clocked())
    console.save_bess(folder / "s.bess")
    console.save_battery(folder / "s.sav")


def _read_foreign_states(folder: Path) -> None:
    put_battery(read_state(folder / "s.bess", _clocked()), _clocked(), folder / "s.sav")


def _inputs(folder: Path) -> None:
    game = Demonstration(load_snapshots(TASK / "starts.npz")[0], np.ones(4, np.uint8))
    write_inputs(folder, Source("a game", Cartridge.from_file(ROM), [game]), 1, ["0" * 16])


def _unfinished(folder: Path) -> None:
    """A recording as a killed player leaves it."""
    _recording(folder)
    (folder / "rec" / MANIFEST).rename(folder / "rec" / UNFINISHED)


def _recover(folder: Path) -> None:
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder / "rec", copy)
    recover(copy)


def _pinned(folder: Path) -> None:
    settings: Any = _Settings(folder)
    view_memory.ViewMemory.pinned(SimpleNamespace(_settings=settings))  # type: ignore[arg-type]


def _asked(folder: Path) -> None:
    """A home with a run that ended and one that goes on, whose tables are there already."""
    _home_with_run(folder)
    home = HomePaths(folder)
    RunRegistry(home).append(run_record("other", pid=os.getpid()))
    home.run("other").root.mkdir()
    _tables(home)


def _tables(home: HomePaths) -> None:
    lock = RunLock.take(home.run("other"))
    try:
        ask(home, "SELECT * FROM scalars", limit=9, seconds=9.0)
    finally:
        lock.release()


def _ask(folder: Path) -> None:
    """Make the tables as they are, and anew, in a copy: reading changes them."""
    home = HomePaths(Path(shutil.copytree(folder, folder.with_name("asked"))))
    try:
        _tables(home)
        home.runs_cache.unlink()
        _tables(home)
        RunRegistry(home).reconcile()
    finally:
        shutil.rmtree(home.root)


def _arc_game(folder: Path) -> None:
    _json("metadata.json", {"game_id": "ls20-1", "title": "t", "baseline_actions": [3]})(folder)
    _put(folder / "ls20.py", b"")


META, LOG = Part("meta.json", "json"), Part("train_log.jsonl", "lines")
LOG_BYTES = Part("train_log.jsonl")
_DECODERS = (
    Decoder(
        "record",
        _copied(GOLDEN / "records.jsonl", "r"),
        lambda f: [records.decode(line) for line in (f / "r").read_bytes().splitlines()],
        (Part("r", "lines"),),
    ),
    Decoder(
        "old record",
        _copied(GOLDEN / "records_v1.jsonl", "r"),
        lambda f: [records.decode(line) for line in (f / "r").read_bytes().splitlines()],
        (Part("r", "lines"),),
    ),
    Decoder(
        "command",
        _copied(GOLDEN / "commands.jsonl", "c"),
        lambda f: [commands.decode(line) for line in (f / "c").read_bytes().splitlines()],
        (Part("c", "lines"),),
    ),
    Decoder("log", _log, lambda f: (check_log(f / "train_log.jsonl"), read_history(f / "train_log.jsonl")), (LOG,)),
    Decoder("plotted log", _log, lambda f: read_series(f), (LOG,)),
    Decoder(
        "player's config",
        lambda f: write_player_config(f, PlayerConfig(task="tiny_goal", checkpoint="c", mode="sample")),
        read_player_config,
        (Part("config.json", "json"),),
    ),
    Decoder(
        "run's config",
        _home_with_run,
        lambda f: (read_spec(HomePaths(f).run(RUN)).configure(RunConfig), RunConfigs(HomePaths(f)).read(RUN)),
        (Part(f"training/runs/{RUN}/config.json", "json"),),
    ),
    Decoder(
        "checkpoint's manifest",
        _checkpoint,
        lambda f: (checkpoint_manifest.verify(f), load_policy(f), load_trainer_state(f)),
        (META,),
    ),
    Decoder(
        "checkpoint's files",
        _checkpoint,
        _weights,
        (Part("policy.safetensors"), Part("trainer.pt"), Part("machines.bin")),
    ),
    Decoder(
        "recording",
        _recording,
        lambda f: (Replay(f / "rec"), first_difference(f / "rec", TinyGame())),
        (
            Part("rec/recording.json", "json"),
            Part("rec/steps.jsonl", "lines"),
            Part("rec/state.npz", "npz"),
            Part("rec/buttons.bin"),
        ),
    ),
    Decoder("frames", _frames, _look_at_frames, (Part("frames.bin"),)),
    Decoder("receipt", _receipt, _clip(""), (Part("receipt.json", "json"), Part("last_steps.npz", "npz"))),
    Decoder("rollout", _rollout, _clip(""), (META, Part("rollout.jsonl", "lines"), Part("rollout.gif"))),
    Decoder("animation", _gif, _clip("a.gif"), (Part("a.gif"),)),
    Decoder(
        "PyBoy movie", _movie, lambda f: read_movie(f / "m.replay"), (Part("m.replay", "json", ZLIB), Part("m.replay"))
    ),
    Decoder("VBM movie", _vbm, lambda f: read_movie(f / "m.vbm"), (Part("m.vbm"),)),
    Decoder("ARC lines", _arc_lines, _clip("a.jsonl"), (Part("a.jsonl", "lines"),)),
    Decoder(
        "ARC state",
        _json("state.json", {"game": "ls20", "seed": 1, "turns": [[1, 2, 3]]}),
        _arc_state,
        (Part("state.json", "json"),),
    ),
    Decoder("ARC server's answer", _json("a.json", ANSWER), _arc_server, (Part("a.json", "json"),)),
    Decoder(
        "ARC session",
        lambda f: _put(f / "s.json", static.SESSION.read_bytes()),
        lambda f: static.StaticArcTransport(f / "s.json"),
        (Part("s.json", "json"),),
    ),
    Decoder("language model's answer", _json("a.json", CHAT), _model_server, (Part("a.json", "json"),)),
    Decoder(
        "countdown's rows",
        lambda f: _put(f / "r.jsonl", b'{"nums": [3, 4], "target": 7}\n' * 2),
        lambda f: countdown.read_rows(f / "r.jsonl"),
        (Part("r.jsonl", "lines"),),
    ),
    Decoder(
        "VERL's metrics",
        _json("m", {"step": 3, "data": {"a": 1.5}}),
        lambda f: verl.parse_metrics((f / "m").read_text("utf-8", "replace")),
        (Part("m", "json"),),
    ),
    Decoder(
        "TensorBoard",
        _copied(next((GOLDEN / "tensorboard/hp/x").iterdir()), "t/events.out.tfevents.1"),
        _imported("t"),
        (Part("t/events.out.tfevents.1"), Part("t/events.out.tfevents.1", "proto", (first_tfrecord, tfrecords))),
    ),
    Decoder(
        "W&B",
        _copied(GOLDEN / "run.wandb", "run.wandb"),
        _imported("run.wandb"),
        (Part("run.wandb"), Part("run.wandb", "proto", (wandb_record, wandb_log))),
    ),
    Decoder(
        "W&B's history",
        lambda f: (
            _put(f / "history.jsonl", b'{"_step": 1, "loss": 0.5, "_timestamp": 5, "_runtime": 1.5}\n'),
            _json("config.json", {"task": "t", "lr": 0.1})(f),
        ),
        _imported("history.jsonl"),
        (Part("history.jsonl", "lines"), Part("config.json", "json")),
    ),
    Decoder(
        "archived run",
        _archive,
        _restored,
        (Part(f"{RUN}.tar.gz"), Part(f"{RUN}.tar.gz", "json", (_manifest_of, _archive_of))),
    ),
    Decoder(
        "index of runs",
        _asked,
        _ask,
        (
            Part("training/runs.jsonl", "lines"),
            Part(f"training/runs/{RUN}/train_log.jsonl", "lines"),
            Part("training/runs.sqlite"),
        ),
    ),
    Decoder("ARC game", _arc_game, read_game, (Part("metadata.json", "json"),)),
    Decoder(
        "torn log",
        lambda folder: _put(folder / "train_log.jsonl", b'{"v": 2, "type": "upd\n'),
        lambda folder: check_log(folder / "train_log.jsonl"),
        (LOG_BYTES,),
    ),
    Decoder(
        "TensorBoard's tensors",
        _copied(next((GOLDEN / "tensorboard/keras/train").iterdir()), "t/events.out.tfevents.1"),
        _imported("t"),
        (Part("t/events.out.tfevents.1"), Part("t/events.out.tfevents.1", "proto", (first_tfrecord, tfrecords))),
    ),
    Decoder("queue", _queue, lambda f: RunQueue(HomePaths(f)).entries(), (Part("training/queue.json", "json"),)),
    Decoder(
        "mail",
        _mail,
        _take_mail,
        (Part(f"training/runs/{RUN}/mail/0-1-a.request", "json"), Part(f"training/runs/{RUN}/mail/b.answer", "json")),
    ),
    Decoder(
        "sweep",
        _sweep,
        _look_at_sweep,
        (Part("training/sweeps/s/sweep.json", "json"), Part("training/sweeps/s/ended.jsonl", "lines")),
    ),
    Decoder(
        "task",
        _copied(TASK / "task.toml", "tasks/mine/a/task.toml"),
        lambda f: (list_tasks(HomePaths(f)), load_task(f / "tasks/mine/a")),
        (Part("tasks/mine/a/task.toml", "toml"),),
    ),
    Decoder(
        "task's archive", _task_zip, _import_zip, (Part("task.zip"), Part("task.zip", "toml", (_task_of, _zip_of)))
    ),
    Decoder(
        "goal",
        lambda f: save_goal(f / "goal.npz", np.ones((1, 72, 80), np.uint8), np.ones((1, 72, 80), bool)),
        lambda f: (load_goal(f / "goal.npz"), read_template(f / "goal.npz")),
        (Part("goal.npz", "npz"),),
    ),
    Decoder(
        "demonstrations",
        _starts,
        lambda f: (is_demonstration(f / "demo.npz"), load_demonstrations(f / "demo.npz")),
        (Part("demo.npz", "npz"),),
    ),
    Decoder(
        "start states",
        _copied(TASK / "starts.npz", "starts.npz"),
        lambda f: load_snapshots(f / "starts.npz"),
        (Part("starts.npz"),),
    ),
    Decoder(
        "input scripts",
        _json("starts.json", [{"wait_frames": 3, "actions": "A UP START"}]),
        lambda f: _both(lambda: read_scripts(f / "starts.json", CODEC), lambda: read_inputs(f / "starts.json", CODEC)),
        (Part("starts.json", "json"),),
    ),
    Decoder("state of the tiny grid", _tiny_state, _load_tiny_state, (Part("state.npz", "npz"),)),
    Decoder(
        "profile",
        _copied(next((ASSETS / "profiles").glob("*.toml")), "p.toml"),
        load_profiles,
        (Part("p.toml", "toml"),),
    ),
    Decoder(
        "storage profiles",
        lambda f: _put(f / "storage_profiles.toml", TEMPLATE.replace("# [", "[").replace("# fo", "fo").encode()),
        lambda f: read_storage(HomePaths(f)),
        (Part("storage_profiles.toml", "toml"),),
    ),
    Decoder(
        "agreement with W&B",
        _json("wandb.json", {"project": "p", "name": "n", "rows": 3, "files": {"a.gif": True}}),
        lambda f: read_wandb(RunPaths(f)),
        (Part("wandb.json", "json"),),
    ),
    Decoder(
        "job on a cluster",
        _json("job.json", {"job": "raysubmit_1", "done": False}),
        lambda f: unread_job(RunPaths(f)),
        (Part("job.json", "json"),),
    ),
    Decoder(
        "registered ROMs",
        _json(
            "settings/roms.json",
            {"ab" * 32: {"path": "x.gb", "title": "T", "size": 32768, "warnings": ["w"]}, "cd" * 32: "y"},
        ),
        lambda f: registered_roms(HomePaths(f)),
        (Part("settings/roms.json", "json"),),
    ),
    Decoder("zipped ROM", _zipped_rom, _unzip, (Part("a.zip"),)),
    Decoder("ROM", _copied(ROM, "a.gb"), lambda f: Cartridge.from_file(f / "a.gb"), (Part("a.gb"),)),
    Decoder(
        "job of run-many",
        _json("jobs.json", {"jobs": [{"id": "a/b", "rom": "game.gb", "frames": 20}]}),
        lambda f: read_jobs(f / "jobs.json"),
        (Part("jobs.json", "json"),),
    ),
    Decoder(
        "text episode",
        _json(
            "e.json",
            {
                "task": {"question": "q"},
                "is_correct": True,
                "trajectories": [{"reward": 1.0, "steps": [{"chat_completions": [{"role": "user", "content": "c"}]}]}],
            },
        ),
        lambda f: read_episode(f / "e.json"),
        (Part("e.json", "json"),),
    ),
    Decoder(
        "guest's environment",
        _environment,
        lambda f: RunnerEnvironment("sb3", (), HomePaths(f)).stale(),
        (Part("runners/sb3/environment.json", "json"),),
    ),
    Decoder(
        "Minari dataset",
        _dataset,
        lambda f: check_spaces(DatasetCache(HomePaths(f)).find(str(f)), ""),
        (Part("data/metadata.json", "json"),),
    ),
    Decoder(
        "kept dataset",
        _kept_dataset,
        lambda f: (DatasetCache(HomePaths(f)).unused(), _pins(DatasetCache(HomePaths(f))), _mark(f / "x", "u")),
        (
            Part("datasets/0a0a0a0a0a0a0a0a/manifest.json", "json"),
            Part("datasets/pins.json", "json"),
            Part("x.json", "json"),
            Part("training/runs/r/train_log.jsonl", "json"),
        ),
    ),
    Decoder(
        "watched memory",
        _json("settings/watches.json", {"ab": [{"address": 0xC000, "kind": "u8", "name": "n"}]}),
        _watches,
        (Part("settings/watches.json", "json"),),
    ),
    Decoder(
        "notes on runs",
        _json("settings/run_notes.json", {RUN: {"tags": ["a"], "text": "t"}}),
        lambda f: RunNotes(HomePaths(f)),
        (Part("settings/run_notes.json", "json"),),
    ),
    Decoder(
        "settings",
        _json("settings/app.json", {"v": 1, "values": {"view/theme": "dark"}, "blobs": {"a": "AA=="}}),
        lambda f: Settings(HomePaths(f)).decoded("a/b", str, ""),
        (Part("settings/app.json", "json"),),
    ),
    Decoder(
        "settings of before",
        lambda f: _put(f / "app.ini", b"[view]\ntheme=dark\na%20b=@ByteArray(\\x1\\0)\n"),
        lambda f: read_ini((f / "app.ini").read_text("latin-1")),
        (Part("app.ini"),),
    ),
    Decoder("states of other emulators", _foreign_states, _read_foreign_states, (Part("s.bess"), Part("s.sav"))),
    Decoder(
        "inputs of labelled frames",
        _inputs,
        lambda f: read_labelled(f, HomePaths(f / "home")),
        (Part("inputs.json", "json"), Part("inputs.npz", "npz")),
    ),
    Decoder(
        "list of test ROMs",
        _json("list.json", {"a": [{"rom": "a.gb", "memory": [{"address": 65520, "value": 1}]}]}),
        lambda f: read_list(f / "list.json", f, f),
        (Part("list.json", "json"),),
    ),
    Decoder("layout", _layout, _look_at_layout, (Part("state"), Part("geometry"))),
    Decoder(
        "unfinished recording",
        _unfinished,
        _recover,
        (Part("rec/unfinished.json", "json"), Part("rec/steps.jsonl", "lines")),
    ),
    Decoder(
        "first picture of a task",
        _copied(TASK / "starts.npz", "starts.npz"),
        lambda f: read_pictures(f / "starts.npz", "pictures", 1),
        (Part("starts.npz", "npz"),),
    ),
    Decoder("pinned runs", _json("value.json", ["a"]), _pinned, (Part("value.json", "json"),)),
    Decoder("plots", _json("value.json", ["a"]), _setting(PlotChoices), (Part("value.json", "json"),)),
    Decoder(
        "columns",
        _json("value.json", {"fields": ["a"], "widths": {"a": 3}, "sort": ["a", True]}),
        _setting(lambda s: RunColumns(s, RunConfigs(HomePaths(Path("/nowhere"))))),
        (Part("value.json", "json"),),
    ),
    Decoder("saved views", _json("value.json", {"v": {"a": 1}}), _setting(SavedViews), (Part("value.json", "json"),)),
)
DECODERS = {found.name: found for found in _DECODERS}
