"""Whole matrices of derivatives, `jacobian` and `hessian`, and the product of a Hessian with a vector."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np

from tg.errors import NotDifferentiable, OptionError, message
from tg.gradient import derivatives
from tg.gradient.api import grad, jvp
from tg.gradient.arguments import connected, need_choice, of_expressions, real_scalar, wanted
from tg.gradient.batching import vectorized
from tg.gradient.pullback import dependencies
from tg.gradient.selection import Supports
from tg.graph.nodes import Constant, Variable
from tg.graph.traversal import key_of, sorted_applies
from tg.ops.creation import eye, ones_like, zeros_like
from tg.ops.elementwise.arithmetic import asked_where
from tg.ops.loops import Scan, While
from tg.ops.shape import moveaxis, reshape
from tg.types.dtypes import BOOL, is_float
from tg.types.lengths import product
from tg.variables.conversion import as_variable
from tg.variables.structure import flatten

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from tg.gradient.api import Expression, T, V
    from tg.gradient.options import Derived, Directed
    from tg.graph.op import Op
    from tg.types.choices import Direction, Disconnected

MOST_UNITS: Final = 512  # unit vectors of which the masks are constants
DIRECTIONS: Final = ("auto", "forward", "reverse")


@overload
def jacobian(expression: Variable, wrt: Variable, **options: Unpack[Directed]) -> Variable: ...
@overload
def jacobian(expression: Any, wrt: Any, **options: Unpack[Directed]) -> Any: ...
@of_expressions
def jacobian(expression: Any, wrt: Any, *, disconnected: Disconnected = "raise", direction: Direction = "auto") -> Any:
    """All partial derivatives of an expression.

    Shapes:
        expression (n...), wrt (m...) -> (n..., m...)
    Args:
        wrt: as in `grad`.
        disconnected: as in `grad`.
        direction: "forward" sweeps once for each element of `wrt`, "reverse" once for each element of the expression,
            all at once in both; "auto" goes forward where lengths are known and `wrt` is the smaller one.
    Raises:
        NotDifferentiable: the expression or a variable is not real floating.
        InputError: as `grad`.
        OptionError: there is no such direction.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.jacobian(x * x, x).eval({x: [1.0, 2.0]})
        array([[2., 0.],
               [0., 4.]])
    """
    need_choice(disconnected, "jacobian")
    if direction not in DIRECTIONS:
        choices = ", ".join(DIRECTIONS)
        raise OptionError(message(f"jacobian: direction: found {direction!r}, needed one of {choices}"))
    y = as_variable(expression)
    leaves, structure = wanted(wrt, "jacobian")
    for v in (y, *leaves):
        if not is_float(v.type.dtype):
            raise NotDifferentiable(message(f"jacobian: found {v.type}, needed a real floating dtype"))
    forward = direction == "forward" or (direction == "auto" and _is_wide(y, leaves))
    (row,) = _forward([y], leaves, disconnected) if forward else [_reverse(y, leaves, disconnected)]
    return structure(iter(row))


def _is_wide(y: Variable, wrt: Sequence[Variable]) -> bool:
    """Whether y is known to have more elements than the variables together."""
    shapes = [v.type.shape for v in (y, *wrt)]
    if any(None in shape for shape in shapes):
        return False
    sizes = [math.prod(shape) for shape in shapes]  # type: ignore[arg-type]
    return sum(sizes[1:]) < sizes[0]


TEXT: Final = "jacobian: the expression does not depend on {}"


def _reverse(y: Variable, wrt: Sequence[Variable], disconnected: str) -> list[Variable]:
    """The pullback batched over the unit cotangents."""
    seed, supports, batch = _unit(y)
    slopes = derivatives.cotangents([y], [seed], wrt, supports=supports)
    flat = dependencies([y]) if any(g is None for g in slopes) else set()
    slopes = [zeros_like(v) if g is None and key_of(v) in flat else g for g, v in zip(slopes, wrt, strict=True)]
    gradients = connected(slopes, wrt, disconnected, TEXT)
    batched = vectorized(gradients, batch, product(y.shape))
    return [reshape(g, (*y.shape, *v.shape)) for g, v in zip(batched, wrt, strict=True)]


def _forward(ys: Sequence[Variable], wrt: Sequence[Variable], disconnected: str) -> list[list[Variable]]:
    """The pushforward batched over the unit tangents of each variable, the batch moved behind the axes of each y."""
    blocks: list[list[Variable]] = [[] for _ in ys]
    for v in wrt:
        tangents = _unit_tangents(ys, v)
        for y, t, row in zip(ys, tangents, blocks, strict=True):
            if t is None:  # in the shape of the result, whatever it is that does not depend
                flat = zeros_like(v) if key_of(v) in dependencies([y]) else None
                (zero,) = connected([flat], [v], disconnected, TEXT)
                row.append(_spread(zero, y))
            else:
                row.append(t)
    return blocks


def _unit_tangents(ys: Sequence[Variable], v: Variable) -> list[Variable | None]:
    """The tangents of each y along the unit vectors of a variable, y's own axes first; of a scalar there is one."""
    if v.type.ndim == 0:
        return list(derivatives.tangents(ys, [v], [ones_like(v)]))
    seed, supports, batch = _unit(v)
    tangents = derivatives.tangents(ys, [v], [seed], supports=supports)
    batched = iter(vectorized([t for t in tangents if t is not None], batch, product(v.shape)))
    return [
        None if t is None else reshape(moveaxis(next(batched), 0, -1), (*y.shape, *v.shape))
        for y, t in zip(ys, tangents, strict=True)
    ]


