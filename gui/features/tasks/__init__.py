"""New tasks: made from a playing game in three steps (start states, goal, name)."""

from __future__ import annotations

from gui.features.games.controller import LibraryController
from gui.features.play.controller import PlayController
from gui.features.tasks.controller import TaskDraft
from gui.features.tasks.dock import TaskDock
from gui.features.tasks.model import DraftModel
from gui.features.train.ahead import StartAhead
from gui.features.train.controller import TrainingController
from gui.kit.actions import ActionRegistry
from gui.kit.words import tr
from gui.state.context import Context, DockSpec, Feature


def feature(context: Context) -> Feature:
    playing, model = context[PlayController], context.add(DraftModel())
    draft = context.add(
        TaskDraft(
            context.bridge,
            context.session,
            playing,
            context[TrainingController],
            context.navigation,
            context.notices,
            model,
        )
    )
    context[LibraryController].stage_wanted.connect(draft.begin_stage)
    ahead = context[StartAhead]
    ahead.is_task_near = lambda: model.goal is not None and model.probe is not None
    model.changed.connect(ahead.on_task)
    define_tasks(context.actions, draft, playing)

    return Feature(docks=[DockSpec(lambda: TaskDock(draft, playing, context.actions, context.palette), "Shift+F3")])


def define_tasks(registry: ActionRegistry, draft: TaskDraft, playing: PlayController) -> None:
    add, changed = registry.add, (draft.model.changed,)
    state = (playing.changed,)

    def capture_refusal() -> str:
        return playing.solo_refusal() or draft.refusal()

    add(
        "saveStart",
        tr("Save start state"),
        draft.save_start,
        "F7",
        tip=tr("Episodes of the new task start at this point of the game"),
        refusal=capture_refusal,
        follows=state,
    )
    add(
        "captureGoal",
        tr("Capture goal"),
        draft.capture_goal,
        "F8",
        tip=tr("Make the current picture the goal of the new task"),
        refusal=capture_refusal,
        follows=state,
    )
    add(
        "makeTask",
        tr("Create task"),
        draft.make,
        "Ctrl+M",
        refusal=draft.make_refusal,
        tip=tr("Create the task, then measure how hard it is"),
        follows=changed,
    )
    add(
        "trainTask",
        tr("Train on the new task"),
        draft.train,
        "Ctrl+Shift+N",
        short=tr("Train new"),
        refusal=draft.train_refusal,
        follows=changed,
    )
    add(
        "newDraft",
        tr("Start another task"),
        lambda: draft.start_over(),
        tip=tr("Discard the start states and the goal"),
        refusal=lambda: tr("Nothing captured yet") if draft.model.is_empty else "",
        follows=changed,
    )
