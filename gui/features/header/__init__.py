"""Header over the window: the run on show, or the checkpoint that plays, with its success and its buttons."""

from __future__ import annotations

from gui.features.header.view import RunHeader
from gui.features.header.watching import Watched
from gui.features.play.controller import PlayController
from gui.features.runs.controller import RunsController
from gui.features.train.controller import TrainingController
from gui.features.train.status import RunStatus
from gui.state.context import Context, Feature


def feature(context: Context) -> Feature:
    training, playing, runs = context[TrainingController], context[PlayController], context[RunsController]
    watched = context.add(Watched(playing, context.checkpoints, context.telemetry, runs.show, context.situations))

    def make_header() -> RunHeader:
        elapsed_s = context[RunStatus].elapsed_s
        return RunHeader(
            training, elapsed_s, watched, context.situations, context.telemetry, context.session, context.actions
        )

    return Feature(bars=[make_header])
