"""The jobs on every backend that is installed, side by side with what is used for them without tg.

python examples/jobs.py                         # what `make examples` runs
python examples/jobs.py c numba                 # on these backends, and the reference
python examples/jobs.py c --jobs process gru    # of these jobs
python examples/jobs.py --docs docs/_static     # and write down what the page of examples shows
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bootstrap
import epidemic
import factors
import gru
import kalman
import mixing
import mixtures
import numpy as np
import nuts
import particles
import process
import radon
import regressions
import solvers
from rich.console import Console

from tg.demo.run import REFERENCE, Model, chosen, compare
from tg.errors import NoRuleError, TgError

if TYPE_CHECKING:
    from collections.abc import Callable

AGREEMENT = 1e-8  # of any number with the reference's, relative to the largest
STANDARD_ERRORS = 4.0  # from the parameters that made the data
FIRST_STEPS = 20  # of a training, in which losses agree with torch's
SAME_LOSS = 1e-6
SAME_FIT = 1e-3  # two minimizers, in standard errors; predictions relative to the largest
RIGHT = 0.9  # of the brackets that close
SAME_DRAWS = 1e-6  # of the first draws by NUTS
FEW = 200  # regressions on the reference, which is there to be compared with, and slow
SHOWN = (3,)  # of the parameters of the radon model
CHECKPOINT = 50
WIDTH = 150  # of tables that go into a file
OF_START = "times: as fast a call as the peer's; difference: of both where the fit begins"


def main() -> int:
    """Run and print all; 0 if every number is right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("backends", nargs="*")
    parser.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(JOBS))
    parser.add_argument("--docs", type=Path, help="a folder to write a picture and the tables of each job into")
    chosen_here = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tg-cache-of-examples-") as folder:
        os.environ["TG_CACHE_DIR"] = folder  # what an earlier run compiled would make the first results look cheap
        return run(chosen_here.backends, chosen_here.jobs, chosen_here.docs)


