"""Making tasks: demonstrations, start states, goals, the numbers that follow, checks, archives."""
