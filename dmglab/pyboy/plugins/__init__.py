"""Names of `pyboy.plugins` that programs import."""
