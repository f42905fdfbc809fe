"""Datasets by name from a server in this process: cut, silent, wrong; kept, checked and deleted by the command."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.loopback import serving
from trainer_core.cli.main import main
from trainer_core.lab import dataset_download, datasets
from trainer_core.lab.dataset_download import address_of, download
from trainer_core.lab.datasets import SIGNATURE, DatasetCache, check_space
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.errors import ConfigError

HALF = "/gym_mujoco_v2/halfcheetah_medium-v2.hdf5"
NAME = "halfcheetah-medium-v2"
DATA = SIGNATURE + bytes(range(256)) * 64


class Server(ThreadingHTTPServer):
    """Files by path; `cut` bytes of a reply are sent before the connection closes, `hangs` sends nothing more."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {HALF: DATA}
        self.cut = 0
        self.hangs = threading.Event()
        self.over = threading.Event()
        self.ranges: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server  # type: ignore[assignment]

    def do_GET(self) -> None:
        data = self.server.files.get(self.path)
        if data is None:
            return self.send_error(404)
        asked, mark = self.headers.get("Range", ""), f'"{hashlib.sha256(data).hexdigest()[:8]}"'
        self.server.ranges.append(asked)
        begin = int(asked[6:-1]) if asked and self.headers.get("If-Range") == mark else 0
        self.send_response(206 if begin else 200)
        self.send_header("ETag", mark)
        self.send_header("Content-Length", str(len(data) - begin))
        self.end_headers()
        rest = data[begin:]
        self.wfile.write(rest[: self.server.cut or len(rest)])
        if self.server.hangs.is_set():
            self.wfile.flush()
            self.server.over.wait(10)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Server()) as made:
        yield made
        made.over.set()


@pytest.fixture
def cache(tmp_path: Path) -> DatasetCache:
    return DatasetCache(HomePaths(tmp_path / "home"))


@pytest.fixture
def fetch(cache: DatasetCache, server: Server) -> Callable[..., Any]:
    def fetched(name: str = NAME, **options: Any) -> Any:
        return download(cache, name, options.pop("tell", lambda share, words: None), mirror=server.address, **options)

    return fetched


def left_in(cache: DatasetCache) -> list[str]:
    return sorted(path.name for path in cache.root.iterdir() if path.name.startswith("."))


def test_names_of_minari_and_d4rl_are_addresses() -> None:
    minari = address_of("D4RL/pen/human-v2")
    assert minari.data.endswith("/farama-minari/D4RL/resolve/main/pen/human-v2/data/main_data.hdf5")
    assert minari.metadata.endswith("/pen/human-v2/data/metadata.json")
    assert address_of(NAME).data.endswith(HALF)
    assert address_of("hopper-medium-replay-v1").data.endswith("/gym_mujoco_v1/hopper_medium_replay-v1.hdf5")
    assert address_of("pen-human-v1").data.endswith("/hand_dapg_v1/pen-human-v1.hdf5")
    assert "Ant_maze_big-maze_noisy_multistart_True" in address_of("antmaze-medium-play-v2").data
    for name in ("", "pen", "antmaze-none-v2", "../x/y-v0", "a/../../b-v1", "https://x/y.zip"):
        with pytest.raises(ConfigError, match=r"no dataset is called|ends with .hdf5"):
            address_of(name)


def test_a_download_reports_is_kept_and_pinned_once(
    cache: DatasetCache, server: Server, fetch: Callable[..., Any]
) -> None:
    shares: list[float] = []
    kept, is_new = fetch(tell=lambda share, words: shares.append(share))
    assert (kept.name, kept.state, kept.size_bytes, is_new) == (NAME, "intact", len(DATA), True)
    assert (shares[-1], left_in(cache)) == (1.0, [])
    found = cache.find(NAME, hashlib.sha256(DATA).hexdigest())
    assert (found.is_d4rl, found.environment) == (True, "HalfCheetah-v5")
    assert (fetch()[1], len(server.ranges)) == (False, 1), "it is there already"
    cache.remove(kept)
    server.files[HALF] = SIGNATURE + b"another"
    with pytest.raises(ConfigError, match=r"was pinned by the first download: .* nothing was kept"):
        fetch()
    assert (cache.entries(), left_in(cache)) == ([], [])
    assert fetch(repin=True)[1]
    with pytest.raises(ConfigError, match="was asked for"):
        fetch(repin=True, sha256="0" * 12)


