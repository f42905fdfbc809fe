"""Marks in a picture for the actions that were pressed there before: drawn, and read again.

Each is a checkerboard of single pixels, which no picture of a game is likely to hold, from the
lower left corner to the right, then upwards. envs/pressed.py says what is marked.
"""

from __future__ import annotations

import torch
from torch import Tensor

from trainer_core.envs.task_files import SHAPE
from trainer_core.protocol.shades import MAX_SHADE

WIDTH, ROWS, MOST = 8, 2, 4
"""A mark is as wide as a patch of the small network, and so many rows high for each of at most so
many presses."""


def has_room(obs_shape: tuple[int, int, int], num_actions: int) -> bool:
    """Whether these are a Game Boy's pictures, and marks for all actions leave most of one as it
    is; elsewhere nothing is marked."""
    _, height, width = obs_shape
    bands = -(-num_actions // (SHAPE[1] // WIDTH))
    return (height, width) == SHAPE and 2 * bands * ROWS * MOST < height


def draw(pictures: Tensor, presses: Tensor) -> None:
    """Into `pictures` u8[N, H, W] marks for `presses` i64[N, A] of each action."""
    _, height, width = pictures.shape
    board = _board(pictures.device)
    high = len(board)
    rows = torch.arange(high, device=pictures.device)[:, None]
    for band, some in enumerate(presses.clamp(max=MOST).split(width // WIDTH, 1)):
        bottom = height - band * high
        part = pictures[:, bottom - high : bottom, : WIDTH * some.shape[1]]
        drawn = rows >= high - ROWS * some.repeat_interleave(WIDTH, 1)[:, None]
        part.copy_(torch.where(drawn, board.repeat(1, some.shape[1]), part))


def presses_marked(pictures: Tensor, num_actions: int) -> Tensor:
    """f32[N, A] presses that the marks in `pictures` u8[N, H, W] show, at most MOST."""
    _, height, width = pictures.shape
    board = _board(pictures.device)
    high, in_a_row = len(board), width // WIDTH
    found = []
    for band in range(-(-num_actions // in_a_row)):
        count = min(in_a_row, num_actions - band * in_a_row)
        bottom = height - band * high
        part = pictures[:, bottom - high : bottom, : WIDTH * count]
        same = (part == board.repeat(1, count)).unflatten(2, (count, WIDTH)).all(3)
        found.append(same.sum(1))
    return torch.cat(found, 1).float() / ROWS


def _board(device: torch.device) -> Tensor:
    """u8[ROWS * MOST, WIDTH]"""
    rows = torch.arange(ROWS * MOST, device=device)[:, None]
    return ((rows + torch.arange(WIDTH, device=device)) % 2 * MAX_SHADE).to(torch.uint8)
