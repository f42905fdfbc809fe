"""What all curves share: their x axis, their smoothing, and whether they follow new data."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSlider, QWidget

from gui.actions import ActionRegistry
from gui.models.metric_series import X_AXES
from gui.models.run_telemetry import TelemetryModel
from gui.widgets.action_button import action_button
from gui.widgets.labels import label
from gui.words import tr

SMOOTHING = ("smoothDecaying", "smoothRunning", "smoothGaussian")
NARROW = 320
"""Pixels of a row below which only controls have room."""


class CurveControls(QWidget):
    """A row of controls; every such row shows the same state."""

    def __init__(self, model: TelemetryModel, actions: ActionRegistry, prefix: str = "") -> None:
        """`prefix` tells the objectNames of one row from those of another."""
        super().__init__()
        self._model = model
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self.axis = QComboBox()
        self.axis.setObjectName(f"{prefix}xAxisBox")
        self.axis.setAccessibleName(tr("Horizontal axis"))
        self.axis.setMinimumContentsLength(7)
        for name, text in X_AXES.items():
            self.axis.addItem(tr("by {what}", what=tr(text)), name)
        self.axis.activated.connect(lambda: model.set_x_axis(str(self.axis.currentData())))
        self.smoothing = QSlider(Qt.Orientation.Horizontal)
        self.smoothing.setObjectName(f"{prefix}smoothingSlider")
        self.smoothing.setAccessibleName(tr("Smoothing"))
        self.smoothing.setToolTip(tr("Smoothing; a right click chooses the kind"))
        self.smoothing.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.smoothing.addActions([actions[name] for name in SMOOTHING])
        self.smoothing.setRange(0, 99)
        self.smoothing.setFixedWidth(64)
        self.smoothing.valueChanged.connect(lambda value: model.set_smoothing(value / 100))
        self.follow = action_button(actions["followCurves"], f"{prefix}followButton")
        row.addWidget(self.axis)
        row.addStretch(1)
        self._words = label(tr("Smooth"), "muted")
        self._words.setMinimumWidth(1)  # it must not keep a dock from becoming narrow
        row.addWidget(self._words)
        row.addWidget(self.smoothing)
        row.addWidget(self.follow)
        model.view_changed.connect(self._show)
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrow row does without the slider's name, which its tooltip has too."""
        super().resizeEvent(event)
        self._words.setVisible(self.width() >= NARROW)

    def _show(self) -> None:
        self.axis.setCurrentIndex(self.axis.findData(self._model.x_axis))
        self.smoothing.blockSignals(True)
        self.smoothing.setValue(round(self._model.smoothing * 100))
        self.smoothing.blockSignals(False)