def _spread(v: Variable, y: Variable) -> Variable:
    from tg.ops.shape import broadcast_to

    return broadcast_to(v, (*y.shape, *v.shape))


def _unit(v: Variable) -> tuple[Variable, Supports, dict[int, Variable]]:
    """A unit vector of the space of v, its support, and the batches of all by the ids of the leaves that they replace.

    Where lengths are known the places that are asked for are constants, and so are the masks that are made of them.
    """
    seed, supports = Variable(v.type), Supports()
    seed.with_lengths(v.shape)
    size, shape = product(v.shape), v.type.shape
    batch = {id(seed): reshape(eye(size, dtype=v.type.dtype), (size, *v.shape))}
    count = 0 if None in shape else math.prod(shape)  # type: ignore[arg-type]
    if 0 < count <= MOST_UNITS:
        mask = Variable(v.type.with_dtype(BOOL))
        batch[id(mask)] = Constant(np.eye(count, dtype=bool).reshape(count, *shape))
        return asked_where(mask, seed), supports, batch
    return supports.asked(seed), supports, batch


@overload
def hessian(cost: Expression, wrt: Variable, **options: Unpack[Derived]) -> Variable: ...
@overload
def hessian(cost: Expression, wrt: Any, **options: Unpack[Derived]) -> Any: ...
@of_expressions
def hessian(cost: Any, wrt: Any, *, disconnected: Disconnected = "raise") -> Any:
    """All second partial derivatives of a scalar.

    Shapes:
        wrt (m...) -> (m..., m...); for a structure, the structure of `wrt` in which each element holds the structure
        again: `hessian(cost, [x, y])[0][1]` is (x..., y...).
    Args:
        wrt, disconnected: as in `grad`; of variables that the gradient does not depend on the second derivative is 0.
    Raises:
        NotDifferentiable: the cost is no real scalar, a variable is not real floating, or an op has no derivative.
        InputError: the cost does not depend on a variable, and `disconnected` is "raise".
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.hessian(x[0] ** 2 * x[1], x).eval({x: [1.0, 3.0]})
        array([[6., 2.],
               [2., 0.]])
    """
    v = real_scalar(cost, "hessian")
    gradients, structure = flatten(grad(v, wrt, disconnected=disconnected))
    if max((_nesting(node.op) for node, _ in sorted_applies(gradients)), default=0) == 1:
        leaves, own = wanted(wrt, "hessian")
        return structure(own(iter(row)) for row in _forward(gradients, leaves, "zero"))
    return structure(jacobian(g, wrt, disconnected="zero") for g in gradients)


def _nesting(op: Op) -> int:
    """The number of loops that stand within one another in an op and the graphs that it holds.

    The gradient of a loop is another one behind it. A sweep back needs both once more, with traces of what each gives
    the others and conditions for all of it; tangents go along with what they are of. Tangents of a loop are its
    gradient turned round twice, though, which each loop around it does again: of loops in loops two sweeps back are
    less (the tangents of six levels took 8,004 questions of regularity, two sweeps 2,278).
    """
    inside = max((_nesting(one.op) for graph in op.inner_graphs() for one in graph.nodes), default=0)
    return inside + isinstance(op, Scan | While)


@overload
def hvp(cost: Expression, wrt: Variable, vector: Any, **options: Unpack[Derived]) -> Variable: ...
@overload
def hvp(cost: Expression, wrt: list[V], vector: Any, **options: Unpack[Derived]) -> list[Variable]: ...
@overload
def hvp(cost: Expression, wrt: T, vector: Any, **options: Unpack[Derived]) -> T: ...
@of_expressions
def hvp(cost: Any, wrt: Any, vector: Any, *, disconnected: Disconnected = "raise") -> Any:
    """The Hessian of a scalar times a vector, without the Hessian: the gradient's derivative in that direction.

    Args:
        wrt, disconnected: as in `grad`.
        vector: in the structure of `wrt`, each part in the shape of its variable; the result has this structure too.
    Raises:
        NotDifferentiable, InputError: as `grad` and `jvp`.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.hvp(tg.sum(x**3), x, [1.0, 10.0]).eval({x: [1.0, 2.0]})
        array([  6., 120.])
    """
    v = real_scalar(cost, "hvp")
    return jvp(grad(v, wrt, disconnected=disconnected), wrt, vector, disconnected="zero")
