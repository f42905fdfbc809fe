"""Controller of a new task: capture of states, measurement of the goal, audit, start of training."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Signal

from gui.features.play.controller import PlayController
from gui.features.tasks.model import LEAST_DISTANCE, Captured, DraftModel, Goal, read_template
from gui.features.train.controller import TrainingController
from gui.kit import object_names as names
from gui.kit.boxes import later
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.notices import Notices
from gui.state.session import Mode, Navigation, Session
from trainer_core.lab.presets import WISHES
from trainer_core.lab.roms import Stage
from trainer_core.service import run_job
from trainer_core.service.preflight import BUILT_IN_TASKS
from trainer_core.wire import commands
from trainer_core.wire.buttons import TWO_BUTTONS_ID

PROBE_AFTER_MS = 700
"""Milliseconds after the last change of the painted region before the goal is measured again."""
AUDIT_EPISODES = 32
FEWEST_STARTS = 2
"""Fewest different start pictures of a task: one of them is used only for validation."""
NICE = 5
"""Niceness of the audit process, so that it does not slow down training."""


class TaskDraft(QObject):
    """Controller of a new task. Files are in `drafts/` of the home; `dmglab task` commands do the work."""

    made = Signal(str)
    """Id of the new task."""

    def __init__(
        self,
        bridge: Bridge,
        session: Session,
        playing: PlayController,
        training: TrainingController,
        navigation: Navigation,
        notices: Notices,
        model: DraftModel,
    ) -> None:
        super().__init__()
        self._navigation = navigation
        self._bridge, self._session, self._notices = bridge, session, notices
        self._playing, self._training = playing, training
        self.model = model
        self._last_game = ""
        """Task or ROM that a person played last; empty before the first."""
        self._job: asyncio.Task[Any] | None = None
        self._play: asyncio.Task[Any] | None = None
        """Job that plays at random from the start states; it does not need a goal. None before the first."""
        self._played_from: tuple[Path, ...] = ()
        self._settle = later(self, self.probe, PROBE_AFTER_MS)
        model.masked.connect(self._settle.start)
        playing.started.connect(self._on_started)

    # -- capturing --------------------------------------------------------------------------

    def refusal(self) -> str:
        """Return why no state of the game can be captured now; empty when it can."""
        request = self._playing.request
        if request is None:
            return tr("Start the game first")
        if request.task in BUILT_IN_TASKS:
            title = self._session.task_title(request.task)
            return tr("{task} is built in; play another game to create a task from it", task=title)
        return ""

    def begin_stage(self, rom: str, stage: Stage) -> None:
        """Play the ROM and begin an empty draft of a stage of its known game."""
        self._session.set_mode(Mode.HUMAN)
        if self._session.rom == rom:
            self._playing.play_game()
        else:
            self._session.set_rom(rom)
        self.start_over("", rom)
        self.model.tell(stage=stage, name=stage.title)
        self._navigation.show_game()
        self._navigation.show_dock(names.TASK_DOCK)

    def save_start(self) -> None:
        """Save the game's present state as a start state of the task."""
        if self._begin():
            path = self.model.folder / f"start_{time.time_ns()}.npz"
            self._bridge.spawn(self._save_start(path), title=tr("Nothing captured"))

    async def _save_start(self, path: Path) -> None:
        _, picture = await self._playing.capture(commands.SaveState, path=str(path), begins_way=True)
        self._cancel_job()
        self.model.add_start(Captured(path, picture))
        self._settle.start()

    def capture_goal(self) -> None:
        """Save the present picture as the task's goal and pause the game."""
        if self._begin():
            path = self.model.folder / f"goal_{time.time_ns()}.npz"
            self._bridge.spawn(self._capture_goal(path), title=tr("Nothing captured"))

    async def _capture_goal(self, path: Path) -> None:
        way = path.with_name(path.name.replace("goal", "way"))
        ack, picture = await self._playing.capture(commands.CaptureGoal, hold=True, path=str(path), way=str(way))
        template, later = read_template(path)
        frames = int(ack.detail) if ack.detail.isdecimal() else 0
        goal = Goal(Captured(path, picture), template, way if frames else None, frames, later)
        self._cancel_job()
        self.model.set_goal(goal)
        self.probe()

    def _begin(self) -> bool:
        """Begin an empty draft if the playing game is not the draft's; return False if nothing can be captured."""
        reason = self.refusal()
        if reason:
            self._bridge.problem.emit(tr("Nothing captured"), reason)
            return False
        task = self._playing.request.task if self._playing.request else ""
        rom = task if self._playing.is_rom else ""
        base = "" if rom else task
        if (base, rom) != (self.model.base, self.model.rom) or self.model.made:
            name = "" if self.model.made else self.model.name  # typed before the first capture
            self.start_over(base, rom)
            self.model.tell(name=name)
        return True

    def _on_started(self) -> None:
        """Discard the draft when the user starts another game."""
        model, request = self.model, self._playing.request
        if request is None or not self._playing.is_human:
            return
        is_other, self._last_game = self._last_game not in ("", request.task), request.task
        is_begun = not model.is_empty or model.made or (is_other and (model.name or model.stage))
        if is_begun and request.task not in (model.base, model.rom, model.made):
            self.start_over()

    def start_over(self, base: str = "", rom: str = "") -> None:
        """Discard the draft and begin an empty one for the game of the task `base`, or for the ROM `rom`."""
        self._cancel_job()
        self._cancel_play()
        self._drop_kept()
        folder = self._bridge.home.root / "drafts" / time.strftime("%Y%m%d_%H%M%S")
        self.model.begin(base, rom, folder)

    def remove_start(self, index: int) -> None:
        self._cancel_job()
        self.model.remove_start(index)
        self._settle.start()

    # -- measuring --------------------------------------------------------------------------

    def probe(self) -> None:
        """Measure the goal's distances during random play, and suggest a threshold for reaching the goal.

        Random play needs only start states, so it is started before a goal exists.
        """
        model = self.model
        self._settle.stop()
        if not model.starts or model.made:
            return
        begun = tuple(start.path for start in model.starts)
        argv = [*self._tool("probe"), *self._game(), *self._starts(), "--kept", str(self._kept())]
        if begun != self._played_from:
            self._cancel_play()
            self._played_from = begun
            self._play = self._bridge.spawn(
                run_job(argv, on_progress=self._on_played),
                failed=lambda reason: self._forget_play(),  # the probe itself will report why
            )
        if model.goal is None or self._is_start_again():
            return
        self._cancel_job()
        model.tell(working=tr("Measuring random play for a minute"), share=0.0, probe=None, error="")
        if model.goal.way is not None:
            argv += ["--way", str(model.goal.way)]
        self._run([*argv, *self._goal()], lambda found: model.tell(working="", probe=found), self._play)

    def _is_start_again(self) -> bool:
        """Return whether the goal equals a start state; if so, report that and let the game go on."""
        goal, playing = self.model.goal, self._playing
        if goal is None:
            return False
        number, apart = self.model.nearest_start(goal.template)
        if apart >= LEAST_DISTANCE:
            return False
        self._cancel_job()
        self.model.tell(
            working="",
            error=tr(
                "This looks like start state {number} (distance {apart:.4f}): play further and capture again, or "
                "paint the part that differs",
                number=number,
                apart=apart,
            ),
        )
        if playing.paused and not self.model.painted.any():
            playing.toggle_pause()
        return True

    def _on_played(self, share: float) -> None:
        if self.model.goal is not None and not self.model.made:
            self.model.tell(share=share)

    def _forget_play(self) -> None:
        self._played_from, self._play = (), None

    def _cancel_play(self) -> None:
        if self._play is not None:
            self._play.cancel()
        self._forget_play()

    # -- making -----------------------------------------------------------------------------

    def make_refusal(self) -> str:
        model = self.model
        if model.made:
            return tr("{made} created", made=self.title)
        return ("", tr("Save a start state first (F7)"), tr("Capture a goal first (F8)"), "")[model.step]

    def task_id(self) -> str:
        """Return the id of the new task: the stage's, else `mine/` and the name in the characters allowed in an id."""
        if self.model.stage is not None:
            return self.model.stage.id
        plain = re.sub(r"[^a-z0-9_]+", "_", self.model.name.lower()).strip("_")
        return f"mine/{plain or self.model.folder.name}"

    @property
    def title(self) -> str:
        """Title of the task that was made."""
        return self._session.task_title(self.model.made)

    def make(self) -> None:
        """Write the task to the home folder, then start its audit in the background."""
        if reason := self.make_refusal():
            self._bridge.problem.emit(tr("No task yet"), reason)
            return
        model, task_id = self.model, self.task_id()
        self._settle.stop()
        self._cancel_job()
        self._cancel_play()
        model.tell(working=tr("Creating the task"), share=0.0, error="")
        argv = [
            *self._tool("new"),
            "--id",
            task_id,
            *self._game(),
            *self._starts(),
            *self._goal(),
            *self._way(),
            *(["--codec", model.buttons] if model.buttons else []),
            "--title",
            model.name.strip() or f"Mine, {time.strftime('%d %b %H:%M')}",
        ]
        if model.probe:
            argv += ["--tau", f"{model.tau:g}"]  # the number on show
        argv += ["--random-episodes", "0"]  # random play was measured before
        self._run(argv, lambda found: self._on_made(task_id, found))

    def _way(self) -> list[str]:
        goal = self.model.goal
        if goal is None or goal.way is None:
            return []
        alone = len(self.model.starts) == 1
        around = ("--around", "--min-distinct", str(FEWEST_STARTS))
        return ["--way", str(goal.way), *(around if alone else ())]

    def _on_made(self, task_id: str, found: dict[str, Any]) -> None:
        self._drop_kept()
        self.model.tell(made=task_id, choices=found, working=tr("Checking the task"), share=0.0)
        self._session.tasks_changed.emit()
        self._session.set_task(task_id)
        self._notices.tell(tr("Task created"), self.title, "good", tr("Train new"), self.train)
        self.made.emit(task_id)
        argv = [*self._tool("audit"), task_id, "--episodes", str(AUDIT_EPISODES), "--nice", str(NICE)]
        self._run(argv, lambda found: self.model.tell(working="", audit=found))

    def train_refusal(self) -> str:
        return "" if self.model.made else tr("Create the task first")

    def train(self) -> None:
        """Show the training form for the new task, with the task's default values."""
        self._notices.withdraw(tr("Task created"))  # its button offered this
        self._training.train_new()
        draft = self._training.draft
        for name in WISHES:  # values typed before the task was chosen
            draft.reset(name)

    # -- inside -----------------------------------------------------------------------------

    def _tool(self, verb: str) -> list[str]:
        home = str(self._bridge.home.root)
        return [sys.executable, "-m", "trainer_core.cli.main", "task", verb, "--home", home]

    def _game(self) -> list[str]:
        model = self.model
        return ["--rom", model.rom] if model.rom else ["--base", model.base]

    def _starts(self) -> list[str]:
        return ["--start", *(str(start.path) for start in self.model.starts)]

    def _goal(self) -> list[str]:
        return ["--goal", str(self._goal_file())]

    def _kept(self) -> Path:
        """Return the file in which `dmglab task probe` caches random play, some 3 MB, until the task is made."""
        return self.model.folder / "seen.npz"

    def _drop_kept(self) -> None:
        if self.model.folder.is_absolute():  # there was a draft
            self._kept().unlink(missing_ok=True)

    def _goal_file(self) -> Path:
        """Return the file of the captured goal; with a painted region, a new file that contains the region too."""
        model = self.model
        assert model.goal is not None
        path = model.goal.captured.path
        if not model.painted.any():
            return path
        masked = path.with_name(f"region_{path.name}")
        partial = masked.with_suffix(".tmp")
        with partial.open("wb") as file:
            np.savez_compressed(file, templates=model.goal.template[None], mask=model.painted)
        partial.replace(masked)
        return masked

    def _run(self, argv: list[str], then: Any, after: asyncio.Task[Any] | None = None) -> None:
        """Run a command after the task `after` has ended, with or without success; `then` gets the result."""

        async def in_turn() -> dict[str, Any]:
            if after is not None:
                await asyncio.wait([after])
            return await run_job(argv, on_progress=lambda share: self.model.tell(share=share))

        work = in_turn()
        self._job = self._bridge.spawn(
            work, then=then, failed=lambda reason: self.model.tell(working="", error=in_the_app(reason))
        )

    def _cancel_job(self) -> None:
        if self._job is not None:
            self._job.cancel()
            self._job = None


