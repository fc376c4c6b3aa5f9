"""Common parts of solvers: unknowns as one vector, solutions, and derivatives by the implicit function theorem."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import numbers
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.errors import DtypeError, InputError, NotDifferentiable, OptionError, ShapeError, message
from tg.gradient.api import jvp, vjp
from tg.gradient.matrices import jacobian
from tg.graph.dims import named_type
from tg.graph.function_graph import freeze
from tg.graph.nodes import Variable, apply
from tg.ops.custom import called
from tg.ops.elementwise.arithmetic import absolute
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.complex import conjugate
from tg.ops.implicit import Implicit, SolveByProducts
from tg.ops.inner import captured, repeated
from tg.ops.linalg.solving import solve
from tg.ops.reduction import any as any_of
from tg.ops.reduction import max as max_of
from tg.ops.shape import concatenate, ravel, reshape
from tg.types.dtypes import float_limits, in_float32, is_complex, is_float, is_inexact, numpy_dtype, zero
from tg.types.lengths import product
from tg.types.requirements import unheard
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, is_weak, promote
from tg.variables.structure import flatten, paths, short

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.variables.structure import Structure


FEW: Final = 512  # unknowns, of which a Jacobian has 2 MiB
NOTHING: Final = "a function without return gives None"


@dataclasses.dataclass(frozen=True)
class Solution:
    """Result of a solver: the last point, and how it came there.

    `x` and `fun` have derivatives with respect to whatever the problem is made of, those of the exact solution; all are
    NaN where `converged` is False.
    """

    x: Any
    """The solution, nested as the start."""
    fun: Any
    """What the function gives there."""
    optimality: Any
    """The largest element of what is 0 at a solution: the gradient, the residual, or the length of the last step."""
    steps: Any
    """How many steps were made: SciPy's `nit`."""
    evaluations: Any
    """How often the function was computed, mostly with its derivative: SciPy's `nfev`."""
    converged: Any
    """Whether the tolerance was met, a bool scalar: SciPy's `success`."""


class End(NamedTuple):
    """End of a solver's steps: the point as a vector, whether it converged, and what is said about it."""

    x: Variable
    converged: Variable
    optimality: Variable
    steps: Variable
    evaluations: Variable


class Unknowns(NamedTuple):
    """The leaves of a structure as one vector of their common dtype."""

    start: Variable
    leaves: list[Variable]
    structure: Structure

    def nested(self, x: Variable) -> Any:
        """The parts of a vector in the shapes, dtypes and places of the leaves."""
        parts, begin = [], 0
        for v in self.leaves:
            size = product(v.shape)
            part = x if len(self.leaves) == 1 else x[begin : begin + size]
            shaped = part if v.type.ndim == 1 else reshape(part, v.shape)
            parts.append(cast_variable(shaped, v.type.dtype))
            begin = begin + size
        return self.structure(iter(parts))

    def solution(self, f: Callable[[Any], Any], end: End) -> Solution:
        """The solution that a solver of f gives out."""
        x = self.nested(end.x)
        return Solution(x, f(x), end.optimality, end.steps, end.evaluations, end.converged)

    def vector(self, value: Any, what: str) -> Variable:
        """Value of a function, nested and shaped as the leaves, as a vector.

        Raises:
            InputError: it is nested in another way.
            ShapeError: its leaves have other shapes.
        """
        values = [given_back(v, what) for v in self.structure.leaves_of(value, what)]
        for path, v, own in zip(paths(self.structure), values, self.leaves, strict=True):
            pairs = zip(v.type.shape, own.type.shape, strict=False)
            if v.type.ndim != own.type.ndim or any(None not in (a, b) and a != b for a, b in pairs):
                raise ShapeError(message(f"{what}: result{path}: found {v.type}, needed the shape of {own.type}"))
        return joined(values, self.start.type.dtype, what)


def given_back(value: Any, what: str) -> Variable:
    """The variable that a function gives in one place.

    Raises:
        InputError: it is nothing.
    """
    if value is None:
        raise InputError(message(f"{what}: found None, needed an array", hint=NOTHING))
    return as_variable(value)


