"""Unlike players on the same task, from the same starts, under the same rules: one table."""
