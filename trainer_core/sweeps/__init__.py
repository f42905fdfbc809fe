"""Sweeps: runs of several settings and seeds side by side, with early stopping (docs/notebook/sweeps.md)."""
