"""Cases of `ops/nn/convolution`: every stride, padding, dilation and number of groups, and what does not fit.

The oracle adds up strided slices, one for each position of the window.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import DtypeError, InputError, ShapeError
from tg.ops.nn.convolution import FAMILY
from tg.plugin.case import SAME_SHAPE, Case, Input, any_dtype, f32, f64
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

DTYPES: Final = ("float16", "float32", "float64", "complex64", "complex128", "int32", "int64", "uint8")
FLOATS: Final = ("float32", "float64")
LENGTHS: Final = {1: (7,), 2: (5, 4), 3: (3, 4, 3)}
KERNELS: Final = {1: (3,), 2: (3, 2), 3: (2, 1, 2)}
VIEWS: Final = ("C", "reversed")  # of all layouts those that differ most, where cases are many


def wide(x: Any) -> Any:
    """Numbers in which sums of halves are rounded no more."""
    return x.astype(np.float64) if x.dtype == np.float16 else x


def each(value: Any, axes: int) -> tuple[Any, ...]:
    """One for each axis."""
    return tuple(value) if isinstance(value, tuple) else (value,) * axes


def convolved(
    x: Any, w: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """A convolution as a sum of strided slices of padded images."""
    axes = x.ndim - 2
    s, d = each(stride, axes), each(dilation, axes)
    spans = [(k - 1) * e for k, e in zip(w.shape[2:], d, strict=True)]
    pairs = (
        [(0, 0)] * axes if padding == "valid" else [p if isinstance(p, tuple) else (p, p) for p in each(padding, axes)]
    )
    if padding == "same":
        pairs = [(n // 2, n - n // 2) for n in spans]
    full = np.pad(wide(x), ((0, 0), (0, 0), *pairs))
    sizes = [(n - span - 1) // t + 1 for n, span, t in zip(full.shape[2:], spans, s, strict=True)]
    outer, inner = w.shape[0] // groups, w.shape[1]
    parts = []
    for g in range(groups):
        total = np.zeros((x.shape[0], outer, *sizes), full.dtype)
        for place in itertools.product(*map(range, w.shape[2:])):
            cut = tuple(slice(k * e, k * e + (n - 1) * t + 1, t) for k, e, n, t in zip(place, d, sizes, s, strict=True))
            taken = full[(slice(None), slice(g * inner, (g + 1) * inner), *cut)]
            part = wide(w)[(slice(g * outer, (g + 1) * outer), slice(None), *place)]
            total = total + np.moveaxis(np.tensordot(part, taken, (1, 1)), 0, 1)
        parts.append(total)
    y = np.concatenate(parts, 1)
    return y if bias is None else y + bias.reshape(-1, *(1,) * axes)


def transposed(
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    more: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """Transposed convolution: each entry of x adds a copy of the kernel to the results."""
    axes = x.ndim - 2
    s, d, p, m = (each(v, axes) for v in (stride, dilation, padding, more))
    kernel = w.shape[2:]
    full = [(n - 1) * t + (k - 1) * e + 1 + o for n, t, k, e, o in zip(x.shape[2:], s, kernel, d, m, strict=True)]
    inner, outer = w.shape[0] // groups, w.shape[1]
    y = np.zeros((x.shape[0], outer * groups, *full), x.dtype)
    for g in range(groups):
        taken, part = x[:, g * inner : (g + 1) * inner], w[g * inner : (g + 1) * inner]
        for place in itertools.product(*map(range, kernel)):
            cut = tuple(
                slice(k * e, k * e + (n - 1) * t + 1, t) for k, e, n, t in zip(place, d, x.shape[2:], s, strict=True)
            )
            added = np.moveaxis(np.tensordot(part[(slice(None), slice(None), *place)], taken, (0, 1)), 0, 1)
            y[(slice(None), slice(g * outer, (g + 1) * outer), *cut)] += added
    y = y[(slice(None), slice(None), *(slice(a, n - a) for a, n in zip(p, full, strict=True)))]
    return y if bias is None else y + bias.reshape(-1, *(1,) * axes)


def terms(fn: Any) -> Any:
    """Of magnitudes the same sum, times how many numbers it adds up."""

    def size(x: Any, w: Any, *bias: Any) -> Any:
        return fn(*(abs(wide(v)) for v in (x, w, *bias))) * (w.size + 1)

    return size


WINDOWS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"stride": 2, "padding": 1},
    {"padding": "same"},
    {"dilation": 2, "padding": 2},
    {"groups": 2, "stride": 3, "padding": "valid"},
    {"groups": 4, "padding": 1, "dilation": 2},
)


def forwards() -> Iterator[Case]:
    """Each window for each number of axes; all dtypes for the first."""
    for axes, options in itertools.product((1, 2, 3), WINDOWS):
        groups = options.get("groups", 1)
        fn = getattr(tg.nn, f"conv{axes}d")
        if axes != 2 and len(options) < 2:
            continue

        def oracle(x: Any, w: Any, bias: Any, options: Any = options) -> Any:
            return convolved(x, w, bias, **options).astype(x.dtype)

        yield Case(
            lambda x, w, bias, fn=fn, options=options: fn(x, w, bias, **options),
            [Input(None, (2, 4, *LENGTHS[axes])), Input(None, (4, 4 // groups, *KERNELS[axes])), Input(None, (4,))],
            name=f"conv{axes}d {', '.join(f'{k} {v}' for k, v in options.items()) or 'plain'}",
            dtypes=("float64",) if axes != 2 else FLOATS if options else DTYPES,
            oracle=oracle,
            condition=terms(lambda x, w, bias, options=options: convolved(x, w, bias, **options)),
            accuracy=1,
            gradient=axes != 3,
            layouts=VIEWS if options or axes != 2 else SAME_SHAPE,
        )


BACKWARDS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"stride": 2, "padding": 1},
    {"stride": 3, "more": 2, "dilation": 2},
    {"groups": 2, "stride": 2, "padding": 1, "more": 1},
)


def backwards() -> Iterator[Case]:
    """The transposes."""
    for axes, options in itertools.product((1, 2, 3), BACKWARDS):
        if axes != 2 and len(options) != 2:
            continue
        groups = options.get("groups", 1)
        keywords = {"output_padding" if k == "more" else k: v for k, v in options.items()}
        fn = getattr(tg.nn, f"conv_transpose{axes}d")
        yield Case(
            lambda x, w, bias, fn=fn, keywords=keywords: fn(x, w, bias, **keywords),
            [f64(2, 4, *LENGTHS[axes]), f64(4, 6 // groups, *KERNELS[axes]), f64(6)],
            name=f"conv_transpose{axes}d {', '.join(f'{k} {v}' for k, v in options.items()) or 'plain'}",
            oracle=lambda x, w, bias, options=options: transposed(x, w, bias, **options),
            condition=terms(lambda x, w, bias, options=options: transposed(x, w, bias, **options)),
            accuracy=1,
            gradient=axes != 3,
            layouts=VIEWS,
        )


def last(x: Any) -> Any:
    """Channels behind."""
    return np.moveaxis(x, 1, -1)


def refused(name: str, build: Any, inputs: list[Input], error: type[Exception]) -> Case:
    """A case that fails, with the same text on all backends."""
    return Case(build, inputs, name=name, raises=error)


WRITTEN: Final = (
    Case(
        lambda x, w: tg.nn.conv2d(x, w, padding=((2, 0), (0, 1)), stride=(1, 2), layout="NHWC"),
        [any_dtype(2, 5, 6, 3), any_dtype(4, 3, 3, 2)],
        name="conv2d of images with channels behind",
        dtypes=FLOATS,
        oracle=lambda x, w: last(convolved(np.moveaxis(x, -1, 1), w, None, (1, 2), ((2, 0), (0, 1)))),
        condition=terms(lambda x, w: last(convolved(np.moveaxis(x, -1, 1), w, None, (1, 2), ((2, 0), (0, 1))))),
        accuracy=1,
        gradient=True,
    ),
    Case(
        tg.nn.conv2d,
        [f64(3, 6, 5), f64(2, 3, 2, 2)],
        name="conv2d of one image",
        oracle=lambda x, w: convolved(x[None], w)[0],
        condition=terms(lambda x, w: convolved(x[None], w)[0]),
        accuracy=1,
        gradient=True,
    ),
    Case(
        lambda x, w: tg.nn.conv2d(x, w, padding=1),
        [f64(0, 3, 4, 4), f64(2, 3, 3, 3)],
        name="conv2d of no images",
        oracle=lambda x, w: np.zeros((0, 2, 4, 4)),
    ),
    Case(
        lambda x, w: tg.nn.conv2d(x, w, padding=2),
        [f64(2, 0, 4, 4), f64(3, 0, 3, 3)],
        name="conv2d of no channels",
        oracle=lambda x, w: np.zeros((2, 3, 6, 6)),
    ),
    Case(
        lambda x, w: tg.nn.conv2d(x, w, padding=2),
        [f64(1, 2, 1, 1), f64(2, 2, 5, 5)],
        name="conv2d of padding alone but for one pixel",
        oracle=lambda x, w: convolved(x, w, None, 1, 2),
        condition=terms(lambda x, w: convolved(x, w, None, 1, 2)),
        accuracy=1,
        gradient=True,
    ),
    Case(
        lambda x, w: tg.nn.conv1d(x, w, padding=3),
        [f32(1, 2, 0), f32(3, 2, 4)],
        name="conv1d of padding alone",
        oracle=lambda x, w: np.zeros((1, 3, 3), np.float32),
    ),
    Case(
        tg.vmap(lambda one, own: tg.nn.conv1d(one, own, padding=1, groups=2)),
        [f64(3, 2, 4, 5), f64(3, 6, 2, 3)],
        name="conv1d of a batch of weights in groups",
        oracle=lambda x, w: np.stack([convolved(a, b, None, 1, 1, 1, 2) for a, b in zip(x, w, strict=True)]),
        gradient=True,
        condition=terms(lambda x, w: np.stack([convolved(a, b, None, 1, 1, 1, 2) for a, b in zip(x, w, strict=True)])),
        accuracy=1,
    ),
    refused("conv2d of other channels", tg.nn.conv2d, [f64(1, 3, 4, 4), f64(2, 4, 3, 3)], ShapeError),
    refused("conv2d of a window that is larger", tg.nn.conv2d, [f64(1, 3, 2, 4), f64(2, 3, 3, 3)], ShapeError),
    refused("conv2d of weights without an axis", tg.nn.conv2d, [f64(1, 3, 4, 4), f64(2, 3, 3)], ShapeError),
    refused("conv2d of a bias of others", tg.nn.conv2d, [f64(1, 3, 4, 4), f64(2, 3, 3, 3), f64(3)], ShapeError),
    refused(
        "conv2d in groups that do not divide",
        lambda x, w: tg.nn.conv2d(x, w, groups=2),
        [f64(1, 4, 4, 4, static=True), f64(3, 2, 3, 3, static=True)],
        ShapeError,
    ),
    refused(
        "conv2d same with a stride",
        lambda x, w: tg.nn.conv2d(x, w, padding="same", stride=2),
        [f64(1, 4, 4, 4), f64(3, 4, 3, 3)],
        InputError,
    ),
    refused(
        "conv2d of truth values",
        tg.nn.conv2d,
        [Input("bool", (1, 4, 4, 4)), Input("bool", (3, 4, 3, 3))],
        DtypeError,
    ),
)

CASES: Final = of_family(FAMILY.path, forwards(), backwards(), WRITTEN)
