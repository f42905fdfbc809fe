"""Saliency map of the playing policy: which parts of the picture influence it."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QObject, Signal

from gui.features.play.controller import PlayController
from gui.kit.words import tr
from trainer_core.wire import commands
from trainer_core.wire.records import SaliencyEvent


class SaliencyController(QObject):
    """Turns the computation of saliency maps in the player on and off."""

    changed = Signal()
    found = Signal(object)
    """Saliency map f32[rows, columns] for the picture on show, or None to remove it."""

    def __init__(self, playing: PlayController) -> None:
        super().__init__()
        self._playing = playing
        self.is_on = self._comes_back = False
        playing.looked.connect(self._on_looked)
        playing.started.connect(self._on_started)
        playing.changed.connect(self.changed)

    @property
    def is_possible(self) -> bool:
        """True while a single policy plays."""
        return not self._playing.solo_refusal() and not self._playing.is_human

    def refusal(self) -> str:
        if refusal := self._playing.solo_refusal():
            return refusal
        return tr("You are playing: deploy a checkpoint first") if self._playing.is_human else ""

    def toggle(self) -> None:
        if self.is_on:
            self._set(False)
            self._playing.ask(commands.ShowSaliency, on=False)
        else:
            self._ask()

    def _ask(self) -> None:
        self._playing.ask(commands.ShowSaliency, lambda ack: self._set(True), on=True)

    def _on_started(self) -> None:
        """Turn saliency on in a new player if it was on before and the player can compute it."""
        was_on = self.is_on or self._comes_back
        self._set(False)
        self._comes_back = was_on and not self.is_possible
        if was_on and self.is_possible:
            self._ask()

    def _set(self, on: bool) -> None:
        self.is_on = on
        if not on:
            self.found.emit(None)
        self.changed.emit()

    def _on_looked(self, event: SaliencyEvent) -> None:
        if len(event.weights) == event.rows * event.columns:
            self.found.emit(np.array(event.weights, np.float32).reshape(event.rows, event.columns))
