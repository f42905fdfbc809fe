"""Export form of a recording: format, file, scale, palette, range and speed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QDoubleSpinBox, QFormLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from gui.kit.boxes import named, put
from gui.kit.dialogs import Sheet, ask_new_file, begin_folder
from gui.kit.labels import button, choice_box, indented, label, spin_box
from gui.kit.words import tr

FORMATS = (("GIF", ".gif"), ("APNG", ".apng"), ("MP4", ".mp4"), ("PNG sequence", ""))
PALETTES = (
    ("Green screen", "screen-dmg"),
    ("Grey screen", "screen-grey"),
    ("Game Boy Pocket", "screen-pocket"),
    ("Game Boy Light", "screen-light"),
    ("Pale greens", "green"),
    ("Plain greys", "grey"),
)


class ExportSheet(Sheet):
    """Export form; when the user confirms, it calls `export` with the file and options of `dmglab export`."""

    def __init__(
        self,
        parent: QWidget,
        frames: int,
        place: Path,
        has_mp4: bool,
        screen: str,
        export: Callable[[Path, list[str]], object],
    ) -> None:
        """Build the form for a recording of `frames` frames.

        `place` is the proposed file without suffix; `screen` names the present screen colours.
        """
        super().__init__(parent, "exportSheet", tr("Export the recording"))
        self._export = export
        self.format = choice_box("exportFormat", tr("Format"), ((suffix, tr(text)) for text, suffix in FORMATS))
        if not has_mp4:
            self.format.removeItem(self.format.findData(".mp4"))
        self.place = named(QLineEdit(begin_folder(str(place.with_suffix(".gif")), "gif")), "exportPlace", tr("Folder"))
        self.place.setMinimumWidth(320)
        self.format.currentIndexChanged.connect(self._on_format)
        self.scale = spin_box("exportScale", tr("Screen pixels per Game Boy pixel"), 1, 8, 3)
        palettes = ((value, tr(text)) for text, value in PALETTES)
        self.palette_box = choice_box("exportPalette", tr("Colours"), palettes, f"screen-{screen}")
        # Counted from 1, as in the replay and the piano roll.
        self.first = spin_box("exportFirst", tr("First frame"), 1, frames, 1)
        self.last = spin_box("exportLast", tr("Last frame"), 1, frames, frames)
        self.first.valueChanged.connect(self.last.setMinimum)
        self.speed = named(indented(QDoubleSpinBox()), "exportSpeed", tr("Speed"))
        self.speed.setRange(0.1, 16.0)
        self.speed.setSingleStep(0.5)
        self.speed.setValue(1.0)
        self.speed.setSuffix(" x")
        self._arrange()

    def _arrange(self) -> None:
        row = QHBoxLayout()
        put(row, (self.place, 1), button(tr("Choose..."), "exportChoose", clicked=self._choose))
        form = QFormLayout()
        for text, field in (
            (tr("Format"), self.format),
            (tr("Folder"), row),
            (tr("Scale"), self.scale),
            (tr("Colours"), self.palette_box),
            (tr("From frame"), self.first),
            (tr("To frame"), self.last),
            (tr("Speed"), self.speed),
        ):
            form.addRow(text, field)
        below = QHBoxLayout()
        put(below, 1, button(tr("Cancel"), "exportCancel", clicked=self.reject))
        export = button(tr("Export"), "exportButton", primary=True, clicked=self._agree)
        export.setDefault(True)  # Return presses it, in any field
        below.addWidget(export)
        column = QVBoxLayout(self)
        column.addLayout(form)
        if self.format.findData(".mp4") < 0:
            told = tr("MP4 needs ffmpeg or the package imageio-ffmpeg: install one of them")
            column.addWidget(label(told, "muted"))
        column.addLayout(below)

    def _on_format(self) -> None:
        self.place.setText(str(Path(self.place.text()).with_suffix(self.format.currentData())))

    def _choose(self) -> None:
        def take(path: Path) -> None:
            self.place.setText(str(path.with_suffix(self.format.currentData())))

        ask_new_file(self, tr("Export to"), self.place.text(), take)

    def _agree(self) -> None:
        options = [
            "--scale",
            str(self.scale.value()),
            "--palette",
            str(self.palette_box.currentData()),
            "--from-frame",
            str(self.first.value() - 1),
            "--to-frame",
            str(self.last.value() - 1),
            "--speed",
            f"{self.speed.value():g}",
        ]
        self._export(Path(self.place.text()).expanduser().absolute(), options)
        self.accept()
