"""AgentSpeak helpers: errors of a plan file in one line; beliefs as text and as JSON.

`python -m trainer_core.runners.spade_bdi.asl FILE...` prints {"error": ""}, or the first error; preflight runs it in
the runner's environment.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trainer_core.runners.spade_bdi.words import ACTION_ARITIES
from trainer_core.wire.errors import ConfigError

# Imported by name: type checkers outside the environment do not find them.
asp: Any = importlib.import_module("agentspeak")
lexer: Any = importlib.import_module("agentspeak.lexer")
parser: Any = importlib.import_module("agentspeak.parser")
runtime: Any = importlib.import_module("agentspeak.runtime")
stdlib: Any = importlib.import_module("agentspeak.stdlib")

LOGGERS = ("agentspeak.runtime", "agentspeak.stdlib", "agentspeak.lexer", "agentspeak.parser")
UNKNOWN_ACTION = "no such action"
PERCEPT = asp.Literal("source", (asp.Literal("percept"),))


class Complaints(logging.Handler):
    """Logging handler that collects agentspeak's errors as `FILE:LINE:COLUMN: text` and prints its warnings."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.warnings: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        place = getattr(record, "loc", None)
        where = f"{Path(place.filename).name}:{place.lineno}:{place.startcol + 1}: " if place else ""
        line = where + " ".join(record.getMessage().split())
        if record.levelno >= logging.ERROR:
            self.lines.append(line)
        else:
            self.warnings.append(line)
            print(line, file=sys.stderr)


@contextmanager
def complaints() -> Iterator[Complaints]:
    """Redirect agentspeak's loggers to a new handler during the block; yield the handler."""
    found = Complaints()
    before: dict[str, list[logging.Handler]] = {}
    for name in LOGGERS:
        logger = logging.getLogger(name)
        before[name], logger.handlers = logger.handlers, []
        logger.propagate = False
        logger.addHandler(found)
    try:
        yield found
    finally:
        for name, handlers in before.items():
            logging.getLogger(name).handlers = handlers


def parse(path: Path, actions: Any) -> tuple[Any, Any]:
    """Return (syntax tree, agent with its initial goals). Raises ConfigError in one line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        words = getattr(error, "strerror", None) or "is no text in UTF-8"
        raise ConfigError(f"{path}: {words}; name a file of AgentSpeak plans") from None
    with complaints() as found:
        try:
            source = asp.StringSource(str(path), text)
            tree, agent = runtime.Environment()._build_agent(source, actions, name=path.stem)
        except (asp.AggregatedError, asp.AslError, KeyError, RecursionError) as error:
            told = found.lines[0] if found.lines else f"{path.name}: {error}"
            raise ConfigError(f"{told}; mend {path} and start again") from None
    # agentspeak reads an unknown action as a belief that nobody has: the plan could never continue.
    unknown = [line for line in found.warnings if UNKNOWN_ACTION in line]
    if unknown:
        raise ConfigError(f"{unknown[0]}; docs/notebook/runners.md lists what plans can do")
    return tree, agent


def check(path: Path) -> None:
    """Raise ConfigError naming line and column of the first error."""
    actions = asp.Actions(stdlib.actions)
    for name, arity in (*ACTION_ARITIES, (".send", 3)):
        actions.add(name, arity, lambda *_: iter(()))
    parse(path, actions)


def words_of(literal: Any) -> str:
    """Return a belief or goal as readable text, with its source if another agent sent it."""
    told = [a.args[0] for a in literal.annots if a.functor == "source" and a != PERCEPT]
    bare = asp.Literal(literal.functor, literal.args)
    return str(bare) + "".join(f"[{source}]" for source in told)


def to_json(term: Any) -> Any:
    """Return a ground term as plain values."""
    if isinstance(term, asp.Literal):
        annots = [to_json(annot) for annot in sorted(term.annots, key=str)]
        return {"functor": term.functor, "args": [to_json(a) for a in term.args], "annots": annots}
    if isinstance(term, tuple | asp.LinkedList):
        return [to_json(item) for item in term]
    return term


def from_json(value: Any) -> Any:
    """Return the AgentSpeak term whose `to_json` is `value`."""
    if isinstance(value, dict):
        annots = frozenset(from_json(annot) for annot in value["annots"])
        return asp.Literal(value["functor"], tuple(from_json(a) for a in value["args"]), annots)
    if isinstance(value, list):
        return tuple(from_json(item) for item in value)
    return value


def main() -> None:
    wrong = ""
    try:
        for name in sys.argv[1:]:
            check(Path(name))
    except ConfigError as error:
        wrong = str(error)
    print(json.dumps({"error": wrong}))


if __name__ == "__main__":
    main()
