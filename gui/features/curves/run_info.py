"""Information on the run in focus, ready to copy; size of its folder; whether it is sent to W&B."""

from __future__ import annotations

import html
import json
import shlex
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication, QTextOption
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QStackedWidget,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.boxes import every
from gui.kit.containers import empty_page
from gui.kit.labels import button, label, size_text
from gui.kit.style_sheet import BOLD, GAP, SMALL_PX
from gui.kit.words import number, tr
from gui.state.bridge import Bridge, in_thread
from gui.state.config_fields import field_specs
from gui.state.run_notes import RunNotes
from gui.state.telemetry import TelemetryModel
from trainer_core.runs.wandb_run import WandbRun, read_wandb
from trainer_core.service import folder_bytes
from trainer_core.wire.records import CheckpointRecord, MetaRecord

WANDB_MS = 2000
NOTE_HEIGHT = 160
"""Height in pixels above which a run's notes get a scroll bar."""
NAMES = 136
"""Width in pixels of the column of names."""
SHORT_HASH, HASHES = 12, (40, 64)
"""Letters shown of a checksum, and lengths of checksums; *Copy* takes all of them."""
Sections = list[tuple[str, list[tuple[str, str, bool]]]]


class RunInfoController(QObject):
    wandb_read = Signal(str, object)
    """Run id, and its WandbRun, None if it is not sent to W&B."""
    disk_use_read = Signal(str, object)
    """Run id, and size of its folder in bytes."""

    def __init__(self, bridge: Bridge, telemetry: TelemetryModel) -> None:
        super().__init__()
        self._bridge, self._telemetry = bridge, telemetry
        self.is_watched: Callable[[], bool] = lambda: False
        """Function that returns whether the page on the run is visible now; set by the view that shows it."""
        self._clock = every(self, WANDB_MS, self.read)
        telemetry.focus_changed.connect(self.read_disk_use)
        telemetry.event_taken.connect(self._on_event)

    def read(self) -> None:
        if self.is_watched() and (focus := self._telemetry.focus):
            there = in_thread(read_wandb, self._bridge.home.run(focus))
            self._bridge.spawn(there, then=lambda found: self.wandb_read.emit(focus, found))

    def _on_event(self, run_id: str, event: object) -> None:
        """Measure the run's folder after each checkpoint, as checkpoints are most of its size."""
        if isinstance(event, CheckpointRecord) and run_id == self._telemetry.focus:
            self.read_disk_use(run_id)

    def read_disk_use(self, run_id: str) -> None:
        if run_id:
            work = in_thread(folder_bytes, self._bridge.home.run(run_id).root)
            self._bridge.spawn(work, then=lambda size: self.disk_use_read.emit(run_id, size))


class RunInfo(QWidget):
    """Page with what the run in focus is: notes, and names and values in two columns."""

    def __init__(self, model: TelemetryModel, actions: ActionRegistry, notes: RunNotes) -> None:
        super().__init__()
        self._model, self._notes = model, notes
        self._shown: object = None
        self._sections: Sections = []
        self._sizes: dict[str, int] = {}
        self._wandb: dict[str, WandbRun | None] = {}
        self.text = QTextBrowser()
        self.text.setObjectName("runInfo")
        self.text.setAccessibleName(tr("Details of the run"))
        self.text.setTabChangesFocus(True)
        self.text.setOpenExternalLinks(True)
        self.text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.text.document().setDocumentMargin(0)
        self.note = QLabel(textFormat=Qt.TextFormat.MarkdownText, wordWrap=True)
        self.note.setObjectName("runNote")
        self.note.setOpenExternalLinks(True)
        self.note.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        self.note.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.note.setAlignment(Qt.AlignmentFlag.AlignTop)
        shown = QScrollArea()
        shown.setWidget(self.note)
        shown.setWidgetResizable(True)
        shown.setFrameShape(QFrame.Shape.NoFrame)
        shown.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        shown.setMaximumHeight(NOTE_HEIGHT)
        shown.hide()
        self._note_area = shown
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(12, GAP, 12, GAP)
        column.setSpacing(GAP)
        column.addWidget(shown)
        column.addWidget(self.text, 1)
        row = QHBoxLayout()
        row.setSpacing(GAP)
        row.addWidget(label(tr("Open in"), "muted"))
        row.addWidget(action_button(actions["openTensorBoard"], names.OPEN_TENSORBOARD_BUTTON))
        row.addWidget(action_button(actions["exportWandb"], names.OPEN_WANDB_BUTTON))
        self._page = QWidget()  # hidden apart from its command's own state
        holder = QHBoxLayout(self._page)
        holder.setContentsMargins(0, 0, 0, 0)
        holder.addWidget(action_button(actions["openWandb"], "openWandbPage"))
        self._page.hide()
        row.addWidget(self._page)
        row.addStretch(1)
        row.addWidget(button(tr("Copy"), "copyRunInfo", clicked=self._copy))
        column.addLayout(row)
        self._missing, self._why = label(), label("", "caption")
        self._stack = QStackedWidget()
        self._stack.addWidget(page)
        self._stack.addWidget(empty_page(self._missing, self._why))
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._stack)

    def refresh(self) -> None:
        """Show the run in focus, if anything of it changed since the last call."""
        focus = self._model.focus
        run = self._model.runs.get(focus)
        meta = run.meta if run else None
        note, why = self._notes[focus], self._model.waits.get(focus, "")
        wandb = self._wandb.get(focus)
        key = (meta, self._sizes.get(focus), wandb, note, why, focus, theme.current().name)
        if key == self._shown or not self.isVisible():
            return
        self._shown = key
        self._stack.setCurrentIndex(0 if meta else 1)
        if meta is None:
            self._missing.setText(tr("This run has no details") if focus else tr("No run is selected"))
            self._why.setText(why if focus else tr("Start a run, or select one under Runs"))
            return
        self.note.setText(note.text)
        self._note_area.setVisible(bool(note.text))
        place = self.text.verticalScrollBar().value()
        self._page.setVisible(wandb is not None and bool(wandb.url))
        self._sections = sections_of(meta, self._sizes.get(focus, 0), wandb)
        self.text.setHtml(_html(self._sections))
        self.text.verticalScrollBar().setValue(place)

    def show_disk_use(self, run_id: str, size: int) -> None:
        """Show the size of a run's folder, in bytes."""
        self._sizes = {run_id: size}

    def show_wandb(self, run_id: str, wandb: WandbRun | None) -> None:
        """Show where at W&B a run is, and how far it was sent."""
        self._wandb = {run_id: wandb}
        self.refresh()

    def _copy(self) -> None:
        lines = []
        for title, rows in self._sections:
            lines += [title, *(f"  {name:<24}{value}" for name, value, _ in rows), ""]
        QGuiApplication.clipboard().setText("\n".join(lines))


