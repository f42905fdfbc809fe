"""The desktop app: PySide6 and numpy over the trainer's protocol. Never imports torch or warp."""
