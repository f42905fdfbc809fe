"""Sweeps: many runs of one question, side by side, with early stopping (docs/sweeps.md)."""
