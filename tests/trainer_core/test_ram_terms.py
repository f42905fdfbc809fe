"""RAM terms of a task: the grammar and its errors, and the kernel against the interpreter in Python."""

import numpy as np
import pytest
import torch

from trainer_core.envs.ram_judge import Episode, run
from trainer_core.envs.ram_terms import RamTerms
from trainer_core.lab.ram_expressions import Program
from trainer_core.lab.ram_reward import Ram, Term
from trainer_core.wire.errors import TaskError

WATCH = {"x": 0xC1FD, "y": 0xC1FE, "hp": [0xD16C, 2], "money": [0xD347, 3], "flags": [0xD747, 20]}
TERMS = [
    "new(x, y, hp[1])", "gain(popcount(flags))", "u16be(hp) - old(u16le(hp))", "bcd(money) / (x - 3)",
    "min(x, y, 9) * max(x, -y) + abs(x - y)", "(x < y) + (x >= 7) * 2 + (x != y and not y == 2 or x > 200)",
    "bit(flags, 13) + sum(flags[3:9]) - le(flags[0:6]) / 65536", "floor(digits(money) / 7)", "novelty(x, y)",
    "new(x) + gain(x)", "new(x, y, 0, hp[0] > 4) * 3", "old(wealth) - wealth",
]  # fmt: skip


def _program(values: list[str]) -> Program:
    ram = Ram(
        watch=WATCH,
        values={"wealth": "bcd(money) + old(x)"},
        terms=tuple(Term(name=f"t{n}", value=value, weight=0.5 + n) for n, value in enumerate(values)),
        maximise="be(money)",
        done="x == 4",
    )
    return ram.program()


def test_the_kernel_and_the_interpreter_agree() -> None:
    program, rng, count = _program(TERMS), np.random.default_rng(3), 8
    size = max(part.stop for part in Ram(watch=WATCH).groups.values())
    rows = rng.integers(0, 9, (60, count, size), dtype=np.uint8)
    starts = torch.from_numpy(rows[0].copy())
    watched = starts.clone()
    terms = RamTerms(program, watched, starts, 400)
    terms.epochs.fill_(240)  # so that sets are cleared within the test
    steps, where = torch.zeros(count, dtype=torch.int32), torch.arange(count)
    episodes = [Episode(bytes(row)) for row in rows[0]]
    for number, row in enumerate(rows[1:]):
        watched.copy_(torch.from_numpy(row))
        reward, done = terms.step(steps)
        ends = rng.random(count) < 0.3
        for env, episode in enumerate(episodes):
            found = run(program, episode, bytes(row[env]))
            parts = np.array([*found.parts.values()])
            kept = np.arange(len(TERMS)) != TERMS.index("novelty(x, y)")
            np.testing.assert_array_equal(terms.parts[env, :-1].numpy()[kept], parts[:-1][kept], f"{number} {env}")
            assert (bool(done[env]), float(terms.score[env])) == (found.done, found.score)
            bonus = np.float32(terms.parts[env, TERMS.index("novelty(x, y)")])
            assert reward[env].item() == found.reward + bonus
            episode.before = bytes(row[env])
            if ends[env]:
                episodes[env] = Episode(bytes(rows[0][env]))
        terms.restart(torch.from_numpy(ends), where)
        steps = torch.where(torch.from_numpy(ends), 0, steps + 1)
    assert terms.take()["score/max"] == float(
        max(int.from_bytes(bytes(r[4:7]), "big") for r in rows[1:].reshape(-1, size))
    )


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("x +", "line 1, column 4: a value is missing at the end"),
        ("x\n + z", "line 2, column 4: 'z' is not watched"),
        ("hp * 2", "line 1, column 1: 2 bytes are no number"),
        ("u16be(money)", "line 1, column 7: u16be reads 2 bytes, here are 3"),
        ("min(x, y", "line 1, column 9: ')' is missing"),
        ("old(gain(x))", "line 1, column 10: gain(...) cannot stand inside old(...)"),
        ("wealth + welth", "line 1, column 10: 'welth' is not watched; near: wealth"),
        ("2 * novelty(x)", "novelty(...) must be the whole value"),
        ("__import__('os')", "line 1, column 1: '__import__' is not watched"),
        ("(" * 99, "line 1, column 41: more than 40 expressions"),
        ("+".join(["x"] * 1_100), "at most 2000"),
        ("x+" * 700 + "x", "more than 1024 instructions"),
    ],
)
def test_errors_name_line_and_column(value: str, where: str) -> None:
    with pytest.raises(TaskError) as caught:
        _program([value])
    assert where in str(caught.value), caught.value
