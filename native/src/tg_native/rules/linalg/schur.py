"""Eigenvalues of any square matrix and Schur forms, by LAPACK, of a copy that has columns in rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.linalg import schur as t
from tg.types.dtypes import is_complex
from tg.types.lengths import add, multiply
from tg_native.kernels.dtypes import PARTS
from tg_native.kernels.index import Condition, Index, index
from tg_native.kernels.lanes import Lanes, Pair
from tg_native.matrices.elements import fill_nan, is_finite, matrix_at, numbers
from tg_native.matrices.iterations import BLOCK, attempt, fill_row_nan, transpose, work_memory

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Elements
    from tg_native.loops.kernel import Kernel
    from tg_native.matrices.elements import Matrix

    Arguments = list[str | Index | Pointer]


def eig(op: t.Eig, site: Site) -> Any:
    """Values and vectors of each matrix; those of real ones come by their parts."""
    a = site.memory(site.inputs[0])
    lapack = site.lapack(a.dtype)
    if lapack is None:
        return NotImplemented
    n = a.shape[-1]
    site.same(a.shape[-2], n)
    values, vectors = site.allocate(0), site.allocate(1)
    info, result = numbers(site, 2)
    columns, buffer = site.temporary(a.dtype, (n, n)), site.temporary(a.dtype, (n, n))
    kernel = site.kernel()
    source, row_at, target, report = kernel.read(a), kernel.write(values), kernel.write(vectors), kernel.write(info)
    copy, right = (matrix_at(kernel, v, kernel.write(v), []) for v in (columns, buffer))
    size, work = kernel.length(n), work_memory(site, kernel, a.dtype, add(multiply(n, BLOCK + 6), 1))
    reals = [
        kernel.write(site.temporary(PARTS.get(a.dtype, a.dtype), (multiply(n, 2),)))
        for _ in range(1 if is_complex(a.dtype) else 2)
    ]
    with kernel.loops(a.shape[:-2]) as outer:
        matrix, basis = matrix_at(kernel, a, source, outer), matrix_at(kernel, vectors, target, outer)
        row = kernel.moved(row_at, outer, values.strides[:-1])
        _take_columns(matrix, copy, size)

        def call(basis: Matrix = basis, row: Pointer = row) -> Index:
            first: Arguments = ["N", "V", size, copy.place, size]
            last: Arguments = [right.place, size, right.place, size, *work]
            if is_complex(a.dtype):
                code = lapack.call(kernel, "geev", [*first, row, *last, *reals])
                _pairs(kernel, right, basis, size)
                return code
            code = lapack.call(kernel, "geev", [*first, *reals, *last])
            _real_values(kernel, reals, row, size)
            _real_vectors(reals[1], right, basis, size)
            return code

        def spoil(basis: Matrix = basis, row: Pointer = row) -> None:
            fill_nan(basis, size, lambda _: size)
            fill_row_nan(kernel, values.dtype, row, size)

        place = kernel.moved(report, outer, info.strides)
        attempt(kernel, is_finite(copy, size, size).number() * size, call, spoil, place, size)
    site.run(kernel)
    return [values, vectors, result()]


def schur(op: t.Schur, site: Site) -> Any:
    """The form and the vectors of each matrix."""
    a = site.memory(site.inputs[0])
    lapack = site.lapack(a.dtype)
    if lapack is None:
        return NotImplemented
    n = a.shape[-1]
    site.same(a.shape[-2], n)
    form, vectors = site.allocate(0), site.allocate(1)
    info, result = numbers(site, 2)
    kernel = site.kernel()
    source, targets, report = kernel.read(a), [kernel.write(v) for v in (form, vectors)], kernel.write(info)
    size, work = kernel.length(n), work_memory(site, kernel, a.dtype, add(multiply(n, BLOCK + 6), 1))
    values = [kernel.write(site.temporary(a.dtype, (n,))) for _ in range(1 if is_complex(a.dtype) else 2)]
    reals = [kernel.write(site.temporary(PARTS[a.dtype], (n,)))] if is_complex(a.dtype) else []
    with kernel.loops(a.shape[:-2]) as outer:
        operand = matrix_at(kernel, a, source, outer)
        upper, turned = (matrix_at(kernel, v, p, outer) for v, p in zip((form, vectors), targets, strict=True))
        _take_columns(operand, upper, size)

        def call(upper: Matrix = upper, turned: Matrix = turned) -> Index:
            sizes: Arguments = [size, upper.place, size, index(kernel.body, 0)]
            code = lapack.call(kernel, "gees", ["V", "N", *sizes, *values, turned.place, size, *work, *reals])
            for matrix in (upper, turned):
                transpose(matrix, size, lambda x: x)
            return code

        def spoil(upper: Matrix = upper, turned: Matrix = turned) -> None:
            for matrix in (upper, turned):
                fill_nan(matrix, size, lambda _: size)

        place = kernel.moved(report, outer, info.strides)
        attempt(kernel, is_finite(upper, size, size).number() * size, call, spoil, place, size)
    site.run(kernel)
    return [form, vectors, result()]


def _take_columns(source: Matrix, target: Matrix, n: Index) -> None:
    """Copy columns to rows."""
    body = target.kernel.body
    with body.loop(0, n) as i, body.loop(0, n) as j:
        target.store(source.load(i, j), j, i)


def _pairs(kernel: Kernel, right: Matrix, target: Matrix, n: Index) -> None:
    """Take columns that are in rows."""
    with kernel.body.loop(0, n) as i, kernel.body.loop(0, n) as j:
        target.store(right.load(j, i), i, j)


def _real_values(kernel: Kernel, parts: list[Pointer], row: Pointer, n: Index) -> None:
    """Complex numbers of their real and their imaginary parts."""
    body = kernel.body
    with body.loop(0, n) as k:
        real, imag = (_one(body.load(part.moved(k))) for part in parts)
        body.store(Pair(real, imag), row.moved(k))


def _real_vectors(imaginary: Pointer, right: Matrix, target: Matrix, n: Index) -> None:
    """The vectors of real values are real; of a pair there are the real part of the first, then its imaginary part."""
    body = target.kernel.body
    with body.loop(0, n) as j:
        part = _one(body.load(imaginary.moved(j)))
        is_first, is_second = Condition(part > 0), Condition(part < 0)
        start, other = is_second.choose(j - 1, j), is_first.choose(j + 1, j)
        with body.loop(0, n) as i:
            real, imag = _one(right.load(start, i)), _one(right.load(other, i))
            sign = (part > 0).to(part.dtype) - (part < 0).to(part.dtype)
            target.store(Pair(real, imag * sign), i, j)


def _one(x: Elements) -> Lanes:
    assert isinstance(x, Lanes)
    return x


RULES: Final[dict[object, Rule]] = {t.Eig: eig, t.Schur: schur}
