"""Trace plots of the radon demo: for each parameter the draws in their order, and how they are distributed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np


def plot(draws: Mapping[str, np.ndarray[Any, Any]], names: Sequence[str], path: Path) -> None:
    """Write a picture: a row for each named parameter (the first columns of the draws), a line for each backend."""
    figure = Figure(figsize=(10, 1.8 * len(names)), layout="constrained")
    axes = figure.subplots(len(names), 2, width_ratios=(3, 1), sharey="row")
    for i, name in enumerate(names):
        trace, density = axes[i]
        for backend, values in draws.items():
            trace.plot(values[:, i], linewidth=0.7, alpha=0.8, label=backend)
            density.hist(values[:, i], bins=30, orientation="horizontal", histtype="step", density=True)
        trace.set_ylabel(name)
        density.set_xticks([])
    axes[-1][0].set_xlabel("draw")
    axes[0][0].legend(loc="upper right", ncols=len(draws), fontsize="small")
    figure.savefig(path, dpi=110)
