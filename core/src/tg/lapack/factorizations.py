"""Factorisations that take finitely many steps: Cholesky, LU, QR, LDLᵀ; and the inverse by LU."""

from __future__ import annotations

import numpy as np

from tg.lapack.calls import Array, Shared, batch_of, integer


def potrf(a: Array, *, lower: bool = True) -> tuple[Array, Array]:
    """The Cholesky factor: L with a = L Lᴴ, of the lower triangle of a, or U with a = Uᴴ U, of the upper one.

    The other triangle of the factor is 0. `info` k: the leading minor of order k is not positive.

    Shapes:
        a (..., n, n) -> (..., n, n), (...)
    """
    batch, n = batch_of("potrf", a), a.shape[-1]
    stack, info = batch.stack(a), batch.info()
    if n:
        info = batch.each("potrf", b"L" if lower else b"U", n, stack, n)
    factor = batch.matrices(stack)
    return (np.tril(factor) if lower else np.triu(factor)), info


def getrf(a: Array) -> tuple[Array, Array, Array]:
    """L and U of a = P L U in one matrix, without L's diagonal of ones, and the rows that rows were exchanged with.

    `info` k: the k-th pivot is exactly 0.

    Shapes:
        a (..., m, n) -> (..., m, n), (..., min(m, n)), (...)
    """
    batch, (m, n) = batch_of("getrf", a), a.shape[-2:]
    stack, pivots = batch.stack(a), batch.empty(min(m, n), dtype=integer())
    info = batch.info()
    if m and n:
        info = batch.each("getrf", m, n, stack, m, pivots)
        pivots -= 1
    return batch.matrices(stack), batch.vectors(pivots, np.int32), info


def getri(lu: Array, pivots: Array) -> tuple[Array, Array]:
    """The inverse by what `getrf` gave; `info` k: the k-th pivot is exactly 0, and the result is not the inverse.

    Shapes:
        lu (..., n, n), pivots (..., n) -> (..., n, n), (...)
    """
    batch, n = batch_of("getri", lu), lu.shape[-1]
    stack, exchanges = batch.stack(lu), batch.stack_vectors(pivots, integer()) + 1
    info = batch.info()
    if n:
        info = batch.with_work(
            [batch.dtype],
            lambda first, work: batch.each("getri", n, stack, n, exchanges, *work, only_first=first),
        )
    return batch.matrices(stack), info


def geqrf(a: Array) -> tuple[Array, Array, Array]:
    """R of a = Q R, below it the vectors of the reflections that Q is made of, and their factors.

    Shapes:
        a (..., m, n) -> (..., m, n), (..., min(m, n)), (...)
    """
    batch, (m, n) = batch_of("geqrf", a), a.shape[-2:]
    stack, factors = batch.stack(a), batch.empty(min(m, n))
    info = batch.info()
    if m and n:
        info = batch.with_work(
            [batch.dtype],
            lambda first, work: batch.each("geqrf", m, n, stack, m, factors, *work, only_first=first),
        )
    return batch.matrices(stack), batch.vectors(factors), info


def geqp3(a: Array) -> tuple[Array, Array, Array, Array]:
    """As `geqrf`, of the columns of a in the order that is the third result: a[:, order] = Q R, |R[k, k]| falling.

    Shapes:
        a (..., m, n) -> (..., m, n), (..., min(m, n)), (..., n), (...)
    """
    batch, (m, n) = batch_of("geqp3", a), a.shape[-2:]
    stack, factors = batch.stack(a), batch.empty(min(m, n))
    order = batch.empty(n, dtype=integer())  # 0 on entry: a column that may be moved
    info = batch.info()
    if m and n:
        reals = [Shared(np.empty(2 * n, batch.real))] if batch.is_complex else []
        info = batch.with_work(
            [batch.dtype],
            lambda first, work: batch.each("geqp3", m, n, stack, m, order, factors, *work, *reals, only_first=first),
        )
        order -= 1
    else:
        order += np.arange(n)
    return batch.matrices(stack), batch.vectors(factors), batch.vectors(order, np.int32), info


def orgqr(packed: Array, factors: Array, columns: int | None = None) -> tuple[Array, Array]:
    """The first columns of Q by what `geqrf` gave, all min(m, n) of them where `columns` does not say how many.

    Shapes:
        packed (..., m, n), factors (..., k) -> (..., m, columns), (...)
    """
    batch, (m, n), k = batch_of("orgqr", packed, factors, ranks=(2, 1)), packed.shape[-2:], factors.shape[-1]
    width = min(m, n) if columns is None else columns
    used = min(k, width)
    stack, scales = batch.empty(width, m), batch.stack_vectors(factors)
    stack[:, :used] = batch.stack(packed)[:, :used]
    info = batch.info()
    if m and width:
        name = "ungqr" if batch.is_complex else "orgqr"
        info = batch.with_work(
            [batch.dtype],
            lambda first, work: batch.each(name, m, width, used, stack, m, scales, *work, only_first=first),
        )
    return batch.matrices(stack), info


def sytrf(a: Array, *, lower: bool = True, hermitian: bool = False) -> tuple[Array, Array, Array]:
    """L and D of a = L D Lᵀ (of Lᴴ if hermitian) in one triangle, by Bunch and Kaufman, and LAPACK's own pivots.

    Pivots are as LAPACK has them, from 1: a negative one stands for a block of two rows. `info` k: a block of D
    is exactly 0.

    Shapes:
        a (..., n, n) -> (..., n, n), (..., n), (...)
    """
    batch, n = batch_of("sytrf", a), a.shape[-1]
    stack, pivots = batch.stack(a), batch.empty(n, dtype=integer())
    info = batch.info()
    if n:
        name, triangle = "hetrf" if hermitian and batch.is_complex else "sytrf", b"L" if lower else b"U"
        info = batch.with_work(
            [batch.dtype],
            lambda first, work: batch.each(name, triangle, n, stack, n, pivots, *work, only_first=first),
        )
    return batch.matrices(stack), batch.vectors(pivots, np.int32), info
