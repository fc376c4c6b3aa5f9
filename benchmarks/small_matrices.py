"""Triangular systems and LU factors of few rows, by loops and by LAPACK: `python -m benchmarks.small_matrices`.

Microseconds a call, the least and the median of nine rounds, for as many right sides as rows; `OPENBLAS_NUM_THREADS=1`
before it shows LAPACK without threads. What `tg_native.matrices.elements.OF_ROWS` is follows from this.
"""

from __future__ import annotations

import sys
import timeit
from unittest import mock

import numpy as np

import tg
from tg_native.rules.linalg import lu, triangular

SIZES = (16, 24, 32, 40, 48, 64, 96)
CALLS, ROUNDS = 100, 9


def micros(f, *arrays):
    """The least and the median."""
    f(*arrays)
    times = sorted(timeit.repeat(lambda: f(*arrays), number=CALLS, repeat=ROUNDS))
    return f"{times[0] / CALLS * 1e6:8.1f} {times[ROUNDS // 2] / CALLS * 1e6:8.1f}"


def functions(backend, most):
    """Both, with loops for up to so many rows."""
    a, b = tg.matrix("a"), tg.matrix("b")
    with (
        mock.patch.object(lu, "OF_ROWS", most),
        mock.patch.object(lu, "SMALL", most),
        mock.patch.object(triangular, "OF_ROWS", most),
        tg.config(remember=False),
    ):
        solution = tg.linalg.solve_triangular(a, b, lower=True)
        return tg.function([a, b], solution, backend=backend), tg.function([a], tg.linalg.det(a), backend=backend)


def main(backend="c"):
    """Print a table."""
    draw = np.random.default_rng(0)
    loops, lapack = functions(backend, 1000), functions(backend, 0)
    sys.stdout.write(f"{'rows':>4}{'solve: loops':>18}{'LAPACK':>18}{'LU: loops':>18}{'LAPACK':>18}\n")
    for n in SIZES:
        a, b = draw.normal(size=(n, n)) + n * np.eye(n), draw.normal(size=(n, n))
        cells = [micros(f, a, b) for f in (loops[0], lapack[0])]
        cells += [micros(f, a) for f in (loops[1], lapack[1])]
        sys.stdout.write(f"{n:>4} " + " ".join(cells) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
