"""Entry points, which put this distribution's packages first on `sys.path`: `dmglab`, `dmglab-app`, a cluster's job."""

from __future__ import annotations

import sys
from typing import NoReturn

import dmglab


def _stand_first() -> None:
    if dmglab.IS_INSTALLED:
        sys.path.insert(0, dmglab.PACKAGES)


def lab() -> NoReturn:
    """Run the command line."""
    _stand_first()
    from trainer_core.cli.main import console_script

    console_script()


def app() -> int:
    """Open the app; return its exit status."""
    _stand_first()
    from gui.__main__ import main

    return main()


def job() -> NoReturn:
    """Train the run that came with this job of a Ray cluster, and end the process."""
    _stand_first()
    from trainer_core.runners.remote.job import main

    sys.exit(main())
