"""Run an app that trains on the home given; `clicked` in the home says that training was started."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtTest import QTest

from gui.app import create_app, create_application
from gui.features.train.controller import TrainingController


def main() -> None:
    home = Path(sys.argv[1])
    create_application()
    app = create_app(home, "dark")
    app.window.show()
    training = app[TrainingController]
    training.draft.set_values(
        {"task": "tiny_goal", "num_envs": 16, "threads": 1, "checkpoint_every": 5, "seconds": 120}
    )
    QTest.qWait(200)
    training.set_consent(True)
    training.start()
    (home / "clicked").touch()
    while True:
        QTest.qWait(1000)


if __name__ == "__main__":
    main()
