"""Runs on another host: submitted to Ray's jobs, followed, and their results fetched."""