def sections_of(meta: MetaRecord, size: int, wandb: WandbRun | None = None) -> Sections:
    """Return titles, and for each the (name, value, is code) rows of what a run's first record says.

    `size` is that of its folder in bytes, 0 if it is not known; `wandb` tells how it is sent to W&B, if it is.
    """
    known = {spec.name: spec for spec in field_specs()}
    run = [
        (tr("ID"), meta.run_id, True),
        (tr("Task"), meta.task, False),
        (tr("Trainer"), meta.runner, False),
        (tr("Algorithm"), meta.algo.upper(), False),
        (tr("Device"), ", ".join(filter(None, (meta.device.replace("cpu", "CPU"), meta.device_name))), False),
        (tr("Game Boys"), str(meta.num_envs or ""), False),
        (tr("Seed"), str(meta.seed), False),
        (tr("Size on disk"), size_text(size) if size else "", False),
    ]
    game = [
        (tr("Buttons"), meta.codec, True),
        (tr("Picture"), meta.observation_rule, True),
        (tr("Pictures at once"), str(meta.stack_k or ""), False),
        (tr("Frames per step"), str(meta.frames_per_step or ""), False),
        (tr("Buttons held for"), tr("{count} frames", count=meta.release_after_frames), False),
        (tr("Game"), meta.rom_sha256, True),
        (tr("Start states"), meta.starts_sha256, True),
        (tr("Goal"), meta.goal_sha256, True),
    ]
    values: list[tuple[str, str, bool]] = []
    for name, value in meta.config.items():
        title = tr(known[name].label) if name in known else name
        values.append((title, value if isinstance(value, str) else json.dumps(value), False))
    software = [("git", meta.git_sha, True), *((name, text, False) for name, text in meta.versions.items())]
    command = [("", shlex.join(meta.argv), True)]
    page = (
        [
            (tr("Project"), wandb.project, False),
            (tr("Name"), wandb.name, False),
            (tr("Page"), wandb.url, False),
            (tr("State"), tr(wandb.state.capitalize()), False),
            (tr("Records sent"), number(wandb.rows, ","), False),
            (tr("Clips and tables"), f"{wandb.uploaded} / {len(wandb.files)}" if wandb.files else "", False),
            (tr("Reason"), wandb.reason, False),
        ]
        if wandb
        else []
    )
    sections = [
        (tr("Run"), run),
        (tr("Weights & Biases"), page),
        (tr("Game and pictures"), game if meta.codec else []),
        (tr("Settings"), values),
        (tr("Software"), software),
        (tr("Command"), command),
    ]
    kept = [(title, [row for row in rows if row[1]]) for title, rows in sections]
    return [(title, rows) for title, rows in kept if rows]


def _html(sections: Sections) -> str:
    colors, mono = theme.current(), theme.mono_font()
    code = f'style="font-family: {mono.family()}; font-size: {SMALL_PX}px"'
    parts = []
    for title, rows in sections:
        parts.append(f'<p style="font-weight: {BOLD}; margin: 12px 0 4px 0">{html.escape(title)}</p>')
        parts.append('<table width="100%" cellspacing="0" cellpadding="0">')
        for name, value, is_code in rows:
            short = f"{value[:SHORT_HASH]}\u2026" if len(value) in HASHES and is_code else value
            cell = f"<span {code if is_code else ''}>{html.escape(short)}</span>"
            if value.startswith(("http://", "https://")) and name == tr("Page"):
                cell = f'<a href="{html.escape(value)}" style="color: {colors.accent}">{html.escape(value)}</a>'
            head = f'<td width="{NAMES}" style="color: {colors.muted}; padding: 3px 8px 3px 0">{html.escape(name)}</td>'
            parts.append(f'<tr>{head if name else ""}<td style="padding: 3px 0">{cell}</td></tr>')
        parts.append("</table>")
    return "".join(parts)
