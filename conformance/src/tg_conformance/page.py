"""The report as one page of HTML that needs nothing else: a matrix, failures with their text, a filter by backend."""

from __future__ import annotations

import itertools
from collections import Counter
from html import escape
from typing import TYPE_CHECKING, Final

from tg_conformance.report import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tg_conformance.report import Entry, Report

STYLE: Final = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid #8883; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; }
thead th { position: sticky; top: 0; background: Canvas; }
summary { cursor: pointer; padding: .2rem 0; }
pre { overflow-x: auto; padding: .6rem; background: #8881; margin: .3rem 0 1rem; white-space: pre-wrap; }
label { margin-right: 1.2rem; }
.failed { background: #e5484d55; } .advisory { background: #f7b95555; }
.gap { background: #8884; } .passed { background: #30a46c33; } .not-run { color: #8889; }
"""

SCRIPT: Final = """
const boxes = document.querySelectorAll("input[data-backend]");
const sheet = document.head.appendChild(document.createElement("style"));
function filter() {
  const hidden = [...boxes].filter(box => !box.checked).map(box => ".b" + box.dataset.backend);
  sheet.textContent = hidden.length ? hidden.join(", ") + " { display: none; }" : "";
}
boxes.forEach(box => box.addEventListener("change", filter));
filter();
"""


def page(report: Report) -> str:
    """The whole page."""
    names = [one.name for one in report.backends]
    title = f"tg conformance: {', '.join(names)}"
    body = "\n".join(
        [
            f"<h1>{escape(title)}</h1>",
            _facts(report),
            "<h2>Backends</h2>",
            _backends(report),
            _filters(names),
            "<h2>Families</h2>",
            _families(report.cases, names),
            "<h2>Failures</h2>",
            _failures(report, names),
            "<h2>Cases</h2>",
            *_cases(report.cases, names),
        ]
    )
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    script = f"<script>{SCRIPT}</script>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n{script}</body></html>\n'


def _facts(report: Report) -> str:
    chosen = [*report.options, *(f"without {name}" for name in report.exclude)]
    chosen += [f"mode {report.mode}"] if report.mode else []
    options = f" with {', '.join(chosen)}" if chosen else ""
    words = f", only cases that match {report.words!r}" if report.words else ""
    versions = f"tg {report.tg}, tg-conformance {report.suite}, Python {report.python}, NumPy {report.numpy}"
    told = [f"{report.tier} tier{options}{words}; {versions}; {report.machine}; {report.time}"]
    told += [f"extensions: {', '.join(map(' '.join, report.extensions))}"] if report.extensions else []
    told += [f"not tested: {name}: {reason}" for name, reason in report.skipped]
    told += [f"cases lost: {text}" for text in report.lost]
    return "\n".join(f"<p>{escape(text)}</p>" for text in told)


def _backends(report: Report) -> str:
    """Versions, level, counts and seconds of each backend."""
    rows = []
    for k, one in enumerate(report.backends):
        versions = {one.distribution: one.version, **one.engines}
        told = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
        counts = [str(one.counts.get(outcome, 0)) for outcome in OUTCOMES]
        cells = [one.name, told, one.tier, str(one.level), str(one.achieved), *counts, f"{one.seconds:.1f}"]
        rows.append(f'<tr class="b{k}">' + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    return _table(["backend", "versions", "tier", "level", "achieved", *OUTCOMES, "seconds"], rows)


def _filters(names: Sequence[str]) -> str:
    boxes = [
        f'<label><input type="checkbox" data-backend="{k}" checked> {escape(name)}</label>'
        for k, name in enumerate(names)
    ]
    return f"<p>Show: {''.join(boxes)}</p>"


def _families(entries: Sequence[Entry], names: Sequence[str]) -> str:
    """A row for each family and dtype."""
    rows = []
    for family, group in _grouped(entries, "family"):
        rows += [_row(f"<b>{escape(family)}</b>", group, names)]
        dtypes = sorted(_grouped(sorted(group, key=lambda e: e.dtype), "dtype"))
        rows += [_row(f"&emsp;{escape(dtype)}", own, names) for dtype, own in dtypes if len(dtypes) > 1]
    return _matrix("family, dtype", rows, names)


def _cases(entries: Sequence[Entry], names: Sequence[str]) -> Iterator[str]:
    """For each family a table that opens: a row for each case and dtype."""
    for family, group in _grouped(entries, "family"):
        rows = [
            _row(f"{escape(case.removeprefix(family + ':'))} &ensp;<small>{escape(dtype)}</small>", own, names)
            for case, members in _grouped(group, "case")
            for dtype, own in _grouped(members, "dtype")
        ]
        told = ", ".join(f"{count} {outcome}" for outcome, count in _counts(group).items())
        yield f"<details><summary>{escape(family)} <small>{told}</small></summary>"
        yield _matrix("case, dtype", rows, names) + "</details>"


def _failures(report: Report, names: Sequence[str]) -> str:
    """Outcomes that are no pass, with reasons: failures first, then what is advisory; gaps by their reason."""
    told = []
    for outcome in ("failed", "advisory"):
        for entry in report.cases:
            if texts := [f"{name}\n{text}" for name, came, text in entry.details if came == outcome]:
                what = escape(f"{entry.backend}: {outcome}: {entry.case} [{entry.dtype}]")
                told += [
                    f'<details class="b{names.index(entry.backend)}"><summary class="{outcome}">{what}</summary>',
                    f"<pre>{escape(chr(10).join(texts))}</pre></details>",
                ]
    return ("\n".join(told) or "<p>None.</p>") + _gaps(report, names)


def _gaps(report: Report, names: Sequence[str]) -> str:
    """The reasons that backends give for what they do not do, with the number of items each explains."""
    counts = Counter((e.backend, text) for e in report.cases for _, came, text in e.details if came == "gap")
    rows = [
        f'<tr class="b{names.index(name)}"><td>{escape(text)}</td><td>{escape(name)}</td><td>{count}</td></tr>'
        for (name, text), count in sorted(counts.items())
    ]
    return "<h2>Gaps</h2>" + _table(["reason", "backend", "items"], rows) if rows else ""


def _grouped(entries: Iterable[Entry], field: str) -> list[tuple[str, list[Entry]]]:
    return [(key, list(group)) for key, group in itertools.groupby(entries, key=lambda entry: getattr(entry, field))]


def _counts(entries: Iterable[Entry]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for entry in entries:
        counts.update(entry.counts)
    return {outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]}


def _row(label: str, entries: Sequence[Entry], names: Sequence[str]) -> str:
    """The counts of one row: what passed of what ran, coloured by the worst."""
    cells = []
    for k, name in enumerate(names):
        counts = _counts(entry for entry in entries if entry.backend == name)
        worst = next(iter(counts), "not run")
        ran = sum(n for outcome, n in counts.items() if outcome != "not run")
        text = "–" if not ran else str(ran) if worst == "passed" else f"{counts.get('passed', 0)}/{ran}"
        title = ", ".join(f"{n} {outcome}" for outcome, n in counts.items())
        cells.append(f'<td class="b{k} {worst.replace(" ", "-")}" title="{title}">{text}</td>')
    return f"<tr><td>{label}</td>{''.join(cells)}</tr>"


def _matrix(label: str, rows: Sequence[str], names: Sequence[str]) -> str:
    heads = "".join(f'<th class="b{k}">{escape(name)}</th>' for k, name in enumerate(names))
    return f"<table><thead><tr><th>{label}</th>{heads}</tr></thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table>"


def _table(heads: Sequence[str], rows: Sequence[str]) -> str:
    shown = "".join(f"<th>{escape(head)}</th>" for head in heads)
    return f"<table><thead><tr>{shown}</tr></thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table>"
