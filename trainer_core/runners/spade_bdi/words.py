"""The words that plans and lab share: internal actions and percepts. Imports nothing heavy."""

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
"""What plans may do beside AgentSpeak's own actions; docs/notebook/runners.md says what each does."""
PERCEPTS = ("episode", "step", "still", "seen", "ended", "coach")
"""Beliefs that the lab keeps: they follow from pictures, from an episode's end, and
`coach("JID")` says whom to send a message."""
SUCCESS, TIMEOUT = "success", "timeout"
"""How `ended(Outcome, Steps)` says that an episode ended."""
