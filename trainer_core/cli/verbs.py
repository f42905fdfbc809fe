"""Commands with verbs, `dmglab task check ...`: picks the verb's function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trainer_core.cli.summaries import VERBS, rows
from trainer_core.wire.errors import LabError

Verb = Callable[[list[str]], dict[str, Any]]


def run_verb(command: str, argv: list[str], verbs: dict[str, Verb]) -> dict[str, Any]:
    """What the verb named first in `argv` returns. Raises LabError that names all of them.

    --help prints them and ends.
    """
    name, rest = (argv[0], argv[1:]) if argv else ("", [])
    if name in ("-h", "--help"):
        print(
            f"usage: dmglab {command} VERB [options]\n{rows(VERBS[command])}\n"
            f"`dmglab {command} VERB --help` shows its options."
        )
        raise SystemExit(0)
    if name not in verbs:
        said = f"no verb {name!r}: " if name else ""
        known = ", ".join(verbs)
        raise LabError(f"{said}say `dmglab {command}` and one of {known}; each has --help")
    return verbs[name](rest)
