"""Derivatives of users' own: functions whose pullback or pushforward is given, or that are computed again backwards."""

from __future__ import annotations

import contextlib
import functools
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, final

from tg.errors import InputError, NotDifferentiable, ShapeError, message
from tg.graph.dims import named_type
from tg.graph.function_graph import freeze
from tg.graph.interpret import interpret
from tg.graph.nodes import Variable, apply
from tg.graph.op import Op
from tg.graph.traversal import leaves_and
from tg.ops.control import Call
from tg.ops.creation import zeros_like
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.complex import conjugate
from tg.ops.family import Family
from tg.ops.inner import captured, copies, inner_types
from tg.ops.updating import Updating
from tg.types.dtypes import is_inexact
from tg.variables.conversion import as_variable
from tg.variables.structure import Structure, flatten, paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.types.tensor_type import TensorType


class OwnDerivative(Op):
    """A graph with a derivative of its own, which is all that differentiation looks at; importing a graph inlines it.

    Shapes:
        as the graph's inputs and outputs
    """

    graph: FrozenGraph
    only_derives = True
    has_expansion = True

    @property
    def stands_for(self) -> FrozenGraph:
        """The graph: whoever imports it has differentiated."""
        return self.graph

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The graph's output types."""
        if len(inputs) != self.graph.arity:
            text = f"{self.name.lower()}: found {len(inputs)} operands, needed {self.graph.arity}"
            raise InputError(message(text))
        return inner_types(self.name.lower(), self.graph, inputs).outside

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """The results of the graph."""
        return spelled_out(self.graph, inputs)

    def perform(self, *arrays: Any) -> tuple[Any, ...]:
        """The graph interpreted."""
        return copies(interpret(self.graph, arrays), arrays)


@final
class Custom(OwnDerivative):
    """A graph whose pullback or pushforward is given.

    `forward` gives the results and residuals, `backward` takes the residuals and the cotangents of results and gives
    those of operands; `tangent` takes operands and their tangents and gives the tangents of results. Where one is
    missing, which is an empty tuple, the other serves.

    Shapes:
        as the graph's inputs and outputs
    """

    forward: tuple[FrozenGraph, ...] = ()
    backward: tuple[FrozenGraph, ...] = ()
    tangent: tuple[FrozenGraph, ...] = ()
    gives: tuple[int, ...] = ()
    """The operands whose cotangents `backward` gives."""

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The pullback that was given, or the transpose of the pushforward that was given."""
        dys = [
            dy if dy is not None or not is_inexact(y.type.dtype) else zeros_like(y)
            for y, dy in zip(outputs, cotangents, strict=True)
        ]
        if not self.backward:
            return tools.transposed(self.tangent[0], inputs, dys)  # type: ignore[no-any-return]
        results = spelled_out(self.forward[0], inputs)
        conjugates = [conjugate(dy) for dy in dys if dy is not None]
        gradients = spelled_out(self.backward[0], [*results[len(outputs) :], *conjugates])
        by_operand = dict(zip(self.gives, gradients, strict=True))
        return [conjugate(by_operand[k]) if k in by_operand else None for k in range(len(inputs))]

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The pushforward that was given; a pullback alone cannot be turned round, for it may be anything."""
        if not self.tangent:
            text = "custom_vjp: forward mode: found a function whose pullback alone is known"
            raise NotDifferentiable(message(text, hint="tg.custom_jvp serves both modes"))
        ts = [_or_zeros(t, v) for t, v in zip(tangents, inputs, strict=True) if is_inexact(v.type.dtype)]
        results = iter(spelled_out(self.tangent[0], [*inputs, *ts]))
        return [next(results) if is_inexact(y.type.dtype) else None for y in outputs]

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """The function and its derivatives batched."""
        return tools.batch_custom(self, size, inputs, batched)  # type: ignore[no-any-return]


def called(graph: FrozenGraph, inputs: Sequence[Variable]) -> tuple[Variable, ...]:
    """The results of a graph applied to variables, without a status."""
    return apply(Call(graph), inputs)[: len(graph.outputs)]


def spelled_out(graph: FrozenGraph, inputs: Sequence[Variable]) -> tuple[Variable, ...]:
    """The results of a graph applied to variables, op by op; by a call where it has checks that no op of it says."""
    is_stated = any(check.descriptor.stated for check in graph.checks)
    return called(graph, inputs) if is_stated else graph.instantiate(inputs)


def _or_zeros(t: Variable | None, v: Variable) -> Variable:
    return zeros_like(v) if t is None else t


class _Traced:
    """A function of structures of variables as a graph over their leaves."""

    def __init__(self, f: Callable[..., Any], types: Sequence[TensorType], structure: Structure, what: str) -> None:
        began = Variable(types[0] if types else as_variable(0).type).serial
        self.inputs = [Variable(t) for t in types]
        result = f(*structure(iter(self.inputs)))
        leaves, self.structure = flatten(result)
        self.outputs = [as_variable(v) for v in leaves]
        for v in captured(self.outputs, self.inputs, began):
            hint = "pass it as an argument, whose gradient may be None"
            if what.endswith("backward"):
                hint = "forward gives it as a residual"
            text = f"{what}: found {v!r} used inside, which is none of its arguments: its gradient would be lost"
            raise InputError(message(text, hint=hint))


