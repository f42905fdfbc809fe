"""Virtual environment of a runner of another library, below the home; installed on request, completely or not at all.

    <home>/envs/<runner>/            the environment
                         dmglab/     links to our packages, on its path by one .pth file
                         environment.json
    <home>/envs/.<runner>.partial/   an unfinished one; `install` removes it

Our code is linked, not installed: the environment then runs the same code as the program that started it, an update of
ours needs no second install, and none of our own site-packages (with other pins) becomes visible there. This module
imports no heavy library: the app may import it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import importlib.util
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer_core.lab.paths import ASSETS, HomePaths, child_folder
from trainer_core.lab.trust import ENVIRONMENT, ENVIRONMENTS, require_own_environment, sha256_of, trust
from trainer_core.wire.decoding import parsing, read_json
from trainer_core.wire.environment import child_environment, chosen_torch
from trainer_core.wire.errors import ConfigError, FailureError, LabError
from trainer_core.wire.process_guard import FAMILY, end_family, family, kill_group

PROBE_PATIENCE_S = 30.0
"""Seconds that `probe` waits. It takes a tenth of a second, more on a busy computer; nothing blocks meanwhile: the
app shows that it checks."""

PROBE = """
import ctypes, importlib.util as util, json, platform, sys
from importlib import metadata
modules = {}
for name in sys.argv[1:]:
    try:
        spec = util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    try:
        version = metadata.version({"warp": "warp-lang"}.get(name, name))
    except metadata.PackageNotFoundError:
        version = "?"
    modules[name] = version if spec else None
gpus = []
try:
    cuda = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
        for index in range(count.value):
            name, size = ctypes.create_string_buffer(100), ctypes.c_size_t()
            cuda.cuDeviceGetName(name, 100, index)
            cuda.cuDeviceTotalMem_v2(ctypes.byref(size), index)
            gpus.append({"name": name.value.decode(), "bytes": size.value})
except OSError:
    pass
print(json.dumps({"python": platform.python_version(), "modules": modules, "gpus": gpus}))
"""

PACKAGES = Path(__file__).resolve().parents[2]
"""Folder that holds our packages: the checkout, or `dmglab` when installed."""
RUNNERS = PACKAGES / "trainer_core" / "runners"
"""Folder with one folder for each of our runners, with its pins."""
TORCH = "torch==2.13.0"
"""The version of scripts/constraints.txt; without a hash, so that any wheel or index that the user chose (CPU, CUDA)
may serve it."""
CPU_PLACES = (["--no-index"], ["--retries=1", "--timeout=10", "--index-url=https://download.pytorch.org/whl/cpu"])
"""Options of pip for a build without CUDA, as in scripts/setup.sh: first its own settings, which may name a wheel on
the disk, then PyTorch's index."""
PYTHONS = ((3, 11), (3, 14))
"""Python versions: from the first, below the second."""
MANAGED = (".pyenv/versions/*", ".local/share/uv/python/*")
"""Patterns below the user's folder where version managers keep interpreters that are not on PATH."""
VERSION_S = 20.0
"""Time limit for an interpreter to print its version."""
LEASH = "trainer_core.wire.process_guard"
"""Module that runs a tool and ends it with this process; it runs as a process and is not imported here."""
NEEDED_BYTES, NEEDED_WITHOUT_TORCH = 3 << 30, 1 << 30

Tell = Callable[[float, str], None]
"""Type of `tell(share, words)`, which reports progress: share done, from 0 to 1, and the present step in words."""


