"""Every colour the app paints with, by theme."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Colors:
    """One theme; every colour the app paints with."""

    name: str
    window: str
    base: str
    raised: str
    border: str
    text: str
    muted: str
    disabled: str
    accent: str
    on_accent: str
    accent_soft: str
    good: str
    warn: str
    bad: str
    letterbox: str
    curves: tuple[str, ...]


DARK = Colors(
    name="dark", window="#1d1e20", base="#151618", raised="#292b2e", border="#393c40",
    text="#dfe0e2", muted="#a0a3a8", disabled="#676a70", accent="#9bbc0f", on_accent="#141a02",
    accent_soft="#2c3512", good="#7fc97a", warn="#e6b450", bad="#f07f6b", letterbox="#0e0f10",
    curves=("#56b4e9", "#e69f00", "#00b389", "#cc79a7", "#f0e442", "#a98bf5", "#8fa3c7"),
)  # fmt: skip
LIGHT = Colors(
    name="light", window="#f4f4f2", base="#ffffff", raised="#e8e8e5", border="#cbcbc6",
    text="#1c1d1f", muted="#5a5d62", disabled="#9b9da1", accent="#4f6f00", on_accent="#ffffff",
    accent_soft="#e3ebc9", good="#2a6f2b", warn="#865400", bad="#b3261e", letterbox="#dcdcd8",
    curves=("#0072b2", "#d55e00", "#00805e", "#a8508a", "#6a4fc3", "#7a4a1c", "#5b6470"),
)  # fmt: skip
