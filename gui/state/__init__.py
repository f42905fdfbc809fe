"""State that several features share: services, choices, curves of the runs on show."""
