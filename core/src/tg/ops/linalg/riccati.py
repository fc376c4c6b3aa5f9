"""Riccati's equations of discrete and of continuous time, by doubling.

Where control has a matrix and its adjoint, the ops have two operands: so they are analytic, and assume no symmetry of
what is given or differentiated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.graph.op import Op
from tg.ops.contraction import MatMul
from tg.ops.creation import ones
from tg.ops.elementwise.arithmetic import absolute, add, maximum, multiply, negative, sqrt, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater, where
from tg.ops.family import Family
from tg.ops.linalg.equations import SolveStein, SolveSylvester, doubled
from tg.ops.linalg.linear_systems import Solve, identities
from tg.ops.linalg.matrices import (
    adjoint,
    broadcast_matrices,
    info_check,
    need_matrices,
    need_same,
    need_square,
    real_type,
    whether_to_raise,
)
from tg.ops.reduction import any as any_of
from tg.ops.reduction import max as max_of
from tg.ops.shape import Concatenate, expand_dims_at, matrix_transpose
from tg.types.dtypes import float_limits, numpy_dtype
from tg.types.requirements import Requirements
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.checks import Check
    from tg.graph.nodes import Variable
    from tg.types.choices import OnError
    from tg.variables.like import TensorLike

MOST_STEPS: Final = 64  # each squares eigenvalues inside of the unit circle: 1 - 2^-53 comes to 0 in fewer
REFINEMENTS: Final = 2  # steps of Newton's method, each with a residual of what was given
UNSTABLE: Final = "has no solution that was found: none that makes the closed loop stable"


@final
class DiscreteRiccati(Op):
    """The solution of x = q + at x (1 + g x)^-1 a for which all powers of (1 + g x)^-1 a vanish; and info.

    `info` is 1 where none was found, or x is not finite: x is NaN then, and with `raises` that is an error.

    Shapes:
        a (..., n, n), at (..., n, n), g (..., n, n), q (..., n, n) -> x (..., n, n), info int32 (...)
    Raises:
        LinAlgError: with `raises`, there is no such solution.
    Source:
        E. K.-W. Chu, H.-Y. Fan, W.-W. Lin and C.-S. Wang, Structure-preserving algorithms for periodic discrete-time
        algebraic Riccati equations, 2004, section 3; then Newton's method. The pullback solves Stein's equation.
    """

    raises: bool = True
    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType, at: TensorType, g: TensorType, q: TensorType) -> tuple[TensorType, ...]:
        """The type of q, and an integer for each matrix."""
        return _types("solve_discrete_are", a, at, g, q)

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """By doubling, refined."""
        a, at, g, q = inputs
        with Requirements():  # lengths of the steps are no values of a graph that is being rewritten
            x = _by_doubling(a, at, g, q)
            for _ in range(REFINEMENTS):
                left, right = _closed_loops(a, at, g, x)
                rest = subtract(add(q, _product(at, x, right)), x)
                more, settled = doubled(left, right, rest)
                x = add(x, more)
        return _with_info(x, settled)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """There are solutions."""
        what = "solve_discrete_are"
        return (info_check(outputs[1], what, UNSTABLE, f"tg.linalg.{what}"),) if self.raises else ()

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Products with the w of w - left' w right' = dx, where dx - left dx right is the equation's differential."""
        (a, at, g, _), (x, _), (dx, _) = inputs, outputs, cotangents
        if dx is None:
            return (None, None, None, None)
        left, right = _closed_loops(a, at, g, x)
        w = SolveStein(stable=True)(matrix_transpose(left), matrix_transpose(right), dx)
        lx, xr = (matrix_transpose(MatMul()(*pair)) for pair in ((left, x), (x, right)))
        da, dat = MatMul()(lx, w), MatMul()(w, xr)
        return (da, dat, negative(MatMul()(da, xr)), w)


