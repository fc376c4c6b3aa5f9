"""float16 and bfloat16: stored in 16 bits, computed with in float32, each result rounded once.

The conversions are operations on bits without branches; they round half to even, know subnormal numbers whatever the
processor does with those of float32, and keep NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_native.kernels.functions import fabs
from tg_native.kernels.lanes import select

if TYPE_CHECKING:
    from tg_native.kernels.lanes import Lanes


def widened(x: Lanes) -> Lanes:
    """A half as float32."""
    if x.body.has_form("widened", x.dtype):
        return x.body.computed("widened", (x,))
    bits = x.bits().to("uint32")
    if x.dtype == "bfloat16":
        return (bits << 16).seen_as("float32")
    size = (bits & 0x7FFF) << 13
    small = ((bits & 0x3FF).seen_as("int32").to("float32") * 2.0**-24).bits()
    wide = size + select(size < 0xF800000, size.like(0x38000000), 0x70000000)
    return (select(size < 0x800000, small, wide) | (bits & 0x8000) << 16).seen_as("float32")


def narrowed(x: Lanes, dtype: str) -> Lanes:
    """A number of another real dtype as a half; float64 becomes bfloat16 through float32, as in ml_dtypes."""
    if x.dtype == "float64" and dtype == "float16":
        x = _rounded_to_odd(x)
    x = x.to("float32")
    if x.body.has_form("narrowed", dtype):
        return x.body.computed("narrowed", (x,), dtype)
    bits = x.bits()
    if dtype == "bfloat16":
        whole = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
        return select(x.is_nan(), bits >> 16 | 0x40, whole).to("uint16").seen_as(dtype)
    size = bits & 0x7FFFFFFF
    # subnormal results are rounded by an addition to 0.5, whose last place is their unit
    small = (fabs(x) + 0.5).bits() - 0x3F000000
    whole = (size - 0x38000000 + 0xFFF + (size >> 13 & 1)) >> 13
    whole = select(whole < 0x7C00, whole, 0x7C00)
    whole = select(size < 0x38800000, small, whole)
    whole = select(size > 0x7F800000, size >> 13 & 0x3FF | 0x7E00, whole)
    return (whole | bits >> 16 & 0x8000).to("uint16").seen_as(dtype)


def _rounded_to_odd(x: Lanes) -> Lanes:
    """A float64 as float32 whose second rounding sees all that the first one saw."""
    near = x.to("float32")
    back = near.to("float64")
    bits = near.bits()
    odd = (bits - select(fabs(back) > fabs(x), bits.like(1), 0)) | 1
    return select((back != x) & ~x.is_nan(), odd, bits).seen_as("float32")
