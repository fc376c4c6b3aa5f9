"""Two regressions by maximum likelihood, with standard errors from the Hessian: of counts, and of times until an event.

1. Days that 146 children of Walgett in New South Wales were absent from school, by four factors (S. Quine, in
   M. Aitkin, J. R. Statist. Soc. A 141 (1978), 195). The counts have a negative binomial distribution, of mean m and
   variance m + m^2 / r:

       log m = X b        log p(y) = log gamma(y + r) - log gamma(r) - log y! + r log(r / (r + m)) + y log(m / (r + m))

2. Weeks of remission of 42 patients with leukaemia under a drug or a placebo (E. A. Gehan, Biometrika 52 (1965), 203).
   They have Weibull distributions; of whom the remission lasted when the trial ended, it is known that it was longer:

       z = (log t - X b) / s        log p(t) = z - exp z - log(s t)        log p(longer than t) = -exp z

Newton's method finds the maximum: its step solves a system whose matrix is the Hessian, and the inverse of that has the
variances of the parameters. Both data are in R's package MASS, and what R says of them is well known. Beside tg's fit
stands SciPy's minimizer on the log-densities of `scipy.stats`, which takes differences, for standard errors too, and
statsmodels where it is installed.

This file is a tutorial. Read it from top to bottom, or run it: `python examples/regressions.py c`.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.stats import nbinom, weibull_min

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

# 1. The data. Days of absence by group: Aboriginal or not (A, N), sex, age (primary school F0, forms F1 to F3), and
# whether a child learns slowly or as most do (SL, AL).
DAYS = """
A M F0 SL: 2 11 14; A M F0 AL: 5 5 13 20 22; A M F1 SL: 6 6 15; A M F1 AL: 7 14; A M F2 SL: 6 32 53 57;
A M F2 AL: 14 16 16 17 40 43 46; A M F3 AL: 8 23 23 28 34 36 38; A F F0 SL: 3; A F F0 AL: 5 11 24 45;
A F F1 SL: 5 6 6 9 13 23 25 32 53 54; A F F1 AL: 5 5 11 17 19; A F F2 SL: 8 13 14 20 47 48 60 81; A F F2 AL: 2;
A F F3 AL: 0 2 3 5 10 14 21 36 40; N M F0 SL: 6 17 67; N M F0 AL: 0 0 2 7 11 12; N M F1 SL: 0 0 5 5 5 11 17;
N M F1 AL: 3 4; N M F2 SL: 22 30 36; N M F2 AL: 8 0 1 5 7 16 27; N M F3 AL: 0 30 10 14 27 41 69; N F F0 SL: 25;
N F F0 AL: 10 11 20 33; N F F1 SL: 5 7 0 1 5 5 5 5 7 11 15; N F F1 AL: 5 14 6 6 7 28; N F F2 SL: 0 5 14 2 2 3 8 10 12;
N F F2 AL: 1; N F F3 AL: 1 9 22 3 3 5 15 18 22 37
"""
LEVELS = ("N", "M", "F1", "F2", "F3", "SL")  # each a column of 0 and 1, beside one of ones

# Weeks of remission; + where it lasted still.
DRUG = "10 7 32+ 23 22 6 16 34+ 32+ 25+ 11+ 20+ 19+ 6 17+ 35+ 6 13 9+ 6+ 10+"
PLACEBO = "1 22 3 12 8 17 2 11 8 12 2 5 4 15 8 23 5 11 4 1 8"


class Regression(NamedTuple):
    """Data, and what is said of them; the last parameter is a logarithm."""

    title: str
    names: tuple[str, ...]
    x: np.ndarray[Any, Any]  # a column for each coefficient
    y: np.ndarray[Any, Any]
    is_known: np.ndarray[Any, Any]  # of y: elsewhere it is known to be more
    log_likelihood: Callable[[Any, Regression], tg.Variable]
    by_hand: Callable[[Any, Regression], float]
    published: tuple[np.ndarray[Any, Any], float]  # the parameters, and the log-likelihood; all to 4 digits or more

    @property
    def start(self) -> np.ndarray[Any, Any]:
        """Where a fit begins: the mean of all, and a last parameter of 1."""
        theta = np.zeros(len(self.names))
        theta[0] = np.log(np.mean(self.y))
        return theta


# 2. The log-likelihoods, as they stand above.
def of_counts(theta: Any, data: Regression) -> tg.Variable:
    """The negative binomial's; theta: the coefficients, and log r."""
    mean, r = tg.exp(data.x @ theta[:-1]), tg.exp(theta[-1])
    ways = tg.gammaln(data.y + r) - tg.gammaln(r) - tg.gammaln(data.y + 1)
    return tg.sum(ways + r * tg.log(r / (r + mean)) + data.y * tg.log(mean / (r + mean)))


