"""Results along the last axis as lanes, where there are few outer channels."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, final

from tg.ops.nn.convolved import LEAD
from tg.types import lengths
from tg.types.dtypes import is_complex
from tg_native.convolutions.epilogue import OUTER
from tg_native.convolutions.windows import Windows
from tg_native.kernels.index import index
from tg_native.kernels.lanes import parts
from tg_native.kernels.routine import Block
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_native.convolutions.axes import Axis, Phase
    from tg_native.convolutions.epilogue import Bound, Epilogue
    from tg_native.convolutions.windows import Sources
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Condition, Index, Pointer
    from tg_native.kernels.lanes import Elements, Lanes
    from tg_native.plan.values import Array

ABREAST: Final = 4  # vectors of results


@final
class Rows(Windows):
    """Results along the last axis are lanes, for one outer channel at a time."""

    has_lanes_of_channels = False

    def __init__(
        self, site: Site, arrays: tuple[Array, Array, Array], axes: Sequence[Axis], epilogue: Epilogue | None
    ) -> None:
        _x, *_, y = arrays
        self.apart = axes[-1] if axes[-1].step > 1 else None
        vectors = 1 if is_complex(y.dtype) else ABREAST
        super().__init__(site, arrays, axes, site.kernel([y.dtype], vectors, axes[-1].most_results), epilogue)
        self.stride = 1 if self.is_held else self.strides[0][-1]
        self.row = self.memory(y.dtype, self.lanes) if axes[-1].phases > 1 or not is_one(y.strides[-1]) else None

    def is_apart(self, axis: Axis) -> bool:
        return axis is self.apart

    def form(self) -> tuple[object, ...]:
        return (*super().form(), self.row is None)

    def add_block(self, phases: Sequence[Phase], sources: Sources, w: Pointer, y: Pointer, ends: Bound | None) -> None:
        kernel, taps = self.kernel, self.taps_of(phases, sources)
        strides, targets = self.strides[2], self.targets(phases)
        sizes = [sources.images, self.outer, *(phase.results for phase in phases[:-1])]
        with contextlib.ExitStack() as stack:
            image, outer, *at = (stack.enter_context(self.body.loop(0, n)) for n in sizes)
            x = sources.place.moved(image * sources.steps.image)
            y = kernel.moved(y, [sources.image + image, outer], [strides[0], strides[2]])
            for p, step, (first, apart) in zip(at, sources.steps.results, targets, strict=False):
                x, y = x.moved(p * step), y.moved(first + p * apart)
            y, w = y.moved(targets[-1][0]), kernel.moved(w, [outer], self.strides[1][1:2])
            at_row = ends
            if ends is not None:
                at_row = ends.moved(OUTER, outer)
                for span, p in zip(self.spans(phases, sources), [image, *at], strict=False):
                    at_row = at_row.moved(span.axis, span.first + p * span.step)
            self._row(phases[-1], sources, x, w, y, taps, at_row)

    def _row(
        self, phase: Phase, sources: Sources, x: Pointer, w: Pointer, y: Pointer, taps: Index, ends: Bound | None
    ) -> None:
        """The results along the last axis, and the epilogue on them: in registers where all its outputs are rows."""
        kernel, last = self.kernel, LEAD + len(self.axes) - 1
        in_registers = ends is not None and self.row is None and all(is_one(a.strides[last]) for a in ends.stores)

        def write(block: Block) -> None:
            value = self._sum(x, w, y, block, taps, sources.is_first).to(self.terms.dtype)
            if ends is None or not in_registers:
                self._store(value, y, block)
                return
            with self.body.when(sources.is_last):
                ends.store(value, last, block)
            with self.body.when(~sources.is_last):
                self._store(value, y, block)

        if self.row is None:
            kernel.blocks(phase.results, write, twice=True)
        else:
            with self.body.loop(0, phase.results, self.lanes) as first:
                write(kernel.some(first, phase.results))
        if ends is not None and not in_registers:
            strides = [lengths.multiply(a.strides[last], phase.axis.phases) for a in ends.arrays]
            with self.body.when(sources.is_last):
                ends.moved(last, phase.result).row(strides, phase.results)

    @property
    def _apart(self) -> int | Index:
        """Distance between results of a row."""
        return self.strides[2][-1] * self.axes[-1].phases

    def _sum(self, x: Pointer, w: Pointer, y: Pointer, block: Block, taps: Index, is_first: Condition) -> Elements:
        """The sums of a block of results, those of channels before among them."""
        body, terms = self.body, self.terms

        def step(tap: Index, *last: Lanes) -> list[Lanes]:
            element = self.kernel.load(x.moved(self.number(self.tap_places, tap)), self.stride, block)
            factor = terms.wide(body.load(w.moved(self.number(self.tap_weights, tap))))
            (total,) = terms.values(last)
            return parts([terms.fused(total, factor, terms.wide(element))])

        first = body.either(
            is_first,
            lambda: parts([terms.zero()]),
            lambda: parts([terms.wide(self.kernel.load(y, self._apart, block))]),
        )
        return terms.values(body.fold(0, taps, 1, first, step))[0]

    def _store(self, value: Elements, y: Pointer, block: Block) -> None:
        body = self.body
        if self.row is None:
            self.kernel.store(value, y, 1, block)
            return
        assert block.inside is not None
        body.store_row(value, self.row, Block(index(body, 0)))
        with body.of(0), body.loop(0, block.inside) as at:
            body.store(body.load(self.row.moved(at)), self.kernel.moved(y, [block.first + at], [self._apart]))
