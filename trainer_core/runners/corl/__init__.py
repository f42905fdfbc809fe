"""CORL as a runner: its scripts for offline learning, unmodified, on a local Minari dataset."""
