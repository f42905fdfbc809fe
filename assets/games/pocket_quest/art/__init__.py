"""Every picture of Pocket Quest, drawn by program and as text art."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))  # for the kit
