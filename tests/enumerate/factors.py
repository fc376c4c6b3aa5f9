"""What factorisations mean: of matrices of numbers without rounding, by elimination. What is not finite is UNKNOWN."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from mpmath import mpc, mpf

from tests.enumerate.numbers import UNKNOWN, settled


def matrices(x):
    """Each matrix of a batch with its place."""
    return ((place, x[place]) for place in np.ndindex(x.shape[:-2]))


def numbers(x, dtype):
    """A matrix as lists of mpmath's numbers; None where one is unknown or not finite."""
    kind = mpc if dtype.startswith("complex") else mpf
    flat = x.ravel().tolist()
    if any(v is UNKNOWN or (type(v) is float and not np.isfinite(v)) for v in flat):
        return None
    return [[kind(v) for v in row] for row in x.tolist()]


def told(x, dtype):
    """A number as `numbers` of this package has it."""
    return x if dtype.startswith("complex") else settled(x)


def triangular(op, a, b, dtype):
    """The solutions of triangular systems."""
    found = np.full(b.shape, UNKNOWN, object)
    for place, given in matrices(a):
        rows, sides = numbers(given, dtype), numbers(b[place], dtype)
        if rows is None or sides is None:
            continue
        if op.transpose != "n":
            rows = [list(row) for row in zip(*rows, strict=True)]
        if op.transpose == "c":
            rows = [[mp.conj(v) for v in row] for row in rows]
        n, lower = len(rows), op.lower == (op.transpose == "n")
        if not op.unit_diagonal and any(rows[i][i] == 0 for i in range(n)):
            if not op.raises:
                found[place] = mpc(np.nan) if dtype.startswith("complex") else np.nan
            continue
        for column in range(b.shape[-1]):
            x = [mpf(0)] * n
            for i in range(n) if lower else reversed(range(n)):
                before = range(i) if lower else range(i + 1, n)
                total = sides[i][column] - sum((rows[i][k] * x[k] for k in before), mpf(0))
                x[i] = total if op.unit_diagonal else total / rows[i][i]
                found[(*place, i, column)] = told(x[i], dtype)
    return found


def factorized(a, dtype):
    """LU factors, exchanges and order of the rows, the largest element of a column as pivot."""
    *lead, m, n = a.shape
    factors = np.full(a.shape, UNKNOWN, object)
    pivots, order = np.full((*lead, min(m, n)), UNKNOWN, object), np.full((*lead, m), UNKNOWN, object)
    for place, given in matrices(a):
        rows = numbers(given, dtype)
        if rows is None:
            continue
        places, moved, is_singular = list(range(m)), [], False  # but for what is left of digits that cancel
        for k in range(min(m, n)):
            sizes = [abs(mp.re(rows[i][k])) + abs(mp.im(rows[i][k])) for i in range(k, m)]
            best = k + sizes.index(max(sizes))
            moved.append(best)
            for one in (rows, places):
                one[k], one[best] = one[best], one[k]
            for i in range(k + 1, m):
                if rows[k][k] != 0:
                    rows[i][k] /= rows[k][k]
                for j in range(k + 1, n):
                    before = rows[i][j]
                    rows[i][j] -= rows[i][k] * rows[k][j]
                    is_singular |= 0 < abs(rows[i][j]) < abs(before) * mpf(10) ** (-mp.mp.dps // 2)
        if is_singular:
            continue
        for i, j in np.ndindex(m, n):
            factors[(*place, i, j)] = told(rows[i][j], dtype)
        pivots[place], order[place] = moved, places
    return factors, pivots, order


def cholesky(a, dtype):
    """Cholesky factors and the order of the first leading minor that is not positive."""
    found, info = np.full(a.shape, UNKNOWN, object), np.full(a.shape[:-2], UNKNOWN, object)
    n = a.shape[-1]
    for place, given in matrices(a):
        rows = numbers(np.where(np.tri(n, dtype=bool), given, 0), dtype)
        if rows is None:
            continue
        factor, bad = [[mpf(0)] * n for _ in range(n)], 0
        for j in range(n):
            rest = mp.re(rows[j][j]) - sum((abs(factor[j][k]) ** 2 for k in range(j)), mpf(0))
            if rest <= 0:
                bad = j + 1
                break
            factor[j][j] = mp.sqrt(rest)
            for i in range(j + 1, n):
                total = rows[i][j] - sum((factor[i][k] * mp.conj(factor[j][k]) for k in range(j)), mpf(0))
                factor[i][j] = total / factor[j][j]
        info[place] = bad
        for i, j in np.ndindex(n, n):
            value = told(mpc(factor[i][j]) if dtype.startswith("complex") else factor[i][j], dtype)
            found[(*place, i, j)] = value if not bad or j > i else UNKNOWN
    return found, info
