"""Axes of windows of convolutions: which positions meet which elements of a kernel, and where these lie in memory.

Along an axis the element k of the kernel and the result p meet where q * spread = p * stride + k * dilation - before.
Where elements are spread, results whose numbers are equal modulo `phases` meet every `apart`-th element of the kernel:
they are a phase, a convolution of images that are not spread.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from tg.types import lengths
from tg.types.lengths import is_natural, same
from tg_native.kernels.index import Index, index
from tg_native.plan.values import is_one, is_zero

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.lengths import Length
    from tg_native.loops.kernel import Kernel

    Size = int | Length


class Axis(NamedTuple):
    """An axis of windows.

    Args:
        length: of the images.
        window: of the kernel.
        size: of the results.
        before: how many zeros there are before the images.
    """

    length: Size
    window: Size
    size: Size
    before: Size
    stride: int
    dilation: int
    spread: int

    @property
    def phases(self) -> int:
        """Number of results until they meet the same elements of the kernel again."""
        return self.spread // math.gcd(self.stride, self.spread)

    @property
    def apart(self) -> int:
        """Distance between the elements of the kernel that results of one phase meet."""
        return self.spread // math.gcd(self.dilation, self.spread)

    @property
    def step(self) -> int:
        """The distance of the windows of a phase."""
        return self.stride // math.gcd(self.stride, self.spread)

    @property
    def reach(self) -> int:
        """The distance of elements of a window of a phase."""
        return self.dilation // math.gcd(self.dilation, self.spread)

    @property
    def most_results(self) -> Size:
        """Number of results of the first phase, which has most."""
        return _ceiling(self.size, self.phases)

    @property
    def most_taps(self) -> Size:
        """Number of elements of the kernel that a phase may have."""
        return _ceiling(self.window, self.apart)

    @property
    def is_plain(self) -> bool:
        """Whether each result is the product of an element of the kernel and one of the images, in their order."""
        is_alone = is_one(self.window) and self.stride == 1 and self.spread == 1
        return is_alone and is_zero(self.before) and same(self.size, self.length)

    @property
    def is_inside(self) -> bool:
        """Whether windows are known to have no zeros around the images."""
        if self.spread > 1:
            return False
        reach = lengths.multiply(lengths.subtract(self.window, 1), self.dilation)
        low, high = (0, reach) if self.dilation > 0 else (reach, 0)
        last = lengths.add(lengths.multiply(lengths.subtract(self.size, 1), self.stride), high)
        first = lengths.subtract(low, self.before)
        beyond = lengths.subtract(lengths.subtract(self.length, 1), lengths.subtract(last, self.before))
        return is_natural(first) and is_natural(beyond)

    def room(self, *, apart: bool) -> Size:
        """Largest number of elements of an image that are held; `apart`: for each element of the kernel by itself."""
        results, taps = self.most_results, self.most_taps
        every = lengths.times(results, taps)
        if apart:
            return every
        span = lengths.multiply(lengths.maximum(lengths.subtract(results, 1), 0), self.step)
        span = lengths.add(span, lengths.multiply(lengths.maximum(lengths.subtract(taps, 1), 0), abs(self.reach)))
        return lengths.minimum(lengths.add(span, 1), every)


def _ceiling(n: Size, part: int) -> Size:
    return n if part == 1 else lengths.floor_divide(lengths.add(n, part - 1), part)


class Phase(NamedTuple):
    """The results of a phase along an axis, and what of the kernel and the images they meet.

    Args:
        result: the first result.
        tap: the first element of the kernel.
        results: how many there are.
        taps: how many elements of the kernel.
        place: the element of the images that the first ones meet; it may be outside.
        reach: the distance of elements of a window; it may be below 0.
    """

    axis: Axis
    result: Index
    tap: Index
    results: Index
    taps: Index
    place: Index
    reach: Index

    @classmethod
    def of(cls, kernel: Kernel, axis: Axis, number: int, result: Index) -> Phase:
        """The phase of a result along an axis of a number."""
        zero = index(kernel.body, 0)
        size, window, before, reach = (
            kernel.length(getattr(axis, name), (name, number)) for name in ("size", "window", "before", "reach")
        )
        if axis.spread == 1:
            return cls(axis, zero, zero, size, window, zero - before, reach)
        common, apart = math.gcd(axis.dilation, axis.spread), axis.apart
        offset = before - result * axis.stride  # that of taps times the dilation, modulo the spread
        rest = _modulo(offset, axis.spread)
        inverse = pow(axis.dilation // common, -1, apart)
        tap = _modulo((rest // common) * inverse, apart)
        taps = ((window - tap) + (apart - 1)) // apart
        if common > 1:
            taps = taps * (_modulo(rest, common) == 0).number()
        results = ((size - result) + (axis.phases - 1)) // axis.phases
        return cls(axis, result, tap, results, taps, (tap * axis.dilation - offset) // axis.spread, reach)


def _modulo(x: Index, n: int) -> Index:
    """The remainder that is not below 0."""
    rest = x - (x // n) * n
    return (rest < 0).choose(rest + n, rest)


class Held(NamedTuple):
    """Storage, along an axis, of the elements of an image that a phase meets: in rows of some, one after another.

    Args:
        place: the element that the first one of the first row is.
        rows: how many rows there are.
        columns: how many elements each has.
        row_step: how far rows are apart in the image.
        column_step: how far the elements of a row are.
        result_step: how far the elements that neighbouring results meet are, as they are held.
        tap_step: how far those are that neighbouring elements of the kernel meet.
        first: where the one is held that the first ones meet.
    """

    place: Index
    rows: Index
    columns: Index
    row_step: Index
    column_step: Index
    result_step: Index
    tap_step: Index
    first: Index

    @classmethod
    def of(cls, phase: Phase, *, apart: bool) -> Held:
        """One row of all from the first to the last, or a row for each element of the kernel if that is less."""
        axis, body = phase.axis, phase.place.body
        one, zero = index(body, 1), index(body, 0)
        every = phase.results * phase.taps
        if apart:
            return cls(
                phase.place, phase.taps, phase.results, phase.reach, index(body, axis.step),
                one, phase.results, zero,
            )  # fmt: skip
        reach = (phase.taps - 1).most(0) * phase.reach.most(zero - phase.reach)
        span = (phase.results - 1).most(0) * axis.step + reach + 1
        back = (phase.reach < 0).choose(reach, 0)
        is_less = every < span
        return cls(
            phase.place - is_less.choose(0, back),
            is_less.choose(phase.taps, 1),
            is_less.choose(phase.results, span),
            is_less.choose(phase.reach, 0),
            is_less.choose(axis.step, 1),
            is_less.choose(1, axis.step),
            is_less.choose(phase.results, phase.reach),
            is_less.choose(0, back),
        )

    @property
    def size(self) -> Index:
        """Number of elements that are held."""
        return self.rows * self.columns


def position(number: Index, sizes: Sequence[Index]) -> list[Index]:
    """The indices along axes of these lengths, of an element of a number."""
    indices: list[Index] = []
    for n in reversed(sizes):
        rest = number // n.most(1)
        indices.append(number - rest * n)
        number = rest
    return indices[::-1]
