"""State that several features share: the services, what is chosen, the curves of the runs on show."""
