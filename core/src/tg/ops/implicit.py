"""Solutions of equations, differentiated by these, not by the steps that led there; linear ones by products alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.errors import NotDifferentiable, message
from tg.graph.op import Op
from tg.ops.creation import ones_like, zeros_like
from tg.ops.custom import OwnDerivative, spelled_out
from tg.ops.elementwise.arithmetic import negative
from tg.ops.elementwise.comparison import where
from tg.ops.family import Family
from tg.ops.inner import inner_types
from tg.ops.iteration import while_loop
from tg.ops.reduction import any as any_of
from tg.ops.reduction import sum as sum_of
from tg.types.dtypes import float_limits, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Variable
    from tg.types.tensor_type import TensorType

NEAR: Final = 5 / 6  # the power of eps to which residuals fall: rounding leaves the rest
FAR: Final = 1 / 2  # and that beyond which there is no solution
MOST: Final = 2000  # steps


@final
class Implicit(OwnDerivative):
    """A graph whose first result solves an equation, by which alone it is differentiated.

    `backward` takes the results, the operands, the cotangent of the first result and where that is not 0 by selection,
    and gives the cotangents of operands. It reads the result of the op itself, not what led to it, so that its
    derivative is again that of a solution. The other results, which say how the graph got there, have no derivative;
    nor has the first operand, where it began.

    Shapes:
        as the graph's inputs and outputs
    Source:
        The implicit function theorem: where F(x, p) = 0, dx = -(dF/dx)^-1 (dF/dp) dp.
    """

    backward: tuple[FrozenGraph, ...]
    """None where the equation has no derivative, as `lacks` says."""
    gives: tuple[int, ...]
    """The operands whose cotangents `backward` gives."""
    lacks: str = ""

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The pullback of the equation at the solution; zeros for where the graph began."""
        dx = cotangents[0]
        if dx is None:
            return [None] * len(inputs)
        if not self.backward:
            raise NotDifferentiable(message(f"solution: its equation has no derivative: {self.lacks}"))
        gradients = spelled_out(self.backward[0], [*outputs, *inputs, dx, tools.selected(dx)])
        by_operand = dict(zip(self.gives, gradients, strict=True))
        return [zeros_like(inputs[0]), *(by_operand.get(k) for k in range(1, len(inputs)))]

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """The solver and its derivative batched."""
        return tools.batch_implicit(self, size, inputs, batched)  # type: ignore[no-any-return]


@final
class SolveByProducts(Op):
    """The vector at which a linear map is b, found by products alone; NaN where it is not found.

    `product` takes a vector and what the map is made of, and so does `transpose`, where it is known. A map that is its
    own transpose is taken for a positive definite one. Importing a graph writes the steps out.

    Shapes:
        b (..., n), operands -> z (..., n)
    Source:
        Conjugate gradients, and for others BiCGSTAB: van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992), 631.
    """

    product: FrozenGraph
    transpose: tuple[FrozenGraph, ...]
    only_derives = True
    has_expansion = True

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The type of b."""
        inner_types("solve_by_products", self.product, inputs)
        return inputs[:1]

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """The steps, and whether they led there."""
        b, *operands = inputs

        def times(z: Variable) -> Variable:
            return spelled_out(self.product, [z, *operands])[0]

        z = (_conjugate if self.transpose == (self.product,) else _stabilized)(times, b)
        left, eps = b - times(z), float(float_limits(b.type.dtype).eps)
        is_found = _dot(left, left) <= eps ** (2 * FAR) * _dot(b, b)
        return (where(is_found, z, numpy_dtype(b.type.dtype).type(np.nan)),)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The pullback of b solves with the transpose; that of the map is its product's, at the solution."""
        (dz,) = cotangents
        if dz is None:
            return [None] * len(inputs)
        if not self.transpose:
            text = "solution: its second derivative needs forward mode, which what is solved does not have"
            raise NotDifferentiable(message(text, hint="tg.custom_jvp serves both modes"))
        db = SolveByProducts(self.transpose[0], (self.product,))(dz, *inputs[1:])
        _, *rest = tools.vjp_call(self.product, [outputs[0], *inputs[1:]], [negative(db)])
        return [db, *rest]

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """The products batched: each vector has steps of its own."""
        return tools.batch_by_products(self, size, inputs, batched)  # type: ignore[no-any-return]


def _dot(a: Variable, b: Variable) -> Variable:
    return sum_of(a * b, axis=-1, keepdims=True)


def _over(a: Variable, b: Variable) -> Variable:
    """The quotient; 0 where nothing can be divided by."""
    return where(b == 0, 0, a / where(b == 0, 1, b)).astype(a.type.dtype)


class _Conjugate(NamedTuple):
    z: Any
    left: Any
    direction: Any
    square: Any
    steps: Any


def _conjugate(times: Callable[[Variable], Variable], b: Variable) -> Variable:
    """Conjugate gradients."""
    enough = _enough(b)

    def step(s: _Conjugate) -> _Conjugate:
        goes_on = s.square > enough
        turned = times(s.direction)
        length = where(goes_on, _over(s.square, _dot(s.direction, turned)), 0).astype(b.type.dtype)
        left = s.left - length * turned
        square = where(goes_on, _dot(left, left), s.square)
        direction = where(goes_on, left + _over(square, s.square) * s.direction, s.direction)
        return _Conjugate(s.z + length * s.direction, left, direction, square, s.steps + 1)

    start = _Conjugate(zeros_like(b), b, b, _dot(b, b), np.int64(0))
    s = while_loop(lambda s: any_of(s.square > enough) & (s.steps < MOST), step, start)
    return s.z  # type: ignore[no-any-return]


class _Stabilized(NamedTuple):
    z: Any
    left: Any
    direction: Any
    turned: Any
    rho: Any
    alpha: Any
    omega: Any
    steps: Any


def _stabilized(times: Callable[[Variable], Variable], b: Variable) -> Variable:
    """BiCGSTAB, whose shadow of the residual is the first one."""
    enough, dtype = _enough(b), b.type.dtype

    def step(s: _Stabilized) -> _Stabilized:
        goes_on = _dot(s.left, s.left) > enough
        rho = _dot(b, s.left)
        beta = _over(rho, s.rho) * _over(s.alpha, s.omega)
        direction = s.left + beta * (s.direction - s.omega * s.turned)
        turned = times(direction)
        alpha = _over(rho, _dot(b, turned))
        half = s.left - alpha * turned
        again = times(half)
        omega = _over(_dot(again, half), _dot(again, again))
        z = s.z + alpha * direction + omega * half
        new = _Stabilized(z, half - omega * again, direction, turned, rho, alpha, omega, s.steps + 1)
        fields = [where(goes_on, v, old).astype(dtype) for v, old in zip(new[:-1], s[:-1], strict=True)]
        return _Stabilized._make([*fields, new.steps])

    def goes_on(s: _Stabilized) -> Any:
        return any_of(_dot(s.left, s.left) > enough) & (s.steps < MOST)

    nothing, one = zeros_like(b), ones_like(enough)
    start = _Stabilized(nothing, b, nothing, nothing, one, one, one, np.int64(0))
    s = while_loop(goes_on, step, start)
    return s.z  # type: ignore[no-any-return]


def _enough(b: Variable) -> Any:
    """The square of a residual that is small enough."""
    return _dot(b, b) * float(float_limits(b.type.dtype).eps) ** (2 * NEAR)


FAMILY = Family("implicit", ops=(Implicit, SolveByProducts))
