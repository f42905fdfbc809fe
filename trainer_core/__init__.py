"""The headless trainer. Importing this package costs nothing; see ARCHITECTURE.md."""

import os

# Before torch is loaded: with `--threads 2` its threads then sleep while they wait for each other.
# Spinning, they are ten times slower than one as soon as somebody else needs a core.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
