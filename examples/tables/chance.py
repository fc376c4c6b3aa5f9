"""Tables of the jobs that draw random numbers or are about chance."""

from __future__ import annotations

from typing import Any

import bootstrap
import kalman
import mixing
import mixtures
import numpy as np
import nuts
import particles
import radon

from tables.cells import AGREEMENT, OF_START, SAME_LOSS, STANDARD_ERRORS, Peer, difference, timed, told, with_errors
from tg.demo.run import REFERENCE, Model

SAME_DRAWS = 1e-6  # of the first draws by NUTS
FEW = 200  # regressions where a loop is one in Python
IN_PYTHON = (REFERENCE, "torch", "mlx")
SHOWN = (3,)  # of the parameters of the radon model


def of_nuts() -> Model:
    """The posterior of the radon model, by chains that are one program."""
    peer = Peer(lambda report: nuts.run_numpyro())

    def per_thousand(r: nuts.Result, seconds: float | None) -> str:
        return "–" if r.draws is None or seconds is None else f"{1000 * seconds / nuts.effective(r.draws):.2f}"

    def shown(r: nuts.Result) -> tuple[str, ...]:
        if r.draws is None:
            return ("",) * (4 + len(SHOWN))
        means = tuple(f"{np.mean(r.draws[..., k]):.3f} ± {np.std(r.draws[..., k]):.3f}" for k in SHOWN)
        worst = max(mixing.disagreement(v) for v in np.moveaxis(r.draws, -1, 0))
        return f"{r.leaves:.1f}", f"{r.divergent}", f"{nuts.effective(r.draws):.0f}", f"{worst:.3f}", *means

    def apart(r: nuts.Result, reference: nuts.Result) -> float:
        return 0.0 if r.short is None else float(np.max(np.abs(r.short - reference.short)))

    def is_right(r: nuts.Result, reference: nuts.Result) -> bool:
        return apart(r, reference) < SAME_DRAWS and (r.draws is None or nuts.is_near(r.draws))

    chains, warmup, draws = nuts.SHORT
    return Model(
        "NUTS",
        f"The radon model, {nuts.CHAINS} chains of {nuts.WARMUP} + {nuts.DRAWS} draws in one program.",
        1,
        lambda backend, report: nuts.run(backend),
        (
            *(
                "short s",
                "first s",
                "vmap s",
                "map s",
                "points",
                "diverged",
                "ESS",
                "R",
                *(radon.NAMES[k] for k in SHOWN),
            ),
            *("s / 1000", "by map", "difference"),
        ),
        lambda r, reference: (
            f"{r.short_seconds:.2f}" if r.short is not None else "",
            *(f"{s:.2f}" if s is not None else "–" for s in (r.first_seconds, r.call_seconds, r.map_seconds)),
            *shown(r),
            per_thousand(r, r.call_seconds),
            per_thousand(r, r.map_seconds),
            "reference" if r is reference else "" if r.short is None else f"{apart(r, reference):.1e}",
        ),
        is_right,
        {"NumPyro": peer, "PyMC": lambda report: nuts.run_pymc(), "nutpie": lambda report: nuts.run_nutpie()},
        may_lack_rules=True,
        caption=f"short: {warmup} + {draws} draws of {chains} chain, whose difference is told; first: with compiling; "
        "points: of a path; ESS, R: the worst of all 90 parameters; s / 1000: for an ESS of 1,000, "
        "by vmap and by map; s: of a processor, but the first two",
    )


