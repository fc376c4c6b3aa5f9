"""A round of a stage: elements are loaded, the steps run, and their results are stored and scattered.

A full block is written in versions, of which a round takes the one that fits: for positions that are all one, for
indices that need no wrapping, for divisors whose inverses need no scaling. Values are the same in all of them, but for
the order of what is summed.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, final

from tg.types.dtypes import is_complex
from tg_native.kernels.lanes import Lanes, Pair, in_all_lanes, parts
from tg_native.loops.ahead import read_before, rows_ahead
from tg_native.loops.divisors import inverses, unscaled
from tg_native.loops.pointwise import SHORT, is_worth_twice
from tg_native.loops.positions import is_near

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.types.lengths import Length
    from tg_native.kernels.index import Condition, Index, Pointer
    from tg_native.kernels.lanes import Elements
    from tg_native.kernels.routine import Block
    from tg_native.loops.divisors import Inverse
    from tg_native.loops.stages import StageWriter, Values

    Way = Callable[[Values, Block], list[Elements]]


@final
class Rounds:
    """Writer of the rounds of a stage along its innermost axis."""

    def __init__(self, stage: StageWriter, values: Values, single: Values, indices: Sequence[Index]) -> None:
        """With what is known of all elements, in lanes and as single ones, and the outer indices."""
        self.stage, self.kernel, self.body = stage, stage.kernel, stage.body
        self.known, self.single = values, single
        placed, is_scalar = stage.nest.placed, stage.nest.staging.is_scalar
        reads = {k: where for k in stage.inputs if (where := stage.read(k)) is not None and k in stage.varying}
        stores = {j: ("result", j) for j in stage.kept if ("result", j) in placed and not is_scalar(j)}
        self.shared = inverses(stage.late, values) if not stage.body.exact else {}
        is_short = is_worth_twice(self.body, stage.late, stage.program.dtypes)
        self._usual = unscaled(self.shared) if self.shared and is_short else None
        has_versions = stage.runs is not None or bool(stage.wrapped or stage.scattered)
        self.twice = is_short or (has_versions and len(stage.late) <= SHORT)
        """Whether full blocks have code of their own, which may be one of several versions."""

        def placed_at(where: tuple[str, int]) -> tuple[Pointer, int | Length]:
            place, stride = stage.pointer(where, indices), placed[where].inner[-1] if stage.axes else 0
            return (self.body.parts_at(place) if stage.interleaved else place), stride

        self.loads = {k: placed_at(where) for k, where in reads.items()}
        self.stores = {j: placed_at(where) for j, where in stores.items()}
        longest = stage.number == stage.nest.longest
        self.ahead = rows_ahead(stage.nest, read_before(stage.nest, stage.number), indices) if longest else []
        self.columns = {j: placed_at(("column", j)) for j in stage.columns}

    def write(self, block: Block) -> list[Elements]:
        """A round; what it gives for the folds of the stage."""
        values = self.loaded(block)
        for row in self.ahead:
            row.fetch(block)
        if block.inside is not None or not self.body.lanes:
            return self._each(values, block)
        if self._usual is None:
            return self._whole(values, block)
        is_usual, usual = self._usual
        return self._either(is_usual, functools.partial(self._usually, usual), self._each, values, block)

    def loaded(self, block: Block) -> Values:
        """Known values of a block when its elements are loaded."""
        values = dict(self.known)
        for k, (place, stride) in self.loads.items():
            values[k] = self.kernel.load(place, stride, block)
        return values

    # --- versions ----------------------------------------------------------------------------------------------------

    def _either(self, test: Condition, then: Way, otherwise: Way, values: Values, block: Block) -> list[Elements]:
        """A full block in one of two ways."""
        elements = self.body.either(
            test,
            lambda: parts(then(dict(values), block)),
            lambda: parts(otherwise(dict(values), block)),
        )
        left, dtypes = iter(elements), [self.stage.program.dtypes[self.stage.value_of(j)] for j in self.stage.folds]
        return [Pair(next(left), next(left)) if is_complex(d) else next(left) for d in dtypes]

    def _usually(self, usual: dict[int, Inverse], block_values: Values, block: Block) -> list[Elements]:
        """By inverses that need no scaling."""
        before, self.shared = self.shared, usual
        values = self._whole(block_values, block)
        self.shared = before
        return values

    def _whole(self, values: Values, block: Block) -> list[Elements]:
        runs = self.stage.runs
        if runs is None:
            return self._wrapped(values, block)
        return self._either(runs.are_one(values), self._run, self._wrapped, values, block)

    def _run(self, values: Values, block: Block) -> list[Elements]:
        """With one position for all elements."""
        assert self.stage.runs is not None
        self.stage.runs.run(values, self.single, self.shared)
        return self._finish(values, block)

    def _wrapped(self, values: Values, block: Block) -> list[Elements]:
        stage = self.stage
        if not stage.wrapped:
            return self._each(values, block)
        tests: list[Lanes] = []
        for node in stage.wrapped:
            index = values[node.inputs[0]]
            assert isinstance(index, Lanes)
            tests.append(is_near(index, in_all_lanes(stage.lasts[node.outputs[0]])))
        test = self.body.everywhere(functools.reduce(operator.and_, tests))
        return self._either(test, functools.partial(self._each, near=True), self._each, values, block)

    def _each(self, values: Values, block: Block, *, near: bool = False) -> list[Elements]:
        """With positions of their own for all elements."""
        stage = self.stage
        stage.run(stage.late, values, self.shared, near=near)
        for j, scattering in stage.scattered.items():
            place = stage.offset(scattering.base, stage.places(j), values)
            scattering.write(values[stage.value_of(j)], place, block.mask)
        return self._finish(values, block)

    def _finish(self, values: Mapping[int, Elements], block: Block) -> list[Elements]:
        """Store what is kept, and combine it with what the rows before gave."""
        for j, (place, stride) in self.stores.items():
            self.kernel.store(values[self.stage.kept[j]], place, stride, block)
        for j, (place, _) in self.columns.items():
            self.stage.columns[j].take(values[self.stage.value_of(j)], place, block)
        return [values[self.stage.value_of(j)] for j in self.stage.folds]
