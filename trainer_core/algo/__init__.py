"""Learning as tensor functions: knows torch and the run's configuration, no files, no machines."""
