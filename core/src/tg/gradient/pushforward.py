"""Forward mode: tangents flow from inputs to outputs in one sweep, node by node, each op by its own pushforward.

Structurally absent tangents are None, never zeros. An op without a pushforward of its own is differentiated through its
expansion, or by its pullback turned round: a pullback is linear in its cotangents, so its own pullback is the
pushforward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.errors import NotDifferentiable, message
from tg.gradient import loops
from tg.gradient.pullback import TOOLS as REVERSE
from tg.gradient.pullback import cotangents_of, stand_in
from tg.graph import loc as locs
from tg.graph.function_graph import freeze
from tg.graph.nodes import Apply, Variable
from tg.graph.op import Op
from tg.graph.traversal import key_of, sorted_applies, substitute
from tg.ops.control import Call, StopGradient
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import add
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.complex import conjugate, real
from tg.ops.shape import broadcast_to
from tg.types.dtypes import is_complex, is_inexact
from tg.types.lengths import same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.ops.loops import Cond, Scan, While

Tangents = list[Variable | None]


def tangents_of(
    outputs: Sequence[Variable],
    wrt: Sequence[Variable],
    tangents: Sequence[Variable | None],
    leaves: Sequence[Variable] = (),
) -> Tangents:
    """The tangents of `outputs` for tangents of `wrt`; None where no value flows.

    An intermediate variable of `wrt` has its own tangent besides what flows to it. Nothing below `leaves` is
    differentiated.
    """
    found: dict[tuple[int, int], Variable] = {}

    def flow(key: tuple[int, int], t: Variable | None) -> None:
        if t is not None:
            known = found.get(key)
            found[key] = t if known is None else add(known, t)

    for v, t in zip(wrt, tangents, strict=True):
        flow(key_of(v), t)
    for node, results in sorted_applies(outputs, known=leaves):
        given = [found.get(key_of(v)) if is_inexact(v.type.dtype) else None for v in node.inputs]
        if all(t is None for t in given) or not any(is_inexact(t.dtype) for t in node.types):
            continue
        with locs.at(node.loc):
            made = _through(node, results, given)
        for k, t in enumerate(made):
            if is_inexact(node.types[k].dtype):
                flow((id(node), k + 1), t)
    return [found.get(key_of(v)) for v in outputs]


def _through(node: Apply, results: Sequence[Variable | None], tangents: Tangents) -> Sequence[Variable | None]:
    full = [
        v if v is not None else Variable(t, node, k) for k, (v, t) in enumerate(zip(results, node.types, strict=True))
    ]
    try:
        return node.op.pushforward(TOOLS, node.inputs, full, tangents)
    except NotDifferentiable as error:
        if node.loc is not None:
            error.add_note(f"  created at {node.loc}:  {node.loc.source}")
        raise


@final
class ForwardTools:
    """What `Op.pushforward` is given to build tangents with."""

    def pushforward_of_elementwise(
        self, fn: ElementwiseFunction, inputs: Sequence[Variable], output: Variable, tangents: Sequence[Variable | None]
    ) -> Variable | None:
        """The sum of the operands' tangents, each through its partial derivative, in the shape of the result."""
        if not is_inexact(output.type.dtype):
            return None
        if fn.d is None:
            raise NotDifferentiable(message(f"{fn.name}: has no derivative"))
        total: Variable | None = None
        for k, t in enumerate(tangents):
            for term in () if t is None else _terms(fn, k, inputs, output, t):
                total = term if total is None else add(total, term)
        return None if total is None else _as_wide(cast_variable(total, output.type.dtype), output)

    def pushforward_default(
        self, op: Op, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Tangents:
        """Through the expansion where the derivative of the op is its expansion's, else by its pullback."""
        if type(op).pullback is Op.pullback and type(op).has_expansion:
            return self.pushforward_of_expansion(op, inputs, tangents)
        return self.transposed_pullback(op, inputs, outputs, tangents)

    def pushforward_of_expansion(
        self, op: Op, inputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Tangents:
        """The tangents through an op's expansion."""
        stand_ins = [stand_in(v) for v in inputs]
        made = op.expansion(*stand_ins)
        found = tangents_of((made,) if isinstance(made, Variable) else made, stand_ins, tangents)
        values = {id(s): v for s, v in zip(stand_ins, inputs, strict=True)}
        rest = iter(substitute([t for t in found if t is not None], values))
        return [None if t is None else next(rest) for t in found]

    def transposed_pullback(
        self, op: Op, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Tangents:
        """The pullback of the op's pullback, which is linear in its cotangents: any will do, and these are zeros."""
        dys = [StopGradient()(zeros_like(y)) if is_inexact(y.type.dtype) else None for y in outputs]
        pulled = op.pullback(REVERSE, inputs, outputs, dys)
        pairs = [(dx, t) for dx, t in zip(pulled, tangents, strict=True) if dx is not None and t is not None]
        if not pairs:
            return [None] * len(outputs)
        given = [dy for dy in dys if dy is not None]
        found = iter(cotangents_of([p[0] for p in pairs], [p[1] for p in pairs], given, [*inputs, *outputs, *given]))
        return [None if dy is None else next(found) for dy in dys]

    def jvp_scan(self, op: Scan, *given: Any) -> Tangents:
        """The tangents of the results of a loop: one loop of values and tangents."""
        return loops.jvp_scan(tangents_of, op, *given)

    def jvp_while(self, op: While, *given: Any) -> Tangents:
        """The tangents of the results of a loop: one loop of values and tangents."""
        return loops.jvp_while(tangents_of, op, *given)

    def jvp_cond(self, op: Cond, *given: Any) -> Tangents:
        """The tangents of the results, by the branch that runs."""
        return loops.jvp_cond(tangents_of, op, *given)

    def jvp_call(self, graph: FrozenGraph, inputs: Sequence[Variable], tangents: Sequence[Variable | None]) -> Tangents:
        """The tangents of the outputs of an inner graph: one call of its pushforward."""
        pairs = [(k, t) for k, t in enumerate(tangents) if t is not None]
        inner = [Variable(t) for t in graph.input_types]
        given = [Variable(t.type) for _, t in pairs]
        outputs, checks = graph.instantiate_with_checks(inner)
        found = tangents_of(outputs, [inner[k] for k, _ in pairs], given)
        kept = [t for t in found if t is not None]
        if not kept:
            return found
        made = Call(freeze([*inner, *given], kept, checks))(*inputs, *(t for _, t in pairs))
        rest = iter(made if isinstance(made, tuple) else (made,))
        return [None if t is None else next(rest) for t in found]


def _terms(
    fn: ElementwiseFunction, k: int, inputs: Sequence[Variable], output: Variable, t: Variable
) -> list[Variable]:
    """What the tangent of operand k adds to that of the result: d * t, and d_conj * conj(t) where t is complex."""
    terms = []
    partial = fn.d[k] if fn.d is not None else None
    if partial is not None:
        terms.append(REVERSE.gate(t, partial(*inputs, output)))
    if is_complex(t.type.dtype):
        if not is_complex(output.type.dtype):
            return [2 * real(term) for term in terms if term is not None]
        turned = fn.d_conj[k] if fn.d_conj is not None else None
        if turned is not None:
            terms.append(REVERSE.gate(conjugate(t), turned(*inputs, output)))
    return [term for term in terms if term is not None]


def _as_wide(t: Variable, output: Variable) -> Variable:
    """A tangent repeated along the axes along which its operand was."""
    if t.type.ndim == output.type.ndim and all(map(same, t.shape, output.shape)):
        return t
    return broadcast_to(t, output.shape)


TOOLS: Final = ForwardTools()
