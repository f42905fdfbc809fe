"""Learning algorithms as functions of tensors and the run's configuration, without access to files or the emulator.

Of the environments they only know the tuple that a step returns.
"""
