"""Agent dock: player, task, trainer; installation of other trainers' Python environments."""

from __future__ import annotations

from functools import partial

from gui.features.play.controller import PlayController
from gui.features.runners.controller import RunnersController
from gui.features.runners.dock import AgentDock
from gui.features.runners.strip import ModeCorner, Strip
from gui.features.train.controller import TrainingController
from gui.kit.actions import ActionRegistry
from gui.kit.words import tr
from gui.state.context import Context, DockSpec, Feature


def feature(context: Context) -> Feature:
    runners = context.add(RunnersController(context.bridge, context.session, context.notices))
    define_runners(context.actions, runners)

    def make_dock() -> AgentDock:
        draft = context[TrainingController].draft
        return AgentDock(context.session, runners, draft, context[PlayController], context.actions)

    def make_strip() -> Strip:
        context.add(ModeCorner(context.session, context.situations, context.actions))
        return Strip(
            context.session,
            context.situations,
            context[TrainingController].draft,
            context.checkpoints,
            context.telemetry,
            context.actions,
        )

    return Feature(docks=[DockSpec(make_dock, "F1")], bars=[make_strip])


def define_runners(registry: ActionRegistry, runners: RunnersController) -> None:
    add = partial(registry.add, follows=(runners.changed,))
    add(
        "installRunner",
        tr("Install the chosen trainer"),
        runners.install,
        short=tr("Install"),
        tip=tr("Download it into its own Python environment"),
        refusal=runners.refusal,
        is_there=lambda: runners.wanted is not None and not runners.installing,
    )
    add(
        "removeRunner",
        tr("Remove the chosen trainer"),
        runners.remove,
        short=tr("Remove"),
        tip=tr("Delete its Python environment; runs and checkpoints stay"),
        refusal=runners.remove_refusal,
    )
    add(
        "cancelInstall",
        tr("Cancel the installation"),
        runners.cancel,
        short=tr("Cancel"),
        tip=tr("Files downloaded so far are deleted"),
        refusal=lambda: "" if runners.installing else tr("Nothing is being installed"),
        is_there=lambda: runners.installing is not None,
    )
