"""Write docs/reference/python.md, the public names of `dmglab`, from their docstrings.

    python scripts/python_reference.py [--check]

`--check` writes nothing and ends with status 1 where the page is not what it would write.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import dmglab

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "python.md"
ROOMS = {
    "One console": ("GameBoy", "Memory"),
    "Many consoles": ("Emulator", "Channels", "Cartridge", "Snapshot", "Symbols", "RamTerms"),
    "Environments": ("make", "BatchedEnv", "make_sb3", "make_torchrl"),
    "Tasks and ROMs": ("tasks", "make_task", "roms"),
    "Training": ("train", "runs", "Run", "Checkpoint"),
    "Policies": ("load_policy", "Policy"),
    "Errors": ("EmulatorError", "LabError"),
}
SHOWN = {
    "BatchedEnv": ("reset", "step", "get_action_meanings", "close"),
    "Cartridge": ("from_file", "from_bytes"),
    "Channels": ("run",),
    "Emulator": (
        "run", "screens", "first_screens", "observations", "work_ram", "peek", "watch", "poke", "on", "off",
        "registers", "make_slots", "slots", "snapshot", "restore", "save_state", "load_state", "reset", "state_cache",
        "close",
    ),
    "Memory": (),
    "RamTerms": ("watching", "step", "restart", "take"),
    "Snapshot": ("save", "load"),
    "Symbols": ("lookup", "size"),
}  # fmt: skip
"""Members that stand on the page, of classes that have others besides."""
INTRODUCTION = """# Python

`import dmglab` is all that a program needs; it takes milliseconds, and each name loads its libraries when it is first
used. Types are checked (`py.typed`). [docs/examples](../examples) has a short script for each part.

```python
import dmglab, gymnasium

game = dmglab.GameBoy("game.gb")                                # one console
consoles = dmglab.Emulator("game.gb", 4096, device="cuda:0")    # many, on one device
env = gymnasium.make("dmglab/pocket_quest.leave_bedroom-v0")    # a task; "dmglab:dmglab/..." imports dmglab itself
envs = gymnasium.make_vec("dmglab/pocket_quest.leave_bedroom-v0", num_envs=256)
batch = dmglab.make("pocket_quest/leave_bedroom", num_envs=4096, device="cuda:0")    # torch tensors on the device
run = dmglab.train("pocket_quest/leave_bedroom", seconds=60)
policy = dmglab.load_policy("latest")
```

**Pictures.** `screen()` and `screens` are shades, 0 the lightest to 3; what environments and `observation()` give are
greys 0 the lightest, 85, 170, 255, 72 by 80, channels first. `Policy.act` takes both.
**Memory.** Arrays of an `Emulator` are views that are drawn anew in place: copy what must stay. They keep their memory
alive when the emulator is closed or gone. `torch.from_dlpack(consoles.screens)` shares it on a CPU and on a GPU.
**Errors** are one line that names the value and the remedy: `EmulatorError` for consoles, `LabError` for the rest.
**Gymnasium** knows each task as `dmglab/TASK-v0` with dots for the slashes, and `DMGLab-v0` with `task=`; names are
those of tasks that are there when both are imported. Keywords: `device`, `stack_k`, `held_out`, `render_mode`, `home`.
`make_vec` and `dmglab.make` reset in the same step: see `final_obs` in `infos`.

*Written by scripts/python_reference.py.*
"""


def rendered() -> str:
    """Return the whole page."""
    lines = [INTRODUCTION]
    for room, names in ROOMS.items():
        lines += [f"## {room}", *(line for name in names for line in _entry(name)), ""]
    return "\n".join(lines)


def _entry(name: str) -> list[str]:
    thing = getattr(dmglab, name)
    if not inspect.isclass(thing):
        return [f"- **`dmglab.{name}{_call(thing)}`**: {_text(thing, whole=True)}"]
    call = "" if issubclass(thing, Exception) or name in ("Run", "Policy", "Snapshot", "Memory") else _call(thing)
    found = [f"- **`dmglab.{name}{call}`**: {_text(thing, whole=True)}"]
    members = SHOWN.get(name, tuple(key for key in vars(thing) if not key.startswith("_")))
    for key in members:
        member = inspect.getattr_static(thing, key)
        if isinstance(member, property):
            found.append(f"  - `.{key}`: {_text(member)}")
        elif callable(member) or isinstance(member, classmethod):
            found.append(f"  - `.{key}{_call(getattr(thing, key))}`: {_text(getattr(thing, key))}")
    return found


def _call(thing: Any) -> str:
    """Return names and defaults of what `thing` is called with; types are in the code."""
    parameters = [p for p in inspect.signature(thing).parameters.values() if p.name not in ("self", "cls")]
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return str(inspect.Signature(plain))


def _text(thing: Any, *, whole: bool = False) -> str:
    """Return the docstring in one line, or its first sentence."""
    text = " ".join((inspect.getdoc(thing) or "").split())
    return text if whole else re.split(r"(?<=[.]) (?=[A-Z`])", text)[0]


def main() -> int:
    if "--check" in sys.argv:
        return int(PAGE.read_text(encoding="utf-8") != rendered())
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(rendered(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
