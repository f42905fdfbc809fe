"""CleanRL as a runner: its single-file scripts, unmodified, from a checkout that the user names."""
