"""General widgets, colours, translation and settings, which know nothing of runs and games."""
