"""Sums of a stage that share what is summed, chunk by chunk (`tg_native.fusion.affine`).

A chunk has no more than `CHUNK` rounds, so the error of n terms is at most (CHUNK + log2(n)) · eps · Σ(|s · x| + |c|).
Nothing overflows, vanishes, cancels or hides by this that would not as it is written: a chunk whose sums are not of
ordinary size, which that of a NaN is not, or of which less than a `SHARE` of the c is left, is summed again as written.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, Final, final

from tg_native.fusion.affine import FLOAT, Affine, shared_sums
from tg_native.kernels.functions import fabs, fma
from tg_native.kernels.index import Condition
from tg_native.kernels.lanes import Lanes, constant, in_all_lanes
from tg_native.kernels.routine import Block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_native.fusion.affine import SharedSums
    from tg_native.kernels.index import Index
    from tg_native.loops.rounds import Rounds
    from tg_native.loops.stages import StageWriter

LARGEST: Final = 2.0**900
LEAST: Final = 2.0**-900  # of the sum of products whose factors were divided or multiplied as they are written
SHARE: Final = 2.0**-6  # of the sum of the shifts that must be left of a sum


def sums_of(way: Rounds) -> Sums | None:
    """The sums that a stage of nothing but sums shares; None if there is nothing to share."""
    stage = way.stage
    others = way.stores or stage.columns or stage.scattered or stage.wrapped or not stage.lanes
    if others or stage.body.exact or any(not fold.in_pairs or fold.dtype != FLOAT for fold in stage.folds.values()):
        return None
    single = {k: value for k, value in way.single.items() if isinstance(value, Lanes)}
    with stage.body.of(0):
        shared = shared_sums([stage.value_of(j) for j in stage.folds], stage.late, stage.program.dtypes, single)
        return None if shared is None else Sums(stage, way, shared)


@final
class Sums:
    """Sums of full rounds, and their use at the end of a chunk."""

    def __init__(self, stage: StageWriter, way: Rounds, shared: SharedSums) -> None:
        """Before all chunks, with single elements: whether scales and shifts are of ordinary size."""
        self.body, self.stage, self.way, self.shared = stage.body, stage, way, shared
        self.forms = [self._with_numbers(form) for form in shared.forms]
        usual: list[Lanes] = []
        for form in self.forms:
            usual += [fabs(number) < LARGEST for number in (form.scale, form.shift) if number is not None]
            if form.scale is not None:
                usual.append(fabs(form.scale) > LEAST)
        self.is_usual: Lanes | None = functools.reduce(operator.and_, usual) if usual else None

    def _with_numbers(self, form: Affine) -> Affine:
        """The form with numbers of the kernel, none of Python."""
        scale, shift = (
            x if x is None or isinstance(x, Lanes) else constant(self.body, x, FLOAT) for x in (form.scale, form.shift)
        )
        return Affine(form.factors, scale, shift)

    def summed(self, first: Index, end: Index, last: Sequence[Lanes]) -> tuple[Index, list[Lanes]]:
        """The full rounds between two indices; where other rounds begin, and with what.

        Args:
            last: the values that sums begin with.
        """
        body, lanes = self.body, self.body.lanes
        whole = (end - first) & -lanes
        stop = first + whole
        begin = [constant(body, 0, FLOAT) for _ in self.shared.summed]
        sums = body.fold(first, stop, lanes, begin, self._round)
        rounds = (whole // lanes).single(FLOAT)
        totals, holds = list[Lanes](), list[Lanes]()
        for form in self.forms:
            total, tests = self._total(form, sums[self.shared.summed.index(form.factors)], rounds)
            totals.append(total)
            texts = [test.text for test in holds]
            holds += [test for test in tests if test.text not in texts]
        conditions = [] if self.is_usual is None else [Condition(self.is_usual)]
        if holds:
            conditions.append(body.everywhere(functools.reduce(operator.and_, holds)))
        if not conditions:
            return stop, totals
        fine = functools.reduce(operator.and_, conditions)
        return fine.choose(stop, first), body.either(fine, lambda: totals, lambda: last)

    def _round(self, at: Index, *sums: Lanes) -> list[Lanes]:
        """The sums after a full round."""
        block_values = self.way.loaded(Block(at))
        self.stage.run(self.shared.nodes, block_values, self.way.shared)
        new_sums = []
        for factors, total in zip(self.shared.summed, sums, strict=True):
            values: list[Any] = [block_values[number] for number in factors]
            new_sums.append(fma(values[0], values[1], total) if len(values) > 1 else total + values[0])
        return new_sums

    def _total(self, form: Affine, value: Lanes, rounds: Lanes) -> tuple[Lanes, list[Lanes]]:
        """Value of a sum, and whether nothing overflowed, vanished or cancelled."""
        total, tests = value, []
        if form.shift is not None:
            with self.body.of(0):
                shift = form.shift * rounds
                least = fabs(shift) * SHARE
        if form.scale is not None:
            total = total * in_all_lanes(form.scale)
        if form.shift is not None:
            total = total + in_all_lanes(shift)
        if form.scale is not None or form.shift is not None:
            tests.append(fabs(value) < LARGEST)
        if form.regroups:
            tests.append(fabs(value) > LEAST)
        if form.shift is not None:
            tests.append(fabs(total) >= in_all_lanes(least))
        return total, tests
