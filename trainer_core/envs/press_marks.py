"""Marks in a picture for the actions pressed there before: drawing and reading them.

Each is a checkerboard of single pixels, which is unlikely in a game's picture; the marks begin in the lower left corner
and go right, then up. envs/pressed.py decides which presses are marked.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from trainer_core.envs.task_files import SHAPE
from trainer_core.wire.shades import MAX_SHADE

WIDTH, ROWS, MOST = 8, 2, 4
"""Width of a mark, equal to a patch of the small network's; rows per press; greatest number of presses shown."""


def has_room(obs_shape: tuple[int, int, int], num_actions: int) -> bool:
    """Return whether marks may be drawn: pictures are a Game Boy's, and marks of all actions cover less than half of
    one."""
    _, height, width = obs_shape
    bands = -(-num_actions // (SHAPE[1] // WIDTH))
    return (height, width) == SHAPE and 2 * bands * ROWS * MOST < height


def draw(pictures: Tensor, presses: Tensor) -> None:
    """Draw into `pictures` u8[N, H, W] the marks for `presses` i64[N, A], the number of presses of each action."""
    if pictures.is_cpu:
        _draw_on_host(pictures.numpy(), presses.numpy())
    else:
        _draw_on_device(pictures, presses)


def _draw_on_device(pictures: Tensor, presses: Tensor) -> None:
    """Draw marks as `draw` does, with torch on any device."""
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
    """Return f32[N, A], the number of presses of each action that the marks in `pictures` u8[N, H, W] show, at most
    MOST."""
    if pictures.is_cpu:
        return torch.from_numpy(_marked_on_host(pictures.numpy(), num_actions))
    return _marked_on_device(pictures, num_actions)


def _marked_on_device(pictures: Tensor, num_actions: int) -> Tensor:
    """Read marks as `presses_marked` does, with torch on any device."""
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


def _bands(pictures: np.ndarray, num_actions: int) -> Iterator[tuple[np.ndarray, slice]]:
    """Yield, for each band of marks side by side, a view of its pixels in `pictures` u8[N, H, W], and the slice of its
    actions.

    The view is u64[N, rows, actions]: a mark's row of eight pixels is one word, which takes a tenth of torch's time.
    """
    words = pictures.view(np.uint64)
    _, bottom, in_a_row = words.shape
    for first in range(0, num_actions, in_a_row):
        some = slice(first, min(first + in_a_row, num_actions))
        yield words[:, bottom - ROWS * MOST : bottom, : some.stop - first], some
        bottom -= ROWS * MOST


def _draw_on_host(pictures: np.ndarray, presses: np.ndarray) -> None:
    """Draw marks as `draw` does, on a CPU with NumPy."""
    rows = np.arange(ROWS * MOST, 0, -1)[:, None]
    for words, some in _bands(pictures, presses.shape[1]):
        np.copyto(words, _board_words(), where=rows <= ROWS * presses[:, None, some])


def _marked_on_host(pictures: np.ndarray, num_actions: int) -> np.ndarray:
    """Read marks as `presses_marked` does, on a CPU with NumPy."""
    found = [(words == _board_words()).sum(1) for words, _ in _bands(pictures, num_actions)]
    return np.concatenate(found, 1).astype(np.float32) / ROWS


@functools.cache
def _board_words() -> np.ndarray:
    """Return the checkerboard of a full mark as u64[ROWS * MOST, 1], one word for each line of eight pixels."""
    return _board(torch.device("cpu")).numpy().view(np.uint64)


def _board(device: torch.device) -> Tensor:
    """Return the checkerboard of a full mark, shades u8[ROWS * MOST, WIDTH]."""
    rows = torch.arange(ROWS * MOST, device=device)[:, None]
    return ((rows + torch.arange(WIDTH, device=device)) % 2 * MAX_SHADE).to(torch.uint8)
