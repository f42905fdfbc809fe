"""Garbage is collected on the UI thread alone: a widget destroyed by another one crashes Qt."""

from __future__ import annotations

import gc
import threading
import weakref

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QWidget

from gui.app import Collector
from tests.gui.conftest import QtBot


class Closed(QWidget):
    """A widget in a cycle, as each is that has a slot of its own."""

    def __init__(self, told: list[int]) -> None:
        super().__init__()
        self.itself = self
        weakref.finalize(self, lambda: told.append(threading.get_ident()))


def test_a_thread_that_allocates_does_not_destroy_widgets(qtbot: QtBot, qapp: QApplication) -> None:
    owner, told = QObject(), list[int]()
    before = gc.get_threshold()
    gc.enable()
    collector = Collector(owner)
    try:
        gc.set_threshold(200, 2, 2)
        for _ in range(30):
            Closed(told)
        thread = threading.Thread(target=lambda: [{"number": n} for n in range(20_000)])
        thread.start()
        thread.join()
        assert not told, "no widget was destroyed by that thread"
        kept = [[number] for number in range(1000)]  # enough for a collection to be due
        qtbot.waitUntil(lambda: len(told) == 30)
        assert kept
        assert {*told} == {threading.get_ident()}
    finally:
        gc.set_threshold(*before)
        collector.deleteLater()
