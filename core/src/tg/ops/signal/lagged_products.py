"""Convolution and correlation of two arrays along all axes: directly, and by Fourier transforms.

Entry j of the full result is the sum of products in which the second array, turned round or not, has come j steps on
from where both first meet. A mode says where a result begins in the full one, and how many entries it has.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.errors import DtypeError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Variable, as_size_variable, size_value
from tg.ops.assumptions import required
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater, greater_equal, logical_and, logical_or, not_equal
from tg.ops.elementwise.complex import conjugate
from tg.ops.elementwise.exponential import log2
from tg.ops.elementwise.rounding import rint
from tg.ops.indexing import flip, read_slices, take
from tg.ops.iteration import cond
from tg.ops.nn.convolved import LEAD, convolution
from tg.ops.shape import reshape
from tg.ops.sorting import searchsorted
from tg.ops.transforms import fftn, ifftn, irfftn, rfftn
from tg.types.dtypes import in_float32, is_complex, is_float, is_integer
from tg.types.lengths import Length, add, product, same
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable, constant, promoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    Size = int | Length

MODES: Final = ("full", "same", "valid")
METHODS: Final = ("auto", "direct", "fft")
TRANSFORMS: Final = 24.0
"""Products that three transforms cost for each point and doubling of points: 0.13 ns a product and 1 ns a transform on
C, float64, between 1,000 and 100,000 points (the direct form and `np.fft` measured beside each other)."""
LONGEST: Final = 2**40


class Part(NamedTuple):
    """Part of the full result along an axis: where it begins, and how many entries it has."""

    start: Size
    size: Size


def smooth_numbers(limit: int) -> list[int]:
    """All numbers up to a limit whose prime factors are 2, 3 and 5, ascending."""
    numbers = []
    fives = 1
    while fives <= limit:
        threes = fives
        while threes <= limit:
            numbers += [threes << k for k in range((limit // threes).bit_length())]
            threes *= 3
        fives *= 5
    return sorted(numbers)


def fast_length(n: Size) -> Size:
    """The least number of points from n on whose prime factors are 2, 3 and 5."""
    if type(n) is int:
        return next(v for v in smooth_numbers(2 * max(n, 1)) if v >= n)
    table = constant(np.array(smooth_numbers(LONGEST), "int64"))
    value = take(table, searchsorted(table, as_size_variable(n)), mode="clip")
    return size_value(value)


def operands_of(what: str, x: Any, w: Any) -> tuple[Variable, Variable, str]:
    """Both arrays in one dtype, and that dtype; truth values as integers.

    Raises:
        ShapeError: ranks that differ, or an array without entries.
    """
    (x, w), dtype = promoted([as_variable(x), as_variable(w)])
    if x.type.ndim != w.type.ndim:
        raise ShapeError(message(f"{what}: ranks differ: found {x.type} and {w.type}, needed as many axes"))
    work = "int64" if dtype == "bool" else dtype
    return _with_entries(what, cast_variable(x, work)), _with_entries(what, cast_variable(w, work)), dtype


def _with_entries(what: str, v: Variable) -> Variable:
    failure = Descriptor("ShapeError", f"{what}: found an axis of {{0}} entries, needed at least 1")
    for n in v.shape:
        size = as_size_variable(n)
        v = required(v, greater_equal(size, 1), (size,), failure)
    return v


def in_dtype(y: Variable, dtype: str) -> Variable:
    """A result in the dtype of the operands: of truth values whether any product is."""
    return not_equal(y, 0) if dtype == "bool" else cast_variable(y, dtype)


def full_length(n: Size, m: Size) -> Size:
    """The number of places at which two arrays meet."""
    return subtract_lengths(add(n, m), 1)


def direct(x: Variable, w: Variable, parts: Sequence[Part], *, turned: bool) -> Variable:
    """Sums of products, as a convolution of one image with one kernel, which is `turned` round or conjugated."""
    if not x.type.ndim:
        return multiply(x, w if turned else conjugate(w))
    axes = x.type.ndim
    lead = (1,) * LEAD
    if turned:
        before: list[Size] = [subtract_lengths(0, part.start) for part in parts]
    else:
        before = [subtract_lengths(subtract_lengths(m, 1), part.start) for m, part in zip(w.shape, parts, strict=True)]
        w = conjugate(w) if is_complex(w.type.dtype) else w
    step = -1 if turned else 1
    y = convolution(
        reshape(x, (*lead, *x.shape)), reshape(w, (*lead, *w.shape)),
        (1,) * axes, (step,) * axes, (1,) * axes, before, [part.size for part in parts],
    )  # fmt: skip
    return reshape(y, tuple(part.size for part in parts))


def by_transforms(
    x: Variable, w: Variable, parts: Sequence[Part], *, turned: bool, axes: Sequence[int] | None = None
) -> Variable:
    """The product of transforms of a fast length, transformed back; integers are rounded to the nearest.

    Args:
        axes: those to transform, counted from the end, one for each part; all by default. The others are those of
            batches, which broadcast.
    """
    dtype = x.type.dtype
    axes = range(-x.type.ndim, 0) if axes is None else axes
    if not turned:
        w = conjugate(flip(w, tuple(axes))) if is_complex(dtype) else flip(w, tuple(axes))
    work = dtype if is_complex(dtype) else in_float32(dtype) if is_float(dtype) else "float64"
    x, w = cast_variable(x, work), cast_variable(w, work)
    points = [fast_length(full_length(x.shape[k], w.shape[k])) for k in axes]
    forth, back = (fftn, ifftn) if is_complex(dtype) else (rfftn, irfftn)
    y = back(multiply(forth(x, points, axes), forth(w, points, axes)), points, axes) if parts else multiply(x, w)
    windows = {k: (part.start, part.size, 1) for k, part in zip(axes, parts, strict=True)}
    y = read_slices(y, [windows.get(k, (0, y.shape[k], 1)) for k in range(-y.type.ndim, 0)])
    return cast_variable(rint(y) if is_integer(dtype) else y, dtype)


def by_cost(x: Variable, w: Variable, parts: Sequence[Part], *, turned: bool) -> Variable:
    """Sums of products, or transforms where these have fewer operations; lengths may decide it when a program runs."""
    if is_integer(x.type.dtype) or not x.type.ndim:
        return direct(x, w, parts, turned=turned)
    products = product((*(part.size for part in parts), *w.shape))
    points = product(tuple(full_length(n, m) for n, m in zip(x.shape, w.shape, strict=True)))
    if type(products) is int and type(points) is int:
        way = by_transforms if products > TRANSFORMS * points * math.log2(points + 1) else direct
        return way(x, w, parts, turned=turned)
    count, size = (cast_variable(as_size_variable(n), "float64") for n in (products, points))
    cost = multiply(multiply(size, log2(size + 1.0)), TRANSFORMS)
    ways = (lambda: by_transforms(x, w, parts, turned=turned), lambda: direct(x, w, parts, turned=turned))
    return cond(greater(count, cost), *ways)


WAYS: Final = {"auto": by_cost, "direct": direct, "fft": by_transforms}


def ordered(what: str, x: Variable, w: Variable) -> Variable:
    """x, of which it is required that one array is at least as long as the other along every axis."""
    pairs = list(zip(x.shape, w.shape, strict=True))
    text = f"{what}: mode 'valid': found {x.type} and {w.type}, needed one at least as long as the other along all axes"
    if all(type(n) is int and type(m) is int for n, m in pairs):
        if not (all(n >= m for n, m in pairs) or all(n <= m for n, m in pairs)):
            raise ShapeError(message(text))
        return x
    if len(pairs) < 2 or all(same(n, m) for n, m in pairs[1:]):
        return x
    longer: Variable = constant(True)
    shorter: Variable = constant(True)
    for n, m in pairs:
        a, b = as_size_variable(n), as_size_variable(m)
        longer, shorter = logical_and(longer, greater_equal(a, b)), logical_and(shorter, greater_equal(b, a))
    return required(x, logical_or(longer, shorter), (), Descriptor("ShapeError", text))


def need_real(what: str, v: Variable) -> Variable:
    """The array itself.

    Raises:
        DtypeError: it is complex.
    """
    if is_complex(v.type.dtype):
        raise DtypeError(message(f"{what}: found {v.type}, needed real numbers"))
    return v
