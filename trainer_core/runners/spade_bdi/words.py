"""Names shared by plans and lab: internal actions, percepts, outcomes. Imports nothing heavy."""

from __future__ import annotations

ACTION_ARITIES = (
    (".press", 1),
    (".skill", 1),
    (".skill", 2),
    (".sample", 1),
    (".sample", 2),
    (".confidence", 1),
    (".confidence", 2),
    (".any", 1),
    (".choose", 3),
    (".credit", 3),
)
"""Actions of plans beside AgentSpeak's own, with arities; docs/notebook/runners.md describes them."""
PERCEPTS = ("episode", "step", "still", "seen", "ended", "coach")
"""Beliefs that the lab maintains: from pictures and from an episode's end; `coach("JID")` is the coach's address."""
SUCCESS, TIMEOUT = "success", "timeout"
"""Outcomes in `ended(Outcome, Steps)`."""
