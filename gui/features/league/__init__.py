"""League: different kinds of players (policies, random, recorded play) compared on one task."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QTabWidget

from gui.features.league.controller import LeagueController
from gui.features.league.view import LeagueView
from gui.features.replay.controller import ReplayController
from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry
from gui.kit.words import tr
from gui.state.context import Context, Feature, TabSpec
from gui.state.session import Place


def feature(context: Context) -> Feature:
    league = context.add(
        LeagueController(
            context.bridge, context.session, context.navigation, context[ReplayController], context.checkpoints
        )
    )
    define_league(context.actions, league)

    def finish() -> None:
        view, tabs = context[LeagueView], context.window.findChild(QTabWidget, names.CENTER_TABS)
        assert tabs is not None

        def show_or_hide(*_: object) -> None:
            """Show the tab once there is something to compare, or it is asked for."""
            wants = context.session.shows_more or len(context.checkpoints.cards) > 1 or tabs.currentWidget() is view
            tabs.setTabVisible(tabs.indexOf(view), wants)

        league.wanted.connect(lambda: tabs.setTabVisible(tabs.indexOf(view), True))
        context.checkpoints.rowsInserted.connect(show_or_hide)
        context.session.more_changed.connect(show_or_hide)
        show_or_hide()

    return Feature(tabs=[TabSpec(Place.LEAGUE, lambda: LeagueView(league, context.actions))], finish=finish)


def define_league(registry: ActionRegistry, league: LeagueController) -> None:
    add = partial(registry.add, follows=(league.changed,))
    add("showLeague", tr("League"), league.show, tip=tr("Compare different players in one table"))
    add(
        "leagueStart",
        tr("Play the league"),
        league.toggle,
        short=lambda: tr("Stop") if league.is_busy else tr("Play"),
        tip=tr("All players play the held-out starts; press again to stop"),
        refusal=league.refusal,
        is_on=lambda: league.is_busy,
    )
    add(
        "leagueAdd",
        tr("Add the checkpoint to the league"),
        league.add_checkpoint,
        short=tr("Add checkpoint"),
        refusal=league.add_refusal,
    )
    add(
        "leagueReplay",
        tr("Play back the league's player"),
        league.replay,
        short=tr("Play back"),
        tip=tr("Show its first episode in the Replay tab"),
        refusal=league.replay_refusal,
    )
