"""Inner graphs: `Call` applies a closed graph as one op, and checks become a status that flows as a value."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, final

from tg.errors import DomainError, DtypeError, InputError, message
from tg.graph.checks import REPORTED, STATUS_LENGTH, Descriptor
from tg.graph.dims import named_type
from tg.graph.facts import facts_of
from tg.graph.function_graph import FunctionGraph, freeze
from tg.graph.interpret import interpret_with_status
from tg.graph.nodes import Variable, as_size_variable
from tg.graph.op import Op
from tg.graph.traversal import inputs_of
from tg.ops.elementwise.arithmetic import clip
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import where
from tg.ops.family import Family
from tg.ops.inner import copies, inner_types, placeholders, respecialize, status_array, status_type
from tg.ops.shape import stack
from tg.types.dtypes import is_complex
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np

    from tg.graph.frozen import FrozenGraph
    from tg.types.tensor_type import TensorType
    from tg.variables.like import TensorLike


def lower_checks(frozen: FrozenGraph) -> FrozenGraph:
    """The graph without checks and with one more output, the status: int64[9].

    Its first element is 0, or 1 + the number of the first failing check; the rest are the values that check reports.
    """
    if not frozen.checks:
        return frozen
    graph, conditions, values = _thawed(frozen)
    status = as_variable([0] * STATUS_LENGTH)
    for k in reversed(range(len(frozen.checks))):
        shown = [cast_variable(v, "int64") for v in values[k]]
        shown += [as_size_variable(0)] * (REPORTED - len(shown))
        failed = stack([as_size_variable(k + 1), *shown])
        status = where(conditions[k], status, failed)
    with graph.needs:
        graph.outputs = (*graph.outputs, graph.absorb(status))
    graph.checks = []
    return graph.freeze()


def _thawed(frozen: FrozenGraph) -> tuple[FunctionGraph, list[Variable], list[list[Variable]]]:
    """A function graph holding a frozen one, and its checks' conditions and values."""
    graph = FunctionGraph.thaw(frozen)
    return graph, [c.condition for c in graph.checks], [list(c.values) for c in graph.checks]


@final
class Call(Op):
    """A closed graph applied to operands, kept as one node; with checks, its last result is the status (int64[9]).

    Shapes:
        as the graph's inputs and outputs
    """

    graph: FrozenGraph

    @property
    def inner_descriptors(self) -> tuple[Descriptor, ...]:
        """The inner checks."""
        return tuple(c.descriptor for c in self.graph.checks)

    @property
    def lowered(self) -> FrozenGraph:
        """The graph with its checks as a status output: what a backend compiles."""
        return lower_checks(self.graph)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The graph's output types, with its lengths in terms of the operands'."""
        if len(inputs) != self.graph.arity:
            raise InputError(message(f"call: found {len(inputs)} operands, needed {self.graph.arity}"))
        types = inner_types("call", self.graph, inputs).outside
        return (*types, status_type()) if self.graph.checks else types

    def specialize(self, types: Sequence[TensorType]) -> Op:
        """The graph with types re-inferred for these operands."""
        graph = respecialize(self.graph, types)
        return self if graph is self.graph else Call(graph)

    def perform(self, *arrays: Any) -> tuple[Any, ...]:
        """The graph interpreted; where a check fails, placeholders and the status."""
        outputs, status = interpret_with_status(self.graph, arrays)
        outputs = copies(outputs, arrays)
        if not self.graph.checks:
            return outputs
        if status:
            outputs = placeholders("call", self.graph, [a.shape for a in arrays])
        return (*outputs, status_array(status))

    def applications(self, *arrays: Any) -> Iterator[tuple[FrozenGraph, Sequence[Any]]]:
        """The one there is."""
        yield self.graph, arrays

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """A call of the graph's own pullback."""
        dys = cotangents[: len(self.graph.outputs)]
        return tools.vjp_call(self.graph, inputs, dys)  # type: ignore[no-any-return]

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """A call of the graph's own pushforward."""
        ts = tools.jvp_call(self.graph, inputs, tangents)
        return (*ts, None) if self.graph.checks else ts

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Any]:
        """A call of the batched graph."""
        return tools.batch_call(self, size, inputs, batched)  # type: ignore[no-any-return]