def joined(leaves: Sequence[Variable], dtype: str, what: str) -> Variable:
    """Variables one behind the other, as a vector of a dtype.

    Raises:
        DtypeError: one is complex.
    """
    for v in leaves:
        if is_complex(v.type.dtype):
            raise DtypeError(message(f"{what}: found {v.type}, needed real numbers"))
    flat = [cast_variable(v if v.type.ndim == 1 else ravel(v), dtype) for v in leaves]
    return flat[0] if len(flat) == 1 else concatenate(flat)


def unknowns(f: Any, x0: Any, what: str) -> Unknowns:
    """Start of a solver of f; Python's numbers and integers take the floating dtype of the others, or float64.

    Raises:
        InputError: there are no arrays, or f is no function.
        DtypeError: an array is complex.
    """
    if not callable(f):
        hint = f"tg.optimize.{what}(lambda x: ..., x0)"
        raise InputError(message(f"{what}: f: found {short(f)}, needed a function", hint=hint))
    values, structure = flatten(x0)
    if not values:
        raise InputError(message(f"{what}: x0: found no arrays"))
    strong = [as_variable(v).type.dtype for v in values if not is_weak(v)]
    floats = [t for t in strong if is_inexact(t)]
    dtype = promote(*floats) if floats else "float64"
    leaves = []
    for v in values:
        leaf = as_variable(v, dtype) if is_weak(v) and not isinstance(v, complex) else as_variable(v)
        leaves.append(leaf if is_inexact(leaf.type.dtype) else cast_variable(leaf, dtype))
    return Unknowns(joined(leaves, dtype, f"{what}: x0"), leaves, structure)


def tolerance(tol: Any, dtype: str, what: str) -> Any:
    """The tolerance of a solver: the square root of the dtype's eps where none is given.

    Raises:
        InputError: it is neither a positive number nor a real scalar.
    """
    if tol is None:
        return math.sqrt(eps_of(dtype))
    is_number = isinstance(tol, numbers.Real) and not isinstance(tol, bool)
    if is_number and 0 < tol < math.inf:
        return float(tol)
    if isinstance(tol, Variable) and tol.type.ndim == 0 and is_float(tol.type.dtype):
        return cast_variable(tol, dtype)
    raise InputError(message(f"{what}: tol: found {short(tol)}, needed a positive number or a real scalar variable"))


def eps_of(dtype: str) -> float:
    """The distance from 1 to the next number of a dtype."""
    return float(float_limits(dtype).eps)


def limit(maxiter: Any, default: Any, what: str) -> Any:
    """Largest number of steps of a solver.

    Raises:
        InputError: it is neither a non-negative integer nor an integer scalar.
    """
    if maxiter is None:
        return default
    if (type(maxiter) is int or isinstance(maxiter, np.integer)) and maxiter >= 0:
        return int(maxiter)
    if isinstance(maxiter, Variable) and maxiter.type.ndim == 0 and "int" in maxiter.type.dtype:
        return maxiter
    raise InputError(message(f"{what}: maxiter: found {short(maxiter)}, needed an integer of at least 0"))


def chosen(method: Any, table: dict[str, Any], what: str) -> Any:
    """The method of a name, in capitals or not, as SciPy reads it.

    Raises:
        OptionError: there is no such method.
    """
    for name, value in table.items():
        if isinstance(method, str) and method.lower() == name.lower():
            return value
    raise OptionError(message(f"{what}: method: found {method!r}, needed one of {', '.join(table)}"))


