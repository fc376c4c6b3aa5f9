"""Functions of symmetric matrices, V diag(f(w)) V' of a = V diag(w) V', with derivatives at equal eigenvalues.

The derivative of f(a) along h is V (d * V'hV) V' with the divided differences d[i, j] = f[w[i], w[j]], which are f' at
equal eigenvalues; the vectors have no derivative there, but this has. `tg.rules.linalg.spectral` finds where
a program writes such a function; what is here differs from that in its derivative alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.graph.function_graph import freeze
from tg.graph.nodes import Constant, Variable, apply
from tg.graph.op import Op
from tg.ops.contraction import MatMul
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import absolute, add, divide, multiply, subtract
from tg.ops.elementwise.comparison import equal, isnan, less, logical_and, where
from tg.ops.family import Family
from tg.ops.linalg.matrices import half_diagonal, need_matrices, need_square
from tg.ops.linalg.spectral import Eigh, Eigvalsh
from tg.ops.reduction import reduce_sum
from tg.ops.shape import broadcast_to, expand_dims_at, matrix_transpose
from tg.types.dtypes import numpy_dtype
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph

FINE: Final = tuple(zip(*np.polynomial.legendre.leggauss(5), strict=True))
COARSE: Final = tuple(zip(*np.polynomial.legendre.leggauss(3), strict=True))
COARSEST: Final = tuple(zip(*np.polynomial.legendre.leggauss(2), strict=True))


def _number(value: float, like: Variable) -> Any:
    return numpy_dtype(like.type.dtype).type(value)


def _rounding(like: Variable) -> Any:
    """The unit in the last place of 1."""
    kind = numpy_dtype(like.type.dtype)
    return kind.type(np.finfo(kind).eps)


def _at(f: FrozenGraph, x: Variable, parameters: Sequence[Variable]) -> Variable:
    """f of each element, which may be one number for all."""
    (y,) = f.instantiate([x, *parameters])
    return y if y.type.ndim == x.type.ndim else broadcast_to(y, x.shape)


def _better(first: tuple[Variable, Variable], second: tuple[Variable, Variable]) -> tuple[Variable, Variable]:
    """Of two estimates, each with what it may be off by, the one that is off by less, element by element."""
    (x, dx), (y, dy) = first, second
    is_first = logical_and(less(dx, dy), equal(x, x))
    return where(is_first, x, y), where(is_first, dx, dy)


def _integral(f: FrozenGraph, parameters: Sequence[Variable], low: Variable, gap: Variable, rule: Any) -> Variable:
    """The mean of f between two places, by Gauss and Legendre."""
    total = None
    for place, weight in rule:
        t = add(low, multiply(gap, _number((place + 1) / 2, gap)))
        term = multiply(_at(f, t, parameters), _number(weight / 2, gap))
        total = term if total is None else add(total, term)
    assert total is not None
    return total


def _first_differences(
    f: FrozenGraph, slope: FrozenGraph, w: Variable, parameters: Sequence[Variable]
) -> tuple[Variable, Variable]:
    """f[w[i], w[j]], and what it may be off by: a quotient, or the mean of the slope between the two.

    The quotient loses digits where they are close, the mean where f is not smooth between them: each says how much.

    Shapes:
        w (..., n) -> (..., n, n), (..., n, n)
    """
    low, high = expand_dims_at(w, (-1,)), expand_dims_at(w, (-2,))
    y = _at(f, w, parameters)
    below, above = expand_dims_at(y, (-1,)), expand_dims_at(y, (-2,))
    eps, zero, one = _rounding(w), _number(0, w), _number(1, w)
    gap = subtract(high, low)
    null = equal(gap, zero)
    safe = where(null, one, gap)
    off = multiply(divide(add(absolute(below), absolute(above)), absolute(safe)), eps)
    quotient = divide(subtract(above, below), safe), where(null, _number(np.inf, w), off)
    fine, coarse = (_integral(slope, parameters, low, gap, rule) for rule in (FINE, COARSE))
    off = add(absolute(subtract(fine, coarse)), multiply(absolute(fine), eps))
    return _better(quotient, (fine, where(isnan(off), _number(np.inf, w), off)))


def _second_differences(graphs: Sequence[FrozenGraph], w: Variable, parameters: Sequence[Variable]) -> Variable:
    """f[w[i], w[k], w[j]].

    Shapes:
        w (..., n) -> (..., n, n, n), by i, k, j
    """
    f, slope, bend = graphs
    first, off = _first_differences(f, slope, w, parameters)
    x, y, z = (expand_dims_at(w, axes) for axes in ((-2, -1), (-3, -1), (-3, -2)))
    f_ik, f_kj, f_ij = (expand_dims_at(first, (a,)) for a in (-1, -3, -2))
    e_ik, e_kj, e_ij = (expand_dims_at(off, (a,)) for a in (-1, -3, -2))
    eps, zero, one = _rounding(w), _number(0, w), _number(1, w)

    def quotient(above: Any, below: Any, gap: Variable) -> tuple[Variable, Variable]:
        (u, du), (v, dv) = above, below
        null = equal(gap, zero)
        safe = where(null, one, gap)
        sizes = multiply(add(absolute(u), absolute(v)), eps)
        off = divide(add(add(du, dv), sizes), absolute(safe))
        return divide(subtract(u, v), safe), where(null, _number(np.inf, w), off)

    best = quotient((f_ik, e_ik), (f_kj, e_kj), subtract(x, z))
    best = _better(best, quotient((f_ik, e_ik), (f_ij, e_ij), subtract(y, z)))
    best = _better(best, quotient((f_ij, e_ij), (f_kj, e_kj), subtract(x, y)))
    fine, coarse = (_mean_of_triangle(bend, parameters, x, y, z, rule) for rule in (COARSE, COARSEST))
    off = add(absolute(subtract(fine, coarse)), multiply(absolute(fine), eps))
    return _better(best, (fine, where(isnan(off), _number(np.inf, w), off)))[0]


def _mean_of_triangle(
    bend: FrozenGraph, parameters: Sequence[Variable], x: Variable, y: Variable, z: Variable, rule: Any
) -> Variable:
    """The integral of f'' over the triangle of mean places between three, which is f[x, y, z]."""
    total = None
    for place, weight in rule:
        u = (place + 1) / 2
        along = add(x, multiply(subtract(y, x), _number(u, x)))
        inner = _integral(bend, parameters, along, multiply(subtract(z, y), _number(u, x)), rule)
        term = multiply(inner, _number(u * weight / 2, x))
        total = term if total is None else add(total, term)
    assert total is not None
    return total


def _between(v: Variable, x: Variable) -> Variable:
    """V' x V, of a symmetric x."""
    return MatMul()(MatMul()(matrix_transpose(v), x), v)  # type: ignore[no-any-return]


