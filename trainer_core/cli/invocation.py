"""How a person in this shell calls `dmglab`: as a bare word, or by its path."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path


def dmglab_command() -> str:
    """What to type for `dmglab` of this installation, quoted for a shell.

    The bare word if PATH leads to this installation, else the program beside the interpreter,
    else the module (not installed).
    """
    program = Path(sys.executable).with_name("dmglab")
    if not os.access(program, os.X_OK):
        return f"{shlex.quote(sys.executable)} -m trainer_core.cli.main"
    found = shutil.which("dmglab")
    if found and os.path.samefile(found, program):
        return "dmglab"
    return shlex.quote(str(program))
