"""`python -m trainer_core.worker RUN_DIR`: train one run, watched by who started it."""

import sys

if __name__ == "__main__":
    from trainer_core.host.worker import main

    sys.exit(main())