def in_the_app(reason: str) -> str:
    """Return an error text of a command with the app's remedy instead of command line options."""
    if "different start pictures were found" in reason:
        return tr(
            "Too few different pictures on the way: save another start state elsewhere (F7), or capture a goal "
            "further away"
        )
    if "looks like a picture before it" in reason:
        return tr(
            "A picture on the way looks like the goal: capture a goal further away, or paint the part that differs"
        )
    if "every play ended in one dead picture" in reason:
        return tr("The game is already lost at these start states: save an earlier one (F7)")
    return without_shell(reason)


def way_in_the_app(reason: str) -> str:
    """Return a text, in the app's terms, on why the recorded play cannot serve as a demonstration."""
    if f"which {TWO_BUTTONS_ID} does not have" in reason:
        return tr("Not saved as a demonstration: you held three buttons at once, or START with another")
    if "does not have" in reason:
        return tr(
            "Not saved as a demonstration: you held two buttons at once or SELECT; choose Buttons: with combinations"
        )
    if "without ending on it" in reason:
        return tr("Not saved as a demonstration: you passed the goal without stopping there")
    return tr("Not saved as a demonstration: {reason}", reason=without_shell(reason.removeprefix("left out: ")))


def without_shell(text: str) -> str:
    """Return an error text without the options, commands and file names that only make sense in a shell."""
    text = re.sub(r"\s*\([^()]*--[^()]*\)", "", text)
    text = re.sub(r"\S*/drafts/\S*?([^/\s]+\.npz): ", "", text)
    parts = re.split(r"([;:,] )", text)
    kept = [part for part in parts[::2] if "--" not in part and "dmglab " not in part]
    ends = dict(zip(parts[::2], parts[1::2], strict=False))
    joined = "".join(part + ends.get(part, "") for part in kept)
    return joined.rstrip(" ;:,")
