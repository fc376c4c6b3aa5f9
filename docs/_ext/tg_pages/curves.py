"""Curves of functions of one number as SVG: the value and, thinner, the derivative, computed by tg's reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH, HEIGHT, MARGIN = 520, 220, 30
POINTS = 301
LIMIT = 12.0  # how far a curve is drawn up and down


def curve(call: Callable[[Any], Any], low: float, high: float, name: str) -> str | None:
    """The picture of a function over an interval; None where it is no curve."""
    x = tg.vector("x")
    try:
        y = call(x)
        outputs = [y, tg.grad(tg.sum(y), x)] if y.type.dtype.startswith("float") else [y]
        places = np.linspace(low, high, POINTS)
        with np.errstate(all="ignore"):
            values = [np.asarray(v, dtype=float) for v in tg.function([x], outputs, backend="perform")(places)]
    except (tg.TgError, TypeError, AttributeError):
        return None
    if values[0].shape != places.shape or not np.isfinite(values[0]).any():
        return None
    return drawn(places, values, name)


def drawn(places: np.ndarray, values: list[np.ndarray], name: str) -> str:
    """The curves in one frame."""
    finite = np.clip(np.concatenate([v[np.isfinite(v)] for v in values]), -LIMIT, LIMIT)
    bottom, top = float(finite.min()), float(finite.max())
    if bottom == top:
        bottom, top = bottom - 1, top + 1
    low, high = float(places[0]), float(places[-1])

    def at(x: float, y: float) -> str:
        across = MARGIN + (x - low) / (high - low) * (WIDTH - 2 * MARGIN)
        return f"{across:.1f},{HEIGHT - MARGIN - (y - bottom) / (top - bottom) * (HEIGHT - 2 * MARGIN):.1f}"

    what = f"{name} over {low:g} to {high:g}" + (", and its derivative, dashed" if len(values) > 1 else "")
    parts = [f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{what}">']
    for x, y, place in ((low, 0.0, "x"), (0.0, bottom, "y")):
        if (bottom <= y <= top) if place == "x" else (low <= x <= high):
            end = (high, y) if place == "x" else (x, top)
            parts.append(f'<polyline class="axis" points="{at(x, y)} {at(*end)}"/>')
    for kind, line in zip(("value", "slope"), values, strict=False):
        shown = pieces(places, np.where(np.abs(line) <= LIMIT * 1.0001, line, np.nan), (top - bottom) / 2)
        parts += [f'<polyline class="{kind}" points="{" ".join(at(*p) for p in piece)}"/>' for piece in shown]
    for x, anchor in ((low, "start"), (high, "end")):
        across = at(x, bottom).split(",")[0]
        parts.append(f'<text x="{across}" y="{HEIGHT - 8}" text-anchor="{anchor}">{x:g}</text>')
    for y, down in ((top, MARGIN - 10), (bottom, HEIGHT - MARGIN + 2)):
        parts.append(f'<text x="{MARGIN - 4}" y="{down}" text-anchor="end">{y:.2g}</text>')
    return "".join(parts) + "</svg>\n"


def pieces(places: np.ndarray, line: np.ndarray, jump: float) -> list[list[tuple[float, float]]]:
    """A line cut where it has no value, and where it jumps."""
    cut: list[list[tuple[float, float]]] = [[]]
    for x, y in zip(places.tolist(), line.tolist(), strict=True):
        if np.isnan(y):
            cut.append([])
            continue
        if cut[-1] and abs(y - cut[-1][-1][1]) > jump:
            cut.append([])
        cut[-1].append((x, y))
    return [piece for piece in cut if len(piece) > 1]
