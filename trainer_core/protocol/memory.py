"""memory.bin: what a player that is asked for it tells of its Game Boy's memory."""

from __future__ import annotations

from trainer_core.protocol.frames import FrameShape

MEMORY_FILE = "memory.bin"
"""In the player's folder; laid out as frames.bin."""
BASE = 0x8000
"""Address of its first byte; below lies the ROM."""
MEMORY_SHAPE = FrameShape(256, 128)