class _Decorated:
    """A function with a derivative of its own in the making."""

    def __init__(self, f: Callable[..., Any], what: str) -> None:
        self.f, self.what = f, what
        self._busy: ContextVar[bool] = ContextVar("busy", default=False)  # of each thread: others may build programs
        functools.update_wrapper(self, f)  # type: ignore[arg-type]

    @contextlib.contextmanager
    def _calling_itself(self) -> Iterator[None]:
        """While its derivative is traced, which may call it, it is the function as it was written."""
        token = self._busy.set(True)
        try:
            yield
        finally:
            self._busy.reset(token)

    def _operands(self, arguments: tuple[Any, ...]) -> tuple[list[Variable], Structure]:
        leaves, structure = flatten(arguments)
        return [as_variable(v) for v in leaves], structure


@final
class custom_vjp(_Decorated):  # noqa: N801 (a decorator, called like a function)
    """A function whose pullback is given by `defvjp`.

    `defvjp(forward, backward)`: `forward` takes the arguments and gives the result and residuals; `backward` takes the
    residuals and the gradient of the result, and gives a tuple of the gradients of the arguments (None for none).
    Unlike functions of loops and branches these capture nothing: nobody has said what the gradient of that would be.

    Raises:
        InputError: it was called before `defvjp`; a function uses a variable that is none of its arguments; forward
            gives no pair; backward gives gradients of another structure.
        ShapeError: a gradient of another shape than the argument.
    Source:
        Names and meaning are those of `jax.custom_vjp`.
    Example:
        >>> import tg
        >>> @tg.custom_vjp
        ... def clipped(x):
        ...     return x
        >>> clipped.defvjp(lambda x: (x, None), lambda _, dy: (tg.clip(dy, -1, 1),))
        >>> x = tg.scalar("x")
        >>> float(tg.grad(clipped(x) ** 2, x).eval({x: 3.0}))
        1.0
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        """Decorate f."""
        super().__init__(f, "custom_vjp")
        self._given: tuple[Callable[..., Any], Callable[..., Any]] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Give the pullback."""
        self._given = (forward, backward)

    def __call__(self, *arguments: Any) -> Any:
        """Apply the function."""
        if self._busy.get():  # its own forward or backward calls it: the derivative of that is the plain one
            return self.f(*arguments)
        if self._given is None:
            raise InputError(message("custom_vjp: found no pullback", hint="f.defvjp(forward, backward) gives it"))
        forward, backward = self._given
        operands, structure = self._operands(arguments)
        types = [named_type(v) for v in operands]
        plain = _Traced(self.f, types, structure, "custom_vjp")

        def pair(*args: Any) -> Any:
            result = forward(*args)
            if not isinstance(result, tuple) or len(result) != 2:
                raise InputError(message("custom_vjp: forward: needed a pair: the result and residuals"))
            return plain.structure.leaves_of(result[0], "custom_vjp: forward: the result"), result[1]

        with self._calling_itself():
            ahead = _Traced(pair, types, structure, "custom_vjp: forward")
        count = len(plain.outputs)
        residual_leaves = ahead.outputs[count:]
        _, residuals = ahead.structure(iter([*range(len(ahead.outputs))]))
        inexact = [k for k, y in enumerate(plain.outputs) if is_inexact(y.type.dtype)]
        back_types = [named_type(v) for v in (*residual_leaves, *(plain.outputs[k] for k in inexact))]
        residual_structure = flatten(residuals)[1]

        gives: list[int] = []

        def pulled(*args: Any) -> Any:
            dys = dict(zip(inexact, args[len(residual_leaves) :], strict=True))
            gradient = plain.structure(iter([dys.get(k) for k in range(count)]))
            dxs = _gradients(
                backward(residual_structure(iter(args[: len(residual_leaves)])), gradient), structure, types
            )
            gives.extend(dxs)
            return list(dxs.values())

        with self._calling_itself():
            behind = _Traced(pulled, back_types, flatten(tuple(back_types))[1], "custom_vjp: backward")
        graphs = [freeze(each.inputs, each.outputs) for each in (plain, ahead, behind)]
        op = Custom(graphs[0], (graphs[1],), (graphs[2],), (), tuple(gives))
        return plain.structure(iter(apply(op, operands)))


