"""What users call: `grad`, `value_and_grad`, `vjp`, `jacobian`, `stop_gradient`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

from tg.errors import InputError, NotDifferentiable, OptionError, message
from tg.gradient.batching import vectorized
from tg.gradient.pullback import cotangents_of, ones_for
from tg.graph.nodes import Variable
from tg.ops.creation import eye, zeros_like
from tg.ops.elementwise.cast import cast_variable
from tg.ops.shape import reshape
from tg.types.dtypes import is_float, is_inexact
from tg.types.lengths import product
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Sequence


DISCONNECTED: Final = ("raise", "zero", "warn")


def grad(cost: Any, wrt: Any, *, consider_constant: Sequence[Variable] = (), disconnected: str = "raise") -> Any:
    """The gradient of a scalar.

    Args:
        cost: a real floating scalar.
        wrt: a variable, or a list, tuple or dict of variables; gradients come in the same structure. A variable may be
            an intermediate one.
        consider_constant: variables through which nothing is differentiated.
        disconnected: "raise", "zero" or "warn" (and zero) where the cost does not depend on a variable.
    Raises:
        NotDifferentiable: the cost is no real scalar, a variable is not floating, or an op has no derivative.
        InputError: the cost does not depend on a variable, and `disconnected` is "raise".
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> g = tg.grad(tg.sum(x**2), x)
        >>> g.eval({x: [1.0, 3.0]})
        array([2., 6.])
    """
    cost = _scalar(cost)
    return _in_structure(wrt, lambda vs: _grads(cost, vs, consider_constant, disconnected))


def value_and_grad(cost: Any, wrt: Any, **options: Any) -> tuple[Variable, Any]:
    """The scalar and its gradient, as `grad` gives it."""
    cost = _scalar(cost)
    return cost, grad(cost, wrt, **options)


def vjp(outputs: Any, wrt: Any, cotangents: Any, *, disconnected: str = "raise") -> Any:
    """The product of cotangents with the Jacobian: sum over outputs of cotangent * d output / d wrt.

    Args:
        outputs, cotangents: a variable each, or sequences of equal length; a cotangent has the shape of its output.
        wrt: as in `grad`.
    Raises:
        InputError: the numbers of outputs and cotangents differ, or a cotangent has another rank than its output.
    """
    outs = [outputs] if isinstance(outputs, Variable) else list(outputs)
    given = (
        [cotangents] if not isinstance(cotangents, list | tuple) or isinstance(outputs, Variable) else list(cotangents)
    )
    if len(outs) != len(given):
        raise InputError(message(f"vjp: found {len(given)} cotangents, needed {len(outs)}"))
    made: list[Variable | None] = []
    for y, dy in zip(outs, given, strict=True):
        v = as_variable(dy)
        if v.type.ndim != y.type.ndim:
            raise InputError(message(f"vjp: found a cotangent {v.type} for {y.type}, needed its rank"))
        made.append(cast_variable(v, y.type.dtype))
    return _in_structure(wrt, lambda vs: _connected(cotangents_of(outs, made, vs), vs, disconnected))


def jacobian(expression: Any, wrt: Any, *, disconnected: str = "raise") -> Any:
    """All partial derivatives of an expression.

    Shapes:
        expression (n...), wrt (m...) -> (n..., m...)
    Args:
        wrt: as in `grad`.
    Raises:
        NotDifferentiable: the expression or a variable is not real floating.
        InputError: as `grad`.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.jacobian(x * x, x).eval({x: [1.0, 2.0]})
        array([[2., 0.],
               [0., 4.]])
    """
    y = as_variable(expression)
    if not is_float(y.type.dtype):
        raise NotDifferentiable(message(f"jacobian: found {y.type}, needed a real floating expression"))
    seed = Variable(y.type)
    seed.lengths = y.shape

    def rows(vs: Sequence[Variable]) -> list[Variable]:
        found = _connected(cotangents_of([y], [seed], vs), vs, disconnected)
        size = product(y.shape)
        basis = reshape(eye(size, dtype=y.type.dtype), (size, *y.shape))
        batched = vectorized(found, {id(seed): basis}, size)
        return [reshape(g, (*y.shape, *v.shape)) for g, v in zip(batched, vs, strict=True)]

    return _in_structure(wrt, rows)


def _scalar(cost: Any) -> Variable:
    v = as_variable(cost)
    if not is_float(v.type.dtype):
        raise NotDifferentiable(message(f"grad: found a cost {v.type}, needed a real floating scalar"))
    if v.type.ndim != 0:
        hint = "tg.sum(cost) is a scalar; tg.jacobian differentiates arrays"
        raise NotDifferentiable(message(f"grad: found a cost {v.type}, needed a scalar", hint=hint))
    return v


def _in_structure(wrt: Any, build: Any) -> Any:
    """`build` called with the variables of a structure, its results in the same structure."""
    if isinstance(wrt, Variable):
        return build(_checked([wrt]))[0]
    if isinstance(wrt, dict):
        return dict(zip(wrt, build(_checked(list(wrt.values()))), strict=True))
    if isinstance(wrt, list | tuple):
        return type(wrt)(build(_checked(list(wrt))))
    raise InputError(message(f"grad: wrt: found {wrt!r}, needed a variable, or a list, tuple or dict of them"))


def _checked(wrt: list[Any]) -> list[Variable]:
    for v in wrt:
        if not isinstance(v, Variable):
            raise InputError(message(f"grad: wrt: found {v!r}, needed a variable"))
        if not is_inexact(v.type.dtype):
            raise NotDifferentiable(message(f"grad: wrt: found {v!r}, needed a floating dtype"))
    return wrt


def _grads(cost: Variable, wrt: list[Variable], constant: Sequence[Variable], disconnected: str) -> list[Variable]:
    return _connected(cotangents_of([cost], [ones_for(cost)], wrt, leaves=constant), wrt, disconnected)


def _connected(found: Sequence[Variable | None], wrt: Sequence[Variable], disconnected: str) -> list[Variable]:
    if disconnected not in DISCONNECTED:
        raise OptionError(
            message(f"grad: disconnected: found {disconnected!r}, needed one of {', '.join(DISCONNECTED)}")
        )
    made = []
    for g, v in zip(found, wrt, strict=True):
        if g is None:
            text = f"grad: the cost does not depend on {v!r}"
            if disconnected == "raise":
                where = (("created at", f"{v.loc}:  {v.loc.source}"),) if v.loc is not None else ()
                raise InputError(message(text, *where, hint='disconnected="zero" gives zeros'))
            if disconnected == "warn":
                warnings.warn(text, stacklevel=4)
            g = zeros_like(v)  # noqa: PLW2901
        made.append(g)
    return made
