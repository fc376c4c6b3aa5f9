"""The user's functions: `grad`, `value_and_grad`, and the products with the Jacobian, `vjp` and `jvp`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from tg.errors import InputError, NotDifferentiable, message
from tg.gradient import derivatives
from tg.gradient.arguments import beside, connected, need_choice, of_expressions, real_scalar, wanted
from tg.gradient.pullback import dependencies, ones_for
from tg.gradient.selection import Supports
from tg.graph.nodes import Variable
from tg.graph.traversal import key_of
from tg.ops.creation import zeros_like
from tg.types.dtypes import is_inexact
from tg.variables.conversion import as_variable
from tg.variables.structure import flatten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from tg.gradient.options import Differentiated, Held
    from tg.types.choices import Disconnected
    from tg.variables.structure import Structure


T = TypeVar("T")
V = TypeVar("V", bound=Variable)

if TYPE_CHECKING:
    Expression = Variable | complex | None  # a number is an expression, and so is what `sum` of a list gives


@overload
def grad(cost: Expression, wrt: Variable, **options: Unpack[Differentiated]) -> Variable: ...
@overload
def grad(cost: Expression, wrt: list[V], **options: Unpack[Differentiated]) -> list[Variable]: ...
@overload
def grad(cost: Expression, wrt: T, **options: Unpack[Differentiated]) -> T: ...
@of_expressions
def grad(
    cost: Any,
    wrt: Any,
    *,
    consider_constant: Sequence[Variable] = (),
    known_grads: Mapping[Variable, Any] | None = None,
    disconnected: Disconnected = "raise",
) -> Any:
    """The gradient of a scalar.

    Args:
        cost: a real floating scalar; None where `known_grads` says all there is to know.
        wrt: a variable, or a nesting of lists, tuples, dicts and dataclasses; gradients come in the same structure. A
            variable may be an intermediate one.
        consider_constant: variables through which nothing is differentiated.
        known_grads: gradients with respect to intermediate variables, which are taken as given: what would flow to
            these variables from the cost is ignored.
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
    pairs = _known(known_grads or {})
    if cost is None and not pairs:
        raise InputError(message("grad: found neither a cost nor known gradients, needed one of them"))
    need_choice(disconnected, "grad")
    leaves, structure = wanted(wrt, "grad")
    costs = [] if cost is None else [real_scalar(cost, "grad")]
    gradients = derivatives.gradients(costs, [ones_for(v) for v in costs], leaves, _constants(consider_constant), pairs)
    return structure(iter(connected(gradients, leaves, disconnected, "grad: the cost does not depend on {}")))


@overload
def value_and_grad(cost: Expression, wrt: Variable, **options: Unpack[Differentiated]) -> tuple[Variable, Variable]: ...
@overload
def value_and_grad(
    cost: Expression, wrt: list[V], **options: Unpack[Differentiated]
) -> tuple[Variable, list[Variable]]: ...
@overload
def value_and_grad(cost: Expression, wrt: T, **options: Unpack[Differentiated]) -> tuple[Variable, T]: ...
@of_expressions
def value_and_grad(
    cost: Any,
    wrt: Any,
    *,
    consider_constant: Sequence[Variable] = (),
    known_grads: Mapping[Variable, Any] | None = None,
    disconnected: Disconnected = "raise",
) -> tuple[Variable, Any]:
    """The scalar and its gradient, as `grad` gives it."""
    v = real_scalar(cost, "value_and_grad")
    return v, grad(v, wrt, consider_constant=consider_constant, known_grads=known_grads, disconnected=disconnected)


@overload
def vjp(outputs: Any, wrt: Variable, cotangents: Any, **options: Unpack[Held]) -> Variable: ...
@overload
def vjp(outputs: Any, wrt: list[V], cotangents: Any, **options: Unpack[Held]) -> list[Variable]: ...
@overload
def vjp(outputs: Any, wrt: T, cotangents: Any, **options: Unpack[Held]) -> T: ...
@of_expressions
def vjp(
    outputs: Any,
    wrt: Any,
    cotangents: Any,
    *,
    consider_constant: Sequence[Variable] = (),
    disconnected: Disconnected = "raise",
) -> Any:
    """The product of cotangents with the Jacobian: sum over outputs of cotangent * d output / d wrt.

    Args:
        outputs: a variable, or a nesting of lists, tuples, dicts and dataclasses.
        cotangents: in the structure of the outputs, each in the shape of its output.
        wrt, consider_constant, disconnected: as in `grad`.
    Raises:
        InputError: cotangents are nested in another way than outputs, or one has another shape than its output.
        NotDifferentiable: as `grad`.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.vjp(x * x, x, [1.0, 10.0]).eval({x: [1.0, 2.0]})
        array([ 2., 40.])
    """
    need_choice(disconnected, "vjp")
    outs, structure = _variables(outputs)
    dys = _beside(outs, structure, cotangents, "vjp", "cotangent")
    leaves, shape = wanted(wrt, "vjp")
    gradients = derivatives.gradients(outs, dys, leaves, _constants(consider_constant))
    return shape(iter(connected(gradients, leaves, disconnected, "vjp: the outputs do not depend on {}")))