def run(backends: list[str], jobs: list[str], folder: Path | None) -> int:
    """Run jobs on these backends, and write their pictures and tables if there is a folder for them."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH, record=True)
    known, tables = chosen(backends), {}
    fine, found = True, {}
    for job in jobs:
        for model in JOBS[job]():
            found[model.title], is_right = compare(model, known, console)
            fine = fine and is_right
            if not is_right:
                console.print(f"{model.title}: a number is wrong, or a backend failed")
        tables[job] = console.export_text()
    if folder:
        import pictures

        pictures.write(jobs, found, folder)
        for job, text in tables.items():
            (folder / f"{job}.txt").write_text("".join(f"{line.rstrip()}\n" for line in text.splitlines()))
    return 0 if fine else 1


class Peer:
    """What is used without tg: its result is kept, to be compared with."""

    def __init__(self, run: Callable[[Any], Any]) -> None:
        self.run = run
        self.result: Any = None

    def __call__(self, report: Any) -> Any:
        """Run it."""
        self.result = self.run(report)
        return self.result

    def ratio(self, microseconds: float, name: str = "call_microseconds") -> str:
        """How many times as fast a call is as one of its own, whose microseconds are that field; a dash without it."""
        if self.result is None:
            return "–"
        times = getattr(self.result, name) / microseconds
        return f"{times:.2g}" if times < 100 else f"{times:,.0f}"


def of_series(s: epidemic.Series) -> Model:
    """An epidemic, or the autoregression: the fit."""

    def shown(r: epidemic.Result) -> tuple[str, ...]:
        if r.theta is None:
            return ("not fitted", *[""] * (len(s.names) - 1))
        values = s.parameters(r.theta)
        if r.errors is None:
            return tuple(f"{v:.4g}" for v in values)
        spread = (s.parameters(r.theta + r.errors) - s.parameters(r.theta - r.errors)) / 2
        return tuple(f"{v:.4g} ± {d:.1g}" for v, d in zip(values, spread, strict=True))

    def is_right(r: epidemic.Result, reference: epidemic.Result) -> bool:
        near = r.theta is None or r.errors is None or np.all(np.abs(r.theta - s.truth) < STANDARD_ERRORS * r.errors)
        return bool(near) and difference(r.at_start, reference.at_start) < AGREEMENT

    steps = epidemic.DAYS * epidemic.STEPS_A_DAY
    peer = Peer(lambda report: epidemic.run_by_hand(s))
    truth = ", ".join(f"{n} {v:.4g}" for n, v in zip(s.names, s.parameters(s.truth), strict=True))
    return Model(
        s.title,
        f"{s.title}: the log-likelihood of {len(s.data)} data by {steps} steps, fitted by L-BFGS; truth: {truth}.",
        1,
        lambda backend, report: epidemic.run(backend, s, fits=backend != REFERENCE),
        ("first s", "µs a call", "times Python", "calls", *s.names, "all s", "difference"),
        lambda r, reference: (
            *timed(r, peer),
            f"{r.calls}",
            *shown(r),
            f"{r.seconds:.2f}",
            told(r, reference, "at_start"),
        ),
        is_right,
        {"Python": peer},
        may_lack_rules=True,
        caption=f"a call: value and gradient, in Python the value alone; {OF_START}",
    )


def of_brackets() -> Model:
    """The network that closes brackets."""

    def is_right(r: gru.Result, reference: gru.Result) -> bool:
        return same_losses(r, reference) < SAME_LOSS and (r is reference or r.right > RIGHT)

    def run(backend: str, report: Any) -> gru.Result:
        steps = FIRST_STEPS if backend == REFERENCE else gru.STEPS  # it is there to be compared with, and slow
        return gru.train(backend, steps, progress=lambda k, loss: report(k, f"loss {loss:.4f}"))

    peer = Peer(lambda report: gru.train_torch(progress=lambda k, loss: report(k, f"loss {loss:.4f}")))
    return Model(
        "GRU",
        f"A GRU of {gru.HIDDEN} on {gru.STEPS} batches of {gru.BATCH} lines of {gru.LENGTH} brackets; Adam.",
        gru.STEPS,
        run,
        ("first s", "ms a step", "times torch", "loss", "closes rightly", "all s", "difference"),
        lambda r, reference: (
            f"{r.first_seconds:.2f}",
            f"{r.step_microseconds / 1000:.1f}",
            peer.ratio(r.step_microseconds, "step_microseconds"),
            "" if r is reference else f"{np.mean(r.losses[-10:]):.4f}",
            f"first {FIRST_STEPS} steps" if r is reference else f"{100 * r.right:.1f} %",
            f"{r.seconds:.2f}",
            "reference" if r is reference else f"{same_losses(r, reference):.1e}",
        ),
        is_right,
        {"torch.nn.GRU": peer},
        may_lack_rules=True,
        caption=f"times: as fast as torch.nn.GRU; loss: mean of the last ten batches; "
        f"difference: of the losses of the first {FIRST_STEPS} steps",
    )


def of_orbit() -> Model:
    """Newton's method, and the orbit fitted by its derivative."""
    data = solvers.measured()
    peer = Peer(lambda report: solvers.fit_orbit_by_hand(data))

    def shown(r: solvers.Fitted) -> tuple[str, ...]:
        errors = [""] * len(r.theta) if r.errors is None else [f" ± {e:.1g}" for e in r.errors]
        return tuple(f"{v:.4f}{e}" for v, e in zip(r.theta, errors, strict=True))

    def is_right(r: solvers.Fitted, reference: solvers.Fitted) -> bool:
        near = r.errors is None or np.all(np.abs(r.theta - solvers.TRUTH) < STANDARD_ERRORS * r.errors)
        return bool(near) and difference(r.at_start, reference.at_start) < AGREEMENT

    truth = ", ".join(f"{n} {v:.4f}" for n, v in zip(solvers.NAMES, solvers.TRUTH, strict=True))
    return Model(
        "Newton",
        f"An orbit of {len(data.times)} velocities, fitted by L-BFGS; Kepler's equation by Newton; truth: {truth}.",
        1,
        lambda backend, report: solvers.fit_orbit(backend, data),
        ("first s", "µs a call", "times NumPy", "calls", *solvers.NAMES, "all s", "difference"),
        lambda r, reference: (
            *timed(r, peer),
            f"{r.calls}",
            *shown(r),
            f"{r.seconds:.2f}",
            told(r, reference, "at_start"),
        ),
        is_right,
        {"NumPy": peer},
        may_lack_rules=True,
        caption=f"a call: value and gradient, in NumPy the value alone; {OF_START}",
    )


def of_flight() -> Model:
    """Runge-Kutta with steps as long as the error allows."""
    exact = solvers.exact_place()
    peer = Peer(lambda report: solvers.fly_scipy())
    return Model(
        "Runge-Kutta",
        f"A planet after 5 / (2 pi) of its period, e = 0.6; by Kepler x = {exact[0]:.9f}, dx/de = {exact[1]:.9f}.",
        1,
        lambda backend, report: solvers.fly(backend, calls=1 if backend == REFERENCE else 20),
        ("first s", "µs a call", "times SciPy", "steps", "x", "dx/de", "error of x", "of dx/de", "all s"),
        lambda r, reference: (
            *timed(r, peer),
            f"{r.steps}",
            *(f"{v:.9f}" for v in r.place),
            *(f"{v:.1e}" for v in np.abs(r.place - exact)),
            f"{r.seconds:.2f}",
        ),
        lambda r, reference: bool(np.all(np.abs(r.place - exact) < [1e-8, 1e-7])),
        {"SciPy": peer},
        may_lack_rules=True,
        caption="a call: x and dx/de, in SciPy by three solutions, and times as fast; errors: from Kepler's equation",
    )


