"""A report as one HTML file: which runs, what they were told, what came of it, notes, plots."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gui.words import tr

Table = list[tuple[str, list[str]]]
"""(field, value by run)."""
_STYLE = """
body {{ background: {window}; color: {text}; font: 14px/1.5 system-ui, sans-serif;
  margin: 32px auto; max-width: 1320px; padding: 0 24px; }}
h1 {{ font-weight: 500; }} h2 {{ font-weight: 500; margin-top: 32px; }}
p.muted, th {{ color: {muted}; font-weight: normal; }}
table {{ border-collapse: collapse; display: block; overflow-x: auto; }}
td, th {{ padding: 3px 12px 3px 0; text-align: left; white-space: nowrap;
  border-bottom: 1px solid {border}; font-variant-numeric: tabular-nums; }}
.swatch {{ display: inline-block; width: 10px; height: 10px; border-radius: 5px; }}
.plots {{ display: flex; flex-wrap: wrap; gap: 12px; }}
.plots svg {{ max-width: 100%; height: auto; }}
a {{ color: {accent}; }}
"""


@dataclass
class Report:
    title: str
    made: str
    """When, and of which home."""
    runs: list[str] = field(default_factory=list)
    """Names of all that is on show, in the order of the summary's values."""
    colors: list[str] = field(default_factory=list)
    summary: Table = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    """Names of the runs that the tables side by side have columns for."""
    differences: Table = field(default_factory=list)
    outcomes: Table = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    """(name, HTML) of runs on which somebody wrote."""
    plots: list[tuple[str, list[str]]] = field(default_factory=list)
    """(group, SVG elements)."""


def to_html(report: Report, colors: Mapping[str, str]) -> str:
    """The whole file, which needs nothing else to be seen; `colors` as `gui.colors` calls them."""
    style = _STYLE.format_map(colors)
    parts = [
        "<!doctype html>",
        '<html><head><meta charset="utf-8">',
        f"<title>{html.escape(report.title)}</title>",
        f"<style>{style}</style></head><body>",
        f"<h1>{html.escape(report.title)}</h1>",
        f'<p class="muted">{html.escape(report.made)}</p>',
        f"<h2>{tr('Runs')}</h2>",
        _by_run(report),
    ]
    for title, table in ((tr("Fields that differ"), report.differences), (tr("What came of it"), report.outcomes)):
        if table:
            parts += [f"<h2>{html.escape(title)}</h2>", _side_by_side(report.compared, table)]
    if report.notes:
        parts.append(f"<h2>{tr('Notes')}</h2>")
        parts += [f"<h3>{html.escape(name)}</h3>{text}" for name, text in report.notes]
    for group, plots in report.plots:
        parts += [f"<h2>{html.escape(group)}</h2>", '<div class="plots">', *plots, "</div>"]
    return "\n".join([*parts, "</body></html>", ""])


def _by_run(report: Report) -> str:
    """A row a run, with the colour of its curves."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name, _ in report.summary)
    rows = [f"<tr><th></th><th>{tr('Run')}</th>{head}</tr>"]
    for place, (name, color) in enumerate(zip(report.runs, report.colors, strict=True)):
        cells = _cells([values[place] for _, values in report.summary])
        swatch = f'<td><span class="swatch" style="background:{color}"></span></td>'
        rows.append(f"<tr>{swatch}<td>{html.escape(name)}</td>{cells}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _side_by_side(runs: Sequence[str], table: Table) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in runs)
    rows = [f"<tr><th>{html.escape(name)}</th>{_cells(values)}</tr>" for name, values in table]
    return f"<table><tr><th></th>{head}</tr>{''.join(rows)}</table>"


def _cells(values: Sequence[str]) -> str:
    return "".join(f"<td>{html.escape(value)}</td>" for value in values)
