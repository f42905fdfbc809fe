"""Program that encodes pictures of training as a GIF, beside the trainer: `... PICTURES.npy CLIP.gif`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from trainer_core.formats.gif import picture_image, save_gif

DELAY_CS = 10


def main(raw: Path, clip: Path) -> None:
    """Encode the pictures u8[T, H, W] or u8[T, H, W, 3] in `raw` as the GIF `clip`, then delete `raw`."""
    os.nice(10)
    try:
        pictures = np.load(raw, allow_pickle=False)
        save_gif(clip, map(picture_image, pictures), DELAY_CS)
    finally:
        raw.unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
