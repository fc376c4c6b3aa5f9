"""The figures as one self-contained page: a plot and a table for each measurement."""

from __future__ import annotations

import html
import io
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 } td, th { padding: .2rem .7rem; border-bottom: 1px solid #ddd }
td { text-align: right; font-variant-numeric: tabular-nums } td:first-child, th { text-align: left }
svg { max-width: 100%; height: auto }
"""


def write(results: Mapping[str, Any], path: Path) -> None:
    """Write the page."""
    parts = [_section("Start: whole processes, seconds", _of_start(results))]
    parts.append(_section("Calls: microseconds", _transposed(_numbers(results.get("calls", {})))))
    for key, title in (("compile", "Compile: seconds to the first result"), ("run", "Run: microseconds a call")):
        rows = {
            model: {engine: got[key] for engine, got in row.items() if key in got}
            for model, row in results.get("models", {}).items()
        }
        parts.append(_section(title, rows))
    for name, row in results.get("engine", {}).items():
        sizes = {
            who: {str(round(got["applies"])): got["total"] for got in found.values()}
            for who, found in row.items()
            if "error" not in found
        }
        parts.append(_section(f"Rewriting {name}: seconds by number of applies", _transposed(sizes)))
    about = ", ".join(f"{key}: {value}" for key, value in results.get("machine", {}).items())
    body = f"<h1>tg beside its peers</h1><p>{html.escape(about)}</p>{''.join(parts)}"
    page = f"<!doctype html><meta charset=utf-8><title>tg benchmarks</title><style>{STYLE}</style>{body}"
    path.write_text(page, encoding="utf-8")


def _of_start(results: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    found = {name: got["seconds"] for name, got in results.get("start", {}).items() if "seconds" in got}
    return {"first result": found} if found else {}


def _numbers(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    return {name: {k: v for k, v in row.items() if isinstance(v, float)} for name, row in rows.items()}


def _transposed(rows: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Workloads as rows, engines as columns."""
    labels = dict.fromkeys(label for row in rows.values() for label in row)
    return {label: {name: row[label] for name, row in rows.items() if label in row} for label in labels}


def _section(title: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    """A heading, a plot and a table: rows are workloads, columns engines."""
    if not rows:
        return ""
    engines = list(dict.fromkeys(engine for row in rows.values() for engine in row))
    head = "".join(f"<th>{html.escape(name)}" for name in ("", *engines))
    lines = "".join(
        f"<tr><td>{html.escape(label)}" + "".join(f"<td>{_shown(row.get(engine))}" for engine in engines)
        for label, row in rows.items()
    )
    return f"<h2>{html.escape(title)}</h2>{_plot(rows, engines)}<table><tr>{head}</tr>{lines}</table>"


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


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
