"""Learning as tensor functions: torch and the run's configuration, without files and emulator.

The only type of environments used here is the tuple that a step returns.
"""
