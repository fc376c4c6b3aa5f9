"""Cholesky factors: row by row, or by LAPACK, to which the lower triangle of rows is the upper one of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg.ops.linalg import cholesky as t
from tg_native.fusion.registers import is_small
from tg_native.kernels.functions import sqrt
from tg_native.kernels.index import Condition, Index, index
from tg_native.kernels.lanes import Pair
from tg_native.matrices import unrolled
from tg_native.matrices.elements import (
    SMALL,
    any_of,
    at_most,
    by_size,
    conjugate,
    fill_nan,
    fold_elements,
    matrix_at,
    minus_product,
    numbers,
    over,
    real,
    take_lower,
)

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Lanes
    from tg_native.kernels.routine import Routine
    from tg_native.loops.kernel import Kernel
    from tg_native.loops.lapack import Lapack
    from tg_native.matrices.elements import Matrix
    from tg_native.plan.values import Value


def cholesky(op: t.Cholesky, site: Site) -> list[Value]:
    """The factor of each matrix, and the number of the minor that is not positive."""
    a = site.memory(site.inputs[0])
    n: int | Length = a.shape[-1]
    factor = site.allocate(0)
    info, result = numbers(site, 1)
    site.same(a.shape[-2], n)
    if type(n) is int and is_small([n]):
        batch = unrolled.Batch(site, a.dtype, a.shape[:-2])
        places = batch.kernel.read(site.contiguous(a)), batch.kernel.write(factor), batch.kernel.write(info)
        batch.write(lambda: unrolled.cholesky(batch, places[0], n, *places[1:]))
        return [factor, result()]
    kernel = site.kernel()
    source, target, report = kernel.read(a), kernel.write(factor), kernel.write(info)
    size = kernel.length(n)
    with kernel.loops(a.shape[:-2]) as outer:
        matrix, lower = matrix_at(kernel, a, source, outer), matrix_at(kernel, factor, target, outer)
        one = _Factor(kernel, size, matrix, lower, kernel.moved(report, outer, info.strides))
        one.copy()
        by_size(site, kernel.body, at_most(n, size, SMALL), one.by_rows, one.by_lapack)
    site.run(kernel)
    return [factor, result()]


@final
class _Factor:
    """The factor of one matrix in the making, in the memory that the lower triangle has been copied to."""

    def __init__(self, kernel: Kernel, n: Index, matrix: Matrix, lower: Matrix, report: Pointer) -> None:
        self.kernel, self.n, self.given, self.made, self.report = kernel, n, matrix, lower, report

    @property
    def body(self) -> Routine:
        return self.kernel.body

    def copy(self) -> None:
        """Take the lower triangle, and zeros for what is above it."""
        take_lower(self.given, self.made, self.n)

    def by_rows(self) -> None:
        """Row by row, each from those above it: sums of products along rows."""
        body, lower = self.body, self.made

        def row(i: Index, *last: Lanes) -> list[Lanes]:
            info, is_odd = map(Index, last)
            with body.loop(0, i) as j:
                left = fold_elements(
                    body,
                    0,
                    j,
                    lower.load(i, j),
                    lambda k, total: minus_product(total, lower.load(i, k), conjugate(lower.load(j, k))),
                )
                lower.store(over(left, real(lower.load(j, j))), i, j)

            def less(k: Index, total: Lanes) -> Lanes:
                x = lower.load(i, k)
                for part in x if isinstance(x, Pair) else (x,):
                    total = real(minus_product(total, part, part))
                return total

            pivot = real(fold_elements(body, 0, i, real(lower.load(i, i)), less))
            root = sqrt(pivot)
            lower.store(Pair(root, root.like(0)) if isinstance(lower.load(i, i), Pair) else root, i, i)
            fails = (info == 0) & Condition(pivot <= 0)
            return [fails.choose(i + 1, info).value, (~Condition(pivot > 0)).choose(1, is_odd).value]

        zero = index(body, 0).value
        info, is_odd = map(Index, body.fold(0, self.n, 1, [zero, zero], row))
        self._report(info, is_odd > 0)

    def by_lapack(self, lapack: Lapack) -> None:
        """By `potrf` of the transpose, whose factor is the transpose of this one."""
        lower, n = self.made, self.n
        info = lapack.call(self.kernel, "potrf", ["U", n, lower.place, n])
        is_nan = any_of(self.body, 0, n, lambda i: Condition(lower.load(i, i).is_nan()))
        self._report(info, (info != 0) | is_nan)

    def _report(self, info: Index, is_odd: Condition) -> None:
        """Write what was found: a factor without positive pivots is NaN, and so is one of which a NaN was read."""
        body, n = self.body, self.n

        def odd() -> list[Lanes]:
            def in_row(i: Index) -> Index:
                return any_of(body, 0, i + 1, lambda j: Condition(self.given.load(i, j).is_nan())).number()

            has_nan = any_of(body, 0, n, in_row)
            with body.when(has_nan | (info > 0)):
                fill_nan(self.made, n, lambda i: i + 1)
            return [has_nan.choose(0, info).value]

        (number,) = body.either(is_odd, odd, lambda: [index(body, 0).value])
        body.store(number.to("int32"), self.report)


RULES: Final[dict[object, Rule]] = {t.Cholesky: cholesky}
