"""Our own runner with echo_worker.py as its process: for tests of everything that starts one."""

from __future__ import annotations

import dataclasses
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainer_core.runners.native import NATIVE, NativeRunner

ECHO_WORKER = Path(__file__).with_name("echo_worker.py")
ECHO_PLAYER = Path(__file__).parents[1] / "gui" / "echo_player.py"


@dataclass(frozen=True, kw_only=True)
class ScriptedNative(NativeRunner):
    """Speaks our protocol and trains nothing."""

    script: dict[str, Any] = field(default_factory=dict)
    """Options of echo_worker."""

    def command(self, run_dir: Path) -> list[str]:
        return [sys.executable, str(ECHO_WORKER), str(run_dir), json.dumps(self.script)]

    def find_checkpoints(self, run_dir: Path) -> list[Path]:
        return sorted(run_dir.glob("checkpoints/[0-9]*"))

    def play(self, player_dir: Path) -> list[str]:
        return [sys.executable, str(ECHO_PLAYER), str(player_dir)]


def scripted_native(**script: Any) -> ScriptedNative:
    fields = {spec.name: getattr(NATIVE, spec.name) for spec in dataclasses.fields(NATIVE)}
    return ScriptedNative(**{**fields, "modules": (), "waits": False, "script": script})
