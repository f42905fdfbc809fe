"""Environment variables that tell ranks where to meet; whoever starts them needs no torch."""

from __future__ import annotations

MEETING = "DMGLAB_RANKS_MEETING"
"""Where the ranks of `dmglab --gpus` find each other: a file, or `tcp://HOST:PORT` where `--nodes`
spreads them over several computers."""
MEET_WITHIN = "DMGLAB_RANKS_MEET_WITHIN"
"""Seconds that ranks of other computers are waited for."""
MEET_WITHIN_S = 600.0
