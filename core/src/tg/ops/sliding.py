"""Convolution and correlation of vectors, in NumPy's modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.errors import InputError, ShapeError, message
from tg.ops.family import Family
from tg.ops.signal.lagged_products import MODES, Part, direct, full_length, in_dtype, operands_of
from tg.types.lengths import add, floor_divide, maximum, minimum, multiply, subtract

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import ConvolutionMode
    from tg.variables.like import TensorLike


def _products(what: str, a: Any, v: Any, mode: str, *, turned: bool) -> Variable:
    """The products of two vectors; the middle is that of the longer one, whichever it is."""
    if mode not in MODES:
        raise InputError(message(f"{what}: mode: found {mode!r}, needed one of {', '.join(map(repr, MODES))}"))
    x, w, dtype = operands_of(what, a, v)
    if x.type.ndim != 1:
        raise ShapeError(message(f"{what}: found {x.type}, needed vectors", hint="tg.signal takes arrays of any rank"))
    n, m = x.shape[0], w.shape[0]
    shorter, longer = minimum(n, m), maximum(n, m)
    if mode == "full":
        part = Part(0, full_length(n, m))
    elif mode == "valid":
        part = Part(subtract(shorter, 1), add(subtract(longer, shorter), 1))
    else:
        start = floor_divide(subtract(shorter, 1), 2)
        if not turned:  # of a shorter first vector NumPy reads the result of both exchanged from its end
            is_shorter = minimum(maximum(subtract(m, n), 0), 1)
            start = add(start, multiply(is_shorter, subtract(subtract(shorter, 1), add(start, start))))
        part = Part(start, longer)
    return in_dtype(direct(x, w, [part], turned=turned), dtype)


def convolve(a: TensorLike, v: TensorLike, mode: ConvolutionMode = "full") -> Variable:
    """The convolution of two vectors: y[j] is the sum over k of a[j - k] v[k].

    Args:
        mode: "full" gives every place at which the vectors meet, "same" as many in the middle as the longer one has
            entries, "valid" those at which the shorter one lies inside.
    Shapes:
        a (n), v (m) -> full (n + m - 1), same (max(n, m)), valid (max(n, m) - min(n, m) + 1)
    Raises:
        InputError: an unknown mode.
        ShapeError: no vectors, or one without entries.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.convolve(x, [1.0, 0.5]).eval({x: [2.0, 0.0, 4.0]})
        array([2., 1., 4., 2.])
    Source:
        numpy.convolve
    """
    return _products("convolve", a, v, mode, turned=True)


def correlate(a: TensorLike, v: TensorLike, mode: ConvolutionMode = "valid") -> Variable:
    """The correlation of two vectors: y[j] is the sum over k of a[j + k] times the conjugate of v[k].

    Shapes, Raises:
        as `convolve`.
    Source:
        numpy.correlate
    """
    return _products("correlate", a, v, mode, turned=False)


FAMILY = Family("sliding", functions=(convolve, correlate))
