"""What the app can do: every command with its words, its shortcut and when it is possible.

First the controllers' verbs, which docks and tabs show as buttons, then what only changes the view.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QCursor, QDesktopServices
from PySide6.QtWidgets import QDockWidget, QLineEdit, QMainWindow, QTabWidget

from gui import object_names as names
from gui.actions import ActionRegistry
from gui.center.game_keys_page import GameKeysPage
from gui.controllers.appearance import Appearance
from gui.controllers.checkpoints import CheckpointsController
from gui.controllers.curves import CurvesController
from gui.controllers.dashboards import Dashboards
from gui.controllers.gamepad import Gamepad
from gui.controllers.journal import Journal
from gui.controllers.playing import PlayController
from gui.controllers.replay import ReplayController
from gui.controllers.runners import RunnersController
from gui.controllers.runs import RunsController
from gui.controllers.task_draft import TaskDraft
from gui.controllers.training import TrainingController
from gui.keymap import PLAY_KEYS
from gui.layout import Layout
from gui.models.game_keys import GameKeys
from gui.models.navigation import Navigation, Place
from gui.models.run_filter import RunFilter
from gui.models.run_telemetry import TelemetryModel
from gui.models.seed_groups import DEVIATION, RANGE, SPREADS
from gui.models.session import Session
from gui.models.smoothing import KINDS
from gui.settings import Settings
from gui.view_history import ViewHistory
from gui.widgets.color_menu import color_menu
from gui.widgets.command_palette import CommandPalette
from gui.widgets.comparison import Comparison
from gui.widgets.dialogs import CheatSheet, ask_file, ask_folder, ask_new_file
from gui.widgets.run_note_form import RunNoteForm
from gui.widgets.settings_dialog import Choice, SettingsDialog
from gui.words import tr
from trainer_core.wire.run_record import RunState

TAB_KEYS = {"telemetry": "Ctrl", "center": "Alt"}
"""What is held with a number to reach a tab."""


def define_training(
    registry: ActionRegistry, training: TrainingController, session: Session, navigation: Navigation
) -> None:
    add, state = registry.add, (training.badge_changed, session.runner_changed)

    def is_paused() -> bool:
        return training.state is RunState.PAUSED

    def is_stopping() -> bool:
        return training.state is RunState.STOPPING

    add("trainNew", tr("New run"), training.train_new, "Ctrl+N", tip=tr("Turn to the form of a new run and check it"))
    add(
        "start",
        tr("Start training"),
        training.start,
        "Ctrl+Return",
        refusal=training.reason,
        follows=(training.ready_changed,),
    )
    add(
        "pause",
        lambda: tr("Resume training") if is_paused() else tr("Pause training"),
        training.toggle_pause,
        "Ctrl+P",
        short=lambda: tr("Resume") if is_paused() else tr("Pause"),
        refusal=training.pause_refusal,
        is_there=lambda: training.capabilities.pause,
        follows=state,
    )
    add(
        "checkpoint",
        tr("Save checkpoint"),
        training.save_checkpoint,
        "Ctrl+S",
        short=tr("Checkpoint"),
        tip=tr("Write a checkpoint at the next update"),
        refusal=training.checkpoint_refusal,
        is_there=lambda: training.capabilities.checkpoints,
        follows=state,
    )
    add(
        "stop",
        lambda: tr("Force the training to stop now") if is_stopping() else tr("Stop training"),
        training.stop,
        "Ctrl+.",
        short=lambda: tr("Force now") if is_stopping() else tr("Stop"),
        refusal=training.stop_refusal,
        follows=state,
    )
    add(
        "welcome",
        tr("Welcome"),
        navigation.show_welcome,
        tip=tr("Where the demo is"),
        is_there=lambda: not (navigation.welcome and navigation.place is Place.LIVE),
        follows=(navigation.welcome_changed, navigation.place_changed),
    )


def define_runners(registry: ActionRegistry, runners: RunnersController) -> None:
    add, follows = registry.add, (runners.changed,)
    add(
        "installRunner",
        tr("Install the chosen trainer"),
        runners.install,
        short=tr("Install"),
        tip=tr("Fetch it from the package index into an environment of its own"),
        refusal=runners.refusal,
        is_there=lambda: runners.wanted is not None and not runners.installing,
        follows=follows,
    )
    add(
        "removeRunner",
        tr("Remove the chosen trainer"),
        runners.remove,
        short=tr("Remove"),
        tip=tr("Delete its environment; runs and checkpoints stay"),
        refusal=runners.remove_refusal,
        follows=follows,
    )
    add(
        "cancelInstall",
        tr("Cancel the installation"),
        runners.cancel,
        short=tr("Cancel"),
        tip=tr("What it wrote so far is removed"),
        refusal=lambda: "" if runners.installing else tr("Nothing is being installed"),
        is_there=lambda: runners.installing is not None,
        follows=follows,
    )


def define_runs(
    registry: ActionRegistry,
    runs: RunsController,
    dashboards: Dashboards,
    training: TrainingController,
    telemetry: TelemetryModel,
    window: QMainWindow,
) -> None:
    add = registry.add

    def ask_note() -> None:
        RunNoteForm(window, runs.current.name if runs.current else "", runs.note(), runs.annotate).open()

    def compare() -> None:
        names = [telemetry.label(run.run_id) for run in runs.compared()]
        Comparison(window, names, runs.differences(), runs.outcomes(), runs.parallel()).open()

    focus = (telemetry.focus_changed, telemetry.run_told, training.badge_changed)
    add(
        "pinRun",
        tr("Pin the run's curves"),
        runs.toggle_pin,
        tip=tr("Show them beside those of other runs"),
        refusal=runs.refusal,
        is_on=lambda: telemetry.focus in telemetry.pinned,
        follows=(*focus, telemetry.pins_changed),
    )
    add("describeRun", tr("Name, tags and notes..."), ask_note, "Ctrl+T", refusal=runs.refusal, follows=focus)
    add(
        "runColor",
        tr("Colour of its curves..."),
        lambda: color_menu(window, runs.color(), runs.set_color).exec(QCursor.pos()),
        tip=tr("Whenever they are on show"),
        refusal=runs.refusal,
        follows=focus,
    )
    add(
        "compareRuns",
        tr("Compare the configurations"),
        compare,
        "Ctrl+Shift+C",
        tip=tr("What the runs with an open eye were told differently"),
        refusal=runs.compare_refusal,
        follows=(*focus, telemetry.pins_changed),
    )
    add(
        "showSweep",
        tr("Show the curves of the sweep"),
        runs.show_sweep,
        tip=tr("Every trial of the sweep that the run belongs to"),
        refusal=runs.sweep_refusal,
        follows=focus,
    )
    add(
        "toggleSweep",
        tr("Every trial of the sweep as a row"),
        runs.toggle_sweep,
        tip=tr("A double-click on the sweep's row does this too"),
        refusal=runs.sweep_refusal,
        is_on=runs.is_sweep_open,
        follows=focus,
    )
    add(
        "hideOthers",
        tr("Hide the curves of other runs"),
        runs.hide_others,
        refusal=lambda: "" if telemetry.pinned else tr("No other run is on show"),
        follows=(telemetry.pins_changed,),
    )
    add(
        "resumeRun",
        tr("Resume the run from its checkpoint"),
        runs.resume,
        short=tr("Resume"),
        refusal=runs.resume_refusal,
        follows=focus,
    )
    for by, name, text in (
        (-1, "queueEarlier", tr("Earlier in the queue")),
        (1, "queueLater", tr("Later in the queue")),
    ):
        add(
            name,
            text,
            partial(runs.move_in_queue, by),
            tip=tr("Change places with the run before or behind it"),
            refusal=partial(runs.move_refusal, by),
            is_there=runs.waits,
            follows=(*focus, runs.queue_changed),
        )
    add(
        "reuseConfig",
        tr("New run with its configuration"),
        runs.reuse_config,
        refusal=runs.reuse_refusal,
        follows=focus,
    )
    add(
        "showError",
        tr("Show the run's log"),
        runs.show_log,
        short=tr("Error"),
        tip=tr("Its last words"),
        refusal=runs.error_refusal,
        is_there=lambda: not runs.error_refusal(),
        follows=focus,
    )
    add(
        "openLog",
        tr("Open the run's log file"),
        runs.open_log,
        short=tr("File"),
        tip=tr("All that its trainer said, in your editor"),
        refusal=runs.log_refusal,
        follows=focus,
    )
    add(
        "openRunFolder",
        tr("Open the run's folder"),
        runs.open_folder,
        short=tr("Folder"),
        refusal=runs.refusal,
        follows=focus,
    )
    add(
        "openTensorBoard",
        tr("Open the run in TensorBoard"),
        dashboards.open_tensorboard,
        short=tr("TensorBoard"),
        tip=tr("Export the curves and open them in your browser"),
        refusal=runs.curves_refusal,
        follows=focus,
    )
    add(
        "exportWandb",
        tr("Write the run for Weights and Biases"),
        dashboards.export_wandb,
        short="W&B",
        tip=tr("As its client keeps a run offline; nothing is sent"),
        refusal=runs.curves_refusal,
        follows=focus,
    )
    kinds = tr("Runs of TensorBoard and W&B") + " (*.tfevents.* *.wandb history.jsonl)"
    add(
        "importCurves",
        tr("Import curves of TensorBoard or W&B..."),
        lambda: ask_file(window, tr("Import curves"), kinds, dashboards.import_curves),
        tip=tr("An event file, run-ID.wandb of an offline run, or history.jsonl"),
        short=tr("Import curves..."),
    )
    add(
        "importCurveFolder",
        tr("Import a log folder of TensorBoard..."),
        lambda: ask_folder(window, tr("Import a log folder"), dashboards.import_curves),
        tip=tr("Every run in it and below it"),
    )


def define_curves(
    registry: ActionRegistry, curves: CurvesController, telemetry: TelemetryModel, window: QMainWindow
) -> None:
    add, choices = registry.add, curves.choices
    spoken = (choices.spoken_of, choices.changed, choices.maximised)

    add(
        "followCurves",
        tr("Follow new data"),
        curves.follow,
        short=tr("Follow"),
        tip=tr("Show everything and follow new data"),
        refusal=curves.follow_refusal,
        follows=(telemetry.view_changed,),
    )
    add(
        "plotMaximise",
        lambda: tr("Show all plots") if choices.is_maximised else tr("Maximise the plot"),
        curves.toggle_maximised,
        tip=tr("A double-click on a plot does this too"),
        refusal=curves.refusal,
        follows=spoken,
    )
    add(
        "allPlots",
        tr("All plots"),
        curves.toggle_maximised,
        tip=tr("Back to every plot"),
        is_there=lambda: choices.is_maximised,
        follows=(choices.maximised,),
    )
    add(
        "plotLog",
        tr("Logarithmic y axis"),
        curves.toggle_log,
        refusal=curves.refusal,
        is_on=lambda: choices.is_log(choices.current),
        follows=spoken,
    )
    add(
        "plotPin",
        tr("Pin the plot"),
        curves.toggle_pinned,
        tip=tr("Above all groups, whichever runs are on show"),
        refusal=curves.refusal,
        is_on=lambda: choices.current in choices.pinned,
        follows=spoken,
    )
    add(
        "plotHide",
        tr("Hide the plot"),
        curves.hide,
        tip=tr("Add a plot brings it back"),
        refusal=curves.refusal,
        follows=spoken,
    )
    for kind in ("png", "svg", "csv"):
        add(
            f"plot{kind.capitalize()}",
            tr("Export the plot as {upper}...", upper=kind.upper()),
            lambda kind=kind: ask_new_file(
                window, tr("Export the plot"), curves.file_name(kind), partial(curves.export, kind)
            ),
            refusal=curves.refusal,
            follows=spoken,
        )
    for spread, name in ((RANGE, "groupRange"), (DEVIATION, "groupDeviation")):
        add(
            name,
            tr(SPREADS[spread]),
            partial(curves.toggle_spread, spread),
            tip=tr("Runs on show that differ in nothing but their seed become one curve"),
            is_on=lambda spread=spread: telemetry.spread == spread,
            follows=(telemetry.view_changed,),
        )
    for kind in KINDS:
        add(
            f"smooth{kind.capitalize() or 'Decaying'}",
            tr(KINDS[kind]),
            partial(curves.smooth_by, kind),
            tip=tr("How the slider's smoothing weighs the points around one"),
            is_on=lambda kind=kind: telemetry.smoothing_kind == kind,
            follows=(telemetry.view_changed,),
        )
    add(
        "trimOutliers",
        tr("Ignore outliers"),
        curves.toggle_outliers,
        tip=tr("The y axis has room for all but the highest and lowest twentieth"),
        is_on=lambda: telemetry.trims_outliers,
        follows=(telemetry.view_changed,),
    )
    add(
        "resetPlots", tr("Reset the plots"), choices.reset, tip=tr("Every plot, in the first order, with straight axes")
    )


def define_checkpoints(registry: ActionRegistry, checkpoints: CheckpointsController, window: QMainWindow) -> None:
    add, chosen = registry.add, (checkpoints.model.selection_changed,)

    def ask_import() -> None:
        ask_folder(window, tr("Import a checkpoint folder"), checkpoints.import_folder)

    add(
        "import",
        tr("Import checkpoint..."),
        ask_import,
        "Ctrl+O",
        short=tr("Import..."),
        tip=tr("Copy a checkpoint folder into this home"),
    )
    add(
        "ownCheckpoints",
        tr("Checkpoints of the run in focus only"),
        checkpoints.toggle_own,
        short=tr("This run"),
        tip=tr("Hide those of other runs"),
        is_on=lambda: checkpoints.is_own_only,
        follows=(checkpoints.model.shown_changed,),
    )
    add(
        "deploy",
        tr("Deploy checkpoint"),
        checkpoints.deploy_selected,
        "Ctrl+D",
        short=tr("Deploy"),
        tip=tr("Let it play in the live view"),
        refusal=checkpoints.deploy_refusal,
        follows=chosen,
    )
    add(
        "deployBeside",
        tr("Deploy beside the one that plays"),
        checkpoints.deploy_beside,
        "Ctrl+Shift+D",
        short=tr("Beside"),
        tip=tr("Two policies in lockstep, from the same starts"),
        refusal=checkpoints.beside_refusal,
        follows=(*chosen, checkpoints.playing_changed),
    )
    add(
        "watchRun",
        tr("Watch the run play"),
        checkpoints.watch_run,
        short=tr("Watch"),
        tip=tr("Deploy its best checkpoint, or its newest"),
        refusal=checkpoints.watch_refusal,
        follows=(checkpoints.model.rowsInserted, checkpoints.model.rowsRemoved, checkpoints.training_changed),
    )
    add(
        "warmStart",
        tr("Warm start"),
        checkpoints.warm_start_selected,
        tip=tr("Begin a new run with its weights"),
        refusal=checkpoints.warm_start_refusal,
        follows=chosen,
    )


def define_playing(
    registry: ActionRegistry,
    playing: PlayController,
    draft: TaskDraft,
    replay: ReplayController,
    appearance: Appearance,
) -> None:
    add, refusal, state = registry.add, playing.refusal, (playing.changed,)

    def capture_refusal() -> str:
        return playing.solo_refusal() or draft.refusal()

    add("playGame", tr("Play the game"), playing.play_game, "Ctrl+G")
    add(
        "playPause",
        lambda: tr("Go on") if playing.paused else tr("Pause"),
        playing.toggle_pause,
        tip=tr("Pause or go on (Space)"),
        symbol=lambda: "play" if playing.paused else "pause",
        refusal=refusal,
        follows=state,
    )
    add("playStep", tr("One step"), playing.step, tip=tr("One step (.)"), symbol="step", refusal=refusal, follows=state)
    add("playRestart", tr("New episode"), playing.restart, symbol="restart", refusal=refusal, follows=state)
    add("endPlayer", tr("End the player"), playing.stop, symbol="stop", refusal=refusal, follows=state)
    add(
        "saveStart",
        tr("Save start state"),
        draft.save_start,
        "F7",
        tip=tr("Episodes of a new task begin where the game is now"),
        refusal=capture_refusal,
        follows=state,
    )
    add(
        "captureGoal",
        tr("Capture goal"),
        draft.capture_goal,
        "F8",
        tip=tr("The picture on show becomes the goal of a new task"),
        refusal=capture_refusal,
        follows=state,
    )
    add(
        "record",
        lambda: tr("Stop recording") if playing.recording else tr("Record"),
        playing.toggle_record,
        "Ctrl+R",
        short=lambda: tr("Stop") if playing.recording else tr("Record"),
        tip=tr("Keep the pictures and buttons for a replay"),
        is_on=lambda: playing.recording,
        refusal=playing.solo_refusal,
        follows=state,
    )
    add(
        "exportGif",
        lambda: tr("Cancel the export") if replay.is_exporting else tr("Export GIF"),
        lambda: replay.toggle_export(appearance.screen),
        "Ctrl+E",
        short=lambda: tr("Cancel") if replay.is_exporting else tr("Export GIF"),
        refusal=replay.export_refusal,
        follows=(replay.changed,),
    )


def define_views(
    registry: ActionRegistry, window: QMainWindow, layout: Layout, appearance: Appearance, home: Path
) -> None:
    add = registry.add
    themes, screens = (appearance.theme_changed,), (appearance.screen_changed,)
    for name, text in (("dark", tr("Dark")), ("light", tr("Light"))):
        add(
            f"theme{name.capitalize()}",
            text,
            partial(appearance.set_theme, name),
            is_on=lambda name=name: appearance.theme == name,
            follows=themes,
        )
    screen_words = (
        ("green", tr("greens")),
        ("grey", tr("greys")),
        ("pocket", tr("a Pocket's greys")),
        ("light", tr("a Light's greens")),
    )
    for name, text in screen_words:
        add(
            f"screen{name.capitalize()}",
            tr("Screen in {what}", what=text),
            partial(appearance.set_screen, name),
            is_on=lambda name=name: appearance.screen == name,
            follows=screens,
        )
    add(
        "screenLcd",
        tr("Screen as a liquid crystal"),
        appearance.toggle_lcd,
        tip=tr("Lines between the pixels, and pictures that fade into each other"),
        is_on=lambda: appearance.is_lcd,
        follows=screens,
    )
    add(
        "wholePixels",
        tr("Whole pixels only"),
        appearance.toggle_whole,
        tip=tr("Each pixel of the game is as large as the others; off: the game fills its room"),
        is_on=lambda: appearance.is_whole,
        follows=screens,
    )
    add("fullScreen", tr("Full screen"), lambda: _toggle_full_screen(window), "F11")
    add(
        "onlyCenter",
        tr("Only the middle"),
        layout.toggle_only_center,
        "Ctrl+F11",
        tip=tr("Put every dock away, so that the game is as large as it can be; again: all back"),
        is_on=lambda: layout.is_only_center,
        follows=(layout.changed,),
    )
    add("resetLayout", tr("Reset layout"), layout.reset, "Ctrl+0")
    add("openHome", tr("Open data folder"), lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(home))))
    add("quit", tr("Quit"), window.close, "Ctrl+Q")
    add("shortcuts", tr("Keyboard"), lambda: CheatSheet(window, _all_keys(registry)).show(), "F12")


def define_undo(registry: ActionRegistry, history: ViewHistory) -> None:
    follows = (history.changed,)
    registry.add(
        "undoView",
        tr("Undo the change of the view"),
        history.undo,
        "Ctrl+Z",
        tip=tr("Docks, plots, axes, zoom and pinned runs; nothing that was done"),
        refusal=history.undo_refusal,
        follows=follows,
    )
    registry.add(
        "redoView",
        tr("Redo the change of the view"),
        history.redo,
        "Ctrl+Shift+Z",
        refusal=history.redo_refusal,
        follows=follows,
    )


def define_dialogs(
    registry: ActionRegistry,
    window: QMainWindow,
    settings: Settings,
    choices: list[Choice],
    journal: Journal,
    telemetry: TelemetryModel,
    keys: GameKeys,
    gamepad: Gamepad,
) -> None:
    """What is opened over the window; last, so that they know every command."""
    registry.add(
        "bugReport",
        tr("Write a bug report..."),
        lambda: ask_new_file(
            window,
            tr("Bug report"),
            f"dmglab-report{'-' if telemetry.focus else ''}{telemetry.focus}.zip",
            partial(journal.write_report, telemetry.focus),
        ),
        tip=tr("Logs and configuration of the run in one file, no ROM and no weights"),
    )
    registry.add(
        "commandPalette", tr("Find a command..."), lambda: CommandPalette(window, registry).open(), "Ctrl+Shift+P"
    )
    registry.add(
        "settings",
        tr("Settings..."),
        lambda: _open_settings(window, settings, choices, registry, keys, gamepad),
        "Ctrl+,",
    )


def _open_settings(
    window: QMainWindow,
    settings: Settings,
    choices: list[Choice],
    registry: ActionRegistry,
    keys: GameKeys,
    gamepad: Gamepad,
) -> None:
    dialog = SettingsDialog(window, settings, choices, registry)
    dialog.add_page(GameKeysPage(keys, gamepad), tr("Game"))
    dialog.open()


def define_places(
    registry: ActionRegistry,
    docks: dict[QDockWidget, str],
    tabs: dict[str, QTabWidget],
    run_filter: QLineEdit,
    listed: RunFilter,
    runs: RunsController,
    navigation: Navigation,
    telemetry: TelemetryModel,
) -> None:
    """Commands that show a dock (by its key) or a tab, by a key of TAB_KEYS and its number.

    A page of curves is hidden while the runs on show measure nothing that belongs there.
    """

    def refusal(shown: QTabWidget, index: int) -> str:
        return "" if shown.isTabVisible(index) else tr("There is nothing to show there")

    for dock, keys in docks.items():
        registry.add(
            f"dock.{dock.objectName()}",
            dock.windowTitle(),
            partial(_toggle_dock, dock),
            keys,
            is_on=lambda dock=dock: not dock.isHidden(),
            follows=(dock.visibilityChanged,),
        )
    registry.add(
        "showListed",
        tr("Show the curves of every run in the list"),
        lambda: runs.show_all(listed.run_ids()),
        tip=tr("Those that the filter leaves, from the top, 250 at most"),
    )
    registry.add("filterRuns", tr("Filter runs"), partial(_focus, run_filter, navigation), "Ctrl+F")
    for name, shown in tabs.items():
        for index in range(shown.count()):
            registry.add(
                f"{name}.{index}",
                f"{tr(name.capitalize())}: {shown.tabText(index)}",
                partial(shown.setCurrentIndex, index),
                f"{TAB_KEYS[name]}+{index + 1}",
                refusal=partial(refusal, shown, index),
                follows=(telemetry.focus_changed, telemetry.pins_changed, telemetry.run_told),
            )


def _all_keys(registry: ActionRegistry) -> list[tuple[str, str]]:
    return registry.cheat_sheet() + [(tr(keys), tr("Game: {words}", words=tr(words))) for keys, words in PLAY_KEYS]


def _toggle_dock(dock: QDockWidget) -> None:
    """Close a dock that is seen; show one that is closed, or behind another in its place."""
    if dock.isHidden() or dock.visibleRegion().isEmpty():
        dock.show()
        dock.raise_()
    else:
        dock.close()


def _toggle_full_screen(window: QMainWindow) -> None:
    window.setWindowState(window.windowState() ^ Qt.WindowState.WindowFullScreen)


def _focus(box: QLineEdit, navigation: Navigation) -> None:
    navigation.show_dock(names.RUNS_DOCK)
    box.setFocus(Qt.FocusReason.ShortcutFocusReason)