def of_times(theta: Any, data: Regression) -> tg.Variable:
    """The Weibull distribution's; theta: the coefficients, and log s."""
    z = (np.log(data.y) - data.x @ theta[:-1]) / tg.exp(theta[-1])
    return tg.sum(data.is_known * (z - theta[-1] - np.log(data.y)) - tg.exp(z))


# 3. The same by SciPy's distributions.
def of_counts_by_hand(theta: Any, data: Regression) -> float:
    """`of_counts` without tg."""
    mean, r = np.exp(data.x @ theta[:-1]), np.exp(theta[-1])
    return float(np.sum(nbinom.logpmf(data.y, r, r / (r + mean))))


def of_times_by_hand(theta: Any, data: Regression) -> float:
    """`of_times` without tg."""
    known = weibull_min(np.exp(-theta[-1]), scale=np.exp(data.x @ theta[:-1]))
    return float(np.sum(np.where(data.is_known, known.logpdf(data.y), known.logsf(data.y))))


def regressions() -> tuple[Regression, Regression]:
    """Of the days, and of the weeks."""
    groups = [group.split(":") for group in DAYS.replace("\n", " ").split(";")]
    rows = [(factors.split(), float(day)) for factors, days in groups for day in days.split()]
    x = np.array([[1.0, *(float(level in factors) for level in LEVELS)] for factors, _ in rows])
    days = np.array([day for _, day in rows])
    said = np.array([2.89458, -0.56937, 0.08232, -0.44843, 0.08808, 0.35690, 0.29211, np.log(1.274892646)])
    names = ("1", *LEVELS, "log r")
    counts = Regression(
        "negative binomial", names, x, days, days >= 0, of_counts, of_counts_by_hand, (said, -1093.151 / 2)
    )
    weeks = f"{DRUG} {PLACEBO}".split()
    x = np.array([[1.0, float(k >= len(DRUG.split()))] for k in range(len(weeks))])
    t = np.array([float(week.rstrip("+")) for week in weeks])
    is_known = np.array([not week.endswith("+") for week in weeks])
    said = np.array([3.516, -1.267, -0.312])
    names = ("1", "placebo", "log s")
    return counts, Regression("Weibull", names, x, t, is_known, of_times, of_times_by_hand, (said, -106.6))


# 4. The fit: a compiled function has all that a step of Newton's method needs, and the standard errors.
NEAR = 1e-10  # the length of the last step, in standard errors
MOST = 50  # steps


class Result(NamedTuple):
    """What a fit gave."""

    backend: str
    first_seconds: float  # until there is a step: building, compiling, a call
    call_microseconds: float
    calls: int
    theta: np.ndarray[Any, Any]  # where the log-likelihood is highest
    errors: np.ndarray[Any, Any]  # the standard error of each
    log_likelihood: float
    seconds: float  # all of it
    at_start: np.ndarray[Any, Any]  # log-likelihood, gradient and Hessian where the fit begins, to be compared


def compiled(data: Regression, backend: str) -> Any:
    """A function: theta -> log-likelihood, gradient, Hessian, Newton's step, standard errors (NaN: no maximum)."""
    theta = tg.tensor("theta", shape=data.start.shape)
    value = data.log_likelihood(theta, data)
    gradient, hessian = tg.grad(value, theta), tg.hessian(value, theta)
    step = tg.linalg.solve(-hessian, gradient, on_error="nan")
    errors = tg.sqrt(tg.diagonal(tg.linalg.inv(-hessian, on_error="nan")))
    return tg.function([theta], [value, gradient, hessian, step, errors], backend=backend, name=data.title)


