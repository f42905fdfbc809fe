"""Partial reward for answers to countdown. Imports only the standard library."""

from __future__ import annotations

import re
from collections import Counter

FORM, USED = 0.2, 0.3
"""Reward of a complete form, and of all numbers used in it; a right answer adds 1."""
END = "</answer>"
_TOKENS = re.compile(r"\d+|</answer>|.", re.DOTALL)


def form(answer: str, nums: list[int]) -> float:
    """Return a reward of 0 to 0.5 for the form of an answer, since a random model never finds a right one by chance.

    FORM times the share of the answer, from its beginning, that is number, operator, number ... `</answer>`; once
    complete, also USED times the share of `nums` that it uses.
    """
    body = answer.rpartition("<answer>")[2]
    tokens = [token for token in _TOKENS.findall(body) if not token.isspace()]
    wanted = 2 * len(nums)
    good = 0
    for index, token in enumerate(tokens[:wanted]):
        last = index == wanted - 1
        kind = token == END if last else token.isdigit() if index % 2 == 0 else token in "+-*/"
        if not kind:
            break
        good += 1
    if good < wanted:
        return FORM * good / wanted
    used = Counter(nums) & Counter(int(token) for token in tokens[:wanted:2])
    return FORM + USED * used.total() / len(nums)
