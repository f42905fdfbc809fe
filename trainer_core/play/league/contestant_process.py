"""Program of a contestant's process, `python -m ... MODULE CHECKPOINT MODE SEED`: it ends with its parent."""

from __future__ import annotations

import sys

from trainer_core.host.process_start import begin_process
from trainer_core.wire.process_guard import die_with_parent

if __name__ == "__main__":
    die_with_parent()  # before torch is loaded, which takes seconds
    begin_process()
    from trainer_core.play.league.contestant import main

    sys.exit(main(sys.argv[1:]))
