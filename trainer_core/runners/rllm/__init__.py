"""rLLM as a runner: its workflow engine, and TRL on a CPU or VERL on GPUs to train."""

COUNTDOWN = "countdown"
"""The one task."""
