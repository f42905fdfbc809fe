"""League: different players on the same task, starts and rules, in one table."""
