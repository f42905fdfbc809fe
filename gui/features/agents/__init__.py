"""Agents that report beliefs or steps: the tabs Beliefs and Episodes of the telemetry dock."""

from __future__ import annotations

from gui.features.agents.pages import BeliefsTab, EpisodesTab
from gui.features.curves.dock import TelemetryDock
from gui.features.play.controller import PlayController
from gui.kit.words import tr
from gui.state.context import Context, Feature


def feature(context: Context) -> Feature:
    def finish() -> None:
        dock = context[TelemetryDock]
        beliefs = context.add(BeliefsTab(context.telemetry, context[PlayController], context.session))
        episodes = context.add(EpisodesTab(context.telemetry, context.session, context.home))
        dock.add_own_page(beliefs, tr("Beliefs"))
        dock.add_own_page(episodes, tr("Episodes"))

    return Feature(finish=finish)
