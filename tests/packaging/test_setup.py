"""./run, ./test and scripts/setup.sh on machines that are made up: what they call, what they say.

The checkout's `.venv/bin/python` is a stand-in that writes down what pip is asked for; programs
that a test makes up come first on PATH. No test here installs anything.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
LOCKS = ("scripts/lock.txt", "scripts/lock-dev.txt")
PACKED = (
    "run",
    "scripts/setup.sh",
    "scripts/installed.py",
    "scripts/constraints.txt",
    *LOCKS,
    "pyproject.toml",
    "setup.py",
    "gui/__init__.py",
    "gui/shell/qt_check.py",
)
TORCH = "torch==2.13.0"
PYTORCH = "--index-url https://download.pytorch.org/whl/cpu"
LOCKED = "-r scripts/lock.txt"

STAND_IN = f"""#!/bin/sh
state="$(dirname "$0")/state"
case "$*" in
"-m pip --version" | "-m venv"*) ;;
"-m pip install"*)
    echo "$*" >>"$state/pip"
    echo "$*" | grep -q -e "$(cat "$state/fails")" && exit 1
    case "$*" in
    *--require-hashes*) sed -i /locked/d "$state/missing" ;;
    *torch==*) sed -i /torch/d "$state/missing" ;;
    esac ;;
