"""QR factors by LAPACK, to which a matrix of rows is the transpose: whose LQ factors are the transposed ones.

Where there is no LAPACK they are made by loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.linalg import qr as t
from tg.types.dtypes import is_complex
from tg.types.lengths import maximum, minimum, multiply
from tg_native.kernels.index import Condition
from tg_native.matrices.elements import copy_rows, matrix_at, negative, number, real
from tg_native.matrices.iterations import BLOCK
from tg_native.matrices.reflections import Reflections

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Index
    from tg_native.matrices.elements import Matrix
    from tg_native.plan.values import Value


def qr(op: t.QR, site: Site) -> list[Value]:
    """Both factors of each matrix; the diagonal of R is not negative."""
    a = site.memory(site.inputs[0])
    lapack = site.lapack(a.dtype)
    m, n = a.shape[-2:]
    few = minimum(m, n)
    q, r = site.allocate(0), site.allocate(1)
    rows, factors = site.temporary(a.dtype, (m, n)), site.temporary(a.dtype, (few,))
    room = multiply(BLOCK, maximum(maximum(m, n), 1))
    work = None if lapack is None else site.temporary(a.dtype, (room,))
    kernel = site.kernel([a.dtype], 1, n) if lapack is None else site.kernel()
    source, *targets = kernel.read(a), kernel.write(q), kernel.write(r)
    place, scales = kernel.write(rows), kernel.write(factors)
    memory = None if work is None else kernel.write(work)
    body = kernel.body
    high, wide, least, across = (kernel.length(k) for k in (m, n, few, q.shape[-1]))
    with kernel.loops(a.shape[:-2]) as outer:
        matrix, packed = matrix_at(kernel, a, source, outer), matrix_at(kernel, rows, place, [])
        left, right = (matrix_at(kernel, v, p, outer) for v, p in zip((q, r), targets, strict=True))
        with body.of(0):
            copy_rows(matrix, packed, high, wide)
        if lapack is None or memory is None:
            reflections = Reflections(packed, scales, (high, wide, least))
            reflections.factorise()
            reflections.basis(left, across)
            with body.of(0):
                _upper(packed, right, least, across, wide)
        else:
            length, name = kernel.length(room), "unglq" if is_complex(a.dtype) else "orglq"
            with body.when(least > 0):
                lapack.call(kernel, "gelqf", [wide, high, place, wide, scales, memory, length])
            _upper(packed, right, least, across, wide)
            copy_rows(packed, left, high, least)
            with body.when(across > 0):
                lapack.call(kernel, name, [across, high, least, left.place, across, scales, memory, length])
        with body.of(0):
            _turn(left, right, (high, wide, least))
    site.run(kernel)
    return [q, r]


def _turn(left: Matrix, right: Matrix, sizes: tuple[Index, Index, Index]) -> None:
    """Change signs so that no number of the diagonal is negative."""
    body, (high, wide, least) = right.kernel.body, sizes
    with body.loop(0, least) as k, body.when(Condition(real(right.load(k, k)) < 0)):
        with body.loop(k, wide) as j:
            right.store(negative(right.load(k, j)), k, j)
        with body.loop(0, high) as i:
            left.store(negative(left.load(i, k)), i, k)


def _upper(packed: Matrix, right: Matrix, few: Index, rows: Index, columns: Index) -> None:
    """R: the upper triangle of what LAPACK gives, and zeros."""
    body = right.kernel.body
    zero = number(body, 0, right.array.dtype)
    with body.loop(0, rows) as i:
        with body.loop(0, i.least(columns)) as j:
            right.store(zero, i, j)
        with body.when(i < few), body.loop(i, columns) as j:
            right.store(packed.load(i, j), i, j)


RULES: Final[dict[object, Rule]] = {t.QR: qr}
