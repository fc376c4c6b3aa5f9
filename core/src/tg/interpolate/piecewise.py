"""Piecewise polynomials: what interpolation along an axis gives."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Constant, Variable, as_size_variable
from tg.ops.assumptions import required
from tg.ops.calculus import clip
from tg.ops.cumulative import cumulative_sum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater_equal, isnan, where
from tg.ops.elementwise.rounding import floor
from tg.ops.indexing import take
from tg.ops.shape import concatenate, expand_dims_at, moveaxis
from tg.ops.sorting import searchsorted
from tg.types.dtypes import dtype_name, is_inexact, numpy_dtype
from tg.variables.conversion import as_variable, axis_from_end, plain_integer, promote


@final
class PPoly:
    """A piecewise polynomial: sum(c[m, i] * (v - x[i])**(k - m)) for x[i] <= v < x[i + 1], with m from 0 to k.

    Calling it with places gives the values there, or with `nu` those of a derivative. Gradients go through places,
    breakpoints and coefficients; those by places at a breakpoint are those of the piece that begins there.

    Args:
        c: coefficients, the highest power first.
        x: the breakpoints, a vector that ascends.
        extrapolate: whether the first and the last polynomial go on outside; False: NaN there; "periodic": the places
            are taken modulo the whole length.
        axis: where the axes of places come in values.
    Shapes:
        c (k + 1, n - 1, *s), x (n); values at (*p): (*p, *s)
    Raises:
        ShapeError: x is no vector of two at least, or c has not one piece for each interval.
        InputError: x is known and does not ascend; `extrapolate` is something else.
    Source:
        scipy.interpolate.PPoly
    Example:
        >>> import tg
        >>> squares = tg.interpolate.PPoly([[1.0], [0.0], [0.0]], [0.0, 4.0])
        >>> float(squares(3.0).eval()), float(squares(3.0, 1).eval()), float(squares.integrate(0.0, 3.0).eval())
        (9.0, 6.0, 9.0)
    """

    __slots__ = ("axis", "c", "extrapolate", "x")

    def __init__(self, c: Any, x: Any, extrapolate: Any = True, axis: int = 0) -> None:
        c, x = as_variable(c), as_variable(x)
        if c.type.ndim < 2:
            raise ShapeError(message(f"PPoly: c: found {c.type}, needed an axis of powers and one of pieces"))
        dtype = promote(c.type.dtype, x.type.dtype)
        self.c = cast_variable(c, dtype if is_inexact(dtype) else "float64")
        self.x = breakpoints("PPoly", x)
        self.extrapolate = _known("PPoly", extrapolate)
        self.axis = axis
        pieces, edges = c.type.shape[1], x.type.shape[0]
        if pieces is not None and edges is not None and pieces != edges - 1:
            raise ShapeError(message(f"PPoly: c has {pieces} pieces, needed {edges - 1} for {edges} breakpoints"))

    def __repr__(self) -> str:
        """The types of its parts."""
        return f"PPoly(c={self.c.type}, x={self.x.type}, extrapolate={self.extrapolate!r})"

    def __call__(self, places: Any, nu: int = 0, extrapolate: Any = None) -> Variable:
        """The values of the nu-th derivative, at nu=0 of the function itself.

        Raises:
            InputError: nu is no integer of at least 0.
        """
        if nu:
            return self.derivative(nu)(places, 0, extrapolate)
        outside = self.extrapolate if extrapolate is None else _known("PPoly", extrapolate)
        v = as_variable(places)
        v = cast_variable(v, promote(v.type.dtype, self.x.type.dtype))
        first, last = self.x[0], self.x[-1]
        if outside == "periodic":
            v = first + (v - first) % (last - first)
        number = clip(searchsorted(self.x, v, "right") - 1, 0, as_size_variable(self.x.shape[0]) - 2)
        y = self._at(v - take(self.x, number, 0, mode="promise"), number)
        if outside is False:
            y = where(_beside((v >= first) & (v <= last), y, v), y, np.nan)
        return self._turned(y, v.type.ndim)

    def _at(self, moved: Variable, number: Variable) -> Variable:
        """The values of pieces, at places that are counted from where each begins."""
        powers = take(self.c, number, 1, mode="promise")
        by = cast_variable(_beside(moved, powers[0], moved), powers.type.dtype)
        y = powers[0] if self._count > 1 else where(isnan(by), np.nan, powers[0])
        for m in range(1, self._count):
            y = y * by + powers[m]
        return y

    def _turned(self, y: Variable, count: int) -> Variable:
        """Values whose axes of places stand where they belong."""
        rest = y.type.ndim - count
        front = axis_from_end(self.axis, rest + 1, "PPoly: axis") + rest + 1
        return moveaxis(y, tuple(range(count)), tuple(range(front, front + count))) if front and count else y

    @property
    def _count(self) -> int:
        count = known_length(self.c)
        if count is None:
            raise ShapeError(message(f"PPoly: c: found {self.c.type}, needed a known number of powers"))
        return count

    def derivative(self, nu: int = 1) -> PPoly:
        """The nu-th derivative, a piecewise polynomial.

        Raises:
            InputError: nu is no integer of at least 0.
        """
        c = self.c
        for _ in range(_order(nu)):
            degree = (known_length(c) or self._count) - 1
            if not degree:
                c = c * 0
                break
            c = c[:-1] * column(np.arange(degree, 0, -1), c)
        return PPoly(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """The nu-th integral from the first breakpoint on, a piecewise polynomial.

        Raises:
            InputError: nu is no integer of at least 0.
        """
        integral = self
        for _ in range(_order(nu)):
            integral = integral._integral()
        return integral

    def _integral(self) -> PPoly:
        powers = self.c / column(np.arange(self._count, 0, -1), self.c)
        lengths = column(self.x[1:] - self.x[:-1], powers[0])
        piece = powers[0]
        for m in range(1, self._count):
            piece = piece * lengths + powers[m]
        sums = cumulative_sum(piece * lengths, axis=0, include_initial=True)[:-1]
        outside = False if self.extrapolate == "periodic" else self.extrapolate
        return PPoly(concatenate([powers, sums[None]], 0), self.x, outside, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Variable:
        """The integral from a to b, scalars or arrays of one shape."""
        outside = self.extrapolate if extrapolate is None else _known("PPoly", extrapolate)
        if outside != "periodic":
            integral = self._integral()
            return integral(b, 0, outside) - integral(a, 0, outside)
        integral = PPoly(self._integral().c, self.x)
        first, whole = self.x[0], self.x[-1] - self.x[0]
        period = integral(self.x[-1])

        def up_to(place: Any) -> Variable:
            v = as_variable(place)
            turns = floor((v - first) / whole)
            y = integral(v - turns * whole)
            return self._turned(y + _beside(turns, y, v) * period, v.type.ndim)

        return up_to(b) - up_to(a)


def _known(what: str, extrapolate: Any) -> Any:
    """The continuation of a function outside of its breakpoints."""
    if extrapolate not in (True, False, "periodic"):
        text = f"{what}: extrapolate: found {extrapolate!r}, needed True, False or 'periodic'"
        raise InputError(message(text))
    return extrapolate


def _order(nu: Any) -> int:
    order = plain_integer(nu)
    if type(order) is not int or order < 0:
        raise InputError(message(f"PPoly: nu: found {nu!r}, needed an int of at least 0"))
    return order


def _beside(v: Variable, y: Variable, places: Variable) -> Variable:
    """The value at each place, along the axes of places of y, which are its first."""
    more = y.type.ndim - places.type.ndim
    return expand_dims_at(v, tuple(range(-more, 0))) if more else v


def column(v: Any, like: Variable) -> Variable:
    """A vector along the first axis of an array, in its dtype."""
    vector = cast_variable(as_variable(v), like.type.dtype)
    more = like.type.ndim - 1
    return expand_dims_at(vector, tuple(range(-more, 0))) if more else vector


def breakpoints(what: str, x: Any) -> Variable:
    """Breakpoints as a vector of a real floating dtype.

    Raises:
        ShapeError: it is no vector, or too short.
        InputError: it is known and does not ascend.
    """
    vector = as_variable(x)
    if vector.type.ndim != 1 or vector.type.shape in ((0,), (1,)):
        raise ShapeError(message(f"{what}: x: found {vector.type}, needed a vector of at least two"))
    if type(vector) is Constant and not np.all(np.diff(np.asarray(vector.data, np.float64)) > 0):
        raise InputError(message(f"{what}: x: found places that do not ascend, needed x[i] < x[i + 1]"))
    return vector if is_inexact(vector.type.dtype) else cast_variable(vector, "float64")


def along_first(what: str, x: Any, y: Any, axis: int, least: int = 2) -> tuple[Variable, Variable, int]:
    """Breakpoints, values with their axis in front, and that axis counted from the front.

    Args:
        least: how many points there have to be where their number is not known: what has another form for fewer has
            that of many then.
    Raises:
        ShapeError: lengths differ; a check, that there are too few.
    """
    edges, values = breakpoints(what, x), as_variable(y)
    if not values.type.ndim:
        raise ShapeError(message(f"{what}: y: found {values.type}, needed an axis for x"))
    k = axis_from_end(axis, values.type.ndim, what)
    dtype = promote(values.type.dtype, edges.type.dtype)
    values = moveaxis(cast_variable(values, dtype), k, 0)
    n, m = edges.type.shape[0], values.type.shape[0]
    if n is not None and m is not None and n != m:
        raise ShapeError(message(f"{what}: lengths differ: x has {n}, y has {m} along axis {axis}"))
    if n is None and m is None:
        count = as_size_variable(edges.shape[0])
        text = f"{what}: x: found {{0}} points, needed at least {least} where their number is not known before"
        edges = required(edges, greater_equal(count, least), [count], Descriptor("ShapeError", text))
    real = dtype_name(np.empty(0, numpy_dtype(dtype)).real.dtype)
    return cast_variable(edges, real), values, k + values.type.ndim


def known_length(*arrays: Variable) -> int | None:
    """The length of the first axes of arrays, which is one, where any says it."""
    return next((n for v in arrays if type(n := v.type.shape[0]) is int), None)
