"""Widgets, colours, words and settings that know nothing of runs or games."""
