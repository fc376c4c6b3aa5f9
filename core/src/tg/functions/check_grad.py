"""`tg.check_grad`: gradients held against differences of the function itself."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DtypeError, GradientError, InputError, message
from tg.functions.make import function
from tg.functions.structure import flatten
from tg.gradient.api import vjp
from tg.gradient.differences import EPSILON, Differences, ones
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant, Variable
from tg.graph.traversal import sorted_applies
from tg.types.dtypes import is_complex, is_float
from tg.types.tensor_type import TensorType
from tg.variables.conversion import constant

if TYPE_CHECKING:
    from tg.functions.backends import BackendChoice
    from tg.graph.nodes import Apply

    Array = np.ndarray[Any, Any]

LOCAL: Final = 16  # elements compared of each operand where a single op is looked at


@dataclasses.dataclass(frozen=True)
class GradientCheck:
    """The outcome of a check: the element whose derivatives are furthest apart, against what is allowed there."""

    passed: bool
    compared: int  # elements
    name: str  # of the input
    index: tuple[int, ...]
    gradient: float
    difference: float
    allowed: float  # how far they may be apart
    method: str  # "complex step" or "differences"

    def __bool__(self) -> bool:
        return self.passed


def check_grad(
    subject: Any,
    inputs: Any,
    *,
    wrt: Sequence[Any] | None = None,
    rtol: float | None = None,
    entries: int = 200,
    seed: int = 0,
    backend: str | BackendChoice | None = "perform",
    raises: bool = True,
) -> GradientCheck:
    """Compare the gradient of an expression, at given values of its inputs, with differences of the expression.

    Results are weighted by random numbers and summed. The derivative in each element is taken by a complex step where
    every op on the way computes with complex numbers and is analytic there, to about as many digits as the gradient
    has; else by central differences, extrapolated. Points where the expression is not smooth are bound to fail.

    Args:
        subject: an expression, a nesting of several, or a function of variables that builds one.
        inputs: for an expression the values by variable, `{x: 1.0}`; for a function the values in order.
        wrt: the variables, or positions in `inputs`, to differentiate with respect to; all floating ones unless given.
        rtol: how far both may be apart, relative to the largest derivative of an input; unless given the square root
            of the dtype's epsilon. What the differences may be off comes on top.
        entries: how many elements of an input are compared; of larger inputs as many random ones.
        seed: of the weights and of the choice of elements.
        backend: what computes the gradient; the differences are the reference's, nothing rewritten.
        raises: whether a difference is an error, or only in the result.
    Raises:
        GradientError: they differ; the text has both values, the element, and the first op on the way whose own
            derivative differs, with the user's line.
        DtypeError: an input to differentiate with respect to is not real floating.
        InputError: `inputs` does not fit the subject.
    Example:
        >>> import tg
        >>> check = tg.check_grad(lambda x: tg.sum(tg.exp(x) * x), [[1.0, 2.0]])
        >>> check.passed, check.method
        (True, 'complex step')
    """
    variables, arrays, outputs = _arguments(subject, inputs)
    chosen = _chosen(variables, wrt)
    floating = [y for y in outputs if is_float(y.type.dtype)]
    if not floating:
        types = ", ".join(str(y.type) for y in outputs)
        raise DtypeError(message(f"check_grad: found results {types}, needed a real floating one"))
    check = _compare(variables, floating, arrays, chosen, rtol, entries, seed, backend)
    if not check.passed and raises:
        raise _error(check, _guilty(variables, floating, arrays, rtol, seed))
    return check


def _arguments(subject: Any, inputs: Any) -> tuple[list[Variable], list[Array], list[Variable]]:
    """The input variables, their values and the results."""
    if isinstance(inputs, Mapping):
        variables = list(inputs)
        if callable(subject) or not all(isinstance(v, Variable) and v.apply is None for v in variables):
            hint = "check_grad(expression, {x: 1.0}), or check_grad(function, [1.0])"
            raise InputError(message("check_grad: found values by key, needed them by input variable", hint=hint))
        arrays = [constant(value, v.type.dtype).data for v, value in inputs.items()]
        return variables, arrays, flatten(subject)[0]
    if not isinstance(inputs, list | tuple) or not callable(subject):
        hint = "check_grad(expression, {x: 1.0}), or check_grad(function, [1.0])"
        raise InputError(
            message(f"check_grad: inputs: found {inputs!r}, needed values that fit the subject", hint=hint)
        )
    arrays = [constant(value).data for value in inputs]
    names = _names(subject, len(arrays))
    variables = [Variable(TensorType(a.dtype, a.shape), name=n) for a, n in zip(arrays, names, strict=True)]
    return variables, arrays, flatten(subject(*variables))[0]


def _names(fn: Callable[..., Any], count: int) -> list[str]:
    try:
        names = list(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        names = []
    return [names[k] if len(names) == count else f"input{k}" for k in range(count)]


def _chosen(variables: Sequence[Variable], wrt: Sequence[Any] | None) -> list[int]:
    """The positions of the inputs that are differentiated with respect to."""
    if wrt is None:
        positions = [k for k, v in enumerate(variables) if is_float(v.type.dtype)]
    else:
        places = {id(v): k for k, v in enumerate(variables)}
        positions = [v if isinstance(v, int) else places.get(id(v), -1) for v in wrt]
        for v, k in zip(wrt, positions, strict=True):
            if not 0 <= k < len(variables):
                raise InputError(message(f"check_grad: wrt: found {v!r}, needed one of the inputs or its position"))
    for k in positions:
        if not is_float(variables[k].type.dtype):
            raise DtypeError(message(f"check_grad: found {variables[k]!r}, needed a real floating dtype"))
    if not positions or any(is_complex(v.type.dtype) for v in variables):
        shown = ", ".join(str(v.type) for v in variables) or "no inputs"
        raise DtypeError(message(f"check_grad: found {shown}, needed real floating inputs"))
    return positions


def _compare(
    variables: Sequence[Variable],
    outputs: Sequence[Variable],
    arrays: Sequence[Array],
    chosen: Sequence[int],
    rtol: float | None,
    entries: int,
    seed: int,
    backend: Any,
) -> GradientCheck:
    """The check itself."""
    rng = np.random.default_rng(seed)
    plain = interpret(FunctionGraph.of(variables, outputs, ones(variables, arrays)).freeze(), arrays)
    weights = [rng.uniform(0.5, 1.5, y.shape).astype(y.dtype) for y in plain]
    cotangents = [Variable(v.type) for v in outputs]
    gradient = vjp(list(outputs), [variables[k] for k in chosen], cotangents, disconnected="zero")
    f = function([*variables, *cotangents], gradient, backend=backend, on_unused_input="ignore", name="gradient")
    gradients = f(*arrays, *weights)
    differences = Differences(variables, outputs, arrays, weights)
    worst: tuple[float, GradientCheck] | None = None
    compared = 0
    for k, g in zip(chosen, gradients, strict=True):
        indices = list(np.ndindex(g.shape))
        if len(indices) > entries:
            indices = [indices[j] for j in sorted(rng.choice(len(indices), entries, replace=False))]
        rows = [(index, float(g[index]), differences.partial(k, index)) for index in indices]
        compared += len(rows)
        typical = max((abs(d.value) for _, _, d in rows if np.isfinite(d.value)), default=0.0)
        relative = rtol if rtol is not None else _precision(arrays[k], plain)
        for index, value, d in rows:
            allowed = relative * max(typical, abs(d.value)) + 10 * d.error
            apart = abs(value - d.value)
            ratio = apart / allowed if allowed > 0 else np.inf if apart > 0 else 0.0
            ratio = ratio if np.isfinite(d.value) and np.isfinite(value) else np.inf
            if worst is None or ratio > worst[0]:
                name = variables[k].name or f"input {k}"
                method = "complex step" if d.is_complex_step else "differences"
                worst = ratio, GradientCheck(bool(ratio <= 1), 0, name, index, value, d.value, float(allowed), method)
    if worst is None:
        return GradientCheck(True, 0, variables[chosen[0]].name or "input 0", (), 0.0, 0.0, 0.0, "differences")
    return dataclasses.replace(worst[1], compared=compared)


def _precision(array: Array, outputs: Sequence[Array]) -> float:
    return float(max(EPSILON[a.dtype.itemsize] for a in (array, *outputs)) ** 0.5)


def _guilty(
    variables: Sequence[Variable], outputs: Sequence[Variable], arrays: Sequence[Array], rtol: float | None, seed: int
) -> Apply | None:
    """The first op whose own derivative differs, at the values that it gets; identities come last."""
    nodes = [node for node, _ in sorted_applies(outputs)]
    operands = {id(v): v for node in nodes for v in node.inputs}
    values = interpret(FunctionGraph.of(variables, list(operands.values()), ones(variables, arrays)).freeze(), arrays)
    by_id = dict(zip(operands, values, strict=True))
    for node in sorted(nodes, key=lambda node: node.op.named_identity is not None):
        try:
            if not _is_right(node, by_id, rtol, seed):
                return node
        except Exception:  # noqa: BLE001, S112 (an op that cannot be looked at alone is not the one to name)
            continue
    return None


def _is_right(node: Apply, values: Mapping[int, Array], rtol: float | None, seed: int) -> bool:
    """Whether the derivative of a single op agrees with its differences."""
    inputs: list[Variable] = []
    arrays: list[Array] = []
    operands: list[Variable] = []
    for v in node.inputs:
        if isinstance(v, Constant):
            operands.append(v)
            continue
        inputs.append(Variable(v.type))
        arrays.append(values[id(v)])
        operands.append(inputs[-1])
    results = node.op(*operands)
    outputs = [y for y in (results if isinstance(results, tuple) else (results,)) if is_float(y.type.dtype)]
    chosen = [k for k, v in enumerate(inputs) if is_float(v.type.dtype)]
    if not outputs or not chosen:
        return True
    return _compare(inputs, outputs, arrays, chosen, rtol, LOCAL, seed, "perform").passed


def _error(check: GradientCheck, node: Apply | None) -> GradientError:
    place = f"{check.name}{list(check.index)}" if check.index else check.name
    lines = [
        ("gradient", repr(check.gradient)),
        ("differences", f"{check.difference!r}, by {check.method}"),
        ("allowed", f"{check.allowed:.2g} apart"),
    ]
    hint = "where the function is not smooth there is no derivative to agree with" if node is None else None
    if node is not None:
        lines.append(("op", f"{node.op.name}: its own derivative differs"))
        if node.loc is not None:
            lines.append(("created at", f"{node.loc}:  {node.loc.source}"))
    apart = abs(check.gradient - check.difference)
    text = f"check_grad: {place}: found a gradient that is {apart:.3g} off, the furthest of {check.compared}"
    return GradientError(message(text, *lines, hint=hint))
