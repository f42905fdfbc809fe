"""What a run's records say that somebody should look at: rules over records, without widgets."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import UnsetType

from gui.words import tr
from trainer_core.wire import records

COLLAPSED = 0.05
"""Share of its first entropy below which a policy no longer explores."""
LEARNED = 0.5
"""Success from which a policy may be as certain as it likes, and from which losing it matters."""


@dataclass(frozen=True, slots=True)
class Alert:
    """`kind` is error, entropy or success; the x of a mark is `env_steps`."""

    kind: str
    env_steps: int
    title: str
    text: str


@dataclass(slots=True)
class AlertWatch:
    """Follows one run's records in their order. A rule that holds is told once, until it did not.

    Entropy: below COLLAPSED of the first one measured, while validation has not reached LEARNED.
    Success: two greedy validations in a row below half of the best, which was LEARNED or more. One
    alone tells little: greedy play that circles on a few pictures comes and goes between updates.
    """

    first_entropy: float = 0.0
    best: float = 0.0
    low: int = 0
    steps: int = 0
    told: set[str] = field(default_factory=set)

    def take(self, event: object) -> Alert | None:
        match event:
            case records.UpdateRecord():
                self.steps = event.env_steps
                return self._entropy(event)
            case records.EvalRecord(mode="greedy", is_part=False):
                return self._success(event)
            case records.ErrorRecord():
                return Alert("error", self.steps, tr("The run reported an error"), event.message)
            case records.ResumeRecord():
                self.told.clear()
        return None

    def _entropy(self, event: records.UpdateRecord) -> Alert | None:
        entropy = event.entropy_mean
        if isinstance(entropy, UnsetType):
            return None
        self.first_entropy = self.first_entropy or entropy
        is_low = entropy < COLLAPSED * self.first_entropy and self.best < LEARNED
        if not self._begins("entropy", is_low):
            return None
        text = tr(
            "entropy {entropy:.3f} after {first_entropy:.2f} at the start",
            entropy=entropy,
            first_entropy=self.first_entropy,
        )
        return Alert("entropy", event.env_steps, tr("Entropy collapsed"), text)

    def _success(self, event: records.EvalRecord) -> Alert | None:
        self.best = max(self.best, event.success_rate)
        is_low = self.best >= LEARNED and event.success_rate < self.best / 2
        self.low = self.low + 1 if is_low else 0
        if not self._begins("success", self.low >= 2):
            return None
        text = tr("validation {success_rate:.0%} after {best:.0%}", success_rate=event.success_rate, best=self.best)
        return Alert("success", event.env_steps, tr("Success was lost"), text)

    def _begins(self, kind: str, holds: bool) -> bool:
        """Whether a rule holds now and did not before."""
        if not holds:
            self.told.discard(kind)
            return False
        is_new = kind not in self.told
        self.told.add(kind)
        return is_new
