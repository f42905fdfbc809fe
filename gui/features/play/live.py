"""Live view: a game in real time, played by a deployed policy or the user."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QComboBox, QGridLayout, QStackedWidget, QWidget

from gui.features.play.controller import PlayController
from gui.features.play.gamepad import Gamepad
from gui.features.play.input import PlayInput
from gui.features.play.keys import GameKeys
from gui.features.play.saliency import SaliencyController
from gui.features.play.side import SidePanel
from gui.features.play.strip import PlayStrip
from gui.kit import object_names as names
from gui.kit.boxes import hbox, named
from gui.kit.labels import count_text
from gui.kit.screen import FrameSource, Palette, Screen, best_columns, tile
from gui.kit.words import tr
from gui.state.appearance import Appearance
from gui.state.checkpoints import CheckpointList
from gui.state.notices import Notices
from gui.state.session import Mode, Navigation, Session
from trainer_core.lab.task_lists import split_tasks
from trainer_core.wire.frames import FrameInfo

FRAME_MS = 16


class LiveView(QWidget):
    """Live view of the game; keys reach the joypad only while its screen has the focus."""

    def __init__(
        self,
        playing: PlayController,
        session: Session,
        navigation: Navigation,
        palette: Palette,
        checkpoints: CheckpointList,
        strip: PlayStrip,
        keys: GameKeys,
        gamepad: Gamepad,
        notices: Notices,
        saliency: SaliencyController,
        panel: SidePanel,
        appearance: Appearance,
    ) -> None:
        super().__init__()
        self._shows_console = False
        self.panel, self._appearance = panel, appearance
        self._playing, self._session, self._navigation = playing, session, navigation
        self._checkpoints, self._gamepad = checkpoints, gamepad
        self.source = FrameSource()
        self.screen_view = Screen(palette, names.LIVE_VIEW, tr("Game screen"))
        self.input = PlayInput(self.screen_view, playing, keys, gamepad, notices)
        self.input.focused.connect(self.refresh)
        self.screen_view.pixel_clicked.connect(playing.click)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.screen_view)
        self._welcome: QWidget = self.screen_view
        self._preview: QWidget = self.screen_view
        self._console: QWidget = self.screen_view
        self.strip = strip
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(0)
        grid.addWidget(self._stack, 0, 0)
        grid.addWidget(panel, 0, 1)
        grid.addWidget(strip, 1, 0, 1, 2)
        grid.setRowStretch(0, 1)
        grid.setColumnStretch(0, 1)
        self.corner = self._corner()
        self._timer = QTimer(self, interval=FRAME_MS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_frame)
        self.info = FrameInfo()
        saliency.found.connect(self.screen_view.show_overlay)
        playing.frames_changed.connect(self._on_frames)
        playing.previewed.connect(self.screen_view.show_picture)
        playing.changed.connect(self.refresh)
        session.mode_changed.connect(lambda mode: self.refresh())
        navigation.welcome_changed.connect(lambda is_shown: self.refresh())
        navigation.game_wanted.connect(self._on_game_wanted)
        self.refresh()

    def place_welcome(self, page: QWidget) -> None:
        """Show `page` in place of the game's screen until a game plays."""
        self._welcome = page
        self._stack.addWidget(page)
        self.refresh()

    def place_rest(self, preview: QWidget, console: QWidget) -> None:
        """Take the pages for when no game plays: `preview` of the next run, and a `console` of the present one."""
        self._preview, self._console = preview, console
        for page in (preview, console):
            self._stack.addWidget(page)
        self.refresh()

    def show_console(self, is_shown: bool) -> None:
        """Show the console of the present run, or the preview again, while no game plays."""
        self._shows_console = is_shown
        self.refresh()

    def _corner(self) -> QWidget:
        """Return the choice of the picture's scale, for the right end of the tabs."""
        made = QWidget()
        row = hbox(made, margins=(8, 0, 16, 0))
        self.scale = named(QComboBox(), "scaleBox", tr("How large the picture is"))
        self.scale.setProperty("flat", True)
        self.scale.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.scale.addItems([tr("Fit"), tr("Whole pixels")])
        self.scale.activated.connect(self._on_scale)
        row.addWidget(self.scale)
        self._appearance.screen_changed.connect(self._write_scale)
        return made

    def _on_scale(self, index: int) -> None:
        if (index == 1) is not self._appearance.is_whole:
            self._appearance.toggle_whole()

    def _write_scale(self) -> None:
        """Show the chosen way to scale, and the scale that results."""
        scale = self.screen_view.scale() / self.devicePixelRatioF() if self.screen_view.has_picture else 0.0
        whole = tr("{scale:g}\u00d7, whole pixels", scale=round(scale, 2))
        words = (tr("Fit, {scale:g}\u00d7", scale=round(scale, 1)), whole)
        plain = (tr("Fit"), tr("Whole pixels"))
        chosen = int(self._appearance.is_whole)
        for at in (0, 1):
            self.scale.setItemText(at, words[at] if scale and at == chosen else plain[at])
        self.scale.setCurrentIndex(chosen)

    # -- pictures ---------------------------------------------------------------------------

    def _on_frames(self, path: object) -> None:
        self.source.open(path)  # type: ignore[arg-type]
        if path is None:
            self.screen_view.clear()
        else:
            self._navigation.leave_welcome()
            self._on_game_wanted()
        self.refresh()

    def _on_game_wanted(self) -> None:
        self.screen_view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_frame(self) -> None:
        found = self.source.latest()
        if found is None:
            self.screen_view.settle()
            return
        info, pictures = found
        is_first = not self.screen_view.has_picture
        self.screen_view.show_picture(self._arranged(pictures))
        if is_first:
            self._write_scale()
        if info.who == 1 or self._playing.state.rewinding:
            self.screen_view.show_overlay(None)  # the heat map belongs to an earlier picture
        self._playing.note_frame(info, pictures[0])
        if (
            (info.buttons, info.who, info.flags, info.action)
            != (self.info.buttons, self.info.who, self.info.flags, self.info.action)
            or info.frame // 12 != self.info.frame // 12
            or self._playing.paused
        ):
            self.info = info
            self.strip.write(info, self._session.mode)
            if info.who == 1:
                self.panel.forget()  # the policy chooses nothing now
            self.panel.who.setVisible(info.who == 1)

    def _arranged(self, pictures: np.ndarray) -> np.ndarray:
        """Return the picture to show: that of one game, or the pictures of two policies side by side."""
        if len(pictures) == 1:
            return pictures[0]
        room = (self.screen_view.width(), self.screen_view.height())
        return tile(pictures, best_columns(len(pictures), pictures.shape[1:3], room))

    def resizeEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().resizeEvent(event)
        self.panel.fit(self.window().width())
        QTimer.singleShot(0, self, self._write_scale)

    def showEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().showEvent(event)
        self._timer.start()
        self._hear_gamepad()

    def hideEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().hideEvent(event)
        self._timer.stop()
        self._gamepad.rest()

    # -- texts ------------------------------------------------------------------------------

    def refresh(self) -> None:
        playing, mode = self._playing, self._session.mode
        is_resting = mode is Mode.AGENT and not (playing.busy or playing.is_active or playing.error)
        is_welcome = self._navigation.welcome and not playing.busy
        rest = self._console if self._shows_console else self._preview
        self._stack.setCurrentWidget(self._welcome if is_welcome else rest if is_resting else self.screen_view)
        self.strip.setVisible(not is_welcome and not is_resting)
        self.strip.refresh(mode)
        self.panel.setVisible(playing.is_active and not is_welcome and not playing.is_human and not playing.is_versus)
        self.panel.take_over.setVisible(mode is not Mode.HUMAN)
        self.corner.setEnabled(not is_welcome)
        if not playing.is_active:
            self.panel.forget()
        self._write_scale()
        self.strip.what.setText(self._what_plays())
        if playing.request is not None and playing.is_versus:
            pair = (playing.request.checkpoint, playing.request.rival)
            self.strip.board.set_names(*(self._name_of(Path(found)) for found in pair))
        self.screen_view.hint = self._hint()
        self.screen_view.update()
        self._hear_gamepad()

    def _hear_gamepad(self) -> None:
        if self.isVisible() and self._playing.is_active:
            self._gamepad.listen()
        else:
            self._gamepad.rest()

    def _what_plays(self) -> str:
        """Return a text on the current player: a checkpoint's task, steps and success rate, or the user."""
        request = self._playing.request
        if request is None:
            return ""
        if request.mode == "human":
            name = Path(request.task).name if self._playing.is_rom else self._session.task_title(request.task)
            if self._playing.state.is_color_only:
                return tr("For the Game Boy Color only; {name}, you play", name=name)
            return tr("{value}, you play", value=name)
        if request.rival:
            return tr("{task}, two policies from the same starts", task=self._session.task_title(request.task))
        row = self._checkpoints.row_of(Path(self._playing.checkpoint))
        if row < 0:
            return f"{self._session.task_title(request.task)}, {Path(self._playing.checkpoint).name}"
        card = self._checkpoints.cards[row]
        tasks = len(split_tasks(card.task))
        one_of = tr(" (one of its {count} tasks: choose on the left)", count=tasks)
        return tr(
            "{task}, success {rate}, {algo} after {count_text} steps",
            task=self._session.task_title(request.task) + (one_of if tasks > 1 else ""),
            algo=card.algo.upper(),
            count_text=count_text(card.env_steps),
            rate=card.rate_words(request.policy_mode),
        )

    def _name_of(self, checkpoint: Path) -> str:
        """Return a checkpoint's run, number of steps and success rate as text, for one of two policies."""
        row = self._checkpoints.row_of(checkpoint)
        if row < 0:
            return checkpoint.name
        card = self._checkpoints.cards[row]
        return tr(  # the distinguishing part first: the end may be cut off
            "{count_text} steps, {algo}, {run}",
            run=self._playing.name_of(card.run_id),
            algo=card.algo.upper(),
            count_text=count_text(card.env_steps),
        )

    def _hint(self) -> str:
        playing = self._playing
        if playing.busy:
            return f"{playing.busy}..."
        if playing.error and not playing.is_active:
            return playing.error
        if not playing.is_active:
            if self._session.mode is Mode.HUMAN:
                return tr("Press Human again, or Play > Play the game, to start")
            return tr("Select a checkpoint and press Deploy")
        if playing.state.rewinding:
            return tr("Rewinding")
        if playing.state.hung:
            return tr("The game has crashed: {why}. R rewinds", why=playing.state.hung)
        if playing.paused:
            return tr("Paused: Space resumes, . advances one step")
        human = self._session.mode is Mode.HUMAN
        if human and not self.screen_view.hasFocus():
            return tr("Click to play")
        return ""