def run(backend: str, data: Regression) -> Result:
    """Fit on one backend. A step that leads downhill is halved."""
    began = time.perf_counter()
    f = compiled(data, backend)
    theta = data.start
    value, gradient, hessian, step, errors = f(theta)
    first_seconds = time.perf_counter() - began
    at_start = np.concatenate([[value], gradient, hessian.ravel()])
    calls: list[float] = []  # seconds of each
    while not np.max(np.abs(step / errors)) <= NEAR and len(calls) < MOST:  # NaN is no end
        start = time.perf_counter()
        after = f(theta + step)
        calls.append(time.perf_counter() - start)
        if after[0] >= value - 1e-12 * abs(value):
            theta, (value, _, _, step, errors) = theta + step, after
        else:
            step = step / 2
    seconds, microseconds = time.perf_counter() - began, 1e6 * float(np.median(calls))
    return Result(backend, first_seconds, microseconds, len(calls) + 1, theta, errors, float(value), seconds, at_start)


# 5. Without tg: SciPy's minimizer takes differences, and the Hessian is differences of these.
def run_by_hand(data: Regression) -> Result:
    """Fit by `scipy.optimize`."""
    began = time.perf_counter()
    at_start = np.array([data.by_hand(data.start, data)])
    first_seconds = time.perf_counter() - began
    found = minimize(lambda theta: -data.by_hand(theta, data), data.start, method="BFGS", options={"gtol": 1e-4})
    fitted = time.perf_counter()
    errors = np.sqrt(np.diag(np.linalg.inv(differences(lambda theta: -data.by_hand(theta, data), found.x))))
    seconds, calls = time.perf_counter() - began, int(found.nfev)
    microseconds = 1e6 * (fitted - began) / calls
    return Result("SciPy", first_seconds, microseconds, calls, found.x, errors, -found.fun, seconds, at_start)


def differences(f: Callable[[Any], float], at: np.ndarray[Any, Any], step: float = 1e-3) -> np.ndarray[Any, Any]:
    """The Hessian of f, by four calls for each of its elements."""
    moves = step * np.eye(len(at))
    corners = ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
    return np.array([[sum(sign * f(at + s * a + t * b) for s, t, sign in corners) for a in moves] for b in moves]) / (
        4 * step * step
    )


def run_statsmodels(data: Regression) -> Result:
    """The regression of counts by statsmodels, which has its gradient and Hessian by hand; its parameter is 1 / r."""
    from statsmodels.discrete.discrete_model import NegativeBinomial

    start = np.append(data.start[:-1], 1.0)
    began = time.perf_counter()
    model = NegativeBinomial(data.y, data.x)
    first_seconds = time.perf_counter() - began
    found = model.fit(method="newton", start_params=start, tol=1e-10, disp=False)
    seconds = time.perf_counter() - began
    at_start = np.array([model.loglike(start)])  # before a fit it would take the parameter for a logarithm
    theta = np.append(found.params[:-1], -np.log(found.params[-1]))
    errors = np.append(found.bse[:-1], found.bse[-1] / found.params[-1])
    calls = int(found.mle_retvals["iterations"])
    microseconds = 1e6 * (seconds - first_seconds) / calls
    return Result("statsmodels", first_seconds, microseconds, calls, theta, errors, float(found.llf), seconds, at_start)


if __name__ == "__main__":
    for data in regressions():
        result = run(sys.argv[1] if len(sys.argv) > 1 else "auto", data)
        print(f"{data.title} on {result.backend}: log-likelihood {result.log_likelihood:.3f}, {result.calls} calls")
        for name, value, error, said in zip(data.names, result.theta, result.errors, data.published[0], strict=True):
            print(f"{name:>10}: {value:8.4f} ± {error:.4f}, published {said:.4f}")
