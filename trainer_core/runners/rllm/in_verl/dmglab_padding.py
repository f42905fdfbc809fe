"""Replacements for the functions of flash-attn by which VERL removes and restores padding.

The attention itself is then PyTorch's (`attn_implementation=sdpa`).
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import AutoModelForTokenClassification
from verl.utils import attention_utils, model


def unpad_input(hidden: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor, int, Tensor]:
    """Return the entries of `hidden` [rows, columns, ...] selected by `mask` [rows, columns], concatenated.

    Also returns their indices i64 in the flat input, i32[rows + 1] with the start of each row, the greatest length, and
    the lengths.
    """
    lengths = mask.sum(-1, dtype=torch.int32)
    indices = mask.flatten().nonzero().flatten()
    begins = pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))
    return hidden.flatten(0, 1)[indices], indices, begins, int(lengths.max()), lengths


def pad_input(hidden: Tensor, indices: Tensor, rows: int, columns: int) -> Tensor:
    """Return the entries at their places in [rows, columns, ...], zeros elsewhere: the inverse of `unpad_input`."""
    out = hidden.new_zeros(rows * columns, *hidden.shape[1:])
    out[indices] = hidden
    return out.unflatten(0, (rows, columns))


def index_first_axis(hidden: Tensor, indices: Tensor) -> Tensor:
    return hidden[indices]


def rearrange(*args: Any, **kwargs: Any) -> Any:
    return importlib.import_module("einops").rearrange(*args, **kwargs)


def load_value_model(local_path: str, torch_dtype: Any, model_config: Any, trust_remote_code: bool) -> Any:
    """Return a model with one value for each token; VERL's own function takes no other attention than flash-attn's."""
    return AutoModelForTokenClassification.from_pretrained(
        local_path,
        torch_dtype=torch_dtype,
        config=model_config,
        attn_implementation="sdpa",
        trust_remote_code=trust_remote_code,
    )


if importlib.util.find_spec("flash_attn") is None:
    model.load_valuehead_model = load_value_model
    functions = (index_first_axis, pad_input, rearrange, unpad_input)
    attention_utils._get_attention_functions = lambda: functions
