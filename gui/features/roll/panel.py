"""Panel beside the replay: the piano roll, its commands, and the tree of branches."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QHeaderView, QTreeWidget, QTreeWidgetItem

from gui.features.replay.controller import ReplayController
from gui.features.replay.view import ButtonEditor
from gui.features.roll.controller import RollController
from gui.features.roll.piano_roll import PianoRoll
from gui.kit.actions import ActionRegistry, Command, action_button, action_icon_button
from gui.kit.boxes import hbox, named, put, vbox
from gui.kit.labels import label
from gui.kit.words import tr
from trainer_core.lab.recording import Recording, read_recording
from trainer_core.wire.errors import ProtocolError


@dataclass(slots=True)
class Branch:
    """A recording and the recordings that were branched off from it, which share its beginning."""

    folder: Path
    recording: Recording
    children: list[Branch] = field(default_factory=list)


def branch_trees(folders: list[Path]) -> list[Branch]:
    """Return the recordings without a parent, each with its tree of branches, in the order of `folders`.

    A recording whose parent is missing counts as one without.
    """
    found: dict[str, Branch] = {}
    for folder in folders:
        try:
            found.setdefault(folder.name, Branch(folder, read_recording(folder)))
        except ProtocolError:
            continue  # it is being written, or was deleted
    roots = []
    for branch in found.values():
        parent = found.get(branch.recording.parent)
        if parent is None or _is_above(branch, parent, found):
            roots.append(branch)
        else:
            parent.children.append(branch)
    for branch in found.values():
        branch.children.sort(key=lambda child: (child.recording.forked_at, child.folder.name))
    return roots


def _is_above(branch: Branch, other: Branch, found: dict[str, Branch]) -> bool:
    """Return whether `branch` is `other` or one of its ancestors; damaged files may contain cycles."""
    seen: set[str] = set()
    at: Branch | None = other
    while at is not None and at.folder.name not in seen:
        if at is branch:
            return True
        seen.add(at.folder.name)
        at = found.get(at.recording.parent)
    return False


class RollPanel(ButtonEditor):
    def __init__(self, roll: RollController, replay: ReplayController, actions: ActionRegistry) -> None:
        super().__init__()
        self._roll, self._replay = roll, replay
        self.piano = PianoRoll()
        self.setFocusProxy(self.piano)
        self.piano.frame_picked.connect(self.frame_picked)
        self.piano.pressed.connect(roll.press)
        self.piano.inserted.connect(roll.insert)
        self.piano.deleted.connect(roll.delete)
        self.state = named(label("", "muted", wrap=True), "rollState")
        self.tree = named(QTreeWidget(), "branchTree", tr("Branches of the recording"))
        self.tree.setHeaderLabels([tr("Recording"), tr("From frame")])
        self.tree.setTextElideMode(Qt.TextElideMode.ElideLeft)  # branches differ in their ends
        header = self.tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.tree.setFixedHeight(84)
        self.setMaximumWidth(self.piano.sizeHint().width() + 16)
        self.tree.itemActivated.connect(self._on_activated)
        self.tree.itemClicked.connect(self._on_activated)
        column = vbox(self, margins=(8, 8, 8, 8), spacing=4)
        column.addWidget(self.piano, 1)
        put(column, self.state, _pictures(actions, ("rollUndo", "rollRedo", "rollInsert", "rollDelete")))
        for action_id in ("rollSave", "rollPlayOn"):  # one below the other: no language cuts them
            column.addWidget(action_button(actions[action_id], f"{action_id}Button"))
        column.addWidget(self.tree)
        roll.changed.connect(self.refresh)
        roll.changed.connect(self.changed)
        roll.pictured.connect(self.pictured)
        replay.changed.connect(self._fill)
        self._fill()

    @property
    def is_open(self) -> bool:
        return self._roll.is_open

    @property
    def frames(self) -> int:
        return len(self._roll.masks)

    @property
    def fork(self) -> int:
        return self._roll.fork

    @property
    def busy(self) -> str:
        return self._roll.busy

    @property
    def frames_path(self) -> Path | None:
        return self._roll.player.frames_path

    def seek(self, frame: int) -> None:
        self._roll.seek(frame)
        self.piano.set_frame(frame)

    def refresh(self) -> None:
        roll = self._roll
        frames, fork = len(roll.masks), roll.fork
        self.piano.show_masks(bytes(roll.masks), roll.known, fork if roll.is_changed else frames)
        self.piano.set_frame(min(roll.frame, max(0, frames - 1)))
        told = [roll.busy] if roll.busy else []
        if roll.is_changed:
            told.append(tr("changed from frame {frame} on, not saved", frame=fork + 1))
        if roll.known < frames:
            told.append(tr("{known} of {frames} played", known=roll.known, frames=frames))
        elif roll.is_open and not roll.is_changed:
            told.append(tr("plays back exactly"))
        self.state.setText("; ".join(told))

    def _fill(self) -> None:
        """Show the tree that contains the recording on show."""
        self.tree.clear()
        replay = self._replay.replay
        if replay is None:
            return
        for root in branch_trees(self._replay.folders):
            if _holds(root, replay.folder):
                self._add(self.tree.invisibleRootItem(), root, replay.folder)
        self.tree.expandAll()
        root = self.tree.topLevelItem(0)
        self.tree.setVisible(root is not None and root.childCount() > 0)

    def _add(self, above: QTreeWidgetItem, branch: Branch, shown: Path) -> None:
        recording = branch.recording
        begun = str(recording.forked_at + 1) if recording.parent else ""
        item = QTreeWidgetItem(above, [branch.folder.name, begun])
        item.setData(0, Qt.ItemDataRole.UserRole, str(branch.folder))
        item.setToolTip(0, tr("{frames} frames, {mode}", frames=recording.frames, mode=recording.mode))
        for child in branch.children:
            self._add(item, child, shown)
        if branch.folder == shown:
            self.tree.setCurrentItem(item)

    def _on_activated(self, item: QTreeWidgetItem) -> None:
        folder = Path(item.data(0, Qt.ItemDataRole.UserRole))
        replay = self._replay.replay
        if replay is None or replay.folder != folder:
            self._replay.load(folder)


def _pictures(actions: ActionRegistry, ids: tuple[str, ...]) -> QHBoxLayout:
    """Return a row of icon buttons for these commands; buttons with text would be wider than the roll."""
    row = hbox(spacing=4)
    for action_id in ids:
        action = actions[action_id]
        assert isinstance(action, Command)
        row.addWidget(action_icon_button(action, f"{action_id}Button"))
    row.addStretch(1)
    return row


def _holds(branch: Branch, folder: Path) -> bool:
    return branch.folder == folder or any(_holds(child, folder) for child in branch.children)
