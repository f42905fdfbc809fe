"""Pocket Quest in the emulator, for its tests."""

from __future__ import annotations

import sys
from pathlib import Path

GAME = Path(__file__).resolve().parents[2] / "assets" / "games" / "pocket_quest"
sys.path.insert(0, str(GAME))