def test_a_cut_download_goes_on_where_it_was(cache: DatasetCache, server: Server, fetch: Callable[..., Any]) -> None:
    server.cut = len(DATA) // 8
    with pytest.raises(ConfigError, match=r"the connection was cut after .* the same command goes on from there"):
        fetch()
    assert server.ranges[:2] == ["", f"bytes={server.cut}-"], "it continued at once, until its tries were used up"
    server.cut = 0
    assert fetch()[0].sha256 == hashlib.sha256(DATA).hexdigest()
    assert server.ranges[-1] == f"bytes={5 * (len(DATA) // 8)}-"


def test_a_file_that_changed_since_the_cut_begins_anew(server: Server, fetch: Callable[..., Any]) -> None:
    server.cut = 100
    with pytest.raises(ConfigError):
        fetch()
    server.cut, server.files[HALF] = 0, SIGNATURE + b"new"
    assert fetch()[0].sha256 == hashlib.sha256(SIGNATURE + b"new").hexdigest()


def test_what_is_no_dataset_is_one_line(
    cache: DatasetCache, server: Server, fetch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files |= {HALF: b"<html>log in</html>", "/a/resolve/main/b-v0/data/metadata.json": b"{"}
    for name, words in ((NAME, "is no HDF5 file"), ("pen-human-v1", "answers 404"), ("a/b-v0", "no metadata")):
        with pytest.raises(ConfigError, match=words) as error:
            fetch(name)
        assert "\n" not in str(error.value)
    assert cache.entries() == []
    monkeypatch.setattr(dataset_download, "PATIENCE_S", 0.1)
    server.files[HALF], server.cut = DATA, 10
    server.hangs.set()
    with pytest.raises(ConfigError, match="timed out after"):
        fetch()
    monkeypatch.setattr(dataset_download, "SPARE_BYTES", 1 << 60)
    with pytest.raises(ConfigError, match="GiB free"):
        fetch()


def test_damage_is_seen_by_size_and_time_and_by_the_hash(cache: DatasetCache, fetch: Callable[..., Any]) -> None:
    kept, _ = fetch()
    kept.file.write_bytes(DATA[:-1] + b"x")
    assert cache.entry(NAME).state == "changed"
    with pytest.raises(ConfigError, match="its manifest says"):
        cache.find(NAME, quick=True)
    assert cache.verify(kept).state == "damaged"
    kept.file.write_bytes(DATA)
    assert cache.verify(kept).state == "intact"
    kept.file.unlink()
    assert cache.entry(NAME).state == "missing"


def test_the_command_lists_verifies_and_deletes(
    cache: DatasetCache, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*argv: str, code: int = 0) -> dict[str, Any]:
        assert main(["datasets", *argv, "--home", str(cache.home.root)]) == code
        return json.loads(capsys.readouterr().out)

    server.files |= {"/a/resolve/main/b-v0/data/metadata.json": b'{"total_steps": 2}'}
    server.files |= {"/a/resolve/main/b-v0/data/main_data.hdf5": SIGNATURE}
    said("download", NAME, "--mirror", server.address)
    said("download", "a/b-v0", "--mirror", server.address)
    assert [row["name"] for row in said("list")["datasets"]] == ["a/b-v0", NAME]
    used = cache.entry(NAME)
    run = cache.home.runs / "r"
    run.mkdir(parents=True)
    (run / "train_log.jsonl").write_text(json.dumps({"versions": {"dataset_sha256": used.sha256}}) + "\n")
    assert [row["name"] for row in said("prune")["datasets"]] == ["a/b-v0"]
    assert len(cache.entries()) == 2, "nothing goes without --yes"
    used.file.write_bytes(b"damage")
    assert f"{NAME} (" in said("verify", code=1)["error"]
    said("prune", "--yes")
    said("prune", NAME, "--yes")
    assert said("list")["datasets"] == []
    assert "no dataset" in said("verify", "x", code=2)["error"]


def test_a_dataset_that_does_not_fit_is_told_before_the_run(
    cache: DatasetCache, fetch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch()
    found = cache.find(NAME, quick=True)
    assert check_space(found, cache.home, 1 << 40).status == "ok"
    assert check_space(found, cache.home, 0).status == "warn"
    monkeypatch.setattr(datasets, "SPARE_BYTES", 1 << 60)
    assert check_space(found, cache.home, 1 << 61).status == "fail"
