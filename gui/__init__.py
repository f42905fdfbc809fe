"""The desktop app: PySide6 and numpy over the protocol. Never imports torch or warp."""
