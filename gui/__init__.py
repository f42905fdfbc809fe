"""The desktop app: PySide6 and pyqtgraph over trainer_core.protocol. Never imports torch or warp."""