def _around(v: Variable, x: Variable) -> Variable:
    """V x V'."""
    return MatMul()(MatMul()(v, x), matrix_transpose(v))  # type: ignore[no-any-return]


def _symmetric(x: Variable) -> Variable:
    return multiply(add(x, matrix_transpose(x)), _number(0.5, x))


def _lower(x: Variable) -> Variable:
    """The cotangent of a symmetric matrix, for its lower triangle alone."""
    return half_diagonal(add(x, matrix_transpose(x)))


def _derivatives(tools: Any, f: FrozenGraph) -> list[FrozenGraph]:
    """The derivatives of a function of numbers by each of them."""
    leaves = [Variable(t) for t in f.input_types]
    one = Constant(np.ones((), numpy_dtype(leaves[0].type.dtype)))
    gradients = tools.vjp_of(lambda *xs: f.instantiate(xs)[0], leaves, [one])
    return [freeze(leaves, [zeros_like(x) if dx is None else dx]) for x, dx in zip(leaves, gradients, strict=True)]


def _total(x: Variable, y: Variable) -> Variable:
    """The sum of the products of all elements."""
    z = multiply(x, y)
    return reduce_sum(z, tuple(range(-z.type.ndim, 0))) if z.type.ndim else z


def _need(a: TensorType, *others: TensorType) -> None:
    need_matrices("eigh", a, *others)
    for t in (a, *others):
        need_square("eigh", t)