def of_memory(steps: int = 1000, count: int = 5000) -> Model:
    """What a gradient keeps, with checkpoints and without."""
    states = 2 * 8 * steps * count / 2**20

    def run(backend: str, report: Any) -> list[solvers.Kept]:
        found = [solvers.in_process(backend, every, steps, count) for every in (None, CHECKPOINT)]
        for each in found:
            kind, _, text = each.error.partition(": ")
            if text:
                raise NoRuleError(text) if kind == NoRuleError.__name__ else TgError(each.error)
        return found

    def is_right(found: list[solvers.Kept], reference: list[solvers.Kept]) -> bool:
        all_of_them, few = (each.mebibytes for each in found)  # a library's own memory is in both
        is_small = all_of_them < 0.25 * states  # oscillators went a few at a time
        is_saved = is_small or all_of_them - few > 0.75 * states
        return all(each.difference < 1e-8 for each in found) and is_saved

    return Model(
        "memory",
        f"{count} oscillators over {steps} steps of Runge-Kutta: their states are {states:.1f} MiB.",
        1,
        run,
        ("first s", "s a call", "peak MiB", f"s, checkpoint={CHECKPOINT}", "peak MiB, so", "error", "all s"),
        lambda found, reference: (
            f"{found[0].first_seconds:.2f}",
            f"{found[0].call_seconds:.2f}",
            f"{found[0].mebibytes:.1f}",
            f"{found[1].call_seconds:.2f}",
            f"{found[1].mebibytes:.1f}",
            f"{max(each.difference for each in found):.1e}",
            f"{sum(each.first_seconds + each.call_seconds for each in found):.2f}",
        ),
        is_right,
        may_lack_rules=True,
        caption="a call: the second gradient of its length; peak: of the process, above what it had",
    )


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
        caption="a call: value and gradient, in statsmodels the value alone; off: places, in their deviations; "
        f"{OF_START}",
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
        lambda backend, report: bootstrap.run(backend, data, FEW if backend == REFERENCE else bootstrap.TIMES),
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
        caption=f"times: by vmap, as fast as NumPy, which draws other numbers; on the reference {FEW} regressions",
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
        "levels off: the mean of all clouds, at most; difference: of the log-densities",
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
        caption="a fit: all steps, until the likelihood grows by less than 1e-9 of it; difference: of the parameters",
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
        caption=f"a call: value and gradient, in NumPy the value alone; {OF_START}",
    )


def with_errors(values: Any, errors: Any) -> tuple[str, ...]:
    """Values, and if there are any their standard errors."""
    if errors is None:
        return tuple(f"{v:.4g}" for v in values)
    return tuple(f"{v:.4g} ± {d:.1g}" for v, d in zip(values, errors, strict=True))


def timed(r: Any, peer: Peer) -> tuple[str, str, str]:
    """How long until the first result, and a call, and how many times as fast that is as the peer's."""
    return f"{r.first_seconds:.2f}", f"{r.call_microseconds:,.0f}", peer.ratio(r.call_microseconds)


def told(r: Any, reference: Any, name: str) -> str:
    """The difference of a field from the reference's."""
    return "reference" if r is reference else f"{difference(getattr(r, name), getattr(reference, name)):.1e}"


def difference(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    """The largest, relative to the largest number, of as many as both have."""
    count = min(len(a), len(b))
    return float(np.max(np.abs(a[:count] - b[:count])) / np.max(np.abs(b[:count])))


def same_losses(r: gru.Result, reference: gru.Result) -> float:
    """The largest difference of the first losses."""
    return float(np.max(np.abs(r.losses[:FIRST_STEPS] - reference.losses[:FIRST_STEPS])))


JOBS: dict[str, Callable[[], list[Model]]] = {  # a model is a table
    "epidemic": lambda: [*map(of_series, epidemic.series())],
    "gru": lambda: [of_brackets()],
    "solvers": lambda: [of_orbit(), of_flight(), of_memory()],
    "process": lambda: [of_process()],
    "regressions": lambda: [*map(of_regression, regressions.regressions())],
    "factors": lambda: [of_factors()],
    "nuts": lambda: [of_nuts()],
    "kalman": lambda: [of_ships()],
    "bootstrap": lambda: [of_bootstrap()],
    "particles": lambda: [of_particles()],
    "mixtures": lambda: [of_mixture(), of_chain()],
}

if __name__ == "__main__":
    sys.exit(main())
