"""Making tasks: demonstrations, start states, goals, derived numbers, checks, archives."""
