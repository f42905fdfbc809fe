"""Piano roll: edit a recording's buttons frame by frame and play the result."""

from __future__ import annotations

from functools import partial

from gui.features.play.controller import PlayController
from gui.features.replay.controller import ReplayController
from gui.features.replay.view import ReplayView
from gui.features.roll.controller import RollController
from gui.features.roll.panel import RollPanel
from gui.kit.actions import ActionRegistry
from gui.kit.words import tr
from gui.state.context import Context, Feature


def feature(context: Context) -> Feature:
    replay = context[ReplayController]
    roll = context.add(RollController(context.bridge, replay, context[PlayController], context.notices))
    define_roll(context.actions, roll)

    def finish() -> None:
        context[ReplayView].place_editor(context.add(RollPanel(roll, replay, context.actions)))

    return Feature(finish=finish, ends=[roll.player.stop, roll.player.ahead.end])


def define_roll(registry: ActionRegistry, roll: RollController) -> None:
    add = partial(registry.add, follows=(roll.changed,))
    add(
        "rollOpen",
        tr("Edit buttons"),
        roll.toggle,
        "Ctrl+Shift+B",
        short=tr("Edit"),
        tip=tr("Change the buttons of any frame in a copy of the recording"),
        refusal=roll.refusal,
        is_on=lambda: roll.is_open,
    )
    add(
        "rollUndo",
        tr("Undo change of buttons"),
        roll.undo,
        "Ctrl+Alt+Z",
        short=tr("Undo"),
        symbol="undo",
        refusal=roll.undo_refusal,
    )
    add(
        "rollRedo",
        tr("Redo change of buttons"),
        roll.redo,
        "Ctrl+Alt+Y",
        short=tr("Redo"),
        symbol="redo",
        refusal=roll.redo_refusal,
    )
    add(
        "rollInsert",
        tr("Insert a frame"),
        roll.insert,
        short=tr("Insert"),
        symbol="plus",
        tip=tr("Insert a frame without buttons before this one"),
        refusal=roll.open_refusal,
    )
    add(
        "rollDelete", tr("Delete the frame"), roll.delete, short=tr("Delete"), symbol="minus", refusal=roll.open_refusal
    )
    add(
        "rollSave",
        tr("Save as a branch"),
        roll.save,
        "Ctrl+Alt+S",
        short=tr("Save branch"),
        tip=tr("Save the changed copy as a new recording"),
        refusal=roll.save_refusal,
    )
    add(
        "rollPlayOn",
        tr("Play a branch from this frame"),
        roll.play_on,
        short=tr("Play from here"),
        tip=tr("Take over here; the frames before it and your play become a branch"),
        refusal=roll.open_refusal,
    )
