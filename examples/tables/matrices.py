"""Tables of the jobs whose heart is linear algebra or special functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import factors
import numpy as np
import process
import regressions

from tables.cells import AGREEMENT, OF_START, SAME_FIT, STANDARD_ERRORS, Peer, difference, timed, told, with_errors
from tg.demo.run import Model

if TYPE_CHECKING:
    from collections.abc import Callable


def of_process() -> Model:
    """A Gaussian process: its hyperparameters, and what it says of other places."""
    data = process.measured()
    peer = Peer(lambda report: process.run_sklearn(data))

    def surprise(r: process.Result) -> float:
        return float(np.sqrt(np.mean(((r.mean - data.values) / r.deviation) ** 2)))

    def is_right(r: process.Result, reference: process.Result) -> bool:
        near = r.errors is None or np.all(np.abs(r.theta - process.TRUTH) < STANDARD_ERRORS * r.errors)
        same = np.all(np.abs(r.theta - reference.theta) < SAME_FIT * reference.errors)
        same_at = max(difference(r.mean, reference.mean), difference(r.deviation, reference.deviation)) < SAME_FIT
        return bool(near and same) and same_at and difference(r.at_start, reference.at_start) < AGREEMENT

    truth = ", ".join(f"{n} {np.exp(v):.4g}" for n, v in zip(process.NAMES, process.TRUTH, strict=True))
    return Model(
        "Gaussian process",
        f"A Gaussian process through {len(data.y)} measurements, fitted by L-BFGS; truth: {truth}.",
        1,
        lambda backend, report: process.run(backend, data),
        ("first s", "µs a call", "times sklearn", "calls", *process.NAMES, "off", "all s", "difference"),
        lambda r, reference: (
            *timed(r, peer),
            f"{r.calls}",
            *with_errors(np.exp(r.theta), None if r.errors is None else np.exp(r.theta) * r.errors),
            f"{surprise(r):.3f}",
            f"{r.seconds:.2f}",
            told(r, reference, "at_start"),
        ),
        is_right,
        {"sklearn": peer},
        may_lack_rules=True,
        caption=f"a call: value and gradient; off: predictions of other places, in their deviations; {OF_START}",
    )


def of_regression(data: regressions.Regression) -> Model:
    """Counts or times: the fit, beside published ones."""
    peer = Peer(lambda report: regressions.run_by_hand(data))
    said, height = data.published
    peers: dict[str, Callable[[Any], Any]] = {"SciPy": peer}
    if data.log_likelihood is regressions.of_counts:
        peers["statsmodels"] = lambda report: regressions.run_statsmodels(data)
    shown = [0, 1, len(data.names) - 1]  # others are in the picture

    def is_right(r: regressions.Result, reference: regressions.Result) -> bool:
        near = np.all(np.abs(r.theta - said) < 1e-3) and abs(r.log_likelihood - height) < 0.05
        return bool(near) and difference(r.at_start, reference.at_start) < AGREEMENT

    published = ", ".join(f"{n} {v:.4g}" for n, v in zip(data.names, said, strict=True))
    return Model(
        data.title,
        f"A {data.title} regression of {len(data.y)} data by Newton's method; published: {published}; "
        f"log-likelihood {height:.1f}.",
        1,
        lambda backend, report: regressions.run(backend, data),
        (
            *("first s", "µs a call", "times SciPy", "calls"),
            *(data.names[k] for k in shown),
            *("log p", "all s", "difference"),
        ),
        lambda r, reference: (
            *timed(r, peer),
            f"{r.calls}",
            *with_errors(r.theta[shown], r.errors[shown]),
            f"{r.log_likelihood:.4f}",
            f"{r.seconds:.2f}",
            told(r, reference, "at_start"),
        ),
        is_right,
        peers,
        may_lack_rules=True,
        caption=f"a call: value, gradient, Hessian, step, errors; in SciPy the value alone; {OF_START}",
    )


def of_factors() -> Model:
    """A matrix of low rank, by singular values and by gradient."""
    data = factors.half_seen()
    peer = Peer(lambda report: factors.run_numpy(data))

    def unseen(r: factors.Result) -> float:
        return float(np.sqrt(np.mean((r.by_svd - data.truth)[~data.is_seen] ** 2)))

    def apart(r: factors.Result) -> float:
        return float(np.max(np.abs(r.by_svd - r.by_gradient)))

    def is_right(r: factors.Result, reference: factors.Result) -> bool:
        same = difference(r.by_svd.ravel(), reference.by_svd.ravel()) < SAME_FIT
        return same and apart(r) < SAME_FIT and difference(r.at_start, reference.at_start) < AGREEMENT

    return Model(
        "factors",
        f"A matrix of {data.a.shape[0]} x {data.a.shape[1]} and rank {factors.RANK}, seen in {np.sum(data.is_seen)} "
        f"elements with noise of {factors.NOISE}: by singular values, and by the gradient of its factors.",
        1,
        lambda backend, report: factors.run(backend, data),
        (
            *("first s", "µs an SVD", "times NumPy", "SVDs"),
            *("µs a gradient", "times NumPy", "gradients", "rank", "unseen", "apart", "all s", "difference"),
        ),
        lambda r, reference: (
            f"{r.first_seconds:.2f}",
            f"{r.svd_microseconds:,.0f}",
            peer.ratio(r.svd_microseconds, "svd_microseconds"),
            f"{r.svds}",
            f"{r.call_microseconds:,.0f}",
            peer.ratio(r.call_microseconds),
            f"{r.calls}",
            f"{np.linalg.matrix_rank(r.by_svd, tol=SAME_FIT)}",
            f"{unseen(r):.3f}",
            f"{apart(r):.1e}",
            f"{r.seconds:.2f}",
            told(r, reference, "at_start"),
        ),
        is_right,
        {"NumPy": peer},
        may_lack_rules=True,
        caption="unseen: root of the mean square error there; apart: the most that both ways differ; "
        "difference: of value and gradient where they begin",
    )
