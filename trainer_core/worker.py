"""Program of a worker, `python -m trainer_core.worker RUN_DIR`: trains one run, watched by its parent."""

import sys

if __name__ == "__main__":
    from trainer_core.host.worker import main

    sys.exit(main())
