"""Parallel coordinates: where runs lie on the axes, and which one the pointer means."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF

from gui.features.runs.comparison import ParallelView, axis_of, success_axis, weight_of


def test_numbers_lie_in_order_and_logarithmically_where_they_span_much() -> None:
    assert axis_of("epochs", ["4", "2", "3"]).places == (1.0, 0.0, 0.5)
    rates = axis_of("learning_rate", ["0.0001", "0.001", "0.01"])
    assert [round(place, 6) for place in rates.places if place is not None] == [0.0, 0.5, 1.0]
    assert [text for _, text in rates.ticks] == ["0.0001", "0.001", "0.01"]


def test_words_lie_apart_and_a_value_that_is_missing_nowhere() -> None:
    axis = axis_of("policy", ["small", "nature", None])
    assert axis.places == (1.0, 0.0, None)
    assert axis_of("policy", ["small", "small"]).places == (0.5, 0.5)
    assert axis_of("limit", ["nan", "3"]).ticks == ((0.0, "3"), (1.0, "nan"))


def test_the_pointer_means_the_line_that_it_is_on(qapp) -> None:
    axes = [axis_of("a", ["1", "2"]), axis_of("b", ["x", None]), success_axis([0.0, 1.0])]
    view = ParallelView(["low", "high"], axes)
    view.resize(600, 300)
    low, high = view.lines()
    assert (low.size(), high.size()) == (3, 2)
    assert view.run_at(high.at(0)) == 1
    assert view.run_at(QPointF(low.at(0))) == 0
    assert view.run_at(QPointF(2, 2)) == -1


def test_the_setting_that_success_follows_stands_beside_it(qapp) -> None:
    rates = [0.0, 0.2, 0.2, 0.9, 1.0]
    axes = [axis_of("rate", ["5", "4", "3", "2", "1"]), axis_of("seed", ["1", "5", "2", "4", "3"])]
    words = axis_of("policy", ["small", "small", "small", "large", "large"])
    view = ParallelView(list("abcde"), [*axes, words, success_axis(rates)])
    weights = view.weights
    assert weights["rate"] == pytest.approx(-0.975, abs=0.001)
    assert weights["policy"] == pytest.approx(0.789, abs=0.001)
    assert [axis.name for axis in view.axes] == ["seed", "policy", "rate", "success"]
    assert weight_of(axes[0], [1.0] * 5) is weight_of(axis_of("rate", ["1", "2"]), [0.0, 1.0]) is None
