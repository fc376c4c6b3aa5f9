"""Tables of the jobs whose heart is a loop."""

from __future__ import annotations

from typing import Any

import epidemic
import gru
import numpy as np
import solvers

from tables.cells import AGREEMENT, OF_START, SAME_LOSS, STANDARD_ERRORS, Peer, difference, timed, told
from tg.demo.run import REFERENCE, Model
from tg.errors import NoRuleError, TgError

FIRST_STEPS = 20  # of a training, in which losses agree with torch's
RIGHT = 0.9  # of the brackets that close
CHECKPOINT = 50


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


def same_losses(r: gru.Result, reference: gru.Result) -> float:
    """The largest difference of the first losses."""
    return float(np.max(np.abs(r.losses[:FIRST_STEPS] - reference.losses[:FIRST_STEPS])))


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
