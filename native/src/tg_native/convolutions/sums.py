"""Elements of the kernel along its last axis as lanes, where it is long: gradients of kernels of single channels."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, final

from tg.types.dtypes import is_complex
from tg_native.convolutions.windows import Windows
from tg_native.kernels.index import index
from tg_native.kernels.lanes import parts, select
from tg_native.kernels.routine import Block
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_native.convolutions.axes import Axis, Phase
    from tg_native.convolutions.epilogue import Bound
    from tg_native.convolutions.windows import Sources
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Condition, Index, Pointer
    from tg_native.kernels.lanes import Elements, Lanes
    from tg_native.plan.values import Array

ABREAST: Final = 4  # results for which the kernel is read once
MOST: Final = 16  # results along the last axis


def suits(w: Array, axis: Axis) -> bool:
    """Whether the last axis is known to have few results and more elements of the kernel, which meet neighbours."""
    size, window = axis.size, axis.window
    if type(size) is not int or type(window) is not int or axis.reach != 1 or not is_one(w.strides[-1]):
        return False
    return axis.spread == 1 and 0 < size < min(window, MOST) and (size - 1) * axis.step + window <= size * window


@final
class Sums(Windows):
    """For each result the sums of all lanes, which are added up in the end."""

    has_lanes_of_channels = False

    def __init__(self, site: Site, arrays: tuple[Array, Array, Array], axes: Sequence[Axis]) -> None:
        _x, *_, y = arrays
        vectors = 1 if is_complex(y.dtype) else 2
        super().__init__(site, arrays, axes, site.kernel([y.dtype], vectors, axes[-1].window))
        self.stride = 1 if self.is_held else self.strides[0][-1]

    def is_apart(self, axis: Axis) -> bool:
        return False

    def form(self) -> tuple[object, ...]:
        return (*super().form(), self.axes[-1].size)

    def add_block(self, phases: Sequence[Phase], sources: Sources, w: Pointer, y: Pointer, ends: Bound | None) -> None:
        kernel, strides = self.kernel, self.strides
        sizes = [sources.images, self.outer, *(phase.results for phase in phases[:-1])]
        rows, taps = self.product([sources.channels, *(phase.taps for phase in phases[:-1])]), phases[-1].taps
        with contextlib.ExitStack() as stack:
            image, outer, *at = (stack.enter_context(self.body.loop(0, n)) for n in sizes)
            x = sources.place.moved(image * sources.steps.image)
            y = kernel.moved(y, [sources.image + image, outer], [strides[2][0], strides[2][2]])
            w = kernel.moved(w, [outer], strides[1][1:2])
            for p, step, (_, apart) in zip(at, sources.steps.results, self.targets(phases), strict=False):
                x, y = x.moved(p * step), y.moved(p * apart)
            size = self.axes[-1].size
            assert type(size) is int
            for first in range(0, size, ABREAST):
                some = [index(self.body, k) for k in range(first, min(first + ABREAST, size))]
                totals = self._sums([x.moved(p * sources.steps.results[-1]) for p in some], w, rows, taps)
                targets = [kernel.moved(y, [p], strides[2][-1:]) for p in some]
                self._store(totals, targets, sources.is_first)

    def _sums(self, places: Sequence[Pointer], w: Pointer, rows: Index, taps: Index) -> list[Elements]:
        """The sums of some results, from all rows of the kernel."""
        body, kernel, terms = self.body, self.kernel, self.terms

        def row(number: Index, *last: Lanes) -> list[Lanes]:
            offset, weight = (self.number(v, number * taps) for v in (self.tap_places, self.tap_weights))

            def taken(block: Block, *last: Lanes) -> list[Lanes]:
                factor = terms.wide(kernel.load(w.moved(weight), 1, block))
                totals, mask = terms.values(last), block.mask
                for k, place in enumerate(places):
                    element = terms.wide(kernel.load(place.moved(offset), self.stride, block))
                    more = terms.fused(totals[k], factor, element)
                    totals[k] = more if mask is None else select(mask, more, totals[k])
                return parts(totals)

            whole = taps & -self.lanes
            sums = body.fold(0, whole, self.lanes, last, lambda at, *so_far: taken(Block(at), *so_far))
            return body.fold(
                whole, taps, self.lanes, sums, lambda at, *so_far: taken(kernel.partial(at, taps), *so_far)
            )

        return terms.values(body.fold(0, rows, 1, parts([terms.zero()] * len(places)), row))

    def _store(self, totals: Sequence[Elements], targets: Sequence[Pointer], is_first: Condition) -> None:
        """Write the sums of the lanes of each, or add them to those of other channels."""
        body, terms = self.body, self.terms
        for total, target in zip(totals, targets, strict=True):
            value = terms.across(total)
            with body.of(0):
                with body.when(is_first):
                    body.store(value.to(terms.dtype), target)
                with body.when(~is_first):
                    body.store(terms.sum(value, terms.wide(body.load(target))).to(terms.dtype), target)
