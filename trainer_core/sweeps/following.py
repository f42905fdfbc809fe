"""Progress of trials, read from their logs: the same on one computer and on a cluster."""

from __future__ import annotations

from collections.abc import Sequence

from trainer_core.lab.paths import HomePaths
from trainer_core.runs.log_reader import read_history
from trainer_core.sweeps import rules
from trainer_core.sweeps.sweep import SUCCESS, EarlyStop, Sweep, Trial
from trainer_core.wire import records
from trainer_core.wire.metric_names import scalars
from trainer_core.wire.regular_files import SLICE


class Following:
    """Curves of the metric of all trials, extended from their logs."""

    def __init__(self, home: HomePaths, sweep: Sweep) -> None:
        self.home, self.stop = home, sweep.early_stop
        self.curves: dict[int, list[tuple[int, float]]] = {t.number: [] for t in sweep.trials}
        self._offsets = dict.fromkeys(self.curves, 0)
        self._judged = dict.fromkeys(self.curves, 0)

    def read(self, trial: Trial) -> None:
        """Extend the trial's curve with new lines of its log.

        At a resume, points beyond the resumed step are removed first.
        """
        log = self.home.run(trial.run_id).train_log
        while True:
            try:
                history = read_history(log, self._offsets[trial.number], SLICE)
            except OSError:  # a pipe or a folder in the log's place
                return
            if history.offset == self._offsets[trial.number]:
                return
            self._offsets[trial.number] = history.offset
            self._take(trial, history.events)

    def _take(self, trial: Trial, events: Sequence[records.Event]) -> None:
        curve = self.curves[trial.number]
        for event in events:
            if isinstance(event, records.ResumeRecord):
                curve[:] = [point for point in curve if point[0] <= event.env_steps]
            elif (value := value_of(event, self.stop.metric)) is not None:
                assert isinstance(event, records.UpdateRecord | records.EvalRecord)
                curve.append((event.env_steps, value if self.stop.mode == "max" else -value))

    def verdict(self, trial: Trial) -> str:
        """Return the reason why the sweep's rule ends the trial now, or ""; each rung (step count) is judged once."""
        curve, stop = self.curves[trial.number], self.stop
        at = rules.rung_of(curve, stop.first_rung, stop.factor) if stop.rule == "halving" else rules.reached(curve)
        if stop.rule == "none" or at <= self._judged[trial.number]:
            return ""
        self._judged[trial.number] = at
        return judge(self.curves, trial.number, stop)


def judge(curves: dict[int, list[tuple[int, float]]], number: int, stop: EarlyStop) -> str:
    """Return the rule's reason to end trial `number`, or "".

    `curves` has each trial's points (environment steps, value), where more is better.
    """
    if stop.rule == "halving":
        found = rules.halving(curves, number, first_rung=stop.first_rung, factor=stop.factor)
    else:
        found = rules.median(curves, number, first_rung=stop.first_rung)
    if found is None:
        return ""
    sign = 1 if stop.mode == "max" else -1
    return f"{stop.metric} {sign * found.own:.3g} {found.where} ({sign * found.bar:.3g})"


def value_of(event: records.Event, metric: str) -> float | None:
    """Return the metric's value in one record; None if the record lacks it."""
    if metric == SUCCESS:
        if isinstance(event, records.EvalRecord) and event.mode == "greedy" and not event.is_part:
            return event.success_rate
        return None
    return scalars(event).get(metric) if isinstance(event, records.UpdateRecord) else None
