"""ARC-AGI-3 games of the library `arc-agi` as environments, players and sessions."""