def implicit(
    find: Callable[[Variable], End],
    equation: Callable[[Variable], Variable],
    start: Variable,
    what: str,
    *,
    by_products: bool = False,
    is_symmetric: bool = False,
) -> End:
    """Solution of a solver, differentiated by the equation that it solves in place of its steps.

    Args:
        find: from the start to the solution.
        equation: from the solution to what is 0 there, a vector of the same length.
        by_products: whether derivatives of many unknowns are found by products with the Jacobian of the equation.
        is_symmetric: whether that is symmetric.
    """
    by_products = by_products and not is_small(start)
    with unheard(), repeated(what):
        began = Variable(TensorType("bool")).serial
        x = Variable(named_type(start))
        outputs = find(x)
        used = captured(outputs, [x], began)
        left = equation(x)
        used += captured([left], [x, *used], began)
        graph = freeze([x, *used], outputs)
        gives = tuple(k for k, v in enumerate(used, 1) if is_inexact(v.type.dtype))
        backward: tuple[FrozenGraph, ...] = ()
        lacks = ""
        try:
            frozen = freeze([x, *used], [left])
            backward = (_pullback(frozen, graph.output_types, gives, by_products, is_symmetric),)
        except NotDifferentiable as error:  # of which somebody has to be told who asks
            lacks = str(error).splitlines()[0]
    return End(*apply(Implicit(graph, backward, gives, lacks), [start, *used]))


def _pullback(
    equation: Any, types: Sequence[TensorType], gives: Sequence[int], by_products: bool, is_symmetric: bool
) -> Any:
    """The cotangents of what an equation uses, for the cotangent of its solution, as `Implicit` asks for them."""
    outputs = [Variable(t) for t in types]
    inputs = [Variable(t) for t in equation.input_types]
    x, converged, dx = outputs[0], outputs[1], Variable(types[0])
    selected = Variable(dx.type.with_dtype("bool"))
    (left,) = called(equation, [x, *inputs[1:]])
    wrt = [inputs[k] for k in gives]
    rhs = dx * _or_nan(converged, 1, dx.type.dtype)
    if by_products:
        weights = _by_products(left, x, inputs[1:], is_symmetric)(rhs, x, *inputs[1:])
    else:
        weights = solved(jacobian(left, x, disconnected="zero"), rhs, transposed=True)
    is_read = any_of(selected)
    slopes = vjp(left, wrt, -weights, disconnected="zero") if wrt else []
    return freeze(
        [*outputs, *inputs, dx, selected], [where(is_read, conjugate(dp), zero(dp.type.dtype)) for dp in slopes]
    )


def _by_products(left: Variable, x: Variable, operands: Sequence[Variable], is_symmetric: bool) -> SolveByProducts:
    """Solver with the transpose of the Jacobian of an equation by products; forward mode may be missing."""
    v = Variable(x.type)
    inputs = [v, x, *operands]
    products: list[FrozenGraph] = []
    with contextlib.suppress(NotDifferentiable):
        products.append(freeze(inputs, [jvp(left, x, v, disconnected="zero")]))
    if is_symmetric and products:
        return SolveByProducts(products[0], (products[0],))
    transpose = freeze(inputs, [vjp(left, x, v, disconnected="zero")])
    return SolveByProducts(transpose, (transpose,) if is_symmetric else tuple(products))


def is_small(x: Variable) -> bool:
    """Whether a vector is known to be so short that the square of its length is little memory."""
    (n,) = x.type.shape
    return n is not None and n <= FEW


def solved(a: Variable, b: Variable, *, transposed: bool = False) -> Variable:
    """The vector x at which a x = b, or x a = b; NaN where the matrix is singular."""
    if a.type.shape == (1, 1):
        return b / _or_nan(a[0] != 0, a[0], b.type.dtype)
    dtype = in_float32(b.type.dtype)
    x = solve(cast_variable(a, dtype), cast_variable(b, dtype), transposed=transposed, on_error="nan")
    return cast_variable(x, b.type.dtype)


def _or_nan(condition: Variable, value: Any, dtype: str) -> Variable:
    """A factor: what is linear in its other operand is NaN in both modes where the condition does not hold."""
    return where(condition, as_variable(value, dtype), numpy_dtype(dtype).type(np.nan))


def largest(v: Variable) -> Variable:
    """The largest absolute value; 0 of no elements."""
    return max_of(absolute(v), initial=0)
