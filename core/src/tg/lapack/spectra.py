"""Factorisations by iteration: eigenvalues, Schur forms, singular values."""

from __future__ import annotations

import numpy as np

from tg.lapack.calls import Array, Batch, Shared, batch_of, integer


def syevd(a: Array, *, lower: bool = True, vectors: bool = True) -> tuple[Array, Array, Array]:
    """Eigenvalues of a symmetric or Hermitian matrix, ascending, of one triangle, and its vectors as columns.

    `info` k: it did not converge. Without `vectors` there are none: an array (..., n, 0).

    Shapes:
        a (..., n, n) -> (..., n), (..., n, n), (...)
    """
    batch, n = batch_of("syevd", a), a.shape[-1]
    stack, values = batch.stack(a), batch.empty(n, dtype=batch.real)
    info = batch.info()
    if n:
        name, flags = "heevd" if batch.is_complex else "syevd", (b"V" if vectors else b"N", b"L" if lower else b"U")
        info = batch.with_work(
            [batch.dtype, *([batch.real] if batch.is_complex else []), integer()],
            lambda first, *works: batch.each(
                name, *flags, n, stack, n, values, *(part for work in works for part in work), only_first=first
            ),
        )
    return batch.vectors(values), batch.matrices(stack if vectors else stack[:, :0]), info


def gesdd(a: Array, *, full_matrices: bool = True, vectors: bool = True) -> tuple[Array, Array, Array, Array]:
    """U, the singular values, descending, and Vᴴ of a = U diag(s) Vᴴ.

    U and Vᴴ are square, or have min(m, n) columns and rows without `full_matrices`; without `vectors` there are none.
    `info` k: it did not converge; -4: a NaN.

    Shapes:
        a (..., m, n) -> (..., m, m), (..., min(m, n)), (..., n, n), (...)
    """
    batch, (m, n) = batch_of("gesdd", a), a.shape[-2:]
    few, real = min(m, n), batch.real
    wide, high = (m, n) if full_matrices else (few, few)
    job = b"N" if not vectors else b"A" if full_matrices else b"S"
    stack, values = batch.stack(a), batch.empty(few, dtype=real)
    u, v = (batch.empty(wide, m), batch.empty(n, high)) if vectors else (batch.empty(0, m), batch.empty(n, 0))
    info = batch.info()
    if few:
        steps, reals = Shared(np.empty(8 * few, integer())), []
        if batch.is_complex:  # the lengths that LAPACK's page of zgesdd gives
            length = max(5 * few * few + 5 * few, 2 * max(m, n) * few + 2 * few * few + few) if vectors else 7 * few
            reals = [Shared(np.empty(length, real))]
        info = batch.with_work(
            [batch.dtype],
            lambda first, work: batch.each(
                *("gesdd", job, m, n, stack, m, values, u, m, v, max(1, high), *work, *reals, steps), only_first=first
            ),
        )
    elif vectors:
        for square in (u, v):
            square[:] = np.eye(*square.shape[1:])
    return batch.matrices(u), batch.vectors(values), batch.matrices(v), info


def geev(a: Array, *, left: bool = False, right: bool = True) -> tuple[Array, Array, Array, Array]:
    """Eigenvalues, and the left and the right vectors as columns of length 1, all complex.

    Vectors that are not asked for are an array (..., n, 0). `info` k: it did not converge.

    Shapes:
        a (..., n, n) -> (..., n), (..., n, n), (..., n, n), (...)
    """
    batch, n = batch_of("geev", a), a.shape[-1]
    stack, sides = batch.stack(a), (left, right)
    values = _Values(batch, n)
    vectors = [batch.empty(n if side else 0, n) for side in sides]
    info = batch.info()
    if n:
        flags = [b"V" if side else b"N" for side in sides]
        reals = [Shared(np.empty(2 * n, batch.real))] if batch.is_complex else []
        places = [part for stack in vectors for part in (stack, n)]
        info = batch.with_work(
            [batch.dtype],
            lambda first, work: batch.each(
                *("geev", *flags, n, stack, n, *values.parts, *places, *work, *reals), only_first=first
            ),
        )
    matrices = [batch.matrices(values.vectors(x) if x.shape[1] else x.astype(values.dtype)) for x in vectors]
    return batch.vectors(values.value()), matrices[0], matrices[1], info


def gees(a: Array, *, vectors: bool = True) -> tuple[Array, Array, Array, Array]:
    """The Schur form T of a = Z T Zᴴ, the eigenvalues on its diagonal (complex), and Z.

    T of a real matrix is real, with blocks of two for complex pairs. Without `vectors` Z is an array (..., n, 0).
    `info` k: it did not converge.

    Shapes:
        a (..., n, n) -> (..., n, n), (..., n), (..., n, n), (...)
    """
    batch, n = batch_of("gees", a), a.shape[-1]
    stack, values, z = batch.stack(a), _Values(batch, n), batch.empty(n if vectors else 0, n)
    info = batch.info()
    if n:
        chosen, flags = Shared(np.empty(1, integer())), (b"V" if vectors else b"N", b"N")
        reals = [Shared(np.empty(n, batch.real))] if batch.is_complex else []
        info = batch.with_work(
            [batch.dtype],
            lambda first, work: batch.each(
                *("gees", *flags, None, n, stack, n, chosen, *values.parts, z, n, *work, *reals, None),
                only_first=first,
            ),
        )
    return batch.matrices(stack), batch.vectors(values.value()), batch.matrices(z), info


class _Values:
    """Eigenvalues of any matrix: complex, which LAPACK gives for real matrices as real and imaginary parts."""

    def __init__(self, batch: Batch, n: int) -> None:
        self.dtype = np.result_type(batch.dtype, np.complex64)
        self.parts = [batch.empty(n)] if batch.is_complex else [batch.empty(n), batch.empty(n)]

    def value(self) -> Array:
        """The eigenvalues as complex numbers."""
        if len(self.parts) == 1:
            return self.parts[0]
        real, imaginary = self.parts
        value = real.astype(self.dtype)
        value.imag = imaginary
        return value

    def vectors(self, stack: Array) -> Array:
        """Vectors as complex numbers: those of a complex pair come as their real part, then their imaginary part."""
        if len(self.parts) == 1:
            return stack
        z, imaginary = stack.astype(self.dtype), self.parts[1]
        first = imaginary > 0  # LAPACK has the value with the positive imaginary part first
        matrix, column = np.nonzero(first)
        z.imag[matrix, column] = stack[matrix, column + 1]
        z[matrix, column + 1] = z[matrix, column].conj()
        return z