def of_ships() -> Model:
    """Kalman's filter and smoother."""
    data = kalman.voyages()
    peers = {
        "JAX": Peer(lambda report: kalman.run_jax(data)),
        "statsmodels": Peer(lambda report: kalman.run_statsmodels(data)),
    }

    def off(r: kalman.Result) -> str:
        return "" if r.places is None else f"{np.sqrt(np.mean(((r.places - data.places) / r.deviations) ** 2)):.3f}"

    def is_right(r: kalman.Result, reference: kalman.Result) -> bool:
        near = r.errors is None or np.all(np.abs(r.theta - kalman.TRUTH) < STANDARD_ERRORS * r.errors)
        return bool(near) and difference(r.at_start, reference.at_start) < AGREEMENT

    truth = ", ".join(f"{n} {np.exp(v):.4g}" for n, v in zip(kalman.NAMES, kalman.TRUTH, strict=True))
    some = [0, 3, 6]
    return Model(
        "Kalman",
        f"{len(data.y)} ships of 6 numbers, of which 3 are measured at {kalman.STEPS} times; truth: {truth}.",
        1,
        lambda backend, report: kalman.run(backend, data),
        (
            *("first s", "µs a call", "of one ship", "times JAX", "calls", *(kalman.NAMES[k] for k in some)),
            *("off", "all s", "difference"),
        ),
        lambda r, reference: (
            f"{r.first_seconds:.2f}",
            f"{r.call_microseconds:,.0f}",
            "–" if r.one_microseconds is None else f"{r.one_microseconds:,.0f}",
            peers["JAX"].ratio(r.call_microseconds),
            f"{r.calls}",
            *(("",) * 3 if r.theta is None else with_errors(np.exp(r.theta[some]), errors_of(r, some))),
            off(r),
            f"{r.seconds:.2f}",
            told(r, reference, "at_start"),
        ),
        is_right,
        peers,
        may_lack_rules=True,
        caption="a call: value and gradient, in statsmodels the value alone, of a processor; "
        f"off: places, in their deviations; {OF_START}",
    )


def errors_of(r: Any, some: list[int]) -> Any:
    """The errors of some parameters whose logarithms were fitted."""
    return None if r.errors is None else (np.exp(r.theta) * r.errors)[some]


def of_bootstrap() -> Model:
    """Regressions of rows that are drawn."""
    data = bootstrap.rows()
    peer = Peer(lambda report: bootstrap.run_numpy(data))

    def is_right(r: bootstrap.Result, reference: bootstrap.Result) -> bool:
        if r.map_seconds is not None:
            return difference(r.b.ravel(), reference.b.ravel()) < AGREEMENT
        errors = np.std(reference.b, axis=0) / np.sqrt(len(reference.b))  # other numbers were drawn
        return bool(np.all(np.abs(np.mean(r.b, axis=0) - np.mean(reference.b, axis=0)) < 6 * errors))

    def times(r: bootstrap.Result) -> str:
        return (
            "–"
            if peer.result is None
            else f"{peer.result.call_seconds / r.call_seconds * len(r.b) / len(peer.result.b):.2g}"
        )

    return Model(
        "bootstrap",
        f"{bootstrap.TIMES:,} regressions of {len(data.y)} rows, drawn with replacement.",
        1,
        lambda backend, report: bootstrap.run(backend, data, FEW if backend in IN_PYTHON else bootstrap.TIMES),
        ("first s", "s by vmap", "s by map", "times NumPy", *bootstrap.NAMES, "difference"),
        lambda r, reference: (
            f"{r.first_seconds:.2f}",
            f"{r.call_seconds:.3f}",
            "–" if r.map_seconds is None else f"{r.map_seconds:.3f}",
            times(r),
            *(f"{np.mean(b):.3f} ± {np.std(b):.3f}" for b in r.b.T),
            "reference"
            if r is reference
            else ""
            if r.map_seconds is None
            else f"{difference(r.b.ravel(), reference.b.ravel()):.1e}",
        ),
        is_right,
        {"NumPy": peer},
        may_lack_rules=True,
        caption=f"times: by vmap, as fast as NumPy, which draws other numbers; {FEW} regressions where a loop is one "
        f"in Python: {', '.join(IN_PYTHON)}; s: of a processor",
    )


