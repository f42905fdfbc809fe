"""Sweeps: many runs of one question, side by side, with early stopping (docs/notebook/sweeps.md)."""
