"""CleanRL as a runner: its single-file scripts, unmodified, from a folder that the user names."""
