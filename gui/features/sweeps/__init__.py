"""Sweeps: runs of the training form's configuration, one for each combination of a few varied options."""

from __future__ import annotations

from PySide6.QtWidgets import QMainWindow

from gui.features.runs.controller import RunsController
from gui.features.sweeps.controller import SweepController
from gui.features.sweeps.sheet import SweepSheet
from gui.features.train.controller import TrainingController
from gui.kit.actions import ActionRegistry
from gui.kit.words import tr
from gui.state.config_fields import field_specs
from gui.state.context import Context, Feature
from trainer_core.sweeps.space import RESERVED
from trainer_core.wire.config import RunConfig


def feature(context: Context) -> Feature:
    sweeps = context.add(
        SweepController(
            context.bridge, context[TrainingController], context[RunsController], context.navigation, context.notices
        )
    )
    define_sweeps(context.actions, sweeps, context.window)
    return Feature(ends=[sweeps.close])


def define_sweeps(registry: ActionRegistry, sweeps: SweepController, window: QMainWindow) -> None:
    add, follows = registry.add, (sweeps.changed, sweeps.draft.changed)
    add(
        "newSweep",
        tr("New sweep..."),
        lambda: _open(sweeps, window),
        "Ctrl+Shift+S",
        short=tr("Sweep..."),
        tip=tr("Train the run in the form once for each value of a few settings"),
        refusal=sweeps.form_refusal,
        follows=follows,
    )
    add(
        "stopSweep",
        lambda: tr("Stop the sweep's trials now") if sweeps.is_stopping else tr("Stop the sweep"),
        sweeps.stop,
        tip=tr("Running trials save a checkpoint and end; no other trial starts"),
        refusal=sweeps.stop_refusal,
        follows=follows,
    )


def _open(sweeps: SweepController, window: QMainWindow) -> None:
    fields = [(spec.name, tr(spec.label)) for spec in field_specs(RunConfig) if spec.name not in RESERVED]
    SweepSheet(window, sweeps.draft, fields, sweeps.refusal, sweeps.begin).open()
