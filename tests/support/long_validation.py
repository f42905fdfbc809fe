"""`python long_validation.py RUN_DIR`: our worker, on a tiny_goal whose episodes take minutes.

So does a validation then, which begins after the first update.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from trainer_core.runners.native import NATIVE, NativeRunner

HORIZON = 200_000


@dataclass(frozen=True, kw_only=True)
class LongValidation(NativeRunner):
    def command(self, run_dir: Path) -> list[str]:
        return [sys.executable, str(Path(__file__)), str(run_dir)]


def long_validation() -> LongValidation:
    """Our own runner with this file as its process."""
    fields = {name: getattr(NATIVE, name) for name in NATIVE.__dataclass_fields__}
    return LongValidation(**{**fields, "waits": False})


if __name__ == "__main__":
    from trainer_core.envs import toy
    from trainer_core.host import worker

    toy.HORIZON = toy.TinyGoalEnv.horizon = toy.TinyGoalEnv.shortest_limit = HORIZON
    worker.main()
