"""B-splines: their bases, and what coefficients make of them."""

from __future__ import annotations

import itertools
from typing import Any, final

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import Constant, Variable, as_size_variable
from tg.ops.calculus import clip
from tg.ops.creation import iota
from tg.ops.elementwise.arithmetic import minimum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import where
from tg.ops.indexing import take
from tg.ops.shape import expand_dims_at, moveaxis
from tg.ops.sorting import searchsorted
from tg.types.dtypes import is_inexact
from tg.variables.conversion import as_variable, axis_from_end, plain_integer, promote


def bspline_basis(x: Any, t: Any, k: int = 3, nu: int = 0, *, extrapolate: bool = False) -> Variable:
    """The B-splines of degree k over the knots t, at places x: the design matrix of a regression.

    Args:
        t: the knots, a vector that does not descend.
        nu: the order of the derivative.
        extrapolate: whether the first and the last polynomials go on outside of t[k] and t[-k - 1]; else NaN.
    Shapes:
        x (...), t (n + k + 1) -> (..., n)
    Raises:
        ShapeError: t is no vector, or has not 2 k + 2 knots.
        InputError: k or nu is no integer of at least 0; t is known and descends.
    Source:
        scipy.interpolate.BSpline.design_matrix, as a dense array. C. de Boor, "A practical guide to splines", 1978.
    Example:
        >>> import numpy as np, tg
        >>> tg.interpolate.bspline_basis([0.0, 0.5, 1.0], [0.0, 0, 0, 1, 1, 1], 2).eval().tolist()
        [[1.0, 0.0, 0.0], [0.25, 0.5, 0.25], [0.0, 0.0, 1.0]]
    """
    spline = _Places("bspline_basis", x, t, k, extrapolate=extrapolate)
    order = _order("bspline_basis: nu", nu)
    values = spline.functions(order)
    columns = iota(spline.count)
    matrix = None
    for j, value in enumerate(values):
        place = expand_dims_at(spline.interval - (spline.degree - j), (-1,))
        term = where(columns == place, expand_dims_at(value, (-1,)), 0.0)
        matrix = term if matrix is None else matrix + term
    assert matrix is not None
    return matrix if extrapolate else where(expand_dims_at(spline.is_inside, (-1,)), matrix, np.nan)


@final
class BSpline:
    """A spline of degree k with knots t: the sum of B-splines times coefficients c.

    Calling it with places gives the values there, or with `nu` those of a derivative. Gradients go through places,
    knots and coefficients.

    Args:
        t: the knots, a vector that does not descend.
        c: the coefficients, as many as there are B-splines along `axis`.
        extrapolate: whether the first and the last polynomials go on outside of t[k] and t[-k - 1]; else NaN.
        axis: that of c, and where the axes of places come in values.
    Shapes:
        t (n + k + 1), c (n, *s); values at (*p): (*p, *s)
    Raises:
        ShapeError, InputError: as `bspline_basis` has them; c is of another length.
    Source:
        scipy.interpolate.BSpline
    Example:
        >>> import tg
        >>> f = tg.interpolate.BSpline([0.0, 0, 0, 1, 1, 1], [0.0, 0.0, 1.0], 2)
        >>> float(f(0.5).eval()), float(f(0.5, 1).eval())
        (0.25, 1.0)
    """

    __slots__ = ("axis", "c", "extrapolate", "k", "t")

    def __init__(self, t: Any, c: Any, k: int, extrapolate: bool = True, axis: int = 0) -> None:
        self.k = _order("BSpline: k", k)
        self.t = knots("BSpline", t, self.k)
        coefficients = as_variable(c)
        if not coefficients.type.ndim:
            raise ShapeError(message(f"BSpline: c: found {coefficients.type}, needed an axis of coefficients"))
        self.axis = axis_from_end(axis, coefficients.type.ndim, "BSpline") + coefficients.type.ndim
        coefficients = moveaxis(coefficients, self.axis, 0)
        n, m = coefficients.type.shape[0], self.t.type.shape[0]
        if n is not None and m is not None and n != m - self.k - 1:
            text = f"BSpline: c: found {n} coefficients, needed {m - self.k - 1} for {m} knots of degree {self.k}"
            raise ShapeError(message(text))
        self.c = cast_variable(coefficients, promote(coefficients.type.dtype, self.t.type.dtype))
        self.extrapolate = extrapolate

    def __repr__(self) -> str:
        """The types of its parts."""
        return f"BSpline(t={self.t.type}, c={self.c.type}, k={self.k})"

    def __call__(self, places: Any, nu: int = 0) -> Variable:
        """The values of the nu-th derivative, at nu=0 of the spline itself.

        Raises:
            InputError: nu is no integer of at least 0.
        """
        order = _order("BSpline: nu", nu)
        spline = _Places("BSpline", places, self.t, self.k, extrapolate=self.extrapolate)
        values = spline.functions(order)
        count, rest = spline.x.type.ndim, self.c.type.ndim - 1
        behind = tuple(range(-rest, 0))
        total = None
        for j, value in enumerate(values):
            weight = expand_dims_at(value, behind) if rest else value
            term = weight * take(self.c, spline.interval - (self.k - j), 0, mode="promise")
            total = term if total is None else total + term
        assert total is not None
        if not self.extrapolate:
            inside = expand_dims_at(spline.is_inside, behind) if rest else spline.is_inside
            total = where(inside, total, np.nan)
        if not self.axis or not count:
            return total
        return moveaxis(total, tuple(range(count)), tuple(range(self.axis, self.axis + count)))