@final
class ContinuousRiccati(Op):
    """The solution of at x + x a - x g x + q = 0 for which a - g x is stable: its eigenvalues are left of 0; and info.

    `info` is 1 where none was found, or x is not finite: x is NaN then, and with `raises` that is an error.

    Shapes:
        a (..., n, n), at (..., n, n), g (..., n, n), q (..., n, n) -> x (..., n, n), info int32 (...)
    Raises:
        LinAlgError: with `raises`, there is no such solution.
    Source:
        E. K.-W. Chu, H.-Y. Fan and W.-W. Lin, A structure-preserving doubling algorithm for continuous-time algebraic
        Riccati equations, 2005; then Newton's method. The pullback solves Sylvester's equation.
    """

    raises: bool = True
    by_matrix = True
    has_expansion = True

    def infer(self, a: TensorType, at: TensorType, g: TensorType, q: TensorType) -> tuple[TensorType, ...]:
        """The type of q, and an integer for each matrix."""
        return _types("solve_continuous_are", a, at, g, q)

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """Of the discrete equation that Cayley's transform makes of it; refined."""
        a, at, g, q = inputs
        shift = _scale(a, g, q)
        with Requirements():  # lengths of the steps are no values of a graph that is being rewritten
            x = _by_doubling(*_transformed(a, at, g, q, shift))
            for _ in range(REFINEMENTS):
                left, right = subtract(at, MatMul()(x, g)), subtract(a, MatMul()(g, x))
                rest = add(add(MatMul()(left, x), MatMul()(x, a)), q)
                more, settled = doubled(*_discrete(left, right, rest, shift))
                x = add(x, more)
        return _with_info(x, settled)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """There are solutions."""
        what = "solve_continuous_are"
        return (info_check(outputs[1], what, UNSTABLE, f"tg.linalg.{what}"),) if self.raises else ()

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Products with the w of left' w + w right' = -dx, where left dx + dx right is the equation's differential."""
        (a, at, g, _), (x, _), (dx, _) = inputs, outputs, cotangents
        if dx is None:
            return (None, None, None, None)
        left, right = subtract(at, MatMul()(x, g)), subtract(a, MatMul()(g, x))
        w = SolveSylvester()(matrix_transpose(left), matrix_transpose(right), negative(dx))
        xt = matrix_transpose(x)
        da, dat = MatMul()(xt, w), MatMul()(w, xt)
        return (da, dat, negative(MatMul()(da, xt)), w)


def _types(what: str, *types: TensorType) -> tuple[TensorType, ...]:
    need_matrices(what, *types)
    for t in types:
        need_square(what, t)
        need_same(what, "rows of matrices", types[0].shape[-1], t.shape[-1])
    return (types[-1], TensorType("int32", types[-1].shape[:-2]))


def _solved(a: Variable, b: Variable, transpose: str = "n") -> Variable:
    return Solve(transpose, positive=False, raises=False)(a, b)[0]  # type: ignore[no-any-return]


def _over(a: Variable, b: Variable) -> Variable:
    """a b^-1."""
    return matrix_transpose(_solved(b, matrix_transpose(a), "t"))


def _product(a: Variable, b: Variable, c: Variable) -> Variable:
    return MatMul()(MatMul()(a, b), c)  # type: ignore[no-any-return]


def _one_plus(a: Variable, b: Variable) -> Variable:
    return add(identities(a), MatMul()(a, b))


def _closed_loops(a: Variable, at: Variable, g: Variable, x: Variable) -> tuple[Variable, Variable]:
    """at (1 + x g)^-1 and (1 + g x)^-1 a."""
    return _over(at, _one_plus(x, g)), _solved(_one_plus(g, x), a)


def _largest(x: Variable) -> Variable:
    """The largest magnitude of each matrix."""
    return max_of(absolute(x), (-2, -1), initial=0)


def _by_doubling(a: Variable, at: Variable, g: Variable, q: Variable) -> Variable:
    """The limit of q, where a step makes equations of twice as many steps of time, until no step changes it."""
    from tg.ops.iteration import while_loop

    kind = real_type(a.type.dtype)
    eps = numpy_dtype(kind).type(float_limits(kind).eps)
    n = a.shape[-1]

    def step(carry: Any) -> Any:
        a, at, g, h, _ = carry
        both = _solved(_one_plus(g, h), Concatenate(-1)(a, g))
        more = _product(at, h, both[..., :n])
        after = add(h, more)
        change = greater(_largest(more), multiply(_largest(after), eps))
        g = add(g, _product(a, both[..., n:], at))
        return MatMul()(a, both[..., :n]), MatMul()(_over(at, _one_plus(h, carry[2])), at), g, after, change

    start = (a, at, g, q, ones(a.shape[:-2], dtype="bool"))
    return while_loop(lambda carry: any_of(carry[4]), step, start, MOST_STEPS)[3]  # type: ignore[no-any-return]


def _with_info(x: Variable, settled: Variable) -> tuple[Variable, Variable]:
    """NaN, and 1, where there is no solution."""
    nan = numpy_dtype(x.type.dtype).type(np.nan)
    return where(expand_dims_at(settled, (-2, -1)), x, nan), where(settled, np.int32(0), np.int32(1))


def _scale(a: Variable, g: Variable, q: Variable) -> Variable:
    """A number beyond the eigenvalues of a, of the size of the closed loop's, for each matrix."""
    size = maximum(_norm(a), sqrt(multiply(_norm(g), _norm(q))))
    one = numpy_dtype(size.type.dtype).type(1)
    scale = where(greater(size, 0), add(size, size), one)
    return cast_variable(expand_dims_at(scale, (-2, -1)), a.type.dtype)


def _norm(x: Variable) -> Variable:
    from tg.ops.norm import norm

    return norm(x, "fro", (-2, -1))


