"""A picture of each job: what was fitted beside the data, and for loops what they keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bootstrap
import epidemic
import factors
import kalman
import mixtures
import numpy as np
import particles
import process
import radon
import regressions
import solvers
from matplotlib import rc_context
from matplotlib.figure import Figure

from tg.demo.run import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

STYLE = {
    "svg.hashsalt": "tg",
    "svg.fonttype": "none",
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
NO_DATE = {"Date": None, "Creator": None}


def write(jobs: Iterable[str], found: Mapping[str, Mapping[str, Any]], folder: Path) -> None:
    """Write a picture of each job, of its results by table and backend."""
    folder.mkdir(parents=True, exist_ok=True)
    with rc_context(STYLE):
        for job in jobs:
            figure = Figure(figsize=(9, 2.8), layout="constrained")
            DRAWN[job](figure, found)
            figure.savefig(folder / f"{job}.svg", metadata=NO_DATE)


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


def _process(figure: Figure, found: Mapping[str, Mapping[str, Any]]) -> None:
    surface, others = figure.subplots(1, 2, width_ratios=(1, 1))
    data, r = process.measured(), _compiled(found["Gaussian process"])
    side = np.linspace(0, 2, 41)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    mean, _ = process.compiled(data._replace(places=grid), REFERENCE)[2](r.theta)
    image = surface.contourf(side, side, mean.reshape(41, 41), 12, cmap="viridis")
    surface.plot(*data.x.T, ".", markersize=2, color="k")
    surface.set_title("expected values, and the places of measurements")
    figure.colorbar(image, ax=surface)
    others.errorbar(data.values, r.mean, 2 * r.deviation, fmt=".", markersize=3, linewidth=0.6)
    ends = [np.min(data.values), np.max(data.values)]
    others.plot(ends, ends, color="0.6", linewidth=0.8, zorder=0)
    others.set_title("other places: expected, ± 2 deviations")
    others.set_xlabel("true")


def _regressions(figure: Figure, found: Mapping[str, Mapping[str, Any]]) -> None:
    coefficients, remission = figure.subplots(1, 2)
    counts, times = regressions.regressions()
    r = _compiled(found[counts.title])
    rows = np.arange(len(counts.names))[::-1]
    coefficients.errorbar(r.theta, rows, xerr=2 * r.errors, fmt=".", linewidth=0.8, label="± 2 standard errors")
    coefficients.plot(counts.published[0], rows, "|", color="k", label="published")
    coefficients.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    coefficients.set_yticks(rows, counts.names)
    coefficients.set_title("days of absence")
    coefficients.legend(frameon=False)
    *beta, log_s = _compiled(found[times.title]).theta
    weeks = np.linspace(0.01, 36, 200)
    for group, label in ((0.0, "drug"), (1.0, "placebo")):
        of_group = times.x[:, 1] == group
        (line,) = remission.plot(
            weeks, np.exp(-((weeks / np.exp(beta[0] + beta[1] * group)) ** np.exp(-log_s))), linewidth=1, label=label
        )
        steps = _lasting(times.y[of_group], times.is_known[of_group])
        remission.step(*steps, where="post", linewidth=0.8, linestyle=":", color=line.get_color())
    remission.set_title("share in remission: fitted, and by Kaplan and Meier")
    remission.set_xlabel("week")
    remission.legend(frameon=False)


def _lasting(t: Any, is_known: Any) -> tuple[list[float], list[float]]:
    """The estimate of Kaplan and Meier: times, and the share that lasts longer."""
    times, shares = [0.0], [1.0]
    for end in np.unique(t[is_known]):
        times.append(float(end))
        shares.append(shares[-1] * float(1 - np.sum(is_known & (t == end)) / np.sum(t >= end)))
    return [*times, float(np.max(t))], [*shares, shares[-1]]


def _factors(figure: Figure, found: Mapping[str, Mapping[str, Any]]) -> None:
    data, r = factors.half_seen(), _compiled(found["factors"])
    images = (("seen", np.where(data.is_seen, data.a, np.nan)), ("found", r.by_svd), ("true", data.truth))
    most = np.quantile(np.abs(data.truth), 0.99)  # of the largest few the colour is the same
    for axes, (title, image) in zip(figure.subplots(1, 3), images, strict=True):
        axes.imshow(image.T, cmap="RdBu", vmin=-most, vmax=most, interpolation="nearest")
        axes.set_title(title)
        axes.set_axis_off()


def _nuts(figure: Figure, found: Mapping[str, Mapping[str, Any]]) -> None:
    trace, levels, counties = figure.subplots(1, 3, width_ratios=(2, 1, 2))
    draws = _compiled(found["NUTS"]).draws
    for one in draws[:, :, 3]:
        trace.plot(one, linewidth=0.4)
        levels.hist(one, bins=40, histtype="step", density=True, linewidth=0.8)
    trace.set_title("log tau, of each chain")
    trace.set_xlabel("draw")
    levels.set_title("log tau")
    levels.set_yticks([])
    uranium = radon.load().uranium
    a, b, tau = draws[..., 0, None], draws[..., 1, None], np.exp(draws[..., 3, None])
    level = (a + b * uranium + tau * draws[..., len(radon.NAMES) :]).reshape(-1, len(uranium))
    counties.errorbar(uranium, np.mean(level, axis=0), 2 * np.std(level, axis=0), fmt=".", markersize=3, linewidth=0.6)
    ends = np.array([np.min(uranium), np.max(uranium)])
    counties.plot(ends, np.mean(a) + np.mean(b) * ends, color="0.6", linewidth=0.8, zorder=0)
    counties.set_title("levels of counties, ± 2 deviations")
    counties.set_xlabel("uranium")


def _kalman(figure: Figure, found: Mapping[str, Mapping[str, Any]]) -> None:
    data, r = kalman.voyages(), _compiled(found["Kalman"])
    track, width = figure.subplots(1, 2)
    for k in range(len(data.y)):
        track.plot(*data.y[k, ::5, :2].T, ".", markersize=1.5, color="0.7")
        track.plot(*r.places[k, :, :2].T, linewidth=0.9)
    track.set_title("ships: measured, and where they are held to have been")
    for k, name in enumerate("xyz"):
        width.plot(r.deviations[0, :, k], linewidth=0.9, label=name)
    width.set_title("standard deviation of a place")
    width.set_xlabel("step")
    width.set_ylim(0)
    width.legend(frameon=False)


def _bootstrap(figure: Figure, found: Mapping[str, Mapping[str, Any]]) -> None:
    r = _compiled(found["bootstrap"])
    for k, axes in enumerate(figure.subplots(1, 3)):
        axes.hist(r.b[:, k], bins=60, histtype="stepfilled", alpha=0.5, density=True)
        for quantile in np.quantile(r.b[:, k], [0.025, 0.975]):
            axes.axvline(quantile, color="k", linewidth=0.8)
        axes.set_title(bootstrap.NAMES[k])
        axes.set_yticks([])


def _particles(figure: Figure, found: Mapping[str, Mapping[str, Any]]) -> None:
    data, r = particles.series(), _compiled(found["particles"])
    levels, densities = figure.subplots(1, 2, width_ratios=(3, 1))
    total, expected = particles.exact(data.y)
    levels.plot(data.y, ".", markersize=3, color="0.7")
    levels.plot(expected, linewidth=1, label="Kalman's filter")
    levels.plot(np.mean(r.means, axis=0), linewidth=1, linestyle=":", color="k", label="particles")
    levels.set_title("the level")
    levels.set_xlabel("step")
    levels.legend(frameon=False)
    densities.hist(r.log_densities, bins=15, histtype="stepfilled", alpha=0.5)
    densities.axvline(total, color="k", linewidth=0.8)
    densities.set_title("log-density, of each cloud")


def _mixtures(figure: Figure, found: Mapping[str, Mapping[str, Any]]) -> None:
    plane, states = figure.subplots(1, 2, width_ratios=(1, 2))
    data, p = mixtures.points(), _compiled(found["mixture"]).p
    plane.plot(*data.x.T, ".", markersize=1.5, color="0.7")
    circle = np.stack([np.cos(np.linspace(0, 2 * np.pi, 100)), np.sin(np.linspace(0, 2 * np.pi, 100))])
    for mean, covariance in zip(p.means, p.covariances, strict=True):
        plane.plot(*(mean[:, None] + 2 * np.linalg.cholesky(covariance) @ circle), linewidth=1)
    plane.set_title("points, and ellipses of 2 deviations")
    chain, r = mixtures.heard(), _compiled(found["hidden chain"])
    states.plot(chain.x[:300], ".", markersize=3, color="0.6")
    states.plot(r.states[:300] @ r.theta[6:9], linewidth=1)
    states.set_title("what is heard, and the expected mean of the state")
    states.set_xlabel("step")


DRAWN = {
    "epidemic": _series,
    "gru": _losses,
    "solvers": _orbit,
    "process": _process,
    "regressions": _regressions,
    "factors": _factors,
    "nuts": _nuts,
    "kalman": _kalman,
    "bootstrap": _bootstrap,
    "particles": _particles,
    "mixtures": _mixtures,
}
