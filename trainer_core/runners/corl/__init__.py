"""CORL as a runner: its offline scripts as they are, on a local Minari dataset."""
