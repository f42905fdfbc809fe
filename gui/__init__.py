"""The desktop app: PySide6 and pyqtgraph over the protocol. Never imports torch or warp."""