"scripts/installed.py exact"*) tr '\\n' ' ' <"$state/missing" ;;
"scripts/installed.py usable"*) cat "$state/unusable" ;;
"scripts/installed.py torch") cat "$state/build" ;;
*QApplication*) cat "$state/qt"; exit "$(test -s "$state/qt" && echo 134 || echo 0)" ;;
"-m gui"*|*"cli.main demo"*) echo "started $*" ;;
*) exec {shlex.quote(sys.executable)} "$@" ;;
esac
"""


@dataclass
class Machine:
    """A made-up machine with a checkout on it."""

    checkout: Path
    programs: Path
    state: Path

    def program(self, name: str, text: str = "exit 0") -> None:
        """Put a program of this name first on PATH; its calls are written down."""
        path = self.programs / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>{shlex.quote(str(self.state / "called"))}\n{text}\n')
        path.chmod(0o755)

    def set_up(self, *locks: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Install as ./run or ./test do."""
        code = '. "$CHECKOUT/scripts/setup.sh"; make_venv; install_requirements'
        environment |= {"CHECKOUT": str(self.checkout), "LOCKS": " ".join(locks or LOCKS[:1])}
        return self.call("sh", "-c", code, **environment)

    def call(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.programs}:{os.environ['PATH']}"
        return subprocess.run(
            words,
            env={"PATH": path, "HOME": str(self.state), **environment},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.state / name).write_text(text)

    def pip_calls(self) -> list[str]:
        """Return what pip was asked for since the last call of this, without common options."""
        path = self.state / "pip"
        said = path.read_text() if path.exists() else ""
        path.unlink(missing_ok=True)
        common = "-m pip install -q --disable-pip-version-check "
        return [line.replace(common, "").strip() for line in said.splitlines()]

    def called(self) -> str:
        path = self.state / "called"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Bare: nothing is installed, there is no GPU and no display."""
    checkout = tmp_path / "a clone ü"
    for name in PACKED:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CHECKOUT / name, checkout / name)
    programs = checkout / ".venv" / "bin"
    state = programs / "state"
    state.mkdir(parents=True)
    made = Machine(checkout, tmp_path / "programs", state)
    made.programs.mkdir()
    (programs / "python").write_text(STAND_IN)
    (programs / "python").chmod(0o755)
    made.write(missing=f"{TORCH}\nlocked==1\n", unusable="numpy>=1.26", build="cpu", qt="")
    made.write(fails="nothing fails")
    made.program("nvidia-smi", "exit 9")
    made.program("uname", "echo Linux")
    return made


def is_gpu_here() -> bool:
    return Path("/proc/driver/nvidia/version").exists() or Path("/dev/nvidia0").exists()


REST = [f"--require-hashes --no-deps {LOCKED}", "--no-deps --no-build-isolation -e ."]


@pytest.mark.skipif(is_gpu_here(), reason="this machine has a GPU")
def test_without_a_gpu_the_cpu_build_comes_from_pytorchs_index(machine: Machine) -> None:
    machine.write(fails="--no-index")
    done = machine.set_up()
    assert done.returncode == 0, done.stderr
    assert machine.pip_calls() == [
        f"--no-deps --no-index {TORCH}",
        f"--no-deps --retries 1 --timeout 10 {PYTORCH} {TORCH}",
        *REST,
    ]


@pytest.mark.skipif(is_gpu_here(), reason="this machine has a GPU")
def test_a_wheel_that_pips_settings_name_needs_no_index(machine: Machine) -> None:
    assert machine.set_up().returncode == 0
    assert machine.pip_calls() == [f"--no-deps --no-index {TORCH}", *REST]


def test_with_a_gpu_pip_takes_the_build_with_cuda(machine: Machine) -> None:
    machine.program("nvidia-smi", "echo GPU 0")
    done = machine.set_up()
    assert machine.pip_calls() == [f"--no-deps {TORCH}", *REST]
    assert "DMGLAB_TORCH=cpu" in done.stderr


def test_what_dmglab_torch_says_counts_more_than_what_is_there(machine: Machine) -> None:
    machine.program("nvidia-smi", "echo GPU 0")
    machine.write(fails="--no-index")
    machine.set_up(DMGLAB_TORCH="cpu")
    assert PYTORCH in machine.pip_calls()[1]
    machine.program("nvidia-smi", "exit 9")
    machine.write(missing=f"{TORCH}\n", build="cuda")
    machine.set_up(DMGLAB_TORCH="cuda")
    assert machine.pip_calls()[0] == f"--no-deps {TORCH}"
    done = machine.set_up(DMGLAB_TORCH="gpu")
    assert done.returncode == 1
    assert done.stderr == "dmglab: DMGLAB_TORCH=gpu: say cpu or cuda, or leave it unset\n"


def test_another_build_is_installed_when_dmglab_torch_asks_for_it(machine: Machine) -> None:
    machine.write(missing="", build="cuda")
    done = machine.set_up(DMGLAB_TORCH="cpu")
    assert machine.pip_calls()[0] == (f"--no-deps --force-reinstall --retries 1 --timeout 10 {PYTORCH} {TORCH}")
    assert "going on with the cuda build" in done.stderr, "the stand-in's build stays"
    machine.set_up(DMGLAB_TORCH="cpu")
    assert machine.pip_calls() == [], "and it is asked for once"


def test_an_index_that_does_not_answer_is_no_end(machine: Machine) -> None:
    machine.write(fails="index")
    done = machine.set_up(DMGLAB_TORCH="cpu")
    assert done.returncode == 0
    assert machine.pip_calls()[2] == f"--no-deps {TORCH}"
    assert "PyTorch's index of CPU builds gave none" in done.stderr


def test_pip_is_called_for_what_is_missing_only(machine: Machine) -> None:
    machine.write(missing="")
    assert machine.set_up(*LOCKS).returncode == 0
    assert machine.pip_calls() == REST[1:], "linking the checkout needs no network"
    for locks in (LOCKS, LOCKS[:1], LOCKS):  # ./test, ./run, ./test
        assert machine.set_up(*locks).returncode == 0
        assert machine.pip_calls() == []


def test_run_and_test_keep_each_others_installation(machine: Machine) -> None:
    machine.write(missing="locked==1\n")
    machine.set_up()
    assert machine.pip_calls() == REST
    machine.write(missing="locked==1\n")  # what only the tests need
    machine.set_up(*LOCKS)
    assert machine.pip_calls() == [f"--require-hashes --no-deps {LOCKED} -r scripts/lock-dev.txt"]
    machine.write(fails="install")
    assert machine.set_up().returncode == 0
    assert machine.set_up(*LOCKS).returncode == 0
    assert machine.pip_calls() == []


def test_a_checkout_that_was_moved_is_linked_anew(machine: Machine) -> None:
    machine.write(missing="")
    machine.set_up()
    assert machine.pip_calls() == REST[1:]
    moved = machine.checkout.with_name("moved")
    machine.checkout.rename(moved)
    machine.checkout, machine.state = moved, moved / ".venv" / "bin" / "state"
    assert machine.set_up().returncode == 0
    assert machine.pip_calls() == REST[1:]


@pytest.mark.parametrize("has_venv", [True, False])
def test_an_environment_that_cannot_be_made_is_told_from_a_missing_module(has_venv: bool, machine: Machine) -> None:
    (machine.checkout / ".venv" / "bin" / "python").unlink()
    machine.state = machine.programs
    said = "Error: [Errno 30] Read-only file system"
    machine.program(
        "python3.99",
        f'''case "$*" in
        *print*version_info*) echo 3.99 ;;
        *version_info*) ;;
        *ensurepip*) exit {int(not has_venv)} ;;
        *) echo "{said}" >&2; exit 1 ;;
    esac''',
    )
    machine.program("id", "echo 1000")
    machine.program("apt-get")
    done = machine.set_up(DMGLAB_PYTHON="python3.99")
    assert done.returncode == 1
    assert (said in done.stderr) == has_venv
    assert ("sudo apt-get install -y python3.99-venv" in done.stderr) == (not has_venv)


def test_a_pip_that_fails_is_the_end_only_where_something_is_missing(machine: Machine) -> None:
    machine.write(fails="require-hashes", missing="locked==1\n")
    done = machine.set_up()
    assert done.returncode == 1
    assert "pip could not install numpy>=1.26 (disk full? no network?)" in done.stderr
    machine.write(unusable="")
    done = machine.set_up()
    assert done.returncode == 0
    assert "going on with what is installed" in done.stderr
    machine.pip_calls()
    machine.write(fails="nothing")
    machine.set_up()
    assert machine.pip_calls() == REST[:1], "the next start tries again"


@pytest.mark.parametrize("name", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_a_display_that_nobody_serves_is_one_line_before_anything_is_installed(name: str, machine: Machine) -> None:
    machine.program("apt-get")
    value = ":7777" if name == "DISPLAY" else "wayland-7777"
    done = machine.call(str(machine.checkout / "run"), **{name: value}, XDG_RUNTIME_DIR="/run/none")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert f"{name}={value}: no display answers there" in done.stderr
    assert "./run --headless" in done.stderr
    assert (machine.pip_calls(), machine.called()) == ([], "")
    machine.write(missing="")
    done = machine.call(str(machine.checkout / "run"), "--headless", **{name: value})
    assert "started -m trainer_core.cli.main demo" in done.stdout


@pytest.mark.parametrize(
    "said", ["qt.qpa.xcb: could not connect to display :0", "Failed to create wl_display (No such"]
)
def test_what_qt_says_of_a_display_is_not_taken_for_missing_libraries(said: str, machine: Machine) -> None:
    machine.program("apt-get")
    machine.program("dpkg-query", "echo install ok installed")
    machine.write(missing="", qt=f"{said}\nFrom 6.5.0, xcb-cursor0 or libxcb-cursor0 is needed\n")
    code = '. "$CHECKOUT/scripts/setup.sh"; need_qt_libraries'
    done = machine.call("sh", "-c", code, CHECKOUT=str(machine.checkout))
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["dmglab: no display answers. Without a window:  ./run --headless"]
    assert "apt-get" not in machine.called()


def test_only_libraries_that_are_missing_are_installed_or_named(machine: Machine) -> None:
    machine.program("apt-get")
    machine.program("id", "echo 1000")
    has = 'case "$*" in *libegl1*|*libglib2.0-0) exit 1 ;; *) echo install ok installed ;; esac'
    machine.program("dpkg-query", has)
    machine.write(qt="cannot load platform plug-in\n")
    code = '. "$CHECKOUT/scripts/setup.sh"; need_qt_libraries offscreen'
    done = machine.call("sh", "-c", code, CHECKOUT=str(machine.checkout))
    assert done.returncode == 1
    assert "sudo apt-get install -y libegl1   and start" in done.stderr, "glib is there as t64"
    machine.program("dpkg-query", "echo install ok installed")
    done = machine.call("sh", "-c", code, CHECKOUT=str(machine.checkout))
    assert "cannot load platform plug-in" in done.stderr
    assert "apt-get" not in done.stderr + machine.called()


@pytest.fixture(scope="module")
def installed() -> ModuleType:
    """scripts/installed.py as a module."""
    spec = importlib.util.spec_from_file_location("installed", CHECKOUT / "scripts/installed.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_not_installed_is_told_from_metadata(installed: ModuleType, tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(
        "# made\npytest==0.0.1 \\\n    --hash=sha256:00\nno-such-thing==3 ; python_full_version < "
        "'3.99' \\\n    --hash=sha256:00\nneither==1 ; sys_platform == 'win32' \\\n    --hash=x\n"
    )
    assert installed.exact([str(lock)])[:2] == ["pytest==0.0.1", "no-such-thing==3"]
    assert not [word for word in installed.exact([str(lock)]) if word.startswith("neither")]
    assert installed.usable(["one", "two"]) == [], "this environment has what the tests need"


def test_the_build_of_torch_is_read_without_importing_it(installed: ModuleType, tmp_path: Path) -> None:
    for text in ("cuda: Optional[str] = None\nhip = None\n", "cuda = None"):
        assert installed.build_said(f"__version__ = '2.13.0'\n{text}") == "cpu"
    for text in ("cuda: Optional[str] = '13.0'\nhip = None\n", "cuda = '12.8'"):
        assert installed.build_said(f"__version__ = '2.13.0'\n{text}") == "cuda"
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "version.py").write_text("cuda = '12.8'\n")
    done = subprocess.run(
        [sys.executable, CHECKOUT / "scripts" / "installed.py", "torch"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.stdout == "cuda\n"


def read_pins() -> dict[str, str]:
    """Return each pin of the locks with its hashes; a package may have one for each Python."""
    text = "".join((CHECKOUT / name).read_text() for name in LOCKS)
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    blocks = "\n".join(lines).replace("\\\n", " ").splitlines()
    return {block.split("--hash")[0].strip(): block for block in blocks}


def test_the_locks_hold_what_pyproject_asks_for_with_hashes_and_no_address() -> None:
    from pip._vendor.packaging.requirements import Requirement

    pins = read_pins()
    assert all(block.count("--hash=sha256:") for block in pins.values())
    assert "://" not in "".join(pins)
    wanted = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    extras = wanted["project"]["optional-dependencies"]
    lines = [*wanted["project"]["dependencies"], *wanted["dependency-groups"]["dev"]]
    lines += [line for name in ("emulator", "train", "play", "gui") for line in extras[name]]
    lines += wanted["build-system"]["requires"]
    found = [Requirement(pin) for pin in pins]
    for requirement in map(Requirement, lines):
        if requirement.name in ("dmglab", "torch"):
            continue
        versions = [pin.specifier for pin in found if pin.name == requirement.name.lower()]
        assert versions, f"{requirement}: run scripts/make_lock.py"
        for version in versions:
            assert requirement.specifier.contains(str(version).removeprefix("=="))
    names = {pin.name for pin in found}
    assert not [name for name in names if name.startswith(("torch", "nvidia", "triton", "cuda"))]
    assert {"filelock", "sympy", "networkx", "jinja2", "fsspec", "mpmath"} <= names


def test_no_private_index_is_named() -> None:
    for name in (*PACKED, "test", "README.md"):
        text = (CHECKOUT / name).read_text()
        hosts = [word for word in text.split() if "://" in word and "download.pytorch.org" not in word]
        assert not hosts, (name, hosts)
