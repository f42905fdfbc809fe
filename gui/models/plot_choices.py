"""How a person arranged the plots: their order, which are hidden, which are logarithmic."""

from __future__ import annotations

import json

from PySide6.QtCore import QObject, Signal

from gui.settings import Settings


class PlotChoices(QObject):
    """Plots by the metric that they are named after; kept from one start to the next."""

    changed = Signal()
    spoken_of = Signal()
    """Commands are about another plot now."""
    maximised = Signal(str)
    """The plot that is to fill the page; empty for all of them again."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._order = self._read("order")
        self._hidden = self._read("hidden")
        self._log = self._read("log")
        self._added = self._read("added")
        self.current = ""
        """The plot that commands are about: whose menu was opened, or that fills the page."""
        self.is_maximised = False

    def _read(self, name: str) -> list[str]:
        try:
            found = json.loads(self._settings.text(f"curves/{name}", "[]"))
        except ValueError:
            return []
        return [str(item) for item in found] if isinstance(found, list) else []

    def _keep(self, name: str, value: list[str]) -> None:
        self._settings.set(f"curves/{name}", json.dumps(value))
        self.changed.emit()

    def ordered(self, metrics: list[str]) -> list[str]:
        """These plots as the person wants them; those never moved stay where the table has them."""
        wanted = [name for name in self._order if name in metrics]
        moved = iter(wanted)
        return [next(moved) if name in set(wanted) else name for name in metrics]

    def move(self, metric: str, before: str, metrics: list[str]) -> None:
        """Put a plot before another one, or after it where it came from the left of it."""
        order = self.ordered(metrics)
        if metric == before or metric not in order or before not in order:
            return
        goal = order.index(before)
        order.remove(metric)
        order.insert(goal, metric)
        others = [name for name in self._order if name not in metrics]
        self._order = others + order
        self._keep("order", self._order)

    def is_hidden(self, metric: str) -> bool:
        return metric in self._hidden

    def set_hidden(self, metric: str, is_hidden: bool) -> None:
        self._hidden = [name for name in self._hidden if name != metric]
        if is_hidden:
            self._hidden.append(metric)
        self._keep("hidden", self._hidden)

    @property
    def hidden(self) -> tuple[str, ...]:
        return tuple(self._hidden)

    def is_log(self, metric: str) -> bool:
        return metric in self._log

    def toggle_log(self, metric: str) -> None:
        kept = [name for name in self._log if name != metric]
        self._log = kept if metric in self._log else [*kept, metric]
        self._keep("log", self._log)

    @property
    def added(self) -> tuple[str, ...]:
        """Metrics that were given a plot by their name."""
        return tuple(self._added)

    def add(self, metric: str) -> None:
        if metric not in self._added:
            self._added.append(metric)
            self._keep("added", self._added)

    def drop(self, metric: str) -> None:
        """Take a plot off the page: an added one goes, one of the table is hidden."""
        if metric in self._added:
            self._added.remove(metric)
            self._keep("added", self._added)
        else:
            self.set_hidden(metric, True)

    def reset(self) -> None:
        """Every plot, in the table's order, with straight axes."""
        self._order, self._hidden, self._log, self._added = [], [], [], []
        for name in ("order", "hidden", "log", "added"):
            self._settings.set(f"curves/{name}", "[]")
        self.changed.emit()

    def state(self) -> tuple[tuple[str, ...], ...]:
        """Order, hidden, logarithmic and added plots: what `put_state` brings back."""
        return tuple(self._order), tuple(self._hidden), tuple(self._log), tuple(self._added)

    def put_state(self, state: tuple[tuple[str, ...], ...]) -> None:
        if state == self.state():
            return
        self._order, self._hidden, self._log, self._added = (list(part) for part in state)
        for name, part in zip(("order", "hidden", "log", "added"), state, strict=True):
            self._settings.set(f"curves/{name}", json.dumps(part))
        self.changed.emit()

    def speak_of(self, metric: str) -> None:
        """Have commands be about this plot."""
        self.current = metric
        self.spoken_of.emit()

    def maximise(self, metric: str) -> None:
        if metric:
            self.speak_of(metric)
        self.is_maximised = bool(metric)
        self.maximised.emit(metric)
