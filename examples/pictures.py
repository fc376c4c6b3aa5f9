"""A picture of each job: the series with what was fitted, the losses of two trainings, an orbit and what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import epidemic
import numpy as np
import solvers
from matplotlib import rc_context
from matplotlib.figure import Figure

from tg.demo.run import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STYLE = {
    "svg.hashsalt": "tg",
    "svg.fonttype": "none",
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
NO_DATE = {"Date": None, "Creator": None}


def write(found: Mapping[str, Mapping[str, Any]], folder: Path) -> None:
    """Write a picture for each job of the results, by table and backend."""
    folder.mkdir(parents=True, exist_ok=True)
    with rc_context(STYLE):
        for name, draw in (("epidemic", _series), ("gru", _losses), ("solvers", _orbit)):
            figure = Figure(figsize=(9, 2.8), layout="constrained")
            draw(figure, found)
            figure.savefig(folder / f"{name}.svg", metadata=NO_DATE)


def _compiled(results: Mapping[str, Any]) -> Any:
    """What the first backend gave that is not the reference."""
    return next(r for name, r in results.items() if name != REFERENCE)


def _series(figure: Figure, found: Mapping[str, Mapping[str, Any]]) -> None:
    for s, axes in zip(epidemic.series(), figure.subplots(1, 3), strict=True):
        theta = _compiled(found[s.title]).theta
        p = np.exp(theta)
        if s.title == "AR(2)":
            axes.plot(s.data[:150], ".", markersize=3, color="0.6")
            lines = (s.data - [error for error, _ in epidemic.foretold_by_hand(theta, s.data)])[:150]
        else:
            axes.plot(np.arange(0, len(s.data), 2), s.data[::2], ".", markersize=3, color="0.6")
            lines = epidemic.expected_counts(getattr(epidemic, s.title.lower()), p, len(s.data))
        axes.plot(lines, linewidth=1)
        axes.set_title(s.title)
        axes.set_xlabel("step" if s.title == "AR(2)" else "day")


def _losses(figure: Figure, found: Mapping[str, Mapping[str, Any]]) -> None:
    results = found["GRU"]
    losses, differences = figure.subplots(1, 2)
    peer = results["torch.nn.GRU"].losses
    for name, r in results.items():
        if name == REFERENCE:
            continue
        losses.plot(r.losses, linewidth=0.8, label=name)
        if r.losses is not peer:
            differences.semilogy(np.maximum(np.abs(r.losses - peer), 1e-17), linewidth=0.8, label=name)
    losses.set_title("loss")
    differences.set_title("difference from torch's")
    for axes in (losses, differences):
        axes.set_xlabel("step")
        axes.legend(frameon=False)


def _orbit(figure: Figure, found: Mapping[str, Mapping[str, Any]]) -> None:
    orbit, memory = figure.subplots(1, 2, width_ratios=(2, 1))
    data = solvers.measured()
    folded = data.times % solvers.PERIOD
    orbit.plot(folded[::2], data.velocity[::2], ".", markersize=3, color="0.6")
    times = np.linspace(0, solvers.PERIOD, 300, endpoint=False)
    curve = solvers.Measured(times, times)
    theta = _compiled(found["Newton"]).theta
    orbit.plot(times, solvers.velocities(theta, curve.mean_anomaly, np, solvers.newton_by_hand), linewidth=1)
    orbit.set_title("velocity of the star, m/s")
    orbit.set_xlabel("day of a period")
    names = list(found["memory"])
    for k, label in enumerate(("all states kept", "checkpoints")):
        values = [found["memory"][name][k].mebibytes for name in names]
        memory.bar(np.arange(len(names)) + 0.4 * k, values, 0.4, label=label)
    memory.set_xticks(np.arange(len(names)) + 0.2, names)
    memory.set_title("peak of a gradient, MiB")
    memory.set_ylim(0, 1.4 * memory.get_ylim()[1])  # room for the legend
    memory.legend(frameon=False)
