"""Our console and PyBoy side by side from the same inputs, and what to keep when they part ways."""
