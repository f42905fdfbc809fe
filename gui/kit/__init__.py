"""Widgets, colours, words and settings, independent of runs and games."""
