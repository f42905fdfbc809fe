"""rLLM as a runner: its workflow engine, and TRL on a CPU or VERL on GPUs for training."""

COUNTDOWN = "countdown"
"""Name of the only task."""
