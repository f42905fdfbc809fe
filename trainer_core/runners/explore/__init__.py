"""Exploring as a runner: consoles find what a game shows, from one start state and pixels alone."""