@dataclass(frozen=True, slots=True)
class RunnerEnvironment:
    """Virtual environment of one runner: its folder and the packages that belong in it."""

    runner: str
    modules: tuple[str, ...]
    home: HomePaths
    pythons: tuple[tuple[int, int], tuple[int, int]] = PYTHONS
    """Python versions: from the first, below the second."""
    torch: bool = True
    """True if torch is installed first."""
    pins: Path | None = None
    """Requirements file with hashes; None = the file of our own runner with this id."""
    linked: tuple[Path, ...] = ()
    """Packages that are linked besides ours: a plug-in's own."""

    @property
    def folder(self) -> Path:
        return self.home.root / ENVIRONMENTS / self.runner

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def partial(self) -> Path:
        """Folder of an unfinished environment."""
        return self.folder.with_name(f".{self.runner}.partial")

    @property
    def requirements(self) -> Path:
        return self.pins or RUNNERS / self.runner / "requirements.txt"

    @property
    def exists(self) -> bool:
        return self.python.exists()

    def stale(self) -> str:
        """Return the reason why the environment must be installed again; empty when it fits this version of the
        program."""
        path = self.folder / ENVIRONMENT
        try:
            require_own_environment(self.python)
            with parsing(path):
                made = read_json(path, dict[str, Any])
        except LabError:
            return "no `dmglab runner install` of yours made it"
        if made.get("requirements") != _digest(self.requirements):
            return "it was made for other requirements than this version's"
        if not (self.folder / "dmglab" / "trainer_core" / "__init__.py").is_file():
            return "DMG Lab has moved since it was made"
        for package in self.linked:
            if not (self.folder / "dmglab" / package.name).exists():
                return f"{package.name} has moved since it was made"
        return ""

    def probe(self) -> dict[str, Any]:
        """Start the environment's interpreter and return the versions that it reports.

        Raises LabError if it fails, or takes more than `PROBE_PATIENCE_S`.
        """
        require_own_environment(self.python)
        said = ""
        try:
            done = subprocess.run(
                [str(self.python), "-P", "-c", PROBE, *self.modules],
                capture_output=True,
                text=True,
                timeout=PROBE_PATIENCE_S,
                check=False,
                env=child_environment(str(self.python)),
            )
            said = done.stderr.strip()
            return json.loads(done.stdout)
        except OSError as error:
            raise LabError(f"{self.python}: {error.strerror}; {self.advice}") from None
        except subprocess.TimeoutExpired:
            raise FailureError(f"{self.python} did not answer within {PROBE_PATIENCE_S:g} s; try again") from None
        except ValueError:
            last = (said or "it said nothing").splitlines()[-1]
            raise LabError(f"{self.python}: {last}; {self.advice}") from None

    def check(self) -> dict[str, Any]:
        """Return the versions of the environment's Python and modules.

        Raises LabError naming the fault and the command that repairs it.
        """
        if not self.exists:
            raise LabError(f"{self.runner} has no environment at {self.folder}; {self.advice}")
        if reason := self.stale():
            raise LabError(f"{self.folder}: {reason}; {self.advice}")
        found = self.probe()
        missing = [name for name in self.modules if found["modules"].get(name) is None]
        if missing:
            raise LabError(f"{self.folder} lacks {', '.join(missing)}; {self.advice}")
        return found

    @property
    def needed_bytes(self) -> int:
        """Bytes of free disk space that an installation of this environment needs."""
        return NEEDED_BYTES if self.torch else NEEDED_WITHOUT_TORCH

    @property
    def advice(self) -> str:
        return f"run: {install_command(self.runner)}"

    def install(self, tell: Tell, python: str = sys.executable) -> None:
        """Install the environment, replacing an older one once the new one is complete.

        Raises LabError; then, and on KeyboardInterrupt, the old one stays unchanged.
        """
        if os.sep in python:
            python = os.path.abspath(python)
        with self._claimed() as claim, _terminated_as_interrupt():
            partial = self.partial
            _delete(partial)
            try:
                self._make(partial, find_python(python, self.pythons), tell, claim)
                self._replace(partial)
            except OSError as error:
                raise LabError(_disk_words(error, partial)) from None
            finally:
                _delete_undisturbed(partial)
            tell(1.0, f"ready: {self.folder}")

    def remove(self) -> None:
        """Remove the environment. Raises LabError when there is none."""
        if not self.folder.exists():
            raise LabError(f"{self.runner} has no environment at {self.folder}")
        with self._claimed():
            self._retire()

    def discard(self) -> None:
        """Remove the partial folder of a killed installation. Raises LabError while an installation is running."""
        if self.partial.exists():
            with self._claimed():
                _delete(self.partial)

    # -- inside -----------------------------------------------------------------------------

    def _make(self, partial: Path, python: str, tell: Tell, claim: int) -> None:
        tell(0.0, f"making {self.folder} with {python}")
        _require_python(python, self.pythons)
        partial.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(partial.parent).free
        if free < self.needed_bytes:
            raise LabError(
                f"{partial.parent} has {free / 2**30:.1f} GiB free, an environment needs "
                f"{self.needed_bytes >> 30}; free some space or choose another --home"
            )
        _run([python, "-m", "venv", str(partial)], lambda line: None, claim)
        # Not resolve(): that would follow the link to the interpreter outside the environment.
        pip = [
            str(partial / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--no-input",
            "--disable-pip-version-check",
            "--progress-bar=off",
        ]
        count = len(re.findall(r"(?m)^[a-z0-9][^ =]*==", self.requirements.read_text()))
        done = 0.05
        if self.torch:
            tell(done, f"installing {TORCH} (the largest part)")
            pip_torch = [*pip, "--only-binary=:all:", TORCH]
            for place in CPU_PLACES if wants_cpu_torch() else ():
                with contextlib.suppress(LabError):  # pip's own index has it as well
                    _run([*pip_torch, "--no-deps", *place], _counter(tell, done, 0.5, 2), claim)
                    break
            _run(pip_torch, _counter(tell, 0.5, 0.6, 12), claim)
            done = 0.6
        tell(done, f"installing {count} packages by their hashes")
        hashed = ["--require-hashes", "--no-deps", "--only-binary=:all:"]
        counter = _counter(tell, done, 0.95, count)
        _run([*pip, *hashed, "-r", str(self.requirements)], counter, claim)
        tell(0.95, "linking DMG Lab")
        _link_packages(partial, self.linked)
        facts = {
            "runner": self.runner,
            "requirements": _digest(self.requirements),
            "torch": TORCH,
            "made_at": time.time(),
            "made_by": secrets.token_hex(16),
        }
        (partial / ENVIRONMENT).write_text(json.dumps(facts) + "\n")

    def _replace(self, partial: Path) -> None:
        trust(sha256_of(partial / ENVIRONMENT))
        self._retire()
        partial.rename(self.folder)

    def _retire(self) -> None:
        if self.folder.exists():
            doomed = self.folder.with_name(f".{self.runner}.old")
            _delete(doomed)
            self.folder.rename(doomed)
            _delete(doomed)

    @contextlib.contextmanager
    def _claimed(self) -> Iterator[int]:
        """Hold the lock for changing the environment; yield its descriptor. Raises LabError if another process has it.

        The kernel releases it when this process and all tools that inherited the descriptor have ended.
        """
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            claim = (self.folder.parent / f".{self.runner}.lock").open("w")
        except OSError as error:
            raise LabError(f"{self.folder.parent}: {error.strerror}; choose another --home") from None
        with claim:
            try:
                fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise LabError(_disk_words(error, self.folder)) from None
                raise LabError(f"{self.folder} is being made by another process; wait for it") from None
            yield claim.fileno()


class OurEnvironment(RunnerEnvironment):
    """Environment in which DMG Lab itself runs, for a runner that needs no other; it is never installed or removed."""

    @property
    def folder(self) -> Path:
        return Path(sys.prefix)

    @property
    def python(self) -> Path:
        return Path(sys.executable)

    def stale(self) -> str:
        return ""

    @property
    def advice(self) -> str:
        return f"run: {self.python.name} -m pip install {' '.join(self.modules)}"

    def install(self, tell: Tell, python: str = sys.executable) -> None:
        raise LabError(f"{self.runner} runs in DMG Lab's own environment")

    def remove(self) -> None:
        raise LabError(f"{self.runner} runs in DMG Lab's own environment")


def install_command(runner: str) -> str:
    return f"dmglab runner install {runner}"


def find_python(python: str, pythons: tuple[tuple[int, int], tuple[int, int]]) -> str:
    """Return `python`, or, if it is ours and unsuitable, another suitable interpreter on this computer.

    Each candidate is started: a version manager's `python3.12` may exist and fail. Without a suitable one `python` is
    returned; the caller refuses it.
    """
    low, high = pythons
    if python != sys.executable or low <= sys.version_info[:2] < high:
        return python
    for minor in range(high[1] - 1, low[1] - 1, -1):
        name = f"python{low[0]}.{minor}"
        kept = [path for root in MANAGED for path in Path.home().glob(f"{root}/bin/{name}")]
        for found in (*(Path(folder, name) for folder in os.get_exec_path()), *sorted(kept)):
            if found.is_file() and _version(str(found)) == (low[0], minor):
                return str(found)
    return python


def _version(python: str) -> tuple[int, ...]:
    """Return (major, minor) of an interpreter; empty for one that does not start."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run(
            [python, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            timeout=VERSION_S,
            env=child_environment(python),
        )
        return tuple(int(part) for part in done.stdout.split())
    except (OSError, subprocess.SubprocessError, ValueError):
        return ()


def _require_python(python: str, pythons: tuple[tuple[int, int], tuple[int, int]]) -> None:
    low, high = pythons
    version = _version(python)
    if not version:
        raise ConfigError(f"{python} is no Python that starts; choose another with --python")
    if not low <= version < high:
        raise ConfigError(
            f"{python} is Python {version[0]}.{version[1]}; {low[0]}.{low[1]} to "
            f"{high[0]}.{high[1] - 1} are known to work: install one, or choose one with --python"
        )


def wants_cpu_torch() -> bool:
    """Return whether a build of torch without CUDA, smaller by 4 GB, is enough on this machine.

    DMGLAB_TORCH decides, or else the build that is installed beside this program, or else whether there is an NVIDIA
    driver.
    """
    if chosen := chosen_torch():
        return chosen == "cpu"
    found = importlib.util.find_spec("torch")
    try:
        version = Path((found and found.origin) or "").with_name("version.py").read_text()
    except (OSError, ValueError):
        return not Path("/proc/driver/nvidia/version").exists()
    return not re.search(r"^cuda\b.*= *'", version, re.MULTILINE)


def _link_packages(environment: Path, more: tuple[Path, ...]) -> None:
    """Link our packages and those of `more` into the environment, so that its Python imports them and nothing beside
    them."""
    shelf = environment / "dmglab"
    shelf.mkdir()
    for package in (PACKAGES / "trainer_core", PACKAGES / "emulator", *more):
        (shelf / package.name).symlink_to(package)
    (shelf / "dmglab_assets").symlink_to(ASSETS)
    (site,) = environment.glob("lib/python3*/site-packages")
    # Relative to site-packages: the folder is renamed once it is complete.
    (site / "dmglab.pth").write_text("../../../dmglab\n")


def _run(argv: list[str], on_line: Callable[[str], None], claim: int) -> None:
    """Run one tool to its end, passing each line to `on_line`. Raises LabError in one line.

    It runs under `process_guard`, so that it and its children end with this process, and inherits `claim`: until the
    last of them has ended no other process gets the lock.
    """
    owned = family()
    process = subprocess.Popen(
        [sys.executable, "-m", LEASH, *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=child_folder(),
        start_new_session=True,
        pass_fds=(claim,),
        env=child_environment("", PYTHONUNBUFFERED="1", PIP_NO_COLOR="1", **owned),
    )
    said: list[str] = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            said = [*said[-60:], line.rstrip()]
            on_line(line)
    except BaseException:
        kill_group(process.pid)
        end_family(owned[FAMILY])
        raise
    finally:
        code = process.wait()
    if code:
        raise FailureError(explain(said, argv))


REASONS = (
    ("No space left on device", "the disk is full; free some space and install again"),
    ("ensurepip is not", "this Python lacks venv; install python3-venv (Debian) and try again"),
    (
        "DO NOT MATCH THE HASHES",
        "a downloaded file is not the one that was reviewed; try again, and if it stays so do not install it",
    ),
    ("ProxyError", "the proxy refuses; look at HTTPS_PROXY, then install again"),
    ("NewConnectionError", "no network; connect and install again"),
    ("NameResolutionError", "no network; connect and install again"),
    ("Connection refused", "no network; connect and install again"),
    ("Network is unreachable", "no network; connect and install again"),
    ("Read timed out", "the network is too slow; install again"),
    ("(from versions: none)", "no package index answered; look at the network and the proxy, then install again"),
)
"""Messages of pip, each with the correction for the user."""


def explain(said: list[str], argv: list[str]) -> str:
    """Return one line that explains the failure of the command `argv`, from the lines `said` that it printed."""
    text = "\n".join(said)
    errors = [line for line in said if line.startswith("ERROR:")]
    for sign, words in REASONS:
        if sign in text:
            return words
    if errors:
        return errors[0].removeprefix("ERROR:").strip()
    return f"{' '.join(argv[:4])} failed: {said[-1] if said else 'it said nothing'}"


def _counter(tell: Tell, low: float, high: float, count: int) -> Callable[[str], None]:
    """Return a callback for each line that pip prints; it reports progress to `tell`.

    The share rises from `low` to `high` as about `count` packages are fetched and unpacked.
    """
    seen = 0

    def on_line(line: str) -> None:
        nonlocal seen
        words = line.split()
        if words[:1] == ["Collecting"]:
            seen += 1
            share = low + (high - low) * 0.7 * min(1.0, seen / count)
            tell(share, f"fetching {words[1]}")
        elif "Retrying (" in line:
            share = low + (high - low) * 0.7 * min(1.0, seen / count)
            tell(share, "the package index does not answer; trying again")
        elif line.startswith("Installing collected packages"):
            tell(low + (high - low) * 0.8, "unpacking")

    return on_line


@contextlib.contextmanager
def _terminated_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C: the installation ends and removes its partial folder."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old)


def _delete_undisturbed(folder: Path) -> None:
    """Delete a folder while SIGINT and SIGTERM are ignored: users often press Ctrl-C twice."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    old = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        _delete(folder)
    finally:
        for number, handler in zip(numbers, old, strict=True):
            signal.signal(number, handler)


def _delete(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes() + TORCH.encode()).hexdigest()


def _disk_words(error: OSError, folder: Path) -> str:
    return f"{error.filename or folder}: {error.strerror}; free some space or choose another --home"
