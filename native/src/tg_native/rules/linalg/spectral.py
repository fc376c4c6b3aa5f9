"""Eigenvalues of Hermitian matrices and singular values, by LAPACK, to which all matrices are transposed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.linalg import spectral as t
from tg.types.dtypes import is_complex
from tg.types.lengths import add, maximum, minimum, multiply
from tg_native.kernels.dtypes import PARTS
from tg_native.matrices.elements import (
    conjugate,
    copy_rows,
    fill_nan,
    is_finite,
    matrix_at,
    number,
    numbers,
    take_lower,
)
from tg_native.matrices.iterations import BLOCK, attempt, fill_row_nan, total_of, transpose, work_memory

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Index, Pointer
    from tg_native.matrices.elements import Matrix


def eigh(op: t.Eigh, site: Site) -> Any:
    """Values and vectors of each matrix: of the conjugate, as LAPACK sees it, so vectors are conjugated."""
    a = site.memory(site.inputs[0])
    lapack = site.lapack(a.dtype)
    if lapack is None:
        return NotImplemented
    n = a.shape[-1]
    site.same(a.shape[-2], n)
    values, vectors = site.allocate(0), site.allocate(1)
    info, result = numbers(site, 2)
    square, some = multiply(n, n), multiply(n, BLOCK + 6)
    if is_complex(a.dtype):
        name = "heevd"
        rooms = [(a.dtype, total_of(square, some, 1)), (PARTS[a.dtype], total_of(square, square, some, 1))]
    else:
        name, rooms = "syevd", [(a.dtype, total_of(square, square, some, 1))]
    rooms.append(("int64", add(multiply(n, 5), 3)))
    kernel = site.kernel()
    source, target, row_at, report = kernel.read(a), kernel.write(vectors), kernel.write(values), kernel.write(info)
    work = [part for room in rooms for part in work_memory(site, kernel, *room)]
    size = kernel.length(n)
    with kernel.loops(a.shape[:-2]) as outer:
        matrix, basis = matrix_at(kernel, a, source, outer), matrix_at(kernel, vectors, target, outer)
        row = kernel.moved(row_at, outer, values.strides[:-1])
        take_lower(matrix, basis, size)

        def call(basis: Matrix = basis, row: Pointer = row) -> Index:
            code = lapack.call(kernel, name, ["V", "U", size, basis.place, size, row, *work])
            transpose(basis, size, conjugate)
            return code

        def spoil(basis: Matrix = basis, row: Pointer = row) -> None:
            fill_nan(basis, size, lambda _: size)
            fill_row_nan(kernel, values.dtype, row, size)

        place = kernel.moved(report, outer, info.strides)
        attempt(kernel, is_finite(basis, size, size).number() * size, call, spoil, place)
    site.run(kernel)
    return [values, vectors, result()]


def svd(op: t.SVD, site: Site) -> Any:
    """Values and vectors of each matrix: of the transpose the left ones are the right ones, row by row."""
    a = site.memory(site.inputs[0])
    lapack = site.lapack(a.dtype)
    if lapack is None:
        return NotImplemented
    m, n = a.shape[-2:]
    few, most = minimum(m, n), maximum(m, n)
    u, s, v = (site.allocate(k) for k in range(3))
    info, result = numbers(site, 3)
    square, beside = multiply(few, few), multiply(add(few, most), BLOCK + 8)
    if is_complex(a.dtype):
        reals = total_of(multiply(square, 7), multiply(multiply(few, most), 2), multiply(few, 6), 1)
        rooms = [(a.dtype, total_of(multiply(square, 2), beside, 1)), (PARTS[a.dtype], reals)]
    else:
        rooms = [(a.dtype, total_of(multiply(square, 4), beside, 1))]
    rooms.append(("int64", total_of(multiply(few, 8), 1)))
    rows = site.temporary(a.dtype, (m, n))
    kernel = site.kernel()
    source, place, report = kernel.read(a), kernel.write(rows), kernel.write(info)
    targets = [kernel.write(x) for x in (u, s, v)]
    memory = [work_memory(site, kernel, *room) for room in rooms]
    work: list[str | Index | Pointer] = [*memory[0], *(at for at, _ in memory[1:])]
    high, wide, least, across = (kernel.length(k) for k in (m, n, few, u.shape[-1]))
    with kernel.loops(a.shape[:-2]) as outer:
        matrix, packed = matrix_at(kernel, a, source, outer), matrix_at(kernel, rows, place, [])
        left, right = (matrix_at(kernel, x, p, outer) for x, p in zip((u, v), targets[::2], strict=True))
        row = kernel.moved(targets[1], outer, s.strides[:-1])
        copy_rows(matrix, packed, high, wide)

        def call(left: Matrix = left, right: Matrix = right, row: Pointer = row) -> Index:
            job = "A" if op.full_matrices else "S"
            vectors: list[str | Index | Pointer] = [right.place, wide, left.place, across]
            return lapack.call(kernel, "gesdd", [job, wide, high, place, wide, row, *vectors, *work])

        def spoil(left: Matrix = left, right: Matrix = right, row: Pointer = row) -> None:
            fill_nan(left, high, lambda _: across)
            fill_nan(right, kernel.length(v.shape[-2]), lambda _: wide)
            fill_row_nan(kernel, s.dtype, row, least)

        with kernel.body.when(least == 0):
            _identity(left, high, across)
            _identity(right, kernel.length(v.shape[-2]), wide)
        at = kernel.moved(report, outer, info.strides)
        attempt(kernel, is_finite(packed, high, wide).number() * least, call, spoil, at, least)
    site.run(kernel)
    return [u, s, v, result()]


def _identity(matrix: Matrix, rows: Index, columns: Index) -> None:
    body, dtype = matrix.kernel.body, matrix.array.dtype
    with body.loop(0, rows) as i:
        with body.loop(0, columns) as j:
            matrix.store(number(body, 0, dtype), i, j)
        with body.when(i < columns):
            matrix.store(number(body, 1, dtype), i, i)


RULES: Final[dict[object, Rule]] = {t.Eigh: eigh, t.SVD: svd}
