"""Files that the user asks for: written completely or not at all, in a thread, with a notice."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from gui.kit.dialogs import show_file
from gui.kit.words import tr
from gui.state.bridge import Bridge, in_thread
from gui.state.failures import failure_of
from gui.state.notices import Notices
from trainer_core.wire.errors import LabError
from trainer_core.wire.regular_files import check_target

FULL = "E06"


class NewFiles(QObject):
    def __init__(self, bridge: Bridge, notices: Notices) -> None:
        super().__init__()
        self._bridge, self._notices = bridge, notices
        self.ask: Callable[[str, str, Callable[[Path], object]], object] = lambda *_: None
        """Function that asks for a path: title of the dialog, proposed file name, function that takes the path.

        Set by the window.
        """

    def write(self, path: Path, make: Callable[[], bytes], told: str, *, opens_file: bool = False) -> None:
        """Write the bytes returned by `make` to a file in a thread; a notice `told` has a button to open it.

        The button opens the file itself if `opens_file`, else its folder. A failure is shown with the path and a button
        to choose another.
        """
        again = partial(self.write, make=make, told=told, opens_file=opens_file)
        self._bridge.spawn(
            in_thread(write_whole, path, make),
            title=tr("The file was not saved"),
            then=lambda _: self._tell(path, told, opens_file=opens_file),
            failed=lambda cause: self._refuse(path, cause, again),
        )

    def _tell(self, path: Path, told: str, *, opens_file: bool) -> None:
        target = path if opens_file else path.parent
        words = tr("Open") if opens_file else tr("Open folder")
        self._notices.tell(told, str(path), "good", words, lambda: show_file(target))

    def _refuse(self, path: Path, cause: str, again: Callable[[Path], object]) -> None:
        title = tr("The file was not saved")
        known = failure_of(cause)
        if known is not None and known.code == FULL:  # another path is seldom on another disk
            self._bridge.problem.emit(title, cause)
            return
        self._notices.tell(title, cause, "error", tr("Another folder..."), lambda: self.ask(title, path.name, again))


def write_whole(path: Path, make: Callable[[], bytes]) -> None:
    """Write a temporary file beside the path and rename it. Raises LabError that names the path.

    An existing device or pipe is written directly, as a rename would replace it.
    """
    check_target(path)
    half = path.with_name(f".{path.name}.partial")
    content = make()
    try:
        try:
            half.write_bytes(content)
            os.replace(half, path)
        finally:
            half.unlink(missing_ok=True)
    except OSError as error:
        raise LabError(f"{path}: {error.strerror or error}") from error
