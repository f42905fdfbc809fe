"""Commands on checkpoints: find them on disk and in running trainings, verify, deploy, warm start, import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject

from gui.features.play.controller import PlayController
from gui.features.runs.model import RunList
from gui.features.train.controller import TrainingController
from gui.kit import object_names as names
from gui.kit.words import tr
from gui.state.bridge import Bridge, in_thread
from gui.state.checkpoints import (
    MOST_CARDS,
    MOST_VERIFIED,
    CheckpointCard,
    CheckpointList,
    card_of,
    chunks,
    run_cards,
    scan,
    verify,
)
from gui.state.notices import Notices
from gui.state.session import Mode, Navigation, Operation, Session
from trainer_core.lab.checkpoint_manifest import is_checkpoint
from trainer_core.lab.task_lists import one_of, split_tasks
from trainer_core.service import RunChanged, import_checkpoint
from trainer_core.wire import records
from trainer_core.wire.run_record import RunRecord


class CheckpointsController(QObject):
    """Commands on checkpoints. They act on the model's selected checkpoint unless a method takes another."""

    def __init__(
        self,
        bridge: Bridge,
        session: Session,
        model: CheckpointList,
        runs: RunList,
        training: TrainingController,
        playing: PlayController,
        navigation: Navigation,
        notices: Notices,
    ) -> None:
        super().__init__()
        self._training, self.training_changed = training, training.badge_changed
        self._bridge, self._session, self.model, self._runs = bridge, session, model, runs
        self._draft, self._playing = training.draft, playing
        self.playing_changed = playing.changed
        self._navigation, self._notices = navigation, notices
        self.is_own_only = False
        """True while only checkpoints of the run in focus are on show."""
        self.training_changed.connect(self._show_own)
        bridge.event_received.connect(self._on_event)
        bridge.run_changed.connect(self._on_run_changed)
        session.operation_changed.connect(self._on_operation)
        session.task_changed.connect(self._on_task)
        model.selection_changed.connect(self._look_again)

    def reload(self) -> None:
        """Scan every run's folder for checkpoints in a thread, the newest runs first."""
        self._bridge.spawn(self._scan(), title=tr("Checkpoints"))

    async def _scan(self) -> None:
        for runs in chunks(self._bridge.service.runs.values()):
            self.model.put_all(await in_thread(scan, self._bridge.home, runs))
            if len(self.model.cards) >= MOST_CARDS:
                break
        newest = sorted(self.model.cards, key=lambda card: -card.created_at)
        for card in newest[:MOST_VERIFIED]:
            self._put_verified(await in_thread(verify, card))

    def _look_again(self) -> None:
        """Check the hash of the selected checkpoint again if it was verified: its file may have changed since."""
        card = self.model.selected
        if card is None or card.integrity != "verified" or not card.folder.is_dir():
            return

        def put(found: CheckpointCard) -> None:
            if found.integrity != "verified":
                self.model.put(found)

        self._bridge.spawn(in_thread(verify, card), title=tr("Checkpoints"), then=put)

    def _put_verified(self, card: CheckpointCard) -> None:
        """Update the list with the verified `card`, or remove it if the run has deleted that checkpoint meanwhile."""
        if card.folder.is_dir():
            self.model.put(card)
        else:
            self.model.drop_missing(card.run_id)

    def look_at(self, run_id: str) -> None:
        """Read the run's checkpoints in a thread and add them to the list, even if the scan skipped the run as old."""
        run = self._bridge.service.runs.get(run_id)
        if run is not None:
            work = in_thread(scan, self._bridge.home, [run])
            self._bridge.spawn(work, title=tr("Checkpoints"), then=self.model.put_all)

    def toggle_own(self) -> None:
        """Limit the list to checkpoints of the run in focus, or show those of all runs again."""
        self.is_own_only = not self.is_own_only
        self._show_own()
        self.model.shown_changed.emit()

    def _show_own(self) -> None:
        run_id = self._training.run_id if self.is_own_only else ""
        if run_id and run_id != self.model.only:
            self.look_at(run_id)
        self.model.show_only(run_id)

    # -- playing ----------------------------------------------------------------------------

    def refusal(self) -> str:
        """Return why the selected checkpoint can neither play nor start a run; empty when it can do one of these."""
        card = self.model.selected
        if card is None:
            return tr("Select a checkpoint first")
        if card.integrity == "missing":
            return tr("Its files are missing")
        if not card.is_usable:
            return tr("Its weights do not match their checksum")
        return ""

    def deploy_refusal(self) -> str:
        """Return why the selected checkpoint cannot play; empty when it can."""
        return self.refusal() or self._no_player(self.model.selected)

    def _no_player(self, card: CheckpointCard | None) -> str:
        return self.no_player(card.run_id) if card else ""

    def no_player(self, run_id: str) -> str:
        """Return why checkpoints of the run's trainer cannot play in the app; empty when they can or it is unknown."""
        run = self._bridge.service.runs.get(run_id)
        for runner in self._bridge.service.runners:
            if run and runner.id == run.runner and not runner.capabilities.play:
                return tr("{title} has no player for its checkpoints", title=runner.title)
        return ""

    def warm_start_refusal(self) -> str:
        """Return why a new run cannot start from the selected checkpoint's weights; empty when it can."""
        card = self.model.selected
        run = self._bridge.service.runs.get(card.run_id) if card else None
        for runner in self._bridge.service.runners:
            if run and runner.id == run.runner and not runner.capabilities.warm_start:
                return tr("{title} cannot start from a checkpoint", title=runner.title)
        return self.refusal()

    def deploy_selected(self) -> None:
        card = self.model.selected
        if card is not None:
            self.deploy(card)

    def beside_refusal(self) -> str:
        """Return why the selected checkpoint cannot play beside the playing one; empty when it can."""
        card, now = self.model.selected, self._playing.request
        if now is None or not now.checkpoint:
            return tr("Deploy one checkpoint, then select the other")
        if refusal := self.deploy_refusal():
            return refusal
        assert card is not None
        if str(card.folder) in (now.checkpoint, now.rival):
            return tr("This checkpoint is already playing: select another one")
        if now.task not in split_tasks(card.task):
            return tr("This checkpoint belongs to another task, {task}", task=self._session.task_title(card.task))
        if not self._playing.player.can_load(card.folder):
            return tr("Only policies of the same trainer can play side by side")
        return ""

    def deploy_beside(self) -> None:
        """Let the selected checkpoint play beside the one that plays now, from the same start states."""
        card, now = self.model.selected, self._playing.request
        if card is None or now is None:
            return
        task, left = now.task, Path(now.checkpoint)

        def verified(card: CheckpointCard) -> None:
            self._on_verified(card, lambda: self._playing.deploy(task, left, str(card.folder)))

        self._navigation.show_game()
        self._bridge.spawn(in_thread(verify, card), title=tr("Deploy"), then=verified)

    def deploy(self, card: CheckpointCard) -> None:
        """Verify the checkpoint's hash in a thread, then let its policy play in the live view."""
        if refusal := self._no_player(card):
            self._notices.tell(tr("Deploy"), refusal, "warn")
            return
        self._navigation.show_game()
        if self._session.mode is Mode.HUMAN:
            self._session.set_mode(Mode.AGENT)

        def verified(card: CheckpointCard) -> None:
            # Of several tasks the one chosen in the agent dock, else the first.
            task = one_of(card.task, self._session.task)
            self._on_verified(card, lambda: self._playing.deploy(task, card.folder))

        self._bridge.spawn(in_thread(verify, card), title=tr("Deploy"), then=verified)

    def _on_task(self, task: str) -> None:
        """Restart the playing checkpoint on `task`, which the user has chosen, if it was trained on several tasks."""
        now = self._playing.request
        if now is None or not now.checkpoint or now.rival or now.task == task:
            return
        row = self.model.row_of(Path(self._playing.checkpoint))
        if row >= 0 and task in split_tasks(self.model.cards[row].task):
            self._playing.deploy(task, self.model.cards[row].folder)

    def _on_verified(self, card: CheckpointCard, play: Callable[[], None]) -> None:
        self.model.put(card)
        if card.is_usable:
            play()
        else:
            self._notices.tell(
                tr("This checkpoint was not loaded"),
                tr("Its files are missing. The current player continues")
                if card.integrity == "missing"
                else tr("Its file was changed or damaged. The current player continues"),
                "error",
            )

    def _of_run(self, run_id: str) -> CheckpointCard | None:
        """Return the run's best checkpoint, or its newest if no validation succeeded; None without a checkpoint."""
        mine = [card for card in self.model.cards if card.run_id == run_id and card.is_usable]
        return next(filter(self.model.is_best, mine), self.model.newest_of(run_id))

    def watch_refusal(self) -> str:
        """Return why no checkpoint of the run on show can play; empty when one can."""
        card = self._of_run(self._training.run_id)
        return self._no_player(card) if card else tr("The run has no checkpoint yet")

    def watch_run(self, run_id: str = "") -> None:
        """Let the best checkpoint of a run play; an empty `run_id` means the run on show."""
        card = self._of_run(run_id or self._training.run_id)
        if card is not None:
            self.model.select(card.folder)
            self.deploy(card)

    # -- warm start -------------------------------------------------------------------------

    def warm_start_selected(self) -> None:
        """Fill the training form so that a new run starts from the selected checkpoint's weights."""
        card = self.model.selected
        if card is not None:
            self._session.set_runner(self._bridge.service.runs[card.run_id].runner)
            self._session.turn_to_training()
            self._draft.set_values({"task": card.task, "warm_start": str(card.folder)})
            self._notices.tell(
                tr("Start from this checkpoint"), tr("the next run starts from {name}", name=card.folder.name)
            )

    # -- import -----------------------------------------------------------------------------

    def take_path(self, path: Path) -> bool:
        """Select the checkpoint in this folder, or import it from elsewhere; return whether it is one."""
        if not is_checkpoint(path):
            return False
        self._navigation.show_dock(names.CHECKPOINTS_DOCK)
        if self.model.row_of(path) >= 0:
            self.model.select(path)
        else:
            self.import_folder(path)
        return True

    def import_folder(self, folder: Path) -> None:
        """Copy a checkpoint folder into the home, verify it, add it to the list and select it."""
        work = in_thread(import_checkpoint, folder, self._bridge.home)
        self._bridge.spawn(work, title=tr("The checkpoint was not imported"), then=self._on_imported)

    def _on_imported(self, found: tuple[RunRecord, Path]) -> None:
        run, folder = found
        self._bridge.service.runs[run.run_id] = run
        self._runs.put(run)
        cards = run_cards(run, self._bridge.home.run(run.run_id))
        for card in cards:  # a scan may have found it meanwhile, without verifying it
            self.model.put(replace(card, integrity="verified"))
        self.model.select(folder)
        title = self._session.task_title(run.task)
        self._notices.tell(
            tr("Imported"), tr("{task}, {env_steps:,} steps", task=title, env_steps=run.env_steps), "good"
        )

    # -- following runs ---------------------------------------------------------------------

    def _on_event(self, run_id: str, event: records.Event) -> None:
        """Add a checkpoint that a run has just saved, and verify it in a thread.

        It becomes the selected one only if the run's newest checkpoint, or none, was selected before.
        """
        if isinstance(event, records.CheckpointRecord):
            run = self._bridge.service.runs[run_id]
            self.model.drop_missing(run_id)
            chosen, newest = self.model.selected, self.model.newest_of(run_id)
            card = card_of(run, self._bridge.home.run(run_id).root, event)
            self.model.put(card)
            if chosen is None or chosen == newest:
                self.model.select(card.folder)
            self._bridge.spawn(in_thread(verify, card), then=self._put_verified)

    def _on_run_changed(self, notice: RunChanged) -> None:
        if notice.record.state.is_end and not self._bridge.closing:
            self.model.drop_missing(notice.record.run_id)
            self.look_at(notice.record.run_id)

    def _on_operation(self, operation: Operation) -> None:
        if operation is Operation.USE:
            self._navigation.show_dock(names.CHECKPOINTS_DOCK)
