"""Desktop app: PySide6 and numpy, talking to trainer processes by messages. Never imports torch or warp."""