@overload
def jvp(outputs: Variable, wrt: Any, tangents: Any, **options: Unpack[Held]) -> Variable: ...
@overload
def jvp(outputs: list[V], wrt: Any, tangents: Any, **options: Unpack[Held]) -> list[Variable]: ...
@overload
def jvp(outputs: T, wrt: Any, tangents: Any, **options: Unpack[Held]) -> T: ...
@of_expressions
def jvp(
    outputs: Any,
    wrt: Any,
    tangents: Any,
    *,
    consider_constant: Sequence[Variable] = (),
    disconnected: Disconnected = "raise",
) -> Any:
    """The product of the Jacobian with tangents: sum over wrt of d output / d wrt * tangent, in one forward sweep.

    This is the derivative of the outputs in the direction of the tangents. The outputs themselves are at hand; only
    their tangents are returned.

    Args:
        outputs: a variable, or a nesting of lists, tuples, dicts and dataclasses; results come in this structure.
        wrt: as in `grad`.
        tangents: in the structure of `wrt`, each in the shape of its variable.
        consider_constant: variables through which nothing is differentiated.
        disconnected: "raise", "zero" or "warn" (and zero) where an output does not depend on `wrt`.
    Raises:
        InputError: tangents are nested in another way than `wrt`, or one has another shape than its variable; an output
            does not depend on `wrt`, and `disconnected` is "raise".
        NotDifferentiable: a variable is not floating, or an op has no derivative.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.jvp(x * x, x, [1.0, 10.0]).eval({x: [1.0, 2.0]})
        array([ 2., 40.])
    """
    need_choice(disconnected, "jvp")
    outs, structure = _variables(outputs)
    leaves, shape = wanted(wrt, "jvp")
    supports = Supports()
    ts = [supports.asked(t) for t in _beside(leaves, shape, tangents, "jvp", "tangent")]
    products = derivatives.tangents(outs, leaves, ts, _constants(consider_constant), supports)
    for y, t in zip(outs, products, strict=True):
        if t is None and not is_inexact(y.type.dtype):
            raise NotDifferentiable(message(f"jvp: found the output {y!r}, needed a floating dtype"))
    if any(t is None for t in products):
        products = [
            zeros_like(y) if t is None and _is_flat(y, leaves) else t for y, t in zip(outs, products, strict=True)
        ]
    return structure(iter(connected(products, outs, disconnected, "jvp: {} does not depend on wrt")))


def _is_flat(y: Variable, wrt: Sequence[Variable]) -> bool:
    """Whether an output that has no tangent depends on a variable all the same, as through `floor`."""
    below = dependencies([y])
    return any(key_of(v) in below for v in wrt)


def _variables(outputs: Any) -> tuple[list[Variable], Structure]:
    leaves, structure = flatten(outputs)
    return [as_variable(v) for v in leaves], structure


def _beside(like: Sequence[Variable], structure: Structure, value: Any, what: str, kind: str) -> list[Variable]:
    leaves = structure.leaves_of(value, f"{what}: {kind}s")
    return [beside(g, v, what, kind) for g, v in zip(leaves, like, strict=True)]


def _constants(value: Any) -> list[Variable]:
    variables = [value] if isinstance(value, Variable) else list(value)
    for v in variables:
        if not isinstance(v, Variable):
            raise InputError(message(f"consider_constant: found {v!r}, needed variables"))
    return variables


def _known(known_grads: Any) -> list[tuple[Variable, Variable]]:
    pairs = known_grads.items() if isinstance(known_grads, dict) else known_grads
    gradients = []
    for v, dv in pairs:
        if not isinstance(v, Variable):
            raise InputError(message(f"grad: known_grads: found {v!r}, needed a variable"))
        gradients.append((v, beside(dv, v, "grad: known_grads", "gradient")))
    return gradients
