"""A target counts once greedy play reaches it twice running, or drawn play nearly as well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.trainer_core.building import prepared_run, read_log, shorten_episodes, tiny_config
from trainer_core.host.progress import Rates, RunProgress
from trainer_core.host.run import Host
from trainer_core.host.validator import Validator
from trainer_core.wire.config import RunConfig
from trainer_core.wire.records import VALIDATING, EvalRecord, StateEvent

UPDATE = 4 * 4
GOOD, LUCKY, BAD = (1.0, 0.8), (1.0, 0.38), (0.5, 0.5)
"""(greedy, sampled) of a validation."""


def rates(greedy: float, sampled: float) -> Rates:
    return Rates(greedy=greedy, least=greedy, sampled=sampled, least_sampled=sampled)


@pytest.mark.parametrize(
    ("validations", "reached"),
    [
        ([GOOD], True),
        ([(0.95, 0.76)], True),  # 0.8 of the target itself
        ([(0.95, 0.75)], False),
        ([(0.94, 1.0)], False),  # drawn play alone does not do
        ([LUCKY], False),
        ([(0.0, 0.0), LUCKY], False),  # LEARNING.md: fetch2 without a demonstration
        ([BAD, LUCKY, BAD, LUCKY], False),  # not running
        ([LUCKY, BAD], False),
        ([LUCKY, LUCKY], True),
        ([(0.96, 0.0), (0.95, 0.0)], True),
        ([LUCKY, GOOD], True),
        ([LUCKY, BAD, LUCKY, (0.97, 0.1)], True),
    ],
)
def test_what_sequence_of_validations_reaches_a_target(validations: list[tuple[float, float]], reached: bool) -> None:
    progress = RunProgress()
    for number, (greedy, sampled) in enumerate(validations):
        assert not progress.reached(0.95), "before the last one"
        progress.take(rates(greedy, sampled), 100 * (number + 1), 0.95)
        progress = RunProgress.from_state(progress.state_dict(1.0))  # as a resumed run knows it
    assert bool(progress.reached(0.95)) == reached
    greedy, sampled = validations[-1]
    alone = greedy >= 0.95 and not reached
    assert progress.unconfirmed(0.95) == (f"greedy {greedy:.2f}, sampled {sampled:.2f}: not confirmed" if alone else "")


def test_drawn_play_has_to_confirm_on_every_task() -> None:
    progress = RunProgress()
    found = Rates(greedy=1.0, least=1.0, sampled=0.8, least_sampled=0.6)
    progress.take(found, 100, 0.95)
    assert not progress.reached(0.95)


def test_another_target_of_a_resumed_run_is_judged_by_its_own_validations() -> None:
    progress = RunProgress()
    progress.take(rates(*LUCKY), 100, 0.95)
    progress.take(rates(*LUCKY), 200, 0.95)
    assert progress.reached(0.95)
    assert not progress.reached(0.9)
    assert progress.reached(0.4), "which drawn play confirms"
    assert not progress.reached(0.0)


def test_the_best_checkpoint_is_a_confirmed_one() -> None:
    progress = RunProgress()
    for steps, found, is_best in (
        (100, LUCKY, True),
        (200, BAD, False),
        (300, (0.96, 0.9), True),  # less than 1.0, and confirmed
        (400, BAD, False),
        (500, LUCKY, False),
        (600, GOOD, True),
    ):
        progress.take(rates(*found), steps, 0.95)
        assert progress.is_best(str(steps)) == is_best, steps
    assert progress.best_folder == "600"


def test_a_checkpoint_of_before_knows_what_drawn_play_said() -> None:
    old = RunProgress(success=1.0, least=1.0, sampled=0.9).state_dict(1.0)
    for name in ("least_sampled", "greedy_since", "best_confirmed"):
        del old[name]
    assert RunProgress.from_state(old).reached(0.95) == "greedy"


class Lucky(Validator):
    """Greedy play gets there from the second validation on, drawn play never."""

    validations = 0

    def validate(self, update: int, env_steps: int) -> Iterator[tuple[Any, dict[str, Any]]]:
        self.validations += 1
        greedy = 1.0 if self.validations >= 2 else 0.0
        for kind, fields in super().validate(update, env_steps):
            if kind is EvalRecord:
                fields["success_rate"] = greedy if fields["mode"] == "greedy" else 0.25
            yield kind, fields
        self.rates = rates(greedy, 0.25)


def small_config(**changes: Any) -> RunConfig:
    return tiny_config(num_envs=4, num_steps=4, eval_episodes=2, **changes)


def test_a_run_says_so_and_is_validated_again_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_episodes(monkeypatch)
    monkeypatch.setattr("trainer_core.host.native.Validator", Lucky)
    told = []
    run = prepared_run(tmp_path, small_config(eval_every=10, target_success=0.95, total_env_steps=90 * UPDATE))
    tell = run.writer.tell
    monkeypatch.setattr(run.writer, "tell", lambda kind, **fields: told.append((kind, fields)) or tell(kind, **fields))
    outcome = run.train()
    run.close()
    played = [
        record["env_steps"] // UPDATE
        for record in read_log(tmp_path)
        if record["type"] == "eval" and record["mode"] == "greedy"
    ]
    assert played == [10, 20, 24]
    assert outcome.reached_by == "greedy"
    assert outcome.reason == ("validation reached 1.000 in greedy play, 0.000 leaving loops, 0.250 sampled")
    said = [fields["detail"] for kind, fields in told if kind is StateEvent and fields["detail"]]
    # A validation that takes long, on a busy computer, tells how far it came.
    said = [detail for detail in said if not detail.startswith(VALIDATING)]
    assert said == ["greedy 1.00, sampled 0.25: not confirmed"]


def test_a_run_that_ends_unconfirmed_says_that_in_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainer_core.host.native.Validator", Lucky)
    config = small_config(eval_every=1, target_success=0.95, total_env_steps=2 * UPDATE)
    run: Host = prepared_run(tmp_path, config)
    outcome = run.train()
    run.close()
    assert outcome.reached_by == ""
    assert outcome.reason.endswith("; greedy 1.00, sampled 0.25: not confirmed")
