"""The window: places docks and tabs, wires signals, owns menus and layout. No logic of its own."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QCoreApplication, Qt, QTimer
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow, QTabWidget

from gui import object_names as names
from gui import theme
from gui.bridge import Bridge, in_thread
from gui.center.live import LiveView
from gui.center.replay import ReplayView
from gui.center.wall import EnvWall
from gui.center.welcome import Welcome
from gui.dashboards import Dashboards
from gui.docks.agent import AgentDock
from gui.docks.checkpoints import CheckpointsDock
from gui.docks.log import LogDock
from gui.docks.runs import RunsDock
from gui.docks.telemetry import TelemetryDock
from gui.docks.trained import TrainedPage
from gui.docks.training import TrainingDock
from gui.layout import Layout
from gui.menus import build_menus
from gui.models.checkpoints import CheckpointCard, CheckpointList, card_of, scan, verify
from gui.models.log_buffer import LogBuffer
from gui.models.presets import DEMO
from gui.models.run_list import RunList
from gui.models.run_telemetry import TelemetryModel
from gui.models.run_words import WORDS
from gui.models.session import FIRST_TASK, Mode, Operation, Session
from gui.playing import PlayController
from gui.screen import Palette
from gui.settings import Settings
from gui.task_draft import TaskDraft
from gui.training import TrainingController
from gui.widgets.banner import BannerArea
from gui.widgets.dialogs import ask_about_running
from trainer_core.protocol import records
from trainer_core.protocol.runs import RunRecord, RunState
from trainer_core.service import BadLine, RunChanged, import_checkpoint, read_history

DEFAULT_SIZE = (1280, 800)


class MainWindow(QMainWindow):
    def __init__(
        self, *, settings: Settings, bridge: Bridge, session: Session,
        training: TrainingController, playing: PlayController, telemetry: TelemetryModel,
        runs: RunList, checkpoints: CheckpointList, log: LogBuffer, palette: Palette,
    ) -> None:  # fmt: skip
        super().__init__()
        self.setObjectName(names.MAIN_WINDOW)
        self.setWindowTitle("DMG Lab")
        self.resize(*DEFAULT_SIZE)
        self.setMinimumSize(1024, 700)
        self.setDockNestingEnabled(True)
        self.settings, self.bridge, self.session = settings, bridge, session
        self.training, self.playing, self.telemetry = training, playing, telemetry
        self.runs, self.checkpoints, self.log, self.shades = runs, checkpoints, log, palette
        self._closing = False
        self._make_center()
        self._make_docks()
        self._make_status_bar()
        self.dashboards = Dashboards(bridge)
        self.layouts = Layout(self, settings)
        self.actions_by_id = build_menus(self)
        self._connect()
        self.apply_mode()
        self.set_screen_colors(settings.text("view/screen", "green"))
        self.layouts.restore()

    # -- building ---------------------------------------------------------------------------

    def _make_center(self) -> None:
        self.welcome = Welcome(self.training)
        self.draft = TaskDraft(self.bridge, self.session, self.playing)
        self.live = LiveView(self.playing, self.session, self.draft, self.shades, self.welcome)
        self.wall = EnvWall(self.bridge, self.training, self.shades)
        self.replay = ReplayView(self.bridge, self.shades)
        self.center = QTabWidget()
        self.center.setObjectName(names.CENTER_TABS)
        self.center.setDocumentMode(True)
        self.center.tabBar().setAccessibleName("Center tabs")
        self.center.tabBar().setExpanding(False)
        for widget, title in (
            (self.live, "Live"), (self.wall, "Env wall"), (self.replay, "Replay"),
        ):  # fmt: skip
            self.center.addTab(widget, title)
        self.setCentralWidget(self.center)
        self.banners = BannerArea(self, self.center)

    def _make_docks(self) -> None:
        self.trained = TrainedPage(self.session, self.playing)
        self.agent_dock = AgentDock(self.session, self)
        self.training_dock = TrainingDock(self.session, self.training, self.trained, self)
        self.telemetry_dock = TelemetryDock(self.telemetry, self)
        self.checkpoints_dock = CheckpointsDock(self.checkpoints, self)
        self.runs_dock = RunsDock(self.runs, self.bridge.home, self)
        self.log_dock = LogDock(self.log, self)

    def _make_status_bar(self) -> None:
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        self.status_run = QLabel("No run")
        self.status_speed = QLabel("")
        self.status_age = QLabel("")
        bar.addWidget(self.status_run)
        bar.addPermanentWidget(self.status_speed)
        bar.addPermanentWidget(self.status_age)
        self._clock = QTimer(self, interval=1000)
        self._clock.timeout.connect(self._on_clock)
        self._clock.start()

    def _connect(self) -> None:
        bridge, training, playing = self.bridge, self.training, self.playing
        bridge.run_changed.connect(self._on_run_changed)
        bridge.event_received.connect(self._on_event)
        bridge.log_lines.connect(lambda run_id, lines: [self.log.add(line) for line in lines])
        bridge.bad_line.connect(self._on_bad_line)
        bridge.problem.connect(self._on_problem)
        self.session.mode_changed.connect(self._on_mode)
        self.session.operation_changed.connect(self._on_operation)
        self.session.task_changed.connect(self._on_task)
        training.started.connect(self._on_started)
        training.ready_changed.connect(self._on_clock)
        self.draft.told.connect(lambda title, text: self.banners.show_message(title, text, "good"))
        self.draft.made.connect(self._on_task_made)
        self.checkpoints_dock.import_wanted.connect(self.import_checkpoint)
        playing.recorded.connect(self._on_recorded)
        playing.output.connect(lambda lines: [self.log.add(f"player: {line}") for line in lines])
        self.welcome.demo_wanted.connect(self.prepare_demo)
        self.welcome.play_wanted.connect(self.play_game)
        self.runs_dock.demo_wanted.connect(self.show_welcome)
        self.runs_dock.selected.connect(self.show_run)
        self.runs_dock.pin_toggled.connect(self.telemetry.toggle_pin)
        self.runs_dock.pin_toggled.connect(self._load_history)
        self.runs_dock.resume_wanted.connect(training.resume)
        self.runs_dock.reuse_wanted.connect(self.reuse_config)
        self.checkpoints_dock.deploy_wanted.connect(self.deploy)
        self.checkpoints_dock.warm_start_wanted.connect(self.warm_start)
        self.checkpoints_dock.selected.connect(self.trained.show_card)
        self.replay.exported.connect(self._on_exported)
        self.telemetry_dock.info.tensorboard_wanted.connect(self.dashboards.open_tensorboard)
        self.dashboards.told.connect(self.banners.show_message)
        self.agent_dock.modes.button(Mode.HUMAN).clicked.connect(self.play_game)
        train_new = self.agent_dock.operations.button(Operation.TRAIN)
        train_new.clicked.connect(training.check)
        self.center.currentChanged.connect(self._on_tab)

    def open_home(self) -> None:
        """Read what earlier sessions left: runs, checkpoints, recordings."""
        lost = self.bridge.service.open()
        self.runs.put_all(list(self.bridge.service.runs.values()))
        if self.bridge.service.runs:
            newest = max(self.bridge.service.runs.values(), key=lambda run: run.created_at)
            self.runs_dock.select(newest.run_id)
        self.reload_checkpoints()
        self.replay.reload()
        for run in lost:
            self.banners.show_message(
                f"Run {run.run_id} was lost", run.reason, "warn",
                "Resume", lambda run_id=run.run_id: self.training.resume(run_id),
            )  # fmt: skip

    # -- verbs that menus and docks share -----------------------------------------------------

    def prepare_demo(self) -> None:
        """Fill the form with the demo and show what it would run."""
        self.session.set_mode(Mode.AGENT)
        self.session.set_operation(Operation.TRAIN)
        tasks = self.session.task_titles()
        task = FIRST_TASK if FIRST_TASK in tasks else next(iter(tasks))
        self.training.draft.set_values({**DEMO.fields, "task": task})
        self.training.check()

    def show_welcome(self) -> None:
        self.live.welcome_wanted = True
        self.live.refresh()
        self.center.setCurrentWidget(self.live)
        self.welcome.start.setFocus(Qt.FocusReason.OtherFocusReason)

    def play_game(self) -> None:
        """A person plays the task's game."""
        self.session.set_mode(Mode.HUMAN)
        self.live.welcome_wanted = False
        self.center.setCurrentWidget(self.live)
        request = self.playing.request
        if request is not None and (request.mode, request.task) == ("human", self.session.task):
            self.live.screen_view.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self.playing.play_human()

    def _on_task(self, task: str) -> None:
        request = self.playing.request
        if self.session.mode is Mode.HUMAN and request is not None and request.task != task:
            self.play_game()

    def deploy(self, card: CheckpointCard) -> None:
        """Verify the hash in a thread, then let the checkpoint play."""
        self.center.setCurrentWidget(self.live)
        self.live.welcome_wanted = False
        if self.session.mode is Mode.HUMAN:
            self.session.set_mode(Mode.AGENT)
        self.bridge.spawn(in_thread(verify, card), title="Deploy", then=self._on_verified)

    def _on_verified(self, card: CheckpointCard) -> None:
        self.checkpoints.put(card)
        if card.is_usable:
            self.playing.deploy(card.task, card.folder)
        else:
            self.banners.show_message(
                "This checkpoint was not loaded",
                f"its weights are {card.integrity}; what played before goes on", "error",
            )  # fmt: skip

    def warm_start(self, card: CheckpointCard) -> None:
        """Fill the form so that a new run begins with these weights."""
        self.session.set_mode(Mode.AGENT)
        self.session.set_operation(Operation.TRAIN)
        self.training.draft.set_values({"task": card.task, "warm_start": str(card.folder)})
        self.banners.show_message("Warm start", f"the next run begins with {card.folder.name}")

    def import_checkpoint(self, folder: Path) -> None:
        """Copy, verify and register a checkpoint folder; the copy is then selected."""
        work = in_thread(import_checkpoint, folder, self.bridge.home)
        self.bridge.spawn(work, title="The checkpoint was not imported", then=self._on_imported)

    def _on_imported(self, found: tuple[RunRecord, Path]) -> None:
        run, folder = found
        self.bridge.service.runs[run.run_id] = run
        self.runs.put(run)
        (record,) = [
            event
            for event in read_history(self.bridge.home.run(run.run_id).train_log).events
            if isinstance(event, records.CheckpointRecord)
        ]
        card = card_of(run, self.bridge.home.run(run.run_id).root, record)
        self.checkpoints.put(replace(card, integrity="verified"))
        self.checkpoints_dock.select(folder)
        self.banners.show_message("Imported", f"{run.task}, {run.env_steps:,} steps", "good")

    def _on_task_made(self, task: str) -> None:
        self.agent_dock.reload_tasks()
        self.training_dock.form.set_options("task", list(self.session.task_titles()))
        self.session.set_task(task)
        self.banners.show_message("Task made", task, "good", "Train new",
                                  lambda: self.actions_by_id["trainNew"].trigger())  # fmt: skip

    def reuse_config(self, run_id: str) -> None:
        run = self.telemetry.runs.get(run_id)
        if run is not None and run.meta is not None:
            self.session.set_mode(Mode.AGENT)
            self.session.set_operation(Operation.TRAIN)
            self.training.draft.set_values(run.meta.config)

    def show_run(self, run_id: str) -> None:
        """Put a run in focus: curves, badge, run info."""
        self.telemetry.set_focus(run_id)
        self.training.show(run_id)
        self._load_history(run_id)

    def reload_checkpoints(self) -> None:
        work = in_thread(scan, self.bridge.home, dict(self.bridge.service.runs))
        self.bridge.spawn(work, title="Checkpoints", then=self.checkpoints.set_cards)

    def set_theme(self, name: str) -> None:
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        theme.apply_theme(app, name)
        self.settings.set("view/theme", name)
        self.telemetry_dock.recolor()

    def set_screen_colors(self, name: str) -> None:
        self.shades.set_colors(theme.SCREEN_GREY if name == "grey" else theme.SCREEN_GREEN)
        self.settings.set("view/screen", name)
        for view in (self.live.screen_view, self.wall.screen_view, self.replay.screen_view):
            view.recolor()

    # -- following models and services ------------------------------------------------------

    def _on_mode(self, mode: Mode) -> None:
        self.apply_mode()
        if mode is Mode.AGENT:
            QTimer.singleShot(0, self, self.layouts.tighten)
        if mode is not Mode.HUMAN:
            request = self.playing.request
            if request is not None and request.mode == "human":
                self.playing.stop()

    def apply_mode(self) -> None:
        """Training widgets are only there when an agent is to learn."""
        self.training_dock.setVisible(self.session.mode is Mode.AGENT)

    def _on_operation(self, operation: Operation) -> None:
        if operation is Operation.USE:
            self.checkpoints_dock.show()
            self.checkpoints_dock.raise_()

    def _on_started(self, run_id: str) -> None:
        self.telemetry.set_focus(run_id)
        self.telemetry.run(run_id)
        self.runs_dock.select(run_id)
        if self.live.welcome_wanted:
            self.live.welcome_wanted = False
            self.center.setCurrentWidget(self.wall)
            self.live.refresh()

    def _on_run_changed(self, notice: RunChanged) -> None:
        run = notice.record
        self.runs.put(run)
        word = WORDS[run.state]
        if notice.detail or run.state.is_end:
            detail = run.reason if run.state.is_end else notice.detail
            self.log.add(f"{run.run_id} {word.lower()}{': ' + detail if detail else ''}")
        if run.state.is_end and not self._closing:
            self._on_end(run)
        self._on_clock()

    def _on_end(self, run) -> None:  # type: ignore[no-untyped-def]
        self.reload_checkpoints()
        if run.state is RunState.FINISHED:
            self.banners.show_message(
                "Training finished", f"{run.env_steps:,} environment steps", "good",
                "Watch it play", self._watch_newest,
            )  # fmt: skip
        elif run.state is RunState.FAILED:
            self.banners.show_message(
                "Training failed", run.reason, "error", "Show log", self._show_log
            )

    def _watch_newest(self) -> None:
        card = self.checkpoints_dock.current()
        if card is not None:
            self.deploy(card)

    def _show_log(self) -> None:
        self.log_dock.show()
        self.log_dock.raise_()

    def _on_event(self, run_id: str, event: records.Event) -> None:
        self.telemetry.take(run_id, event)
        if isinstance(event, records.CheckpointRecord):
            run = self.bridge.service.runs[run_id]
            self.checkpoints.drop_missing()
            card = card_of(run, self.bridge.home.run(run_id).root, event)
            self.checkpoints.put(card)
            self.checkpoints_dock.select(card.folder)
            self.bridge.spawn(in_thread(verify, card), then=self.checkpoints.put)
            self.log.add(f"{run_id} checkpoint {event.path} ({event.reason})")
        elif isinstance(event, records.ErrorRecord):
            self.log.add(f"{run_id} error {event.kind}: {event.message}", 2)

    def _load_history(self, run_id: str) -> None:
        """Read what the log has and the model lacks, once per run; live records follow on."""
        run = self.telemetry.run(run_id)
        if run.next_seq == 0:
            work = self.bridge.service.history(run_id)
            self.bridge.spawn(
                work, title="Run history",
                then=lambda past: [self.telemetry.take(run_id, event) for event in past.events],
            )  # fmt: skip

    def _on_bad_line(self, run_id: str, line: BadLine) -> None:
        self.log.add(f"{run_id} bad line: {line.reason} {line.text}".rstrip(), 1)

    def _on_problem(self, title: str, cause: str) -> None:
        self.log.add(f"{title}: {cause}", 2)
        self.banners.show_message(title, cause, "error")

    def _on_recorded(self, folder: Path) -> None:
        self.replay.load(folder)
        self.replay.reload()
        self.banners.show_message(
            "Recorded", folder.name, "good", "Open replay",
            lambda: self.center.setCurrentWidget(self.replay),
        )  # fmt: skip

    def _on_exported(self, path: Path) -> None:
        self.banners.show_message("GIF written", str(path), "good")
        self.log.add(f"GIF written: {path}")

    def _on_tab(self, index: int) -> None:
        if self.center.widget(index) is self.replay:
            self.replay.reload()

    def _on_clock(self) -> None:
        for known in self.bridge.service.runs.values():
            if self.bridge.service.is_live(known.run_id):
                self.runs.put(known)
        run, state = self.training.record, self.training.state
        self.status_run.setText(
            f"Run {run.run_id[-4:]} {WORDS[state].lower()}" if run else "No run"
        )
        shown = self.telemetry.runs.get(self.training.run_id)
        live = state is RunState.RUNNING and shown is not None and shown.last_update is not None
        last = shown.last_update if shown is not None and live else None
        self.status_speed.setText(f"{last.sps:,.0f} steps/s" if last else "")
        age = time.time() - last.time if last else 0.0
        self.status_age.setText(f"last record {age:.0f} s ago" if last else "")

    # -- the end ----------------------------------------------------------------------------

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about running trainings; then end every process, then the app."""
        if self._closing:
            event.accept()
            return
        live = [run for run in self.bridge.service.runs.values()
                if self.bridge.service.is_live(run.run_id)]  # fmt: skip
        event.ignore()
        if live:
            ask_about_running(self, len(live), self.close_quietly)
        else:
            self.close_quietly()

    def close_quietly(self) -> None:
        """Stop every process that this window started, then quit."""
        if self._closing:
            return
        self._closing = True
        self.layouts.save()
        self.settings.save()
        self.bridge.spawn(self._shut_down(), title="Closing")

    async def _shut_down(self) -> None:
        try:
            self.dashboards.close()
            await self.playing.player.stop()
            await self.bridge.service.close()
        finally:
            self.bridge.close()
            self.close()
            QCoreApplication.quit()
