"""`dmglab verify-claims`: measure the figures of docs/results again, where this machine can."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from trainer_core.cli.options import parse
from trainer_core.cli.output import Result, say, table
from trainer_core.lab.paths import CHECKOUT
from trainer_core.wire.errors import ConfigError

SPEED_TOLERANCE = 0.1
"""Share by which a speed or duration may be worse than the claim, on the same device."""
WALL = "@wall_s"
"""Value of `Check.read` for the seconds of the whole process."""


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Command and expected value that verify a figure."""

    command: list[str]
    """`dmglab` and `python` as first word mean this installation's; `{seed}` is replaced by each of `seeds`."""
    read: str
    """Key of the JSON object that the command prints last, nested keys joined by dots; or WALL."""
    expect: float
    """The value that confirms the claim, in the unit of `read`."""
    seeds: list[int] = []
    """Seeds of repeated runs, of which the median counts."""
    tolerance: float = 0.0
    """Share of `expect` by which the measured value may be worse."""
    minutes: float
    """Approximate duration."""


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One published figure, a file of docs/results."""

    row: str
    """Row of README's table; where `readme` is 0, of the results page alone."""
    readme: int = 0
    """Place of the row in README's table, from 1."""
    order: int = 0
    """Place of the figure within its row."""
    text: str
    """The figure in words, as the tables show it."""
    value: float
    unit: str
    kind: Literal["count", "ratio", "speed"]
    """Counts and ratios hold on every machine; speeds and durations on the device that is named."""
    better: Literal["higher", "lower"] = "higher"
    device: str
    date: str
    commit: str
    command: str
    """Command line with its environment variables, for the reader."""
    check: Check | None = None
    why_not: str = ""
    """Reason for a missing `check`."""


class Verdict(NamedTuple):
    """Result of the check of one claim."""

    name: str
    claim: Claim
    state: Literal["holds", "missed", "not measured"]
    measured: float | None
    why: str


@dataclass(frozen=True)
class Options:
    only: tuple[str, ...] = ()
    """Figures to measure, by the names of their files; default all."""
    minutes: float = 10.0
    """Skip figures that take longer than this number of minutes; 0 = skip none."""
    results: Path | None = None
    """Folder of the figures; default docs/results of the checkout."""


def run(argv: list[str]) -> dict[str, Any]:
    """Measure the figures again; `ok` is False if one is missed."""
    options = parse(Options, "verify-claims", argv)
    claims = read_claims(options.results)
    if unknown := [name for name in options.only if name not in claims]:
        raise ConfigError(f"no figure {', '.join(unknown)}; there are {', '.join(claims)}")
    chosen = {name: claim for name, claim in claims.items() if not options.only or name in options.only}
    devices = _device_names()
    verdicts = [verify(name, claim, devices, options.minutes) for name, claim in chosen.items()]
    missed = [verdict.name for verdict in verdicts if verdict.state == "missed"]
    result = {
        "ok": not missed,
        "devices": devices,
        "figures": [
            {"name": v.name, "claim": v.claim.value, "state": v.state, "measured": v.measured, "why": v.why}
            for v in verdicts
        ],
    }
    if missed:
        result["error"] = f"not confirmed: {', '.join(missed)}"
    head = ("figure", "claim", "verdict", "measured", "")
    rows = [
        (v.name, v.claim.text, v.state, "" if v.measured is None else f"{v.measured:,.4g}", v.why) for v in verdicts
    ]
    return Result(result, table(head, rows, "No figures."))


def read_claims(folder: Path | None = None) -> dict[str, Claim]:
    """Return the figures of `folder` by name, in the order of the tables. Raises ConfigError naming a bad file."""
    folder = folder or (CHECKOUT / "docs" / "results" if CHECKOUT else None)
    if folder is None or not folder.is_dir():
        raise ConfigError(f"{folder or 'docs/results'}: no such folder; run this in a checkout, or give --results")
    found: dict[str, Claim] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            claim = msgspec.json.decode(path.read_bytes(), type=Claim)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: {error}; see the fields of docs/results/README.md") from None
        if bool(claim.check) == bool(claim.why_not):
            raise ConfigError(f"{path}: give either check or why_not")
        found[path.stem] = claim
    return dict(sorted(found.items(), key=lambda item: (item[1].readme or 99, item[1].row, item[1].order, item[0])))


def verify(name: str, claim: Claim, devices: Sequence[str], minutes: float = 0.0) -> Verdict:
    """Measure one claim on this machine with the processor and GPUs `devices`; 0 minutes: no limit."""
    check = claim.check
    if check is None:
        return Verdict(name, claim, "not measured", None, claim.why_not)
    if claim.kind == "speed" and claim.device not in devices:
        return Verdict(name, claim, "not measured", None, f"needs {claim.device}; here: {', '.join(devices)}")
    if minutes and check.minutes > minutes:
        return Verdict(name, claim, "not measured", None, f"lasts {check.minutes:g} min; give --minutes 0")
    say(f"{name}: measuring, some {check.minutes:g} min")
    try:
        measured = statistics.median(_measure(check, seed) for seed in check.seeds or [0])
    except ConfigError as error:
        return Verdict(name, claim, "missed", None, str(error))
    tolerance = max(check.tolerance, SPEED_TOLERANCE if claim.kind == "speed" else 0.0)
    if claim.better == "higher":
        holds = measured >= check.expect * (1 - tolerance)
    else:
        holds = measured <= check.expect * (1 + tolerance)
    busy = "" if holds else f", at a load of {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    return Verdict(name, claim, "holds" if holds else "missed", measured, f"wanted {check.expect:,.4g}{busy}")


def _measure(check: Check, seed: int) -> float:
    """Return the value of one run of the command. Raises ConfigError where it prints no such value."""
    words = tuple(word.replace("{seed}", str(seed)) for word in check.command)
    done, wall_s = _run_once(words)
    if check.read == WALL and not done.returncode:
        return wall_s
    try:
        found: Any = json.loads(_last_object(done.stdout))
        for key in check.read.split("."):
            found = found[key]
        return float(found)
    except (KeyError, TypeError, ValueError):
        last = (done.stderr.strip().splitlines() or ["nothing on standard error"])[-1]
        raise ConfigError(f"{' '.join(words)}: status {done.returncode}, no {check.read} printed: {last}") from None


@cache  # two figures may come from one command
def _run_once(words: tuple[str, ...]) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run a command; return the completed process and its duration in seconds."""
    begun = time.monotonic()
    done = subprocess.run(_argv(words), cwd=CHECKOUT, capture_output=True, text=True, check=False)
    return done, time.monotonic() - begun


def _argv(words: Sequence[str]) -> list[str]:
    if words[0] == "dmglab":
        return [sys.executable, "-m", "trainer_core.cli.main", *words[1:]]
    if words[0] == "python":
        return [sys.executable, *words[1:]]
    return list(words)


def _last_object(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.startswith("{")), "")


def _device_names() -> list[str]:
    """Return the names of the processor and of the GPUs that torch sees."""
    import torch

    from trainer_core.host.provenance import device_name

    kinds = ["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
    return [device_name(torch.device(kind)) for kind in kinds]