def of_particles() -> Model:
    """Clouds of particles beside Kalman's filter."""
    data = particles.series()
    peer = Peer(lambda report: particles.run_numpy(data))
    total, expected = particles.exact(data.y)

    def is_right(r: particles.Result, reference: particles.Result) -> bool:
        is_same = r is peer.result or difference(r.log_densities, reference.log_densities) < AGREEMENT
        return is_same and abs(particles.surprise(r, data)[0]) < STANDARD_ERRORS

    return Model(
        "particles",
        f"{particles.CLOUDS} filters of {particles.PARTICLES} particles over {len(data.y)} steps; by Kalman's filter "
        f"the log-density is {total:.3f}.",
        1,
        lambda backend, report: particles.run(backend, data),
        ("first s", "ms a call", "times NumPy", "log-density", "off", "levels off", "difference"),
        lambda r, reference: (
            f"{r.first_seconds:.2f}",
            f"{r.call_microseconds / 1000:,.1f}",
            peer.ratio(r.call_microseconds),
            f"{np.mean(r.log_densities):.3f} ± {np.std(r.log_densities):.3f}",
            f"{particles.surprise(r, data)[0]:.2f}",
            f"{np.max(np.abs(np.mean(r.means, axis=0) - expected)):.4f}",
            "" if r is peer.result else told(r, reference, "log_densities"),
        ),
        is_right,
        {"NumPy": peer},
        may_lack_rules=True,
        caption="off: the mean of the densities from what Kalman's filter says, in standard errors; "
        "levels off: the mean of all clouds, at most; difference: of the log-densities; ms: of a processor",
    )


def of_mixture() -> Model:
    """A mixture, by EM."""
    data = mixtures.points()
    peer = Peer(lambda report: mixtures.run_sklearn(data))

    def is_right(r: mixtures.Fitted, reference: mixtures.Fitted) -> bool:
        near = np.max(np.abs(r.p.means - mixtures.COMPONENTS.means[order(r)])) < 0.25
        return bool(near) and abs(r.log_likelihood / reference.log_likelihood - 1) < SAME_LOSS

    def order(r: mixtures.Fitted) -> Any:
        return np.argsort(np.argsort(-r.p.shares))

    def flat(r: mixtures.Fitted) -> Any:
        return np.concatenate([v.ravel() for v in r.p])

    return Model(
        "mixture",
        f"{len(data.x)} points of 3 normal distributions, by EM.",
        1,
        lambda backend, report: mixtures.run_em(backend, data),
        ("first s", "ms a fit", "times sklearn", "steps", "µs a step", "shares", "log p", "difference"),
        lambda r, reference: (
            f"{r.first_seconds:.2f}",
            f"{r.call_microseconds / 1000:.1f}",
            peer.ratio(r.call_microseconds),
            f"{r.steps}",
            f"{r.call_microseconds / r.steps:,.0f}",
            ", ".join(f"{v:.3f}" for v in -np.sort(-r.p.shares)),
            f"{r.log_likelihood:.4f}",
            "reference" if r is reference else f"{difference(flat(r), flat(reference)):.1e}",
        ),
        is_right,
        {"sklearn": peer},
        may_lack_rules=True,
        caption="a fit: all steps, until the likelihood grows by less than 1e-9 of it; ms and µs: of a processor; "
        "difference: of the parameters",
    )


def of_chain() -> Model:
    """A hidden Markov chain."""
    data = mixtures.heard()
    peer = Peer(lambda report: mixtures.run_by_hand(data))

    def is_right(r: mixtures.Result, reference: mixtures.Result) -> bool:
        near = r.errors is None or np.all(np.abs(r.theta - mixtures.TRUTH) < STANDARD_ERRORS * r.errors)
        return bool(near) and difference(r.at_start, reference.at_start) < AGREEMENT

    some = [0, 6, 9]
    truth = ", ".join(f"{mixtures.NAMES[k]} {mixtures.TRUTH[k]:.4g}" for k in some)
    return Model(
        "hidden chain",
        f"{len(data.x)} points of a chain of 3 states, by the gradient of the forward algorithm; truth: {truth}.",
        1,
        lambda backend, report: mixtures.run_chain(backend, data),
        (
            *("first s", "µs a call", "times NumPy", "calls", *(mixtures.NAMES[k] for k in some)),
            *("right states", "all s", "difference"),
        ),
        lambda r, reference: (
            *timed(r, peer),
            f"{r.calls}",
            *(
                ("",) * 3
                if r.theta is None
                else with_errors(r.theta[some], None if r.errors is None else r.errors[some])
            ),
            "" if r.states is None else f"{np.mean(np.argmax(r.states, axis=1) == data.label):.1%}",
            f"{r.seconds:.2f}",
            told(r, reference, "at_start"),
        ),
        is_right,
        {"NumPy": peer},
        may_lack_rules=True,
        caption=f"a call: value and gradient, in NumPy the value alone, of a processor; {OF_START}",
    )
