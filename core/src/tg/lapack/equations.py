"""Linear equations: triangular ones, by LU, of a band, least squares, and Sylvester's."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tg.lapack.calls import Array, Shared, batch_of, integer

Transpose = Literal["n", "t", "c"]


def trtrs(
    a: Array, b: Array, *, lower: bool = True, transpose: Transpose = "n", unit_diagonal: bool = False
) -> tuple[Array, Array]:
    """x of a x = b, of aᵀ x = b ("t") or of aᴴ x = b ("c"), where a is a triangle; the other one is not read.

    `info` k: a[k - 1, k - 1] is exactly 0, and x is b.

    Shapes:
        a (..., n, n), b (..., n, m) -> (..., n, m), (...)
    """
    batch, (n, m) = batch_of("trtrs", a, b), b.shape[-2:]
    triangles, stack = batch.stack(a), batch.stack(b)
    info = batch.info()
    if n and m:
        flags = b"L" if lower else b"U", transpose.upper().encode(), b"U" if unit_diagonal else b"N"
        info = batch.each("trtrs", *flags, n, m, triangles, n, stack, n)
    return batch.matrices(stack), info


def getrs(lu: Array, pivots: Array, b: Array, *, transpose: Transpose = "n") -> tuple[Array, Array]:
    """x of a x = b, of aᵀ x = b ("t") or of aᴴ x = b ("c"), by what `getrf` gave for a.

    Shapes:
        lu (..., n, n), pivots (..., n), b (..., n, m) -> (..., n, m), (...)
    """
    batch, (n, m) = batch_of("getrs", lu, b), b.shape[-2:]
    factors, exchanges, stack = batch.stack(lu), batch.stack_vectors(pivots, integer()) + 1, batch.stack(b)
    info = batch.info()
    if n and m:
        info = batch.each("getrs", transpose.upper().encode(), n, m, factors, n, exchanges, stack, n)
    return batch.matrices(stack), info


def gtsv(below: Array, diagonal: Array, above: Array, b: Array) -> tuple[Array, Array]:
    """x of a x = b, where a has three diagonals; `info` k: the k-th pivot is exactly 0, and x has not been computed.

    Shapes:
        below (..., n - 1), diagonal (..., n), above (..., n - 1), b (..., n, m) -> (..., n, m), (...)
    """
    batch, (n, m) = batch_of("gtsv", below, diagonal, above, b, ranks=(1, 1, 1, 2)), b.shape[-2:]
    diagonals, stack = [batch.stack_vectors(x) for x in (below, diagonal, above)], batch.stack(b)
    info = batch.info()
    if n and m:
        info = batch.each("gtsv", n, m, *diagonals, stack, n)
    return batch.matrices(stack), info


def gbsv(ab: Array, b: Array, *, below: int, above: int) -> tuple[Array, Array]:
    """x of a x = b, where a is given by its diagonals, in column j of row above + i - j.

    `info` k: the k-th pivot is exactly 0, and x has not been computed.

    Shapes:
        ab (..., below + above + 1, n), b (..., n, m) -> (..., n, m), (...)
    """
    batch, (n, m) = batch_of("gbsv", ab, b), b.shape[-2:]
    rows = 2 * below + above + 1  # elimination with exchanges needs more diagonals above
    bands, stack = batch.empty(n, rows), batch.stack(b)
    bands[:, :, below:] = batch.stack(ab)
    info = batch.info()
    if n and m:
        pivots = batch.empty(n, dtype=integer())
        info = batch.each("gbsv", n, below, above, m, bands, rows, pivots, stack, n)
    return batch.matrices(stack), info


def pbsv(ab: Array, b: Array) -> tuple[Array, Array]:
    """x of a x = b, where a is positive definite and given by its diagonals on and below the main one.

    `info` k: the leading minor of order k is not positive, and x has not been computed.

    Shapes:
        ab (..., k + 1, n), b (..., n, m) -> (..., n, m), (...)
    """
    batch, (n, m) = batch_of("pbsv", ab, b), b.shape[-2:]
    bands, stack = batch.stack(ab), batch.stack(b)
    info = batch.info()
    if n and m:
        rows = ab.shape[-2]
        info = batch.each("pbsv", b"L", n, rows - 1, m, bands, rows, stack, n)
    return batch.matrices(stack), info


def gelsd(a: Array, b: Array, rcond: float = -1.0) -> tuple[Array, Array, Array, Array]:
    """The shortest x of least |a x - b|; the singular values of a; how many of them exceed rcond times the largest.

    A negative `rcond` stands for the precision of the dtype.

    Shapes:
        a (..., m, n), b (..., m, k) -> (..., n, k), (..., min(m, n)), (...), (...)
    """
    batch, (m, n), k = batch_of("gelsd", a, b), a.shape[-2:], b.shape[-1]
    rows, real = max(m, n), batch.real
    matrices, stack = batch.stack(a), batch.empty(k, rows)
    stack[:, :, :m] = batch.stack(b)
    values, ranks = batch.empty(min(m, n), dtype=real), batch.empty(dtype=integer())
    info = batch.info()
    if m and n and k:
        limit = Shared(np.array([rcond], real))
        dtypes = [batch.dtype, *([real] if batch.is_complex else []), integer()]
        info = batch.with_work(
            dtypes,
            lambda first, work, *more: batch.each(
                *("gelsd", m, n, k, matrices, m, stack, rows, values, limit, ranks, *work),
                *(memory for memory, _ in more),
                only_first=first,
            ),
        )
    return batch.matrices(stack[:, :, :n]), batch.vectors(values), batch.vectors(ranks, np.int32), info


def trsyl(
    a: Array, b: Array, c: Array, *, transpose_a: Transpose = "n", transpose_b: Transpose = "n", sign: int = 1
) -> tuple[Array, Array, Array]:
    """x of a x + sign x b = scale c, where a and b are Schur forms, as of `gees`, or their (adjoint) transposes.

    `scale` is at most 1, less where x would overflow. `info` 1: eigenvalues of a and -sign b are close or equal, and
    were changed a little. Real matrices have no transposition but "n" and "c", which is "t" for them.

    Shapes:
        a (..., m, m), b (..., n, n), c (..., m, n) -> (..., m, n), (...), (...)
    """
    batch, (m, n) = batch_of("trsyl", a, b, c), c.shape[-2:]
    left, right, stack = batch.stack(a), batch.stack(b), batch.stack(c)
    scale = batch.empty(dtype=batch.real) + 1
    info = batch.info()
    if m and n:
        flags = transpose_a.upper().encode(), transpose_b.upper().encode()
        info = batch.each("trsyl", *flags, sign, m, n, left, m, right, n, stack, m, scale)
    return batch.matrices(stack), batch.vectors(scale), info
