"""The figures as one self-contained page: what was reached of the targets, a plot and a table for each measurement."""

from __future__ import annotations

import html
import io
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from network_tables import tables as tables_of_networks
from pymc_models import rows as rows_of_pymc
from report import beside, reached, shown, since, why_not
from targets import tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 } td, th { padding: .2rem .7rem; border-bottom: 1px solid #ddd }
td { text-align: right; font-variant-numeric: tabular-nums } td:first-child, th { text-align: left }
svg { max-width: 100%; height: auto }
"""


ABOUT_LIMITS = """<p>limit: by hand in C with explicit vectors, arguments not checked, results written into memory that
is made once. numba: by hand in Numba, fastmath, results made anew. Ratios are of medians, in brackets of the least of
all calls. The seconds to the first result stand where something had to be compiled. One thread, unless an engine names
more. Noise is how far apart the middle half of a row's answers lies, as a part of the median, of its worst
figure.</p>"""
TITLES = {
    "start": "Start: whole processes, seconds",
    "calls": "Calls: microseconds",
    "compile": "Compile: seconds from the expression to the first result, cold",
    "run": "Run: microseconds a call",
}


def write(results: Mapping[str, Any], path: Path, before: Mapping[str, Any] | None = None) -> None:
    """Write the page; beside the results of another tree, where they are given."""
    pages = tables(results)
    parts = [_heading("Run beside the limit and the best peer", ABOUT_LIMITS + _table(*beside(results)))]
    parts.append(_heading("Targets", _table(*reached(results))))
    parts += [_section(title, pages[page]) for page, title in TITLES.items()]
    for name, row in results.get("engine", {}).items():
        sizes = {
            who: {str(round(got["applies"])): got["total"] for got in found.values()}
            for who, found in row.items()
            if "error" not in found
        }
        parts.append(_section(f"Rewriting {name}: seconds by number of applies", _transposed(sizes)))
    if results.get("pymc"):
        parts.append(_heading("Models of PyMC", _table(*rows_of_pymc(results["pymc"]))))
    parts += [
        _heading(title, _table(*lines)) for title, lines in tables_of_networks(results.get("networks", {})).items()
    ]
    parts.append(_heading("What has no figure", _table(*why_not(results))))
    if before is not None:
        title = f"As a part of what {before['machine']['commit']} took"
        parts.insert(0, _section(title, since(before, results)))
    about = ", ".join(f"{key}: {value}" for key, value in results.get("machine", {}).items())
    body = f"<h1>tg beside its peers</h1><p>{html.escape(about)}</p>{''.join(parts)}"
    page = f"<!doctype html><meta charset=utf-8><title>tg benchmarks</title><style>{STYLE}</style>{body}"
    path.write_text(page, encoding="utf-8")


def _heading(title: str, content: str) -> str:
    return f"<h2>{html.escape(title)}</h2>{content}"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = ("".join(f"<td>{html.escape(cell)}" for cell in line) for line in lines)
    titles = "".join(f"<th>{html.escape(name)}" for name in head)
    return f"<table><tr>{titles}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _transposed(rows: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Workloads as rows, engines as columns."""
    labels = dict.fromkeys(label for row in rows.values() for label in row)
    return {label: {name: row[label] for name, row in rows.items() if label in row} for label in labels}


def _section(title: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    """A heading, a plot and a table: rows are workloads, columns engines."""
    if not rows:
        return ""
    engines = list(dict.fromkeys(engine for row in rows.values() for engine in row))
    lines = [[label, *(shown(row.get(engine)) for engine in engines)] for label, row in rows.items()]
    return _heading(title, _plot(rows, engines) + _table(("", *engines), lines))


def _plot(rows: Mapping[str, Mapping[str, float]], engines: list[str]) -> str:
    """Points on a logarithmic scale: a line for each workload, a mark for each engine."""
    figure = Figure(figsize=(9, max(3.0, 0.9 + 0.32 * len(rows))), layout="constrained")
    axes = figure.subplots()
    labels = list(rows)[::-1]
    for i, engine in enumerate(engines):
        at = [(rows[label][engine], y) for y, label in enumerate(labels) if engine in rows[label]]
        xs, ys = zip(*at, strict=True)
        axes.plot(xs, ys, "os^Dv"[i // 10 % 5], color=f"C{i % 10}", label=engine, alpha=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(labels)), labels)
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
    out = io.StringIO()
    figure.savefig(out, format="svg")
    text = out.getvalue()
    return text[text.index("<svg") :]
