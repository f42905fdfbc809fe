"""Anything that can be looked at as a recording: rollouts, GIFs, input movies, failed runs."""
