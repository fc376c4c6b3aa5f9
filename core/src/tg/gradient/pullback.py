"""Reverse mode: cotangents flow from outputs to what they are wanted for, node by node, each op by its own pullback.

Structurally absent cotangents are None, never zeros. A cotangent passes a partial derivative through `gate`, which is 0
where the cotangent is 0, so a branch that is not taken never leaks NaN.

Of complex values it is the conjugates of gradients that flow: d cost / d real(z) - i * d cost / d imag(z), by which a
change of z is multiplied. So the pullback of an op that is analytic is the same for real and complex values, and needs
no conjugates. `gradients_of` takes and gives what users see, d cost / d real(z) + i * d cost / d imag(z).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import NotDifferentiable, message
from tg.gradient import loops
from tg.gradient.batching import BatchTools
from tg.graph import loc as locs
from tg.graph.collector import paused
from tg.graph.function_graph import freeze
from tg.graph.nodes import Apply, Constant, Variable
from tg.graph.traversal import key_of, sorted_applies, substitute
from tg.ops.control import Call, StopGradient
from tg.ops.creation import zeros_like
from tg.ops.custom import spelled_out
from tg.ops.elementwise.arithmetic import add, gate, multiply, negative
from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.complex import conjugate, real
from tg.ops.elementwise.record import Elementwise
from tg.ops.reduction import reduce_sum
from tg.ops.shape import sum_to
from tg.types.dtypes import is_complex, is_inexact, numpy_dtype
from tg.types.lengths import same
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.op import Op
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.ops.loops import Cond, Scan, While


@paused
def cotangents_of(
    outputs: Sequence[Variable],
    cotangents: Sequence[Variable | None],
    wrt: Sequence[Variable],
    leaves: Sequence[Variable] = (),
    known: Sequence[tuple[Variable, Variable]] = (),
) -> list[Variable | None]:
    """The cotangents of `wrt` for cotangents of `outputs`; None where no value flows.

    Nothing below `leaves` is differentiated. The cotangents of the variables in `known` are those given there, whatever
    flows to them.
    """
    return _swept(outputs, cotangents, wrt, leaves, known)


def _swept(
    outputs: Sequence[Variable],
    cotangents: Sequence[Variable | None],
    wrt: Sequence[Variable],
    leaves: Sequence[Variable],
    known: Sequence[tuple[Variable, Variable]],
) -> list[Variable | None]:
    """The cotangents of `wrt`, by one sweep from the outputs down."""
    flowing = _Flow(outputs, cotangents, known)
    wanted = {key_of(v) for v in wrt}
    reached: set[int] = set()
    order: list[tuple[Apply, list[Variable | None], list[bool]]] = []
    for node, results in sorted_applies([*outputs, *(v for v, _ in known)], known=leaves):
        leads = [key_of(v) in wanted or (v.apply is not None and id(v.apply) in reached) for v in node.inputs]
        if any(leads):
            reached.add(id(node))
            order.append((node, results, leads))
    for node, results, leads in reversed(order):
        dys = [flowing.found.get((id(node), k + 1)) for k in range(len(node.types))]
        if all(dy is None for dy in dys):
            continue
        full = [
            v if v is not None else Variable(t, node, k)
            for k, (v, t) in enumerate(zip(results, node.types, strict=True))
        ]
        with locs.at(node.loc):
            _through(node, full, dys, leads, flowing)
    return [flowing.found.get(key_of(v)) for v in wrt]


def gradients_of(
    outputs: Sequence[Variable],
    gradients: Sequence[Variable | None],
    wrt: Sequence[Variable],
    leaves: Sequence[Variable] = (),
    known: Sequence[tuple[Variable, Variable]] = (),
) -> list[Variable | None]:
    """The gradients of `wrt` for gradients of `outputs`: as cotangents, but for the conjugation of complex ones.

    The gradient of a complex z is d cost / d real(z) + i * d cost / d imag(z): where the cost rises fastest. PyTorch
    has the same convention; `jax.grad` gives the conjugate. Where a value depends on a variable by derivatives that
    are 0 everywhere, as through `floor`, the gradient is zeros; None says that it does not depend on it.
    """
    given = [None if dy is None else conjugate(dy) for dy in gradients]
    found = cotangents_of(outputs, given, wrt, leaves, [(v, conjugate(dv)) for v, dv in known])
    flat = dependencies([*outputs, *(v for v, _ in known)], leaves) if any(dx is None for dx in found) else set()
    return [
        conjugate(dx) if dx is not None else zeros_like(v) if key_of(v) in flat else None
        for v, dx in zip(wrt, found, strict=True)
    ]


def dependencies(outputs: Sequence[Variable], leaves: Sequence[Variable] = ()) -> set[tuple[int, int]]:
    """The keys of what floating outputs depend on, by ops whose derivatives exist, if only as zeros."""
    found = {key_of(v) for v in outputs if is_inexact(v.type.dtype)}
    for node, _ in reversed(list(sorted_applies(outputs, known=leaves))):
        reached = [k for k in range(len(node.types)) if (id(node), k + 1) in found]
        if not reached or isinstance(node.op, StopGradient):
            continue
        for v, carries in zip(node.inputs, _carrying(node, reached), strict=True):
            if carries and is_inexact(v.type.dtype):
                found.add(key_of(v))
    return found


def _carrying(node: Apply, reached: Sequence[int]) -> list[bool]:
    """Which operands of a node the results with these numbers depend on."""
    op = node.op
    if isinstance(op, Elementwise) and op.fn.d is not None:
        return [partial is not None for partial in op.fn.d]
    if isinstance(op, Call):
        inner = [Variable(t) for t in op.graph.input_types]
        outputs = op.graph.instantiate(inner)
        below = dependencies([outputs[k] for k in reached if k < len(outputs)], inner)
        return [key_of(v) in below for v in inner]
    return [True] * len(node.inputs)


class _Flow:
    """The cotangents found so far, summed by variable."""

    def __init__(
        self,
        outputs: Sequence[Variable],
        cotangents: Sequence[Variable | None],
        known: Sequence[tuple[Variable, Variable]],
    ) -> None:
        self.found: dict[tuple[int, int], Variable] = {key_of(v): dv for v, dv in known}
        self.known = frozenset(self.found)
        for v, dv in zip(outputs, cotangents, strict=True):
            self.add(v, dv)

    def add(self, v: Variable, dv: Variable | None) -> None:
        if dv is None or key_of(v) in self.known:
            return
        known = self.found.get(key_of(v))
        self.found[key_of(v)] = dv if known is None else add(known, dv)


def _through(
    node: Apply,
    outputs: Sequence[Variable],
    dys: Sequence[Variable | None],
    leads: Sequence[bool],
    flowing: _Flow,
) -> None:
    """The cotangents of the operands of a node, of which some lead to what is wanted."""
    op = node.op
    try:
        if isinstance(op, Elementwise) and op.fn.d is not None:  # the others' derivatives may be dear, or not exist
            found: Sequence[Variable | None] = TOOLS.pullback_of_elementwise(
                op.fn, node.inputs, outputs[0], dys[0], leads
            )
        else:
            found = op.pullback(TOOLS, node.inputs, outputs, dys)
    except NotDifferentiable as error:
        if node.loc is not None:
            error.add_note(f"  created at {node.loc}:  {node.loc.source}")
        raise
    for v, dv in zip(node.inputs, found, strict=True):
        if dv is not None and is_inexact(v.type.dtype):
            flowing.add(v, dv)


@final
class Tools(BatchTools):
    """What `Op.pullback` is given to build cotangents with."""

    def gate(self, dy: Variable, d: Any) -> Variable | None:
        """`dy` through the partial derivative `d`: a variable, or a number that holds everywhere."""
        if not isinstance(d, Variable):
            if d == 0:
                return None
            return dy if d == 1 else negative(dy) if d == -1 else multiply(dy, d)
        if d.apply is not None and isinstance(d.apply.op, Cast) and d.apply.inputs[0].type.dtype == "bool":
            return where(d.apply.inputs[0], dy, numpy_dtype(dy.type.dtype).type(0))
        if isinstance(d, Constant) and d.data.ndim == 0 and np.isfinite(d.data):
            return multiply(dy, d)
        return gate(dy, d)

    def pullback_of_elementwise(
        self,
        fn: ElementwiseFunction,
        inputs: Sequence[Variable],
        output: Variable,
        dy: Variable | None,
        wanted: Sequence[bool] | None = None,
    ) -> list[Variable | None]:
        """The cotangents of the operands of an elementwise function, of those wanted, from its partial derivatives."""
        if dy is None or not is_inexact(output.type.dtype):
            return [None] * len(inputs)
        if fn.d is None:
            raise NotDifferentiable(message(f"{fn.name}: has no derivative"))
        found: list[Variable | None] = []
        conjugates = fn.d_conj or (None,) * fn.arity
        for k, (x, partial, d_conj) in enumerate(zip(inputs, fn.d, conjugates, strict=True)):
            if partial is None or not is_inexact(x.type.dtype) or (wanted is not None and not wanted[k]):
                found.append(None)
                continue
            d = partial(*inputs, output)
            if is_complex(x.type.dtype) or is_complex(dy.type.dtype):
                dx = self._complex_cotangent(dy, x, d, d_conj and d_conj(*inputs, output))
            else:
                dx = self.gate(dy, d)
            found.append(None if dx is None else self.to_operand(dx, x))
        return found

    def _complex_cotangent(self, dy: Variable, x: Variable, d: Any, d_conj: Any) -> Variable | None:
        """The cotangent of x where dy or x is complex: dy * d + conj(dy * d_conj), of a real x the real part."""
        if not is_complex(dy.type.dtype):  # both terms are equal
            dx = self.gate(dy, d * 2)
            return None if dx is None else cast_variable(dx, x.type.dtype)
        straight, turned = self.gate(dy, d), None if d_conj is None else self.gate(dy, d_conj)
        made = [v for v in (straight, None if turned is None else conjugate(turned)) if v is not None]
        found = add(*made) if len(made) == 2 else made[0] if made else None
        return found if found is None or is_complex(x.type.dtype) else real(found)

    def to_operand(self, dx: Variable, x: Variable) -> Variable:
        """A cotangent summed over the axes along which the operand was repeated."""
        if x.type.ndim == 0:
            return reduce_sum(dx, tuple(range(-dx.type.ndim, 0))) if dx.type.ndim else dx
        ones = tuple(k - x.type.ndim for k, n in enumerate(x.type.shape) if n == 1 and not same(dx.shape[k], 1))
        known = all(n is not None or same(x.shape[k], dx.shape[k]) for k, n in enumerate(x.type.shape))
        if known and not ones:
            return dx
        return sum_to(dx, x.shape)

    def pullback_of_expansion(
        self, op: Op, inputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> list[Variable | None]:
        """The cotangents through an op's expansion."""
        return self.vjp_of(op.expansion, inputs, cotangents)

    def vjp_of(
        self,
        expression: Callable[..., Variable | tuple[Variable, ...]],
        inputs: Sequence[Variable],
        cotangents: Sequence[Variable | None],
    ) -> list[Variable | None]:
        """The cotangents of operands for those of an expression of them, whatever the operands depend on themselves."""
        stand_ins = [stand_in(v) for v in inputs]
        made = expression(*stand_ins)
        outputs = (made,) if isinstance(made, Variable) else made
        found = cotangents_of(outputs, cotangents, stand_ins)
        values = {id(s): v for s, v in zip(stand_ins, inputs, strict=True)}
        known = substitute([v for v in found if v is not None], values)
        rest = iter(known)
        return [None if v is None else next(rest) for v in found]

    def vjp_scan(self, op: Scan, *given: Any) -> list[Variable | None]:
        """The cotangents of the operands of a loop: one loop in the other direction."""
        return loops.vjp_scan(cotangents_of, op, *given)

    def vjp_while(self, op: While, *given: Any) -> list[Variable | None]:
        """The cotangents of the operands of a loop of at most so many steps."""
        return loops.vjp_while(cotangents_of, op, *given)

    def vjp_cond(self, op: Cond, *given: Any) -> list[Variable | None]:
        """The cotangents of the operands, by the branch that ran."""
        return loops.vjp_cond(cotangents_of, op, *given)

    def transposed(
        self, tangent: FrozenGraph, inputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> list[Variable | None]:
        """The cotangents of operands by the transpose of their pushforward, a graph of them and their tangents.

        It is linear in the tangents: any will do, and these are zeros.
        """
        ts = {k: StopGradient()(zeros_like(v)) for k, v in enumerate(inputs) if is_inexact(v.type.dtype)}
        outputs = spelled_out(tangent, [*inputs, *ts.values()])
        given = [dy for dy in cotangents if dy is not None]
        found = iter(cotangents_of(outputs, given, list(ts.values()), leaves=[*inputs, *ts.values()]))
        return [next(found) if k in ts else None for k in range(len(inputs))]

    def vjp_call(
        self, graph: FrozenGraph, inputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> list[Variable | None]:
        """The cotangents of the operands of an inner graph: one call of its pullback."""
        pairs = [(k, dy) for k, dy in enumerate(cotangents) if dy is not None]
        if not pairs:
            return [None] * len(inputs)
        inner = [Variable(t) for t in graph.input_types]
        given = [Variable(dy.type) for _, dy in pairs]
        outputs, checks = graph.instantiate_with_checks(inner)
        found = cotangents_of([outputs[k] for k, _ in pairs], given, inner, leaves=inner)
        kept = [v for v in found if v is not None]
        if not kept:
            return [None] * len(inputs)
        made = Call(freeze([*inner, *given], kept, checks))(*inputs, *(dy for _, dy in pairs))
        rest = iter(made if isinstance(made, tuple) else (made,))
        return [None if v is None else next(rest) for v in found]


def stand_in(v: Variable) -> Variable:
    """A leaf with the type and the lengths of a variable."""
    if isinstance(v, Constant):
        return v
    found = Variable(v.type, name=v.name)
    found.with_lengths(v.shape)
    return found


TOOLS: Final = Tools()


def ones_for(v: Variable) -> Variable:
    """The cotangent 1 of a scalar."""
    return as_variable(np.ones((), numpy_dtype(v.type.dtype)))
