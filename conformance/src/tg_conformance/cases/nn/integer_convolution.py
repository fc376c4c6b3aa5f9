"""Cases of `ops/nn/integer_convolution`: strides, paddings, dilations, groups and zero points, in the whole range.

The oracle is that of `cases/nn/convolution`, in int64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import DtypeError, ShapeError
from tg.ops.nn.integer_convolution import FAMILY
from tg.plugin.case import Case, Input, f32, i8, u8
from tg_conformance.cases.family import of_family
from tg_conformance.cases.integer_products import largest, whole
from tg_conformance.cases.nn.convolution import LENGTHS, convolved

if TYPE_CHECKING:
    from collections.abc import Iterator

KERNELS: Final = {1: (3,), 2: (3, 2), 3: (2, 1, 2)}
WINDOWS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"stride": 2, "padding": 1},
    {"padding": "same"},
    {"groups": 2, "dilation": 2, "padding": 2},
)


def exact(x: Any, w: Any, a: Any = 0, b: Any = 0, **options: Any) -> Any:
    """The convolution of images and kernels less their zero points, which wraps as int32 does."""
    kernel = w.astype(np.int64) - np.reshape(b, (-1, *(1,) * (w.ndim - 1)))
    return convolved(x.astype(np.int64) - np.int64(a), kernel, **options).astype(np.int32)


def forwards() -> Iterator[Case]:
    """Each window for each number of axes, without zero points and with both."""
    for axes, lengths in LENGTHS.items():
        for options in WINDOWS if axes == 2 else WINDOWS[1:2]:
            groups = options.get("groups", 1)
            yield Case(
                lambda x, w, options=options: (
                    tg.nn.integer_conv(x, w, **options),
                    tg.nn.integer_conv(x, w, 130, -5, **options),
                ),
                [
                    Input("uint8", (2, 4, *lengths), values=whole, static=True),
                    Input("int8", (6, 4 // groups, *KERNELS[axes]), values=whole, static=True),
                ],
                name=f"integer_conv of {axes} axes {options}",
                layouts=("C", "reversed"),
                oracle=lambda x, w, options=options: (exact(x, w, **options), exact(x, w, 130, -5, **options)),
            )


WRITTEN: Final = (
    Case(
        lambda x, w, a, b: tg.nn.integer_conv(x, w, a, b, padding=((1, 2), (0, 1))),
        [
            i8(1, "k", 5, "m", values=whole),
            u8(4, "k", 2, 3, values=whole),
            i8(values=whole),
            u8(4, values=whole),
        ],
        name="integer_conv of zero points for channels",
        oracle=lambda x, w, a, b: exact(x, w, a.astype(int), b.astype(int), padding=((1, 2), (0, 1))),
    ),
    Case(
        lambda x, w: tg.nn.integer_conv(x, w, padding=1, groups=3),
        [u8(2, 3, 6, 5, values=whole), i8(3, 1, 3, 3, values=whole)],
        name="integer_conv of each channel by itself",
        oracle=lambda x, w: exact(x, w, padding=1, groups=3),
    ),
    Case(
        tg.nn.integer_conv,
        [u8(1, 33, 3, 3, values=largest), u8(2, 33, 3, 3, values=largest)],
        name="integer_conv of more terms than float32 holds",
        layouts=("C",),
        oracle=exact,
    ),
    Case(
        lambda x, w: tg.nn.integer_conv(x, w, 7, layout="NHWC", padding=1),
        [u8(2, 5, 4, 3, values=whole), i8(2, 3, 3, 3, values=whole)],
        name="integer_conv of channels behind",
        oracle=lambda x, w: np.moveaxis(exact(np.moveaxis(x, -1, 1), w, 7, padding=1), 1, -1),
    ),
    Case(tg.nn.integer_conv, [f32(1, 1, 4), i8(1, 1, 2)], name="integer_conv of floats", raises=DtypeError),
    Case(tg.nn.integer_conv, [i8(1, 2, 4), i8(1, 3, 2)], name="integer_conv of channels", raises=ShapeError),
)

CASES: Final = of_family(FAMILY.path, forwards(), WRITTEN)
