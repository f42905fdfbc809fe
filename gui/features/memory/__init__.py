"""Memory of the playing game: search for values, watched addresses, view of video memory."""

from __future__ import annotations

from gui.features.memory.controller import MemoryController
from gui.features.memory.dock import MemoryDock
from gui.features.play.controller import PlayController
from gui.state.context import Context, DockSpec, Feature


def feature(context: Context) -> Feature:
    memory = context.add(MemoryController(context.bridge, context[PlayController]))
    return Feature(docks=[DockSpec(lambda: MemoryDock(memory, context.palette), "Shift+F6")])
