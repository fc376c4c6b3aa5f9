"""Parts of the front page: a few rows of measured speed beside peers, and a curve with its gradient."""

from __future__ import annotations

from pathlib import Path

import tg
from tg_pages.curves import curve
from tg_pages.docstring import table

DOCS = Path(__file__).parents[2]
MODELS = ("eight_schools", "radon", "logistic", "mixture_regression")


def speed_part() -> str:
    """Rows of the table that `benchmarks/pymc_models.py` wrote into pymc.md: value and gradient of a log-density."""
    rows = []
    for model in MODELS:
        cells = measured(model)
        peer = min(float(cells["PyTensor C µs"]), float(cells["PyTensor Numba µs"]))
        own = float(cells["tg C µs"])
        rows.append((model.replace("_", " "), f"{own:g}\u00a0µs", f"{peer:g}\u00a0µs", f"{peer / own:.1f}\u00a0×"))
    return table(("log-density and gradient", "tg, C", "PyTensor, its better mode", ""), rows)


def measured(model: str) -> dict[str, str]:
    """A row of the table, by its columns."""
    lines = [line.strip("| \n").split(" | ") for line in (DOCS / "pymc.md").read_text().splitlines() if "|" in line]
    head = next(line for line in lines if line[0] == "model" and "tg C µs" in line)
    row = next(line for line in lines if line[0] == model)
    return dict(zip(head, row, strict=True))


def picture_part() -> str:
    """The function of the front page's program, and its gradient."""
    drawn = curve(lambda x: tg.exp(-(x**2)) * tg.cos(4 * x), -3.0, 3.0, "exp(-x²) cos 4x")
    assert drawn is not None
    return drawn
