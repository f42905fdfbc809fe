"""Our games in the emulator, for their tests."""

from __future__ import annotations

import sys
from pathlib import Path

GAMES = Path(__file__).resolve().parents[2] / "assets" / "games"
sys.path[:0] = [str(GAMES), str(GAMES / "pocket_quest")]
