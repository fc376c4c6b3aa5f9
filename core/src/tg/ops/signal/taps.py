"""Vectors of taps that move along the last axis of signals: by steps, between points, and beyond the ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from tg.graph.nodes import as_size_variable
from tg.ops.creation import iota
from tg.ops.elementwise.arithmetic import floor_divide as floor_divided
from tg.ops.elementwise.arithmetic import remainder
from tg.ops.elementwise.comparison import equal, where
from tg.ops.nn.convolved import LEAD, convolution
from tg.ops.padding import pad
from tg.ops.shape import concatenate, reshape
from tg.ops.signal.segments import like, middle
from tg.types.lengths import add, product, subtract

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import SignalExtension
    from tg.types.lengths import Length

    Size = int | Length

PADDED: Final[dict[SignalExtension, tuple[str, dict[str, str]]]] = {
    "edge": ("edge", {}),
    "wrap": ("wrap", {}),
    "symmetric": ("symmetric", {}),
    "reflect": ("reflect", {}),
    "antireflect": ("reflect", {"reflect_type": "odd"}),
}
EXTENSIONS: Final[tuple[SignalExtension, ...]] = ("constant", *PADDED, "antisymmetric", "smooth", "line")


def applied(x: Variable, h: Variable, size: Size, *, start: int = 0, up: int = 1, down: int = 1) -> Variable:
    """Sums of products with taps: y[p] is the sum over k of h[k] x[(start + p down - k) / up], for whole places.

    Shapes:
        x (..., n), h (m) -> y (..., size)
    """
    lead = x.shape[:-1]
    images = reshape(x, (product(lead), *(1,) * (LEAD - 1), x.shape[-1]))
    taps = reshape(h, ((1,) * LEAD + (h.shape[0],)))
    y = convolution(images, taps, (down,), (-1,), (up,), [-start], [size])
    return reshape(y, (*lead, size))


def extended_by(x: Variable, width: int, mode: str, cval: Any = 0.0) -> Variable:
    """A signal that goes on by a width at both ends of its last axis, in SciPy's words for it.

    Shapes:
        x (..., n) -> (..., n + 2 width)
    """
    if not width:
        return x
    if mode in ("smooth", "line"):
        return _with_lines(x, width, whole=mode == "line")
    around = [(0, 0)] * (x.type.ndim - 1) + [(width, width)]
    if mode == "constant":
        border = like(x, cval)
        return pad(x - border, around) + border
    if mode == "antisymmetric":
        n = as_size_variable(x.shape[-1])
        turns = floor_divided(iota(add(x.shape[-1], 2 * width)) - width, n)
        return pad(x, around, "symmetric") * like(x, where(equal(remainder(turns, 2), 0), 1.0, -1.0))
    name, options = PADDED[cast("SignalExtension", mode)]
    return pad(x, around, name, **options)  # type: ignore[arg-type]


def _with_lines(x: Variable, width: int, *, whole: bool) -> Variable:
    """A signal between two straight lines: through its ends, or through the two points at each end."""
    n = x.shape[-1]
    first, last = middle(x, 0, 1), middle(x, subtract(n, 1), 1)
    if whole:
        rise = (last - first) / like(x, as_size_variable(subtract(n, 1)))
        at_start, at_end = rise, rise
    else:
        at_start, at_end = middle(x, 1, 1) - first, last - middle(x, subtract(n, 2), 1)
    steps = like(x, iota(width))
    return concatenate([first - at_start * (width - steps), x, last + at_end * (steps + 1)], -1)
