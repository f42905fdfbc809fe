"""Names of `pyboy.core` that programs import."""
