"""ARC-AGI-3 as a runner: agents that play its games through the library or a server, scored."""
