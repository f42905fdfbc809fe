"""The command line `dmglab`: each command parses its options, calls the trainer and prints one result."""
