"""What the adapters of other libraries share: an environment of their own, one process per run."""
