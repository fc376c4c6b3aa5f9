"""The figures in words: tg beside the limit and the best peer, what is reached of the targets, why a cell is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from targets import OWN, best_peer, rows_of, tables, verdicts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from targets import Verdict

    Lines = tuple[list[str], list[list[str]]]  # the titles of columns, and rows


def beside(results: Mapping[str, Any]) -> Lines:
    """For each row of Run: the limit, the best peer, and tg's figures as multiples; in brackets those of the least.

    The noise of a row is the largest spread of the figures that stand in it.
    """
    pages = tables(results)
    found = {(v.target.row, v.target.engine): v for v in reversed(verdicts(results)) if v.target.page == "run"}
    head = ["", "limit", "best peer", "", "noise", "target"]
    head += [cell for own in OWN for cell in (own, "÷ limit", "peer ÷", "first, s", "")]
    lines = []
    for row, figures in pages["run"].items():
        peer = best_peer(figures)
        texts = {v.target.text for (name, own), v in found.items() if name == row and own in OWN}
        spread = pages["spread"].get(row, {})
        noise = max((spread[name] for name in ("limit", peer, *OWN) if name in spread), default=None)
        line = [row, shown(figures.get("limit")), peer or "", shown(figures.get(peer))]
        line += ["" if noise is None else f"{noise:.0%}", ", ".join(texts)]
        for own in OWN:
            line.append(shown(figures.get(own)))
            line.append(_ratio(pages, row, own, "limit"))
            line.append(_ratio(pages, row, peer, own))
            line.append(shown(pages["compile"].get(row, {}).get(own)))
            line.append(_word(found.get((row, own))))
        lines.append(line)
    return head, lines


def since(before: Mapping[str, Any], results: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """What tg's engines take now as a part of what they took, by row and engine; calls, first results, runs."""
    old, new = tables(before), tables(results)
    found = {
        f"{row}, {page}": {
            name: figure / old[page][row][name]
            for name, figure in figures.items()
            if name.startswith("tg-") and name in old[page].get(row, {})
        }
        for page in ("calls", "compile", "run")
        for row, figures in new[page].items()
    }
    return {row: ratios for row, ratios in found.items() if ratios}


def reached(results: Mapping[str, Any], *, whole: bool = True) -> Lines:
    """Every target: what was found, the bound in this run, and whether it is met; or those alone that are not."""
    return ["", "", "engine", "found", "bound", "target", ""], [
        [v.target.page, v.target.row, v.target.engine, shown(v.found), shown(v.bound), v.target.text, _word(v)]
        for v in verdicts(results)
        if whole or not v.met
    ]


def why_not(results: Mapping[str, Any]) -> Lines:
    """The reasons of empty cells, with the engines and rows they hold for."""
    rows: dict[tuple[str, str], list[str]] = {}
    for row, found in (("calls", results.get("calls", {})), *rows_of(results).items()):
        for engine, got in found.items():
            if "error" in got:
                rows.setdefault((engine, got["error"]), []).append(row)
    return ["engine", "reason", "rows"], [
        [engine, reason, ", ".join(names)] for (engine, reason), names in rows.items()
    ]


def shown(value: float | None) -> str:
    """A figure with three digits."""
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _ratio(pages: Mapping[str, Any], row: str, above: str | None, below: str) -> str:
    """The ratio of two engines, by medians and, in brackets, by the least."""
    of = [pages[key].get(row, {}) for key in ("run", "least")]
    if not all(above in figures and below in figures for figures in of):
        return ""
    median, least = (figures[above] / figures[below] for figures in of)
    return f"{median:.2f} ({least:.2f})"


def _word(verdict: Verdict | None) -> str:
    return "" if verdict is None else "met" if verdict.met else f"not met: {verdict.found / verdict.bound:.2f} ×"
