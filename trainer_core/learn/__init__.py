"""Learning as tensor functions: torch and the run's configuration, no files and no emulator.

Of environments it knows one type, the tuple that a step returns.
"""
