"""Own pixel art of Pocket Quest, drawn by program and by hand as text."""
