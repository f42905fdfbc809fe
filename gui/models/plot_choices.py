"""How a person arranged the plots: order, hidden, logarithmic and pinned ones, closed groups."""

from __future__ import annotations

import json

from PySide6.QtCore import QObject, Signal

from gui.settings import Settings

PARTS = ("order", "hidden", "log", "added", "pinned", "folded")
"""What is kept, each a list of metrics; of `folded` names of groups."""


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
        self._parts = {name: self._read(name) for name in PARTS}
        self.current = ""
        """The plot that commands are about: whose menu was opened, or that fills the page."""
        self.is_maximised = False

    def _read(self, name: str) -> list[str]:
        return self._settings.decoded(f"curves/{name}", list[str], [])

    def _keep(self, name: str, value: list[str]) -> None:
        self._parts[name] = value
        self._settings.set(f"curves/{name}", json.dumps(value))
        self.changed.emit()

    def _toggle(self, part: str, name: str) -> None:
        kept = [other for other in self._parts[part] if other != name]
        self._keep(part, kept if name in self._parts[part] else [*kept, name])

    def ordered(self, metrics: list[str]) -> list[str]:
        """These plots as the person wants them; those never moved stay where the table has them."""
        wanted = [name for name in self._parts["order"] if name in metrics]
        moved, known = iter(wanted), set(wanted)
        return [next(moved) if name in known else name for name in metrics]

    def move(self, metric: str, before: str, metrics: list[str]) -> None:
        """Put a plot before another one, or after it where it came from the left of it."""
        order = self.ordered(metrics)
        if metric == before or metric not in order or before not in order:
            return
        goal = order.index(before)
        order.remove(metric)
        order.insert(goal, metric)
        others = [name for name in self._parts["order"] if name not in metrics]
        self._keep("order", others + order)

    def is_hidden(self, metric: str) -> bool:
        return metric in self._parts["hidden"]

    def set_hidden(self, metric: str, is_hidden: bool) -> None:
        if is_hidden != self.is_hidden(metric):
            self._toggle("hidden", metric)

    @property
    def hidden(self) -> tuple[str, ...]:
        return tuple(self._parts["hidden"])

    def is_log(self, metric: str) -> bool:
        return metric in self._parts["log"]

    def toggle_log(self, metric: str) -> None:
        self._toggle("log", metric)

    @property
    def pinned(self) -> tuple[str, ...]:
        """Plots that stand above all groups, the first pinned first."""
        return tuple(self._parts["pinned"])

    def toggle_pinned(self, metric: str) -> None:
        self._toggle("pinned", metric)

    def is_folded(self, group: str) -> bool:
        """Whether a group of plots is its heading only."""
        return group in self._parts["folded"]

    def toggle_folded(self, group: str) -> None:
        self._toggle("folded", group)

    @property
    def added(self) -> tuple[str, ...]:
        """Metrics that were given a plot by their name."""
        return tuple(self._parts["added"])

    def add(self, metric: str) -> None:
        if metric not in self._parts["added"]:
            self._toggle("added", metric)

    def drop(self, metric: str) -> None:
        """Take a plot off the page: an added one goes, one of the table is hidden."""
        if metric in self._parts["added"]:
            self._toggle("added", metric)
        else:
            self.set_hidden(metric, True)

    def reset(self) -> None:
        """Every plot, in the table's order, with straight axes, no group closed."""
        self.put_state(tuple(() for _ in PARTS), always=True)

    def state(self) -> tuple[tuple[str, ...], ...]:
        """One tuple for each of PARTS: what `put_state` brings back."""
        return tuple(tuple(self._parts[name]) for name in PARTS)

    def put_state(self, state: tuple[tuple[str, ...], ...], *, always: bool = False) -> None:
        if state == self.state() and not always:
            return
        for name, part in zip(PARTS, state, strict=True):
            self._parts[name] = list(part)
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
