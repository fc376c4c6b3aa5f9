"""Neighbours: a conditional autoregression over 10,000 areas, by a sparse precision matrix.

Areas that touch are alike. In Besag's model (Spatial interaction and the statistical analysis of lattice systems, J. R.
Stat. Soc. B 36, 1974) an area is a share rho of its neighbours' mean, and noise; all are normal, with the precision

    Q = tau (D - rho W)        W: 1 where two areas touch;  D: how many neighbours each has, on the diagonal

Q has 5 elements a row on a lattice, and its inverse, the covariances, has all of them: 800 MB for 100 x 100 areas. The
log-density asks for the determinant of Q, its slope for elements of the inverse at the places of Q alone (K. Takahashi,
J. Fagan and M. Chin, Formation of a sparse bus impedance matrix, 1973); tg finds the order of elimination once.

    log p(y) = log |Q| / 2 - y' Q y / 2 - n log(2 pi) / 2

    python examples/areas.py c 100
"""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from scipy.optimize import minimize

import tg

TRUE = (0.95, 2.0)  # rho, tau
SEED = 3

Array = np.ndarray[Any, Any]


# 1. The data: which areas touch, and values drawn from the model.
class Areas(NamedTuple):
    """Neighbours W and their numbers D (n, n), and what was seen (n,)."""

    touch: scipy.sparse.csr_array
    counts: scipy.sparse.csr_array
    seen: Array


def lattice(side: int) -> Areas:
    """Areas of a square, with values of the model for the true rho and tau."""
    path = scipy.sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(side, side))
    one = scipy.sparse.eye_array(side)
    touch = scipy.sparse.csr_array(scipy.sparse.kron(path, one) + scipy.sparse.kron(one, path))
    counts = scipy.sparse.csr_array(scipy.sparse.diags_array(touch.sum(axis=1)))
    rho, tau = TRUE
    lu = scipy.sparse.linalg.splu(
        scipy.sparse.csc_array(tau * (counts - rho * touch)),
        permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True},
    )  # fmt: skip
    noise = np.random.default_rng(SEED).standard_normal(side * side) / np.sqrt(lu.U.diagonal())
    y = scipy.sparse.linalg.spsolve_triangular(scipy.sparse.csr_array(lu.L.T), noise, lower=False)
    return Areas(touch, counts, y[lu.perm_c])


# 2. The model: a number of rho and tau, and its gradient.
def log_density(rho: Any, tau: Any, areas: Areas) -> tg.Variable:
    """Of what was seen, as an expression."""
    n = len(areas.seen)
    q = tg.sparse.csr(areas.counts - areas.touch)  # the places of all of Q
    is_diagonal = np.repeat(np.arange(n), np.diff(q.indptr)) == q.indices
    q = tg.sparse.csr(tau * tg.where(is_diagonal, q.data, rho * q.data), q.indices, q.indptr, (n, n))
    _, logdet = tg.sparse.linalg.slogdet(q)
    return logdet / 2 - areas.seen @ (q @ areas.seen) / 2 - n * np.log(2 * np.pi) / 2


def compiled(backend: str, areas: Areas) -> tg.Function:
    """A function of logit(rho) and log(tau), which are any numbers: the log-density with its gradient."""
    free = tg.vector("free", shape=(2,))
    value = log_density(tg.sigmoid(free[0]), tg.exp(free[1]), areas)
    return tg.function([free], [value, tg.grad(value, free)], backend=backend, name="areas")


# 3. The fit.
class Fit(NamedTuple):
    """The most likely values, and how long the parts took, in seconds."""

    rho: float
    tau: float
    compiling: float
    fitting: float
    calls: int


def fit(backend: str, areas: Areas) -> Fit:
    """The rho and tau for which the density of what was seen is highest."""
    start = time.perf_counter()
    f = compiled(backend, areas)
    f(np.zeros(2))
    ready = time.perf_counter()
    found = minimize(lambda at: [-v for v in f(at)], np.zeros(2), jac=True, method="L-BFGS-B")
    logit, log_tau = found.x
    took = time.perf_counter() - ready
    return Fit(1 / (1 + np.exp(-logit)), np.exp(log_tau), ready - start, took, found.nfev)


def main(backend: str, side: int) -> None:
    """Fit, and print it."""
    result = fit(backend, lattice(side))
    print(f"{side * side} areas on {backend}: rho {result.rho:.3f} ({TRUE[0]}), tau {result.tau:.3f} ({TRUE[1]})")
    print(f"{result.calls} densities with gradients in {result.fitting:.1f} s, made in {result.compiling:.1f} s")


if __name__ == "__main__":
    main(*(sys.argv[1:2] or ["c"]), int(sys.argv[2]) if len(sys.argv) > 2 else 100)
