"""State used by several features: services, choices, curves of the runs on show."""
