"""Cases of `ops/nn/pooling`: windows of every kind, equal elements, NaN, and windows that reach beyond the ends.

The oracle takes the parts of images one by one.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import InputError, ShapeError
from tg.ops.nn.pooling import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

VIEWS: Final = ("C", "reversed")
DTYPES: Final = ("float16", "float32", "float64", "int32", "uint8")
FLOATS: Final = ("float32", "float64")


def parts(
    x: Any, window: int, stride: int, padding: int = 0, dilation: int = 1, *, ceil: bool = False
) -> Iterator[tuple[tuple[int, ...], Any, int]]:
    """For each window its place, its elements as the last axes, and how many entries it has with the padding."""
    lengths, span = x.shape[2:], (window - 1) * dilation
    sizes = []
    for n in lengths:
        room = n + 2 * padding - span - 1
        size = (room + (stride - 1) * ceil) // stride + 1
        sizes.append(size - (ceil and (size - 1) * stride >= n + padding))
    for place in itertools.product(*map(range, sizes)):
        chosen, entries = [], 1
        for p, n in zip(place, lengths, strict=True):
            first = p * stride - padding
            chosen.append([q for q in range(first, first + span + 1, dilation) if 0 <= q < n])
            entries *= min(first + window, n + padding) - first
        yield place, x[(slice(None), slice(None), *np.ix_(*chosen))], entries


def pooled(x: Any, fn: Callable[[Any, int], Any], *args: Any, **options: Any) -> Any:
    """A function of the elements of each window and how many entries it has."""
    by_place = {place: fn(one, entries) for place, one, entries in parts(x, *args, **options)}
    sizes = [n + 1 for n in max(by_place)]
    first = next(iter(by_place.values()))
    y = np.zeros((*x.shape[:2], *sizes), first.dtype)
    for place, value in by_place.items():
        at: Any = (slice(None), slice(None), *place)
        y[at] = value
    return y


def axes_of(x: Any) -> tuple[int, ...]:
    """The axes of windows."""
    return tuple(range(2, x.ndim))


def largest(x: Any, *args: Any, **options: Any) -> Any:
    """The largest of each window."""
    return pooled(x, lambda one, entries: one.max(axes_of(one)), *args, **options)


def mean(x: Any, *args: Any, **options: Any) -> Any:
    """The mean of each window, zeros of the padding among its entries."""
    return pooled(x, lambda one, entries: one.sum(axes_of(one)) / entries, *args, **options)


def inner_mean(x: Any, *args: Any, **options: Any) -> Any:
    """The mean of the elements of each window."""
    return pooled(x, lambda one, entries: one.mean(axes_of(one)), *args, **options)


WINDOWS: Final[tuple[tuple[int, int, int, int, bool], ...]] = (
    (2, 2, 0, 1, False),
    (3, 2, 1, 1, False),
    (3, 1, 1, 1, False),
    (2, 2, 1, 1, True),
    (2, 3, 0, 2, True),
)
SHAPES: Final = {1: (2, 2, 7), 2: (1, 2, 5, 6), 3: (1, 1, 4, 3, 4)}


def windows() -> Iterator[Case]:
    """The largest and the mean of each, over one to three axes."""
    for axes, (window, stride, padding, dilation, ceil) in itertools.product((1, 2, 3), WINDOWS):
        if axes != 2 and (padding, ceil) != (1, False):
            continue
        args = (window, stride, padding, dilation)
        name = f"{axes}d window {window} stride {stride} padding {padding} dilation {dilation}{' ceil' * ceil}"
        dtypes = DTYPES if axes == 2 and stride == 2 and not ceil else ("float64",)
        fn, average = getattr(tg.nn, f"max_pool{axes}d"), getattr(tg.nn, f"avg_pool{axes}d")
        yield Case(
            lambda x, fn=fn, args=args, ceil=ceil: fn(x, *args, ceil_mode=ceil),
            [any_dtype(*SHAPES[axes])],
            name=f"max_pool{name}",
            dtypes=dtypes,
            layouts=VIEWS,
            oracle=lambda x, args=args, ceil=ceil: largest(x, *args, ceil=ceil),
            accuracy=0,
            gradient=True,
        )
        if dilation == 1:
            yield Case(
                lambda x, fn=average, args=args, ceil=ceil: fn(x, *args[:3], ceil_mode=ceil),
                [f64(*SHAPES[axes])],
                name=f"avg_pool{name}",
                layouts=VIEWS,
                oracle=lambda x, args=args, ceil=ceil: mean(x, *args[:3], ceil=ceil),
                condition=lambda x, args=args, ceil=ceil: 8 * mean(abs(x), *args[:3], ceil=ceil),
                accuracy=1,
                gradient=True,
            )


def adaptive(x: Any, size: int, fn: Any) -> Any:
    """A function of parts that begin at i n / size rounded down and end at (i + 1) n / size rounded up."""
    lengths = x.shape[2:]
    y = np.zeros((*x.shape[:2], *(size for _ in lengths)), x.dtype)
    for place in itertools.product(range(size), repeat=len(lengths)):
        cut = tuple(slice(i * n // size, -(-(i + 1) * n // size)) for i, n in zip(place, lengths, strict=True))
        at: Any = (slice(None), slice(None), *place)
        y[at] = fn(x[(slice(None), slice(None), *cut)], axis=axes_of(x))
    return y


def adaptives() -> Iterator[Case]:
    """Parts that overlap, one part, and more parts than elements."""
    for size in (1, 3, 7):
        yield Case(
            lambda x, size=size: (tg.nn.adaptive_avg_pool2d(x, size), tg.nn.adaptive_max_pool2d(x, size)),
            [f64(1, 2, 5, 4)],
            name=f"adaptive pools of size {size}",
            layouts=VIEWS,
            oracle=lambda x, size=size: (adaptive(x, size, np.mean), adaptive(x, size, np.max)),
            condition=lambda x, size=size: (8 * adaptive(abs(x), size, np.mean), adaptive(abs(x), size, np.max)),
            accuracy=1,
            gradient=True,
        )


EQUAL: Final = [[[[1.0, 3, 3, 0], [3, 3, 0, 0], [-np.inf, -np.inf, np.nan, 7], [-np.inf, -np.inf, 7, np.nan]]]]


def places(x: Any) -> Sequence[Any]:
    """The largest of each quarter, and the number of the first that is it."""
    return (
        np.array([[[[3.0, 3.0], [-np.inf, np.nan]]]]),
        np.array([[[[1, 2], [8, 10]]]]),
    )


WRITTEN: Final = (
    Case(
        lambda x: tg.nn.max_pool2d(x, 2, return_indices=True),
        [fixed(EQUAL, "float64")],
        name="max_pool2d of equal elements, infinities and NaN",
        oracle=places,
    ),
    Case(
        lambda x: tg.nn.max_pool1d(x, 3, 1, return_indices=True),
        [fixed([[[np.nan, 2, np.nan, np.nan, np.inf, np.nan]]], "float64")],
        name="max_pool1d of several NaN",
        oracle=lambda x: (np.full((1, 1, 4), np.nan), np.array([[[0, 2, 2, 3]]])),
    ),
    Case(
        lambda x: tg.nn.max_pool3d(x, 2, 1, 1, return_indices=True),
        [fixed([[[[[1.0, np.nan], [np.nan, 3]]]]], "float32")],
        name="max_pool3d of several NaN, and padding",
        oracle=lambda x: (
            np.tile(np.array([[1.0, np.nan, np.nan], [np.nan] * 3, [np.nan, np.nan, 3]], np.float32), (1, 1, 2, 1, 1)),
            np.tile([[0, 1, 1], [2, 1, 1], [2, 2, 3]], (1, 1, 2, 1, 1)),
        ),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.nn.max_pool2d(x, 2) * tg.arange(4.0).reshape((2, 2))), x),
        [fixed(np.zeros((1, 1, 4, 4)), "float64")],
        name="max_pool2d of equal elements: the first has the gradient",
        oracle=lambda x: np.array([[[[0.0, 0, 1, 0], [0, 0, 0, 0], [2, 0, 3, 0], [0, 0, 0, 0]]]]),
    ),
    Case(
        lambda x: tg.nn.avg_pool2d(x, 3, 2, 1, count_include_pad=False, layout="NHWC"),
        [any_dtype(1, 5, 6, 2)],
        name="avg_pool2d of elements alone, channels behind",
        dtypes=FLOATS,
        oracle=lambda x: np.moveaxis(inner_mean(np.moveaxis(x, -1, 1), 3, 2, 1), 1, -1),
        condition=lambda x: 8 * np.moveaxis(inner_mean(np.moveaxis(abs(x), -1, 1), 3, 2, 1), 1, -1),
        accuracy=1,
        gradient=True,
    ),
    Case(
        lambda x: tg.nn.lp_pool1d(x, 2.0, 2),
        [f64(2, 2, 6)],
        name="lp_pool1d",
        oracle=lambda x: pooled(x, lambda one, entries: np.sqrt((one**2).sum(2)), 2, 2),
        condition=lambda x: pooled(x, lambda one, entries: 4 * np.sqrt((one**2).sum(2)), 2, 2),
        accuracy=1,
        gradient=True,
    ),
    Case(lambda x: tg.nn.max_pool2d(x, 3), [f64(1, 1, 2, 4)], name="max_pool2d of a larger window", raises=ShapeError),
    Case(
        lambda x: tg.nn.max_pool2d(x, 2, padding=2), [f64(1, 1, 4, 4)], name="max_pool2d of padding", raises=InputError
    ),
    Case(lambda x: tg.nn.avg_pool2d(x, 2), [f64(4, 4)], name="avg_pool2d of a matrix", raises=ShapeError),
)

CASES: Final = of_family(FAMILY.path, windows(), adaptives(), WRITTEN)
