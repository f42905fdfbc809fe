"""Conversion to recordings: rollouts, GIFs, input movies, failed runs."""