class _OfSymmetric(Op):
    """An op of symmetric matrices, and of numbers that are the same for all of them: the parameters of a function."""

    by_matrix = True
    has_expansion = True

    def batch(self, tools: Any, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> Sequence[Variable]:
        """The op over more matrices; its expansion where parameters depend on the element of the batch."""
        is_matrix = [v.type.ndim - b > 0 for v, b in zip(inputs, batched, strict=True)]
        if any(b and not m for b, m in zip(batched, is_matrix, strict=True)):
            return tools.batch_expansion(self, size, inputs, batched)  # type: ignore[no-any-return]
        triples = zip(inputs, batched, is_matrix, strict=True)
        return apply(self, [tools.lead(v, b, size) if m else v for v, b, m in triples])


@final
class SymmetricFunction(_OfSymmetric):
    """V diag(f(w)) V' of matrices a = V diag(w) V', of which the lower triangle is read.

    `f` is a function of an eigenvalue and of further numbers, the parameters.

    Shapes:
        a (..., n, n), parameters () -> (..., n, n)
    Source:
        N. J. Higham, Functions of Matrices, 2008, theorem 3.11 (Daleckii and Krein).
    """

    f: FrozenGraph
    raises: bool = True
    only_derives = True

    def infer(self, a: TensorType, *parameters: TensorType) -> tuple[TensorType, ...]:
        """The type of a."""
        _need(a)
        return (a,)

    def expansion(self, *inputs: Variable) -> Variable:
        """As it is written."""
        a, *parameters = inputs
        w, v, _ = Eigh(self.raises)(a)
        y = _at(self.f, w, parameters)
        return MatMul()(multiply(v, expand_dims_at(y, (-2,))), matrix_transpose(v))  # type: ignore[no-any-return]

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The derivative along the cotangent, to which it is adjoint."""
        (a, *parameters), (dy,) = inputs, cotangents
        if dy is None:
            return (None,) * len(inputs)
        slope, *by_parameters = _derivatives(tools, self.f)
        along = SymmetricFunctionAlong(self.f, slope, self.raises)
        rest = [_total(dy, SymmetricFunction(d, self.raises)(*inputs)) for d in by_parameters]
        return (_lower(along(a, dy, *parameters)), *rest)


@final
class TraceOfFunction(_OfSymmetric):
    """The trace of `SymmetricFunction`, which is the sum of f over the eigenvalues.

    Shapes:
        a (..., n, n), parameters () -> (...)
    """

    f: FrozenGraph
    raises: bool = True
    only_derives = True

    def infer(self, a: TensorType, *parameters: TensorType) -> tuple[TensorType, ...]:
        """A number for each matrix."""
        _need(a)
        return (TensorType(a.dtype, a.shape[:-2]),)

    def expansion(self, *inputs: Variable) -> Variable:
        """As it is written."""
        a, *parameters = inputs
        w, _ = Eigvalsh(self.raises)(a)
        return reduce_sum(_at(self.f, w, parameters), (-1,))

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """f' of the matrix."""
        (dy,) = cotangents
        if dy is None:
            return (None,) * len(inputs)
        slope, *by_parameters = _derivatives(tools, self.f)
        gradient = multiply(expand_dims_at(dy, (-2, -1)), SymmetricFunction(slope, self.raises)(*inputs))
        rest = [_total(dy, TraceOfFunction(d, self.raises)(*inputs)) for d in by_parameters]
        return (_lower(gradient), *rest)


@final
class SymmetricFunctionAlong(_OfSymmetric):
    """The derivative of `SymmetricFunction` along matrices h, of which the symmetric parts count.

    Shapes:
        a (..., n, n), h (..., n, n), parameters () -> (..., n, n)
    """

    f: FrozenGraph
    slope: FrozenGraph
    raises: bool = True

    def infer(self, a: TensorType, h: TensorType, *parameters: TensorType) -> tuple[TensorType, ...]:
        """The type of a."""
        _need(a, h)
        return (a,)

    def expansion(self, *inputs: Variable) -> Variable:
        """By divided differences."""
        a, h, *parameters = inputs
        w, v, _ = Eigh(self.raises)(a)
        differences, _ = _first_differences(self.f, self.slope, w, parameters)
        return _around(v, multiply(differences, _between(v, _symmetric(h))))

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Of h, the same along the cotangent; of a, the second derivative along both."""
        (a, h, *parameters), (dy,) = inputs, cotangents
        if dy is None:
            return (None,) * len(inputs)
        _, *by_parameters = _derivatives(tools, self.f)
        bend, *slopes_by_parameters = _derivatives(tools, self.slope)
        twice = SymmetricFunctionTwice((self.f, self.slope, bend), self.raises)
        pairs = zip(by_parameters, slopes_by_parameters, strict=True)
        rest = [_total(dy, SymmetricFunctionAlong(*pair, self.raises)(*inputs)) for pair in pairs]
        return (_lower(twice(a, h, dy, *parameters)), self(a, dy, *parameters), *rest)


@final
class SymmetricFunctionTwice(_OfSymmetric):
    """The second derivative of `SymmetricFunction` along two matrices; it has its own derivatives by the vectors.

    Shapes:
        a (..., n, n), g (..., n, n), h (..., n, n), parameters () -> (..., n, n)
    """

    graphs: tuple[FrozenGraph, ...]  # f, f', f''
    raises: bool = True

    def infer(self, a: TensorType, g: TensorType, h: TensorType, *parameters: TensorType) -> tuple[TensorType, ...]:
        """The type of a."""
        _need(a, g, h)
        return (a,)

    def expansion(self, *inputs: Variable) -> Variable:
        """By divided differences."""
        a, g, h, *parameters = inputs
        w, v, _ = Eigh(self.raises)(a)
        d = _second_differences(self.graphs, w, parameters)
        g, h = (_between(v, _symmetric(x)) for x in (g, h))
        (g_ik, h_ik), (g_kj, h_kj) = ([expand_dims_at(x, (k,)) for x in (g, h)] for k in (-1, -3))
        products = add(multiply(g_ik, h_kj), multiply(h_ik, g_kj))
        return _around(v, reduce_sum(multiply(d, products), (-2,)))


FAMILY = Family(
    "linalg/spectral_functions",
    ops=(SymmetricFunction, TraceOfFunction, SymmetricFunctionAlong, SymmetricFunctionTwice),
    module="linalg",
)