def _gradients(gradients: Any, structure: Structure, types: Sequence[TensorType]) -> dict[int, Variable]:
    """The gradients of the leaves of arguments that have one, by their numbers.

    Raises:
        InputError, ShapeError: another structure or shape than that of the arguments.
    """
    parts = [Structure(key) for key in structure.key[2]]
    if not isinstance(gradients, tuple) or len(gradients) != len(parts):
        shown = len(gradients) if isinstance(gradients, tuple) else type(gradients).__name__
        raise InputError(message(f"custom_vjp: backward: found {shown}, needed a tuple of {len(parts)} gradients"))
    leaves: list[Any] = []
    for value, part in zip(gradients, parts, strict=True):
        count = len(paths(part))
        leaves += [None] * count if value is None else part.leaves_of(value, "custom_vjp: backward")
    by_leaf = {}
    for k, (value, t) in enumerate(zip(leaves, types, strict=True)):
        if value is None or not is_inexact(t.dtype):
            continue
        dx = cast_variable(as_variable(value), t.dtype)
        pairs = zip(dx.type.shape, t.static.shape, strict=False)
        if dx.type.ndim != len(t.shape) or any(None not in (a, b) and a != b for a, b in pairs):
            raise ShapeError(message(f"custom_vjp: backward: gradient {k}: found {dx.type}, needed {t.static}"))
        by_leaf[k] = dx
    return by_leaf


@final
class custom_jvp(_Decorated):  # noqa: N801 (a decorator, called like a function)
    """A function whose pushforward is given by `defjvp`; reverse mode is its transpose.

    `defjvp(f)`: f takes a tuple of the arguments and one of their tangents (None for integers), and gives the result
    and its tangent, which is linear in the tangents.

    Raises:
        InputError: it was called before `defjvp`; a function uses what is none of its arguments; f gives no pair.
    Source:
        Names and meaning are those of `jax.custom_jvp`.
    Example:
        >>> import tg
        >>> @tg.custom_jvp
        ... def root(x):
        ...     return tg.sqrt(x)
        >>> root.defjvp(lambda primals, tangents: (root(*primals), tangents[0] / (2 * root(*primals))))
        >>> x = tg.scalar("x")
        >>> float(tg.grad(root(x), x).eval({x: 4.0}))
        0.25
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        """Decorate f."""
        super().__init__(f, "custom_jvp")
        self._given: Callable[..., Any] | None = None

    def defjvp(self, f: Callable[..., Any]) -> None:
        """Give the pushforward."""
        self._given = f

    def __call__(self, *arguments: Any) -> Any:
        """Apply the function."""
        if self._busy.get():  # its own pushforward calls it: the derivative of that is the plain one
            return self.f(*arguments)
        if self._given is None:
            raise InputError(message("custom_jvp: found no pushforward", hint="f.defjvp(g) gives it"))
        rule = self._given
        operands, structure = self._operands(arguments)
        types = [named_type(v) for v in operands]
        plain = _Traced(self.f, types, structure, "custom_jvp")
        inexact = [k for k, t in enumerate(types) if is_inexact(t.dtype)]

        def pushed(*args: Any) -> Any:
            ts = dict(zip(inexact, args[len(types) :], strict=True))
            tangents = structure(iter([ts.get(k) for k in range(len(types))]))
            result = rule(structure(iter(args[: len(types)])), tangents)
            if not isinstance(result, tuple) or len(result) != 2:
                raise InputError(message("custom_jvp: needed a pair: the result and its tangent"))
            leaves = plain.structure.leaves_of(result[1], "custom_jvp: tangent")
            return [
                cast_variable(as_variable(t), y.type.dtype)
                for y, t in zip(plain.outputs, leaves, strict=True)
                if is_inexact(y.type.dtype)
            ]

        tangent_types = [*types, *(types[k] for k in inexact)]
        with self._calling_itself():
            ahead = _Traced(pushed, tangent_types, flatten(tuple(tangent_types))[1], "custom_jvp")
        op = Custom(freeze(plain.inputs, plain.outputs), (), (), (freeze(ahead.inputs, ahead.outputs),))
        return plain.structure(iter(apply(op, operands)))


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, whose inner values are computed again in reverse mode, not kept: less memory for more time.

    Returns:
        a function of the same arguments, of any structure; what f uses besides is captured.
    Source:
        Name and meaning are those of `jax.checkpoint`.
    Example:
        >>> import tg
        >>> x = tg.scalar("x")
        >>> y = tg.checkpoint(lambda v: tg.exp(tg.sin(v)))(x)
        >>> float(tg.grad(y, x).eval({x: 0.0}))
        1.0
    """

    @functools.wraps(f)
    def again(*arguments: Any) -> Any:
        leaves, structure = flatten(arguments)
        operands = [as_variable(v) for v in leaves]
        began = Variable(as_variable(0).type).serial
        inner = [Variable(named_type(v), name=v.name) for v in operands]
        ys, results = flatten(f(*structure(iter(inner))))
        outputs = [as_variable(v) for v in ys]
        stored: list[Variable] = []
        used = captured(outputs, inner, began, stored)
        updating = sorted((v.serial, v.apply) for v in stored if v.apply is not None)
        values = [node.inputs[2] for _, node in updating]
        after = list(called(freeze([*inner, *used], [*outputs, *values]), [*operands, *used]))
        for k, v in enumerate(outputs if updating else ()):
            below = leaves_and([v], Updating)[1]
            for (_, node), value in zip(updating, after[len(outputs) :], strict=True):
                if any(node is other for other in below):
                    after[k] = node.op(after[k], node.inputs[1], value)
        return results(iter(after[: len(outputs)]))

    return again


FAMILY = Family("custom", ops=(Custom,), functions=(custom_vjp, custom_jvp, checkpoint))