class _Places:
    """Places among knots: the interval of each, and the B-splines that are not 0 there."""

    def __init__(self, what: str, x: Any, t: Any, k: Any, *, extrapolate: bool) -> None:
        self.degree = _order(f"{what}: k", k)
        self.t = knots(what, t, self.degree)
        places = as_variable(x)
        self.x = cast_variable(places, promote(places.type.dtype, self.t.type.dtype))
        self.count = self.t.shape[0] - self.degree - 1
        first, last = self.degree, as_size_variable(self.count)
        start, end = self.t[first], take(self.t, last, 0, mode="promise")
        filled = searchsorted(self.t, end, "left") - 1  # the last interval that is not empty
        interval = minimum(searchsorted(self.t, self.x, "right") - 1, filled)
        self.interval = clip(interval, first, last - 1)
        self.is_inside = (self.x >= start) & (self.x <= end)

    def functions(self, nu: int) -> list[Variable]:
        """The nu-th derivatives of the k + 1 B-splines that begin at the knots up to the interval's."""
        if nu > self.degree:
            return [self.x * 0] * (self.degree + 1)
        values = [self.x * 0 + 1]
        for j in range(1, self.degree - nu + 1):
            values = self._risen(values, j)
        for j in range(self.degree - nu + 1, self.degree + 1):
            values = self._derived(values, j)
        return values

    def _knot(self, offset: int) -> Variable:
        return take(self.t, self.interval + offset, 0, mode="promise")

    def _risen(self, values: list[Variable], j: int) -> list[Variable]:
        """The functions of degree j, from those of degree j - 1."""
        functions: list[Variable] = []
        saved = self.x * 0
        for r, value in enumerate(values):
            right, left = self._knot(r + 1), self._knot(r + 1 - j)
            part = value / (right - left)
            functions.append(saved + (right - self.x) * part)
            saved = (self.x - left) * part
        return [*functions, saved]

    def _derived(self, values: list[Variable], j: int) -> list[Variable]:
        """The derivatives of those of degree j, of those of degree j - 1 as they are."""
        parts = [v * j / (self._knot(r + 1) - self._knot(r + 1 - j)) for r, v in enumerate(values)]
        return [-parts[0], *(a - b for a, b in itertools.pairwise(parts)), parts[-1]]


def knots(what: str, t: Any, k: int) -> Variable:
    """Knots as a vector of a floating dtype.

    Raises:
        ShapeError: it is no vector, or too short.
        InputError: it is known and does not ascend.
    """
    vector = as_variable(t)
    n = vector.type.shape[0] if vector.type.ndim == 1 else 0
    if n is not None and n < 2 * k + 2:
        text = f"{what}: t: found {vector.type}, needed a vector of at least {2 * k + 2} knots for degree {k}"
        raise ShapeError(message(text))
    if type(vector) is Constant and not np.all(np.diff(np.asarray(vector.data, np.float64)) >= 0):
        raise InputError(message(f"{what}: t: found knots that descend or are NaN, needed t[i] <= t[i + 1]"))
    return vector if is_inexact(vector.type.dtype) else cast_variable(vector, "float64")


def _order(what: str, value: Any) -> int:
    order = plain_integer(value)
    if type(order) is not int or order < 0:
        raise InputError(message(f"{what}: found {value!r}, needed an int of at least 0"))
    return order
