"""Write the pages of docs that are made from tables of the program, and README's table of figures.

    python scripts/render_docs.py            write them
    python scripts/render_docs.py --check    write nothing; status 1 and their names where one is not up to date

| page | made from |
|---|---|
| docs/reference/cli.md | the command table and the `--help` of each command |
| docs/reference/metrics.md | trainer_core/wire/metric_names.py |
| docs/adr/README.md | title, date and status of each decision |
| docs/results/README.md, README.md between two marks | docs/results/*.json |
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb", PYTHONIOENCODING="utf-8")
CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from trainer_core.cli.command_table import COMMANDS, Command  # noqa: E402
from trainer_core.cli.verify_claims import SPEED_TOLERANCE, Claim, read_claims  # noqa: E402
from trainer_core.wire.metric_names import METRICS  # noqa: E402

DOCS = CHECKOUT / "docs"
README_MARKS = ("<!-- figures: begin -->\n", "<!-- figures: end -->\n")
GROUP_TITLES = {
    "counter": "Counters",
    "overview": "Overview",
    "policy": "Policy",
    "env": "Environment",
    "perf": "Speed",
    "tasks": "Several tasks",
    "other": "Other",
}


def cli_page() -> str:
    """Return the reference of the command line: an index, then the options of each command."""
    rows = list(COMMANDS.values())
    index = [(f"[`dmglab {row.name}`](#dmglab-{row.name.replace(' ', '-')})", row.summary) for row in rows]
    parts = [
        "# Command line",
        "Every command, its options and their defaults, as `dmglab COMMAND --help` prints them. Without a command, "
        "`dmglab` opens the app.",
        _table(("command", "purpose"), index),
    ]
    for row in rows:
        parts.append(f"## `dmglab {row.name}`")
        if row.function:
            parts.append(f"```text\n{help_of(row)}\n```")
        else:
            parts.append(f"{row.summary[0].upper()}{row.summary[1:]}.")
    return _page(parts)


def help_of(row: Command) -> str:
    """Return what `--help` prints, without the frames that a terminal shows."""
    printed = io.StringIO()
    function: Callable[[list[str]], Any] = row.load()
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.suppress(SystemExit),
    ):
        function(["--help"])
    lines = [line.rstrip() for line in printed.getvalue().strip().splitlines()]
    titled = re.sub(r"^ (\S.*)\n -+$", r"\1:", "\n".join(lines), flags=re.MULTILINE)
    return re.sub(r"^ +-+\n", "", titled, flags=re.MULTILINE)


def metrics_page() -> str:
    """Return the table of the scalars of a run."""
    parts = [
        "# Metrics",
        "The scalars of update records by the names that `dmglab plot --metrics`, `dmglab query`, TensorBoard and the "
        "app use. *Reduced*: how the environment steps since the previous record become one number. Other trainers "
        "record scalars of their own under their own names.",
    ]
    for group, title in GROUP_TITLES.items():
        rows = [metric for metric in METRICS if metric.group == group]
        if rows:
            cells = [
                (f"`{m.name}`", m.help or f"{m.title}.", m.unit, _bounds(m.low, m.high), m.reduction) for m in rows
            ]
            parts += [f"## {title}", _table(("name", "meaning", "unit", "bounds", "reduced"), cells)]
    return _page(parts)


def decisions_page() -> str:
    """Return the index of the decisions. Exits where one lacks its date and status."""
    rows = []
    for path in sorted((DOCS / "adr").glob("[0-9]*.md")):
        lines = path.read_text(encoding="utf-8").splitlines()
        head = re.fullmatch(r"Date: (\d{4}-\d\d-\d\d)\. Status: (.+)\. Superseded by: (.+)\.", lines[2])
        if head is None:
            sys.exit(f"{path}: line 3 is not `Date: YYYY-MM-DD. Status: ... . Superseded by: ... .`")
        number, _, title = lines[0].removeprefix("# ").partition(". ")
        rows.append((f"[{number}]({path.name})", title, head[1], head[2], head[3]))
    text = (
        "Decisions about the design, with the reasons and the rejected alternatives. A new one takes the next number."
    )
    return _page(["# Decisions", text, _table(("", "decision", "date", "status", "superseded by"), rows)])


def results_page(claims: dict[str, Claim]) -> str:
    """Return the page of all figures."""
    cells = [
        (
            claim.row if claim.order <= 1 else "",
            claim.text,
            claim.device,
            f"{claim.date}, `{claim.commit}`",
            f"`{claim.command}`",
            f"`{name}`" if claim.check else claim.why_not,
        )
        for name, claim in claims.items()
    ]
    text = (
        "Each figure is one JSON file of this folder. `dmglab verify-claims` repeats the measurements that are "
        "possible on the machine at hand: counts and ratios everywhere, speeds and durations on the same device only, "
        f"where they may be worse by {SPEED_TOLERANCE:.0%}. Exit status 1 means that a figure was missed."
    )
    head = ("what", "figure", "device", "date, commit", "command", "checked as, or why not")
    fields = "Fields of a file: `Claim` and `Check` in `trainer_core/cli/verify_claims.py`."
    return _page(["# Figures", text, _table(head, cells), fields])


def readme_table(claims: dict[str, Claim]) -> str:
    """Return README's rows."""
    rows: dict[str, list[Claim]] = {}
    for claim in claims.values():
        if claim.readme:
            rows.setdefault(claim.row, []).append(claim)
    cells = [
        (row, "; ".join(claim.text for claim in found), ", ".join(dict.fromkeys(claim.device for claim in found)))
        for row, found in rows.items()
    ]
    return _table(("what", "figure", "device"), cells) + "\n"


def pages() -> dict[Path, str]:
    """Return each page that is made, as it should be."""
    claims = read_claims(DOCS / "results")
    readme = CHECKOUT / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(README_MARKS[0])
    after = rest.partition(README_MARKS[1])[2]
    return {
        DOCS / "reference" / "cli.md": cli_page(),
        DOCS / "reference" / "metrics.md": metrics_page(),
        DOCS / "adr" / "README.md": decisions_page(),
        DOCS / "results" / "README.md": results_page(claims),
        readme: before + README_MARKS[0] + readme_table(claims) + README_MARKS[1] + after,
    }


def _bounds(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return ""
    return f"{'' if low is None else f'{low:g}'} to {'' if high is None else f'{high:g}'}".strip()


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _page(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Write the pages, or compare them."""
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if sys.argv[1:]:
        names = ", ".join(str(path.relative_to(CHECKOUT)) for path in stale)
        sys.exit(f"not up to date: {names}; run `python scripts/render_docs.py`" if stale else 0)
    for path in stale:
        path.write_text(pages()[path], encoding="utf-8")
        print(path.relative_to(CHECKOUT))


if __name__ == "__main__":
    main()