def call(fn: Callable[..., Any], *operands: Any) -> Any:
    """`fn(*operands)` as one inner graph, which stays whole through rewriting.

    Returns:
        what `fn` returns: a variable or a tuple of them.
    Raises:
        InputError: `fn` uses a variable that is not among its operands.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> s, p = tg.call(lambda v: (tg.sum(v), tg.prod(v)), x)
        >>> float(p.eval({x: [2.0, 3.0]}))
        6.0
    """
    arguments = [as_variable(v) for v in operands]
    inner = [Variable(named_type(v), name=v.name) for v in arguments]
    result = fn(*inner)
    outputs = tuple(as_variable(v) for v in result) if isinstance(result, tuple | list) else (as_variable(result),)
    own = {id(v) for v in inner}
    for v in inputs_of(outputs):
        if id(v) not in own:
            raise InputError(message(f"call: the function uses {v!r}, needed it among the operands"))
    results = Call(freeze(inner, outputs))(*arguments)
    results = results if isinstance(results, tuple) else (results,)
    return results[: len(outputs)] if isinstance(result, tuple | list) else results[0]


class OfGradient(Op):
    """The operand, of which an op says something that its gradient alone sees; importing a graph removes it."""

    only_derives = True

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The operand's type."""
        return (x,)

    def perform(self, *arrays: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        """A copy."""
        return (arrays[0].copy(),)

    @property
    def named_identity(self) -> str | None:
        """No name: only an identity."""
        return ""

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The facts of the operand."""
        return (facts_of(inputs[0]),)


@final
class StopGradient(OfGradient):
    """The operand, through which nothing is differentiated; importing a graph removes it.

    Shapes:
        x (...) -> y (...)
    """

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: that is its purpose."""
        return (None,)


def stop_gradient(x: TensorLike) -> Variable:
    """x, through which nothing is differentiated.

    Example:
        >>> import tg
        >>> x = tg.scalar("x")
        >>> float(tg.grad(tg.stop_gradient(x) * x, x).eval({x: 3.0}))
        3.0
    """
    return StopGradient()(as_variable(x))  # type: ignore[no-any-return]


@final
class GradScale(OfGradient):
    """The operand, whose gradient is multiplied by `factor`; importing a graph removes it.

    Shapes:
        x (...) -> y (...)
    Source:
        Its derivative is `factor` times the identity, in both modes.
    """

    factor: float

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """The cotangent times the factor."""
        (dy,) = cotangents
        return (None if dy is None else dy * self.factor,)


@final
class GradClip(OfGradient):
    """The operand, the elements of whose gradient are limited to [lower, upper]; importing a graph removes it.

    Shapes:
        x (...) -> y (...)
    Source:
        Reverse mode alone is changed; tangents pass as they are, for there is no linear map whose adjoint this is.
    """

    lower: float
    upper: float

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """The cotangent, limited."""
        (dy,) = cotangents
        return (None if dy is None else clip(dy, self.lower, self.upper),)

    def pushforward(self, tools: Any, inputs: Any, outputs: Any, tangents: Any) -> Sequence[Variable | None]:
        """The tangent as it is."""
        return tuple(tangents)


def grad_scale(x: TensorLike, factor: float) -> Variable:
    """x, whose gradient is multiplied by `factor`: -1 reverses it.

    Raises:
        InputError: the factor is no number.
    Example:
        >>> import tg
        >>> x = tg.scalar("x")
        >>> float(tg.grad(tg.grad_scale(x, -0.5) ** 2, x).eval({x: 3.0}))
        -3.0
    """
    return GradScale(_number(factor, "grad_scale: factor"))(as_variable(x))  # type: ignore[no-any-return]


def grad_clip(x: TensorLike, lower: float, upper: float) -> Variable:
    """x, the elements of whose gradient are limited to [lower, upper]; NaN stays NaN.

    Reverse mode alone is changed; `tg.jvp` sees the identity.

    Raises:
        InputError: a limit is no number.
        DomainError: lower is larger than upper.
        DtypeError: x is complex.
    Example:
        >>> import tg
        >>> x = tg.scalar("x")
        >>> float(tg.grad(tg.grad_clip(x, -1, 1) ** 2, x).eval({x: 3.0}))
        1.0
    """
    low, high = _number(lower, "grad_clip: lower"), _number(upper, "grad_clip: upper")
    if not low <= high:
        raise DomainError(message(f"grad_clip: found limits {low} and {high}, needed lower <= upper"))
    v = as_variable(x)
    if is_complex(v.type.dtype):
        raise DtypeError(message(f"grad_clip: found {v.type}, needed a real dtype"))
    return GradClip(low, high)(v)  # type: ignore[no-any-return]


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(message(f"{what}: found {value!r}, needed a number"))
    return float(value)


FAMILY = Family(
    "control",
    ops=(Call, StopGradient, GradScale, GradClip),
    functions=(call, stop_gradient, grad_scale, grad_clip),
)
