"""Names for Qt's two kinds of model index."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex

Index = QModelIndex | QPersistentModelIndex
NO_PARENT = QModelIndex()
