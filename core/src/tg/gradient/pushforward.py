"""Forward mode: tangents flow from inputs to outputs in one sweep, node by node, each op by its own pushforward.

Structurally absent tangents are None, never zeros. An op without a pushforward of its own is differentiated through its
expansion, or by its pullback turned round: a pullback is linear in its cotangents, so its own pullback is the
pushforward.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, final

from tg.errors import NotDifferentiable, message
from tg.gradient import bilinear, loops
from tg.gradient.fence import fenced
from tg.gradient.infinities import through_sum
from tg.gradient.pullback import Tools, cotangents_of
from tg.gradient.selection import Supports
from tg.gradient.stable import has_kinks, opened
from tg.graph import loc as locs
from tg.graph.nodes import Apply, Variable
from tg.graph.op import Op
from tg.graph.traversal import key_of, sorted_applies, substitute
from tg.ops.control import StopGradient
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import add, subtract
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
    supports: Supports | None = None,
) -> Tangents:
    """The tangents of `outputs` for tangents of `wrt`; None where no value flows.

    An intermediate variable of `wrt` has its own tangent besides what flows to it. Nothing below `leaves` is
    differentiated. `supports` has what is known of where the tangents are not 0.
    """
    tools = ForwardTools(supports if supports is not None else Supports())
    by_key: dict[tuple[int, int], Variable] = {}

    def flow(key: tuple[int, int], t: Variable | None) -> None:
        if t is not None:
            total = by_key.get(key)
            by_key[key] = t if total is None else add(total, t)

    for v, t in zip(wrt, tangents, strict=True):
        flow(key_of(v), t)
    with locs.at(None):
        order = list(sorted_applies(outputs, boundary=leaves))
        tools.supports.kinks = tools.supports.kinks or any(has_kinks(node) for node, _ in order)
        for node, results in order:
            ts = [by_key.get(key_of(v)) if is_inexact(v.type.dtype) else None for v in node.inputs]
            if all(t is None for t in ts) or not any(is_inexact(t.dtype) for t in node.types):
                continue
            locs.fix(node.loc)
            for k, t in enumerate(_through(tools, node, results, ts)):
                if is_inexact(node.types[k].dtype):
                    flow((id(node), k + 1), t)
    return [by_key.get(key_of(v)) for v in outputs]


def _through(
    tools: ForwardTools, node: Apply, results: Sequence[Variable | None], tangents: Tangents
) -> Sequence[Variable | None]:
    full = [
        v if v is not None else Variable(t, node, k) for k, (v, t) in enumerate(zip(results, node.types, strict=True))
    ]
    try:
        rule = functools.partial(node.op.pushforward, tools, node.inputs, full)
        ts = fenced(tools.supports, node, bilinear.defined(tools.supports, node, tangents), rule)
        return bilinear.of_pushforward(tools.reverse.supports, node, tangents, ts)
    except NotDifferentiable as error:
        if node.loc is not None:
            error.add_note(f"  created at {node.loc}:  {node.loc.source}")
        raise


@final
class ForwardTools:
    """Tools that `Op.pushforward` is given to build tangents with."""

    def __init__(self, supports: Supports) -> None:
        self.supports = supports
        self.reverse = Tools(supports)
        self.forward = Tools(supports, forward=True)

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
            for term in () if t is None else self._terms(fn, k, inputs, output, t):
                total = term if total is None else add(total, term)
        return None if total is None else _as_wide(cast_variable(total, output.type.dtype), output)

    def _terms(
        self, fn: ElementwiseFunction, k: int, inputs: Sequence[Variable], output: Variable, t: Variable
    ) -> list[Variable]:
        """The terms of the result's tangent from that of operand k: d * t, and d_conj * conj(t) where t is complex."""
        terms: list[Variable | None] = []
        partial = fn.d[k] if fn.d is not None else None
        if partial is not None:
            term = self.forward.times(t, partial(*inputs, output))
            is_sum = fn is add or fn is subtract
            terms.append(through_sum(inputs[1 - k], term) if is_sum and term is not None else term)
        if is_complex(t.type.dtype):
            if not is_complex(output.type.dtype):
                return [2 * real(term) for term in terms if term is not None]
            turned = fn.d_conj[k] if fn.d_conj is not None else None
            if turned is not None:
                terms.append(self.forward.times(conjugate(t), turned(*inputs, output)))
        return [term for term in terms if term is not None]

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
        stand_ins = self.supports.leaves_like(inputs)
        result = op.expansion(*stand_ins)
        outputs = (result,) if isinstance(result, Variable) else result
        ts = tangents_of(outputs, stand_ins, tangents, supports=self.supports)
        values = {id(s): v for s, v in zip(stand_ins, inputs, strict=True)}
        rest = iter(substitute([t for t in ts if t is not None], values))
        return [None if t is None else next(rest) for t in ts]

    def transposed_pullback(
        self, op: Op, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Tangents:
        """The pullback of the op's pullback, which is linear in its cotangents: any will do, and these are zeros."""
        dys = [StopGradient()(zeros_like(y)) if is_inexact(y.type.dtype) else None for y in outputs]
        pulled = op.pullback(self.reverse, inputs, outputs, dys)
        pairs = [(dx, t) for dx, t in zip(pulled, tangents, strict=True) if dx is not None and t is not None]
        if not pairs:
            return [None] * len(outputs)
        leaves = [dy for dy in dys if dy is not None]
        values, ts = [p[0] for p in pairs], [p[1] for p in pairs]
        products = iter(
            cotangents_of(values, ts, leaves, [*inputs, *outputs, *leaves], supports=self.supports, turns=True)
        )
        return [None if dy is None else next(products) for dy in dys]

    def jvp_scan(self, op: Scan, *args: Any) -> Tangents:
        """The tangents of the results of a loop: one loop of values and tangents."""
        return loops.jvp_scan(tangents_of, self.supports, op, *args)

    def jvp_while(self, op: While, *args: Any) -> Tangents:
        """The tangents of the results of a loop: one loop of values and tangents."""
        return loops.jvp_while(tangents_of, self.supports, op, *args)

    def jvp_cond(self, op: Cond, *args: Any) -> Tangents:
        """The tangents of the results, by the branch that runs."""
        return loops.jvp_cond(tangents_of, self.supports, op, *args)

    def jvp_call(self, graph: FrozenGraph, inputs: Sequence[Variable], tangents: Sequence[Variable | None]) -> Tangents:
        """The tangents of the outputs of an inner graph: one call of its pushforward."""
        pairs = [(k, t) for k, t in enumerate(tangents) if t is not None]
        inner, _, checks, outputs, *_ = opened(graph)
        leaves = [Variable(t.type) for _, t in pairs]
        inside = self.supports.inside([*inner, *leaves], [*inputs, *(t for _, t in pairs)])
        stated = [inside.stand_in(v, self.supports.of(t), t) for v, (_, t) in zip(leaves, pairs, strict=True)]
        flags = [pair for _, own in stated for pair in own]
        results = tangents_of(outputs, [inner[k] for k, _ in pairs], [v for v, _ in stated], supports=inside)
        return self.supports.of_call(
            inside, [*inner, *leaves], [*inputs, *(t for _, t in pairs)], flags, results, checks
        )


def _as_wide(t: Variable, output: Variable) -> Variable:
    """A tangent repeated along the axes along which its operand was."""
    if t.type.ndim == output.type.ndim and all(map(same, t.shape, output.shape)):
        return t
    return broadcast_to(t, output.shape)