def _transformed(a: Variable, at: Variable, g: Variable, q: Variable, shift: Variable) -> list[Variable]:
    """The operands of the discrete equation with the same solution: eigenvalues l are (l + shift) / (l - shift) there.

    With s the shift, A = a - s, B = at - s, V = B + q A^-1 g: 1 + 2 s (A + g B^-1 q)^-1, 1 + 2 s V^-1, 2 s A^-1 g V^-1
    and 2 s V^-1 q A^-1.
    """
    one, twice = identities(a), add(shift, shift)
    first, second = subtract(a, multiply(one, shift)), subtract(at, multiply(one, shift))
    ag, qa = _solved(first, g), _over(q, first)
    v = add(second, MatMul()(q, ag))
    w = add(first, MatMul()(g, _solved(second, q)))
    inverses = [add(one, multiply(_solved(x, one), twice)) for x in (w, v)]
    return [*inverses, multiply(_over(ag, v), twice), multiply(_solved(v, qa), twice)]


def _discrete(left: Variable, right: Variable, rest: Variable, shift: Variable) -> list[Variable]:
    """The operands of Stein's equation with the solution of left x + x right = -rest."""
    one = multiply(identities(left), shift)
    below, beside = subtract(left, one), subtract(right, one)
    q = multiply(_over(_solved(below, rest), beside), add(shift, shift))
    return [_solved(below, add(left, one)), _over(add(right, one), beside), q]


def solve_discrete_are(
    a: TensorLike,
    b: TensorLike,
    q: TensorLike,
    r: TensorLike,
    e: TensorLike | None = None,
    s: Any = None,
    balanced: bool = True,
    *,
    on_error: OnError = "raise",
) -> Variable:
    """The stabilising solution of a' x a - e' x e - (a' x b + s) (r + b' x b)^-1 (b' x a + s') + q = 0.

    Args:
        e, s: the identity and 0 unless given.
        balanced: taken, and of no use: nothing is balanced.
        on_error: "raise", or "nan" where there is no such solution.
    Shapes:
        a (..., n, n), b (..., n, m), q (..., n, n), r (..., m, m), e (..., n, n), s (..., n, m) -> (..., n, n)
    Raises:
        LinAlgError: no solution makes the closed loop stable; r or e is singular.
    Source:
        scipy.linalg.solve_discrete_are, where r may be singular
    """
    raises = whether_to_raise("solve_discrete_are", on_error)
    operands = _reduced("solve_discrete_are", a, b, q, r, e, s, raises)
    return _hermitian(DiscreteRiccati(raises)(*operands)[0])


def solve_continuous_are(
    a: TensorLike,
    b: TensorLike,
    q: TensorLike,
    r: TensorLike,
    e: TensorLike | None = None,
    s: Any = None,
    balanced: bool = True,
    *,
    on_error: OnError = "raise",
) -> Variable:
    """The stabilising solution of e' x a + a' x e - (e' x b + s) r^-1 (b' x e + s') + q = 0.

    Args:
        e, s: the identity and 0 unless given.
        balanced: taken, and of no use: nothing is balanced.
        on_error: "raise", or "nan" where there is no such solution.
    Shapes:
        a (..., n, n), b (..., n, m), q (..., n, n), r (..., m, m), e (..., n, n), s (..., n, m) -> (..., n, n)
    Raises:
        LinAlgError: no solution makes the closed loop stable, or none that rounding lets see: in float32, where SciPy
            computes in float64, x of 1e5 times the other matrices is as good as none; r or e is singular.
    Source:
        scipy.linalg.solve_continuous_are
    """
    raises = whether_to_raise("solve_continuous_are", on_error)
    operands = _reduced("solve_continuous_are", a, b, q, r, e, s, raises)
    return _hermitian(ContinuousRiccati(raises)(*operands)[0])


def _reduced(what: str, a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, raises: bool) -> tuple[Variable, ...]:
    """a, its adjoint, b r^-1 b' and q of the same equation without e and s."""
    matrices = broadcast_matrices(what, *(v for v in (a, b, q, r, e, s) if v is not None))
    a, b, q, r, *rest = matrices
    e = rest.pop(0) if e is not None else None
    s = rest.pop(0) if s is not None else None
    solve = Solve("n", positive=False, raises=raises)
    if e is not None:
        back = Solve("t", positive=False, raises=raises)
        turned = adjoint(e)
        a, q = (matrix_transpose(back(e, matrix_transpose(v))[0]) for v in (a, q))
        q, s = solve(turned, q)[0], None if s is None else solve(turned, s)[0]
    if s is not None:
        gain = solve(r, adjoint(s))[0]
        a, q = subtract(a, MatMul()(b, gain)), subtract(q, MatMul()(s, gain))
    return a, adjoint(a), MatMul()(b, solve(r, adjoint(b))[0]), q


def _hermitian(x: Variable) -> Variable:
    kind = numpy_dtype(real_type(x.type.dtype)).type
    return multiply(add(x, adjoint(x)), kind(0.5))


FAMILY = Family(
    "linalg/riccati",
    ops=(DiscreteRiccati, ContinuousRiccati),
    functions=(solve_discrete_are, solve_continuous_are),
    module="linalg",
)
