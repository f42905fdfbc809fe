"""One dock, one file, one model."""
