"""`python -m trainer_core.cli.launch_ranks ARGUMENTS OF TORCHRUN`: torchrun with our manners.

A stop that somebody asked for is no failure and no traceback, a rank that failed has said why
itself, and nothing outlives whoever started it.
"""

from __future__ import annotations

import sys

from torch.distributed import run
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from trainer_core.worker import die_with_parent


def main(argv: list[str]) -> int:
    die_with_parent()
    try:
        run.main(argv)
    except SignalException:  # the ranks were told, and waited for
        return 0
    except ChildFailedError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
