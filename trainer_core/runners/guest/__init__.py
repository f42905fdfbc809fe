"""Shared code of the adapters of other libraries: an environment for each, one process per run."""
