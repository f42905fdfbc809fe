"""Sweeps: many runs of one question, side by side, the hopeless ended early (docs/notebook/sweeps.md)."""
