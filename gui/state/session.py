"""The user's choices of mode, task and trainer, and requests to show a tab or dock."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gui.kit.settings import Settings
from gui.kit.words import tr
from trainer_core.lab.arc_games import list_games
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_lists import split_tasks
from trainer_core.lab.tasks import broken_tasks, list_tasks
from trainer_core.runners.catalog import AgentRunner, broken_runners, registered_runners
from trainer_core.service.preflight import BUILT_IN_TASKS
from trainer_core.wire.errors import shown

FIRST_TASK = "pocket_quest/leave_bedroom"


class Mode(StrEnum):
    HUMAN = "human"
    HYBRID = "hybrid"
    AGENT = "agent"


class Operation(StrEnum):
    TRAIN = "train"
    USE = "use"


class Place(StrEnum):
    """Tabs in the middle of the window in their order; the value is the title."""

    LIVE = "Live"
    WALL = "Wall"
    CURVES = "Curves"
    REPLAY = "Replay"
    GAMES = "Games"
    LEAGUE = "League"


class Session(QObject):
    """The user's choices, saved in the settings; each change emits a signal."""

    mode_changed = Signal(object)
    operation_changed = Signal(object)
    task_changed = Signal(str)
    runner_changed = Signal(object)
    rom_changed = Signal(str)
    """Path of the ROM that the user plays instead of the task's game; empty for the task's game."""
    more_changed = Signal()
    """`shows_more` changed."""
    tasks_changed = Signal()
    """The list of tasks changed."""

    def __init__(self, home: HomePaths, settings: Settings) -> None:
        super().__init__()
        self._home, self._settings = home, settings
        self.runners: tuple[AgentRunner, ...] = tuple(runner.at(home) for runner in registered_runners())
        self.broken_runners = broken_runners()
        """Error text of each runner plug-in that cannot be used, by its name."""
        chosen = settings.text("session/runner")
        self.runner = next((one for one in self.runners if one.id == chosen), self.runners[0])
        self.mode = _one_of(Mode, settings.text("session/mode"), Mode.AGENT)
        self.operation = self._kept_operation()
        self.shows_more = False
        """True while controls are shown that make sense later, such as the trainer where only one is installed."""
        self._titles: dict[str, str] | None = None
        self.tasks_changed.connect(self._forget_titles)
        tasks = self.task_titles()
        wanted = settings.text("session/task", FIRST_TASK)
        self.rom = ""
        self.task = wanted if wanted in tasks else next(iter(tasks))

    @property
    def game(self) -> str:
        """Game that the user plays: the path of a ROM, or a task id."""
        return self.rom or self.task

    def set_rom(self, path: str) -> None:
        if path != self.rom:
            self.rom = path
            self.rom_changed.emit(path)

    def task_titles(self) -> dict[str, str]:
        """Return the title of each task by id: the home's own tasks and those that come with the app."""
        found = {}
        for task in list_tasks(self._home):
            title = task.manifest.title
            found[task.id] = f"{title} · {tr('reads RAM')}" if task.manifest.badge else title
        if FIRST_TASK in found:
            found = {FIRST_TASK: found.pop(FIRST_TASK), **found}
        for task_id in BUILT_IN_TASKS:
            found[task_id] = task_id.replace("_", " ").capitalize()
        for game in list_games(self._home):
            found[game.task] = f"ARC: {game.title}"
        return found

    def task_title(self, task: str) -> str:
        """Return the title of a task, or of each task of a list; an unknown task is called by its id."""
        if self._titles is None:
            self._titles = self.task_titles()
        return ", ".join(self._titles.get(one, one) for one in split_tasks(task))

    def broken_tasks(self) -> dict[str, str]:
        """Return the error text of each unreadable task in the home, by the task's path."""
        root = self._home.tasks
        return {
            shown(Path(folder).relative_to(root)) if Path(folder).is_relative_to(root) else folder: shown(reason, 400)
            for folder, reason in broken_tasks(self._home).items()
        }

    def _forget_titles(self) -> None:
        self._titles = None

    def set_mode(self, mode: Mode) -> None:
        if mode is not self.mode:
            self.mode = mode
            self._settings.set("session/mode", mode.value)
            self.mode_changed.emit(mode)

    def set_operation(self, operation: Operation) -> None:
        if operation is not self.operation:
            self.operation = operation
            self._settings.set(self._operation_key(), operation.value)
            self.operation_changed.emit(operation)

    def _kept_operation(self) -> Operation:
        """Return what the user chose last for the present trainer."""
        return _one_of(Operation, self._settings.text(self._operation_key()), Operation.TRAIN)

    def _operation_key(self) -> str:
        return f"session/operation/{self.runner.id}"

    def toggle_more(self) -> None:
        """Show all controls, or again only those that make sense now."""
        self.shows_more = not self.shows_more
        self.more_changed.emit()

    def turn_to_training(self) -> None:
        """Select agent mode and the operation *Train new*."""
        self.set_mode(Mode.AGENT)
        self.set_operation(Operation.TRAIN)

    def set_task(self, task: str) -> None:
        if task and self.rom:
            self.set_rom("")
        if task and task != self.task:
            self.task = task
            self._settings.set("session/task", task)
            self.task_changed.emit(task)

    def set_runner(self, runner_id: str) -> None:
        for runner in self.runners:
            if runner.id == runner_id != self.runner.id:
                self.runner = runner
                self._settings.set("session/runner", runner_id)
                self.runner_changed.emit(runner)
                self.set_operation(self._kept_operation())


def _one_of(kind, text, default):  # type: ignore[no-untyped-def]
    return kind(text) if text in {item.value for item in kind} else default


class Navigation(QObject):
    place_wanted = Signal(object)
    """A Place whose tab is to be shown."""
    place_changed = Signal()
    """Another tab is in front."""
    dock_wanted = Signal(str)
    """objectName of a dock to show in front."""
    path_wanted = Signal(object)
    """Path of a file or folder to open."""
    welcome_changed = Signal(bool)
    game_wanted = Signal()
    """The game's screen should get the keyboard focus."""

    def __init__(self) -> None:
        super().__init__()
        self.welcome = True
        """True while the welcome page replaces the game's screen, until a game plays."""
        self.plays: Callable[[], bool] = lambda: False
        """Function that returns whether a game plays or is starting."""
        self.place = Place.LIVE
        """The tab in front."""

    def note_place(self, place: Place) -> None:
        """Record which tab is in front now."""
        self.place = place
        self.place_changed.emit()

    def show(self, place: Place) -> None:
        self.place_wanted.emit(place)

    def show_dock(self, object_name: str) -> None:
        self.dock_wanted.emit(object_name)

    def show_welcome(self) -> None:
        self.welcome = True
        self.show(Place.LIVE)
        self.welcome_changed.emit(True)

    def leave_welcome(self) -> None:
        if self.welcome:
            self.welcome = False
            self.welcome_changed.emit(False)

    def show_game(self) -> None:
        self.leave_welcome()
        self.show(Place.LIVE)
