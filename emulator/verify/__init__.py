"""Comparison of this emulator with PyBoy from the same inputs, fuzzing, and bundles of differences."""
