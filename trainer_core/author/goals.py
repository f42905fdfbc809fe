"""Goal pictures, masks, and the tau that separates the goal from other pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trainer_core.envs.judge import goal_distance
from trainer_core.envs.task_files import SHAPE, load_goal
from trainer_core.lab.recording import HEIGHT, WIDTH
from trainer_core.wire.errors import TaskError

LEAST_DISTANCE = 0.001
"""Distance to a goal template below which a picture is considered equal to the goal."""
MOST_TAU, TAU_SHARE = 0.02, 0.4
MAX_TEMPLATES = 64


@dataclass(frozen=True, slots=True)
class GoalPictures:
    """Goal templates with mask and distance; a picture near any template reaches the goal."""

    templates: np.ndarray
    """u8[G, 72, 80]"""
    mask: np.ndarray
    """bool[G, 72, 80], pixels that count."""
    distance: str
    """"l1" or "mse"."""

    def distances(self, pictures: np.ndarray) -> np.ndarray:
        """Return f32[N], the distance of `pictures` u8[N, 72, 80] to the nearest template."""
        return np.array(
            [goal_distance(seen, self.templates, self.mask, self.distance) for seen in pictures], np.float32
        )


def parse_mask(rectangles: tuple[str, ...]) -> np.ndarray | None:
    """Return the mask bool[72, 80] of rectangles `X,Y,WIDTH,HEIGHT` in screen pixels; None for no rectangle.

    A pixel of the 80x72 observation counts when a rectangle covers a part of it. Raises TaskError.
    """
    if not rectangles:
        return None
    mask = np.zeros(SHAPE, bool)
    for text in rectangles:
        try:
            x, y, width, height = map(int, text.split(","))
        except ValueError:
            raise TaskError(f"mask {text!r}: give X,Y,WIDTH,HEIGHT in screen pixels") from None
        inside = 0 <= x < x + width <= WIDTH and 0 <= y < y + height <= HEIGHT
        if not inside or width <= 0 or height <= 0:
            raise TaskError(f"mask {text!r} does not lie within the {WIDTH} x {HEIGHT} screen")
        mask[y // 2 : (y + height + 1) // 2, x // 2 : (x + width + 1) // 2] = True
    return mask


def gather_goal(
    pictures: list[np.ndarray], files: tuple[Path, ...], mask: np.ndarray | None, distance: str
) -> GoalPictures:
    """Return the goal made of `pictures` u8[72, 80] and of the templates in `files`, without duplicates.

    `mask` bool[72, 80] replaces the files' own masks. Raises TaskError.
    """
    templates, masks = list(pictures), [np.ones(SHAPE, bool) for _ in pictures]
    for file in files:
        more, their_masks = load_goal(file)
        templates += list(more)
        masks += list(their_masks)
    if not templates:
        raise TaskError("no goal: give --script (its last step is the goal) or --goal FILE")
    if mask is not None:
        masks = [mask for _ in templates]
    kept: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
    for template, its_mask in zip(templates, masks, strict=True):
        kept.setdefault((template * its_mask).tobytes() + its_mask.tobytes(), (template, its_mask))
    if len(kept) > MAX_TEMPLATES:
        raise TaskError(f"{len(kept)} goal pictures: give at most {MAX_TEMPLATES}")
    chosen = list(kept.values())
    return GoalPictures(np.stack([template for template, _ in chosen]), np.stack([m for _, m in chosen]), distance)


def suggest_tau(apart: np.ndarray) -> tuple[float, str]:
    """Return (tau, reason), the goal's distance threshold, derived from other pictures.

    `apart` f32[K] has their distances to the goal. tau is well below the least: a small sprite that walked a few tiles
    changes less than a hundredth of the picture, so a fixed tau would call such a goal reached before the first step.
    Raises TaskError when one of the other pictures looks like the goal.
    """
    nearest = float(apart.min())
    if nearest < LEAST_DISTANCE:
        raise TaskError(
            f"the goal looks like a picture before it, or a start state (distance {nearest:.4f}); "
            "choose another goal further away, or another region (--mask)"
        )
    tau = round(min(MOST_TAU, TAU_SHARE * nearest), 5)
    return tau, f"{TAU_SHARE:g} of {nearest:.4f}, the nearest picture that is no goal" + (
        f", at most {MOST_TAU:g}" if tau == MOST_TAU else ""
    )
