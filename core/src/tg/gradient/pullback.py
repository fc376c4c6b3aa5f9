"""Reverse mode: cotangents flow from outputs to what they are wanted for, node by node, each op by its own pullback.

Structurally absent cotangents are None, never zeros. A product of a cotangent and a partial derivative is 0 where one
of them is 0 by selection (`tg.gradient.selection`), so a branch that is not taken never leaks NaN; any other 0 times
infinity is NaN.

Of complex values it is the conjugates of gradients that flow: d cost / d real(z) - i * d cost / d imag(z), by which a
change of z is multiplied. So the pullback of an op that is analytic is the same for real and complex values, and needs
no conjugates. `gradients_of` takes and gives what users see, d cost / d real(z) + i * d cost / d imag(z).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import NotDifferentiable, message
from tg.gradient import bilinear, loops
from tg.gradient.batching import BatchTools
from tg.gradient.conditions import both, either, wide
from tg.gradient.fence import fenced
from tg.gradient.infinities import through_sum
from tg.gradient.products import inside, is_chosen_within, or_zero
from tg.gradient.selection import Supports
from tg.gradient.stable import has_kinks, opened
from tg.graph import loc as locs
from tg.graph.collector import paused
from tg.graph.nodes import Apply, Constant, Variable
from tg.graph.traversal import key_of, sorted_applies, substitute
from tg.ops.control import Call, StopGradient
from tg.ops.creation import zeros_like
from tg.ops.custom import spelled_out
from tg.ops.elementwise.arithmetic import add, multiply, negative, product_at_kink, product_past_kink, subtract
from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.complex import conjugate, real
from tg.ops.elementwise.record import AtKink, Elementwise
from tg.ops.reduction import reduce_sum
from tg.ops.shape import sum_to
from tg.types.dtypes import BOOL, is_complex, is_inexact, numpy_dtype
from tg.types.lengths import same

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
    seeds: Sequence[tuple[Variable, Variable]] = (),
    supports: Supports | None = None,
    *,
    turns: bool = False,
) -> list[Variable | None]:
    """The cotangents of `wrt` for cotangents of `outputs`, by one sweep down; None where no value flows.

    Nothing below `leaves` is differentiated. The cotangents of the variables in `seeds` are those given there, whatever
    flows to them. `supports` has what is known of where the cotangents are not 0.
    """
    tools = Tools(supports if supports is not None else Supports(), turns=turns)
    flowing = _Flow(outputs, cotangents, seeds)
    wanted = {key_of(v) for v in wrt}
    reached: set[int] = set()
    order: list[tuple[Apply, list[Variable | None], list[bool]]] = []
    for node, results in sorted_applies([*outputs, *(v for v, _ in seeds)], boundary=leaves):
        leads = [
            (id(v), 0) in wanted if v.apply is None else id(v.apply) in reached or (id(v.apply), v.index + 1) in wanted
            for v in node.inputs
        ]
        if True in leads:
            reached.add(id(node))
            order.append((node, results, leads))
            if has_kinks(node):
                tools.supports.kinks = True
    with locs.at(None):
        for node, results, leads in reversed(order):
            dys = [flowing.found.get((id(node), k)) for k in range(1, len(results) + 1)]
            for dy in dys:
                if dy is not None:
                    break
            else:
                continue
            full = [Variable(node.types[k], node, k) if v is None else v for k, v in enumerate(results)]
            locs.fix(node.loc and node.loc.backward())
            _through(tools, node, full, dys, leads, flowing)
    return [flowing.found.get(key_of(v)) for v in wrt]


def gradients_of(
    outputs: Sequence[Variable],
    gradients: Sequence[Variable | None],
    wrt: Sequence[Variable],
    leaves: Sequence[Variable] = (),
    seeds: Sequence[tuple[Variable, Variable]] = (),
) -> list[Variable | None]:
    """The gradients of `wrt` for gradients of `outputs`: as cotangents, but for the conjugation of complex ones.

    The gradient of a complex z is d cost / d real(z) + i * d cost / d imag(z): where the cost rises fastest. PyTorch
    has the same convention; `jax.grad` gives the conjugate. Where a value depends on a variable by derivatives that
    are 0 everywhere, as through `floor`, the gradient is zeros; None says that it does not depend on it.
    """
    supports = Supports()
    cotangents = [None if dy is None else supports.asked(conjugate(dy)) for dy in gradients]
    pairs = [(v, supports.asked(conjugate(dv))) for v, dv in seeds]
    dxs = cotangents_of(outputs, cotangents, wrt, leaves, pairs, supports)
    flat = dependencies([*outputs, *(v for v, _ in seeds)], leaves) if any(dx is None for dx in dxs) else set()
    return [
        conjugate(dx) if dx is not None else zeros_like(v) if key_of(v) in flat else None
        for v, dx in zip(wrt, dxs, strict=True)
    ]


def dependencies(outputs: Sequence[Variable], leaves: Sequence[Variable] = ()) -> set[tuple[int, int]]:
    """The keys of what floating outputs depend on, by ops whose derivatives exist, if only as zeros."""
    keys = {key_of(v) for v in outputs if is_inexact(v.type.dtype)}
    for node, _ in reversed(list(sorted_applies(outputs, boundary=leaves))):
        reached = [k for k in range(len(node.types)) if (id(node), k + 1) in keys]
        if not reached or isinstance(node.op, StopGradient):
            continue
        for v, carries in zip(node.inputs, _carrying(node, reached), strict=True):
            if carries and is_inexact(v.type.dtype):
                keys.add(key_of(v))
    return keys


def _carrying(node: Apply, reached: Sequence[int]) -> list[bool]:
    """The flags of a node's operands: whether the results with these numbers depend on each."""
    op = node.op
    if isinstance(op, Elementwise) and op.fn.d is not None:
        return [partial is not None for partial in op.fn.d]
    if isinstance(op, Call):
        inner, outputs, *_ = opened(op.graph)
        below = dependencies([outputs[k] for k in reached if k < len(outputs)], inner)
        return [key_of(v) in below for v in inner]
    return [True] * len(node.inputs)


class _Flow:
    """The cotangents found so far, summed by variable."""

    def __init__(
        self,
        outputs: Sequence[Variable],
        cotangents: Sequence[Variable | None],
        seeds: Sequence[tuple[Variable, Variable]],
    ) -> None:
        self.found: dict[tuple[int, int], Variable] = {key_of(v): dv for v, dv in seeds}
        self.known = frozenset(self.found)
        for v, dv in zip(outputs, cotangents, strict=True):
            self.add(v, dv)

    def add(self, v: Variable, dv: Variable | None) -> None:
        key = key_of(v)
        if dv is None or key in self.known:
            return
        total = self.found.get(key)
        self.found[key] = dv if total is None else add(total, dv)


def _through(
    tools: Tools,
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
            dxs: Sequence[Variable | None] = tools.pullback_of_elementwise(
                op.fn, node.inputs, outputs[0], dys[0], leads
            )
        else:
            rule = functools.partial(op.pullback, tools, node.inputs, outputs)
            is_beside = tools.supports.kinks and not tools.turns
            flow = bilinear.defined(tools.supports, node, dys) if is_beside else dys
            dxs = fenced(tools.supports, node, flow, rule)
            if is_beside:
                dxs = bilinear.of_pullback(tools.supports, node, dys, dxs)
    except NotDifferentiable as error:
        if node.loc is not None:
            error.add_note(f"  created at {node.loc}:  {node.loc.source}")
        raise
    for v, dv in zip(node.inputs, dxs, strict=True):
        if dv is not None and is_inexact(v.type.dtype):
            flowing.add(v, dv)


@final
class Tools(BatchTools):
    """Tools that `Op.pullback` is given to build cotangents with."""

    def __init__(self, supports: Supports, *, turns: bool = False, forward: bool = False) -> None:
        """The tools of one sweep.

        Args:
            turns: whether the sweep turns a linear map round, and takes no further derivative.
            forward: whether tangents flow, not cotangents.
        """
        self.supports, self.turns, self.forward = supports, turns, forward

    def times(self, dy: Variable, d: Any) -> Variable | None:
        """`dy` times the partial derivative `d`, a variable or a number; 0 where one of them is 0 by selection.

        A bool `d` is 1 where it holds.
        """
        if isinstance(d, AtKink):
            return self._at_kink(dy, d)
        if not isinstance(d, Variable):
            if d == 0:
                return None
            return dy if d == 1 else self.supports.within(dy, negative if d == -1 else lambda x: multiply(x, d))
        if d.apply is not None and type(d.apply.op) is Cast and d.apply.inputs[0].type.dtype == BOOL:
            d = d.apply.inputs[0]
        if d.type.dtype == BOOL:
            return or_zero(d, dy)
        if isinstance(d, Constant) and d.data.ndim == 0 and np.isfinite(d.data):
            within = self.supports.within if d.data else inside
            return within(dy, lambda x: multiply(x, d))
        return self.supports.times(dy, d, turns=self.turns)

    def selected(self, dy: Variable) -> Variable:
        """The mask where a cotangent is not 0 by selection, in its shape."""
        return wide(self.supports.of(dy).selected, dy)

    def _at_kink(self, dy: Variable, d: AtKink) -> Variable:
        """`dy` times the slope of a kink, or of a product with one.

        It is NaN where `dy` is a convention itself, but for the kinks on the way that `dy` has come in this sweep: of
        them the outermost decides. The cotangent of a cotangent of the kink is a tangent of it.
        """
        slope, support = d.slope, self.supports.of(dy)
        at = both(d.at, both(support.selected, support.asked))  # of a zero there is no convention
        if at is False or is_complex(dy.type.dtype):
            return self._selected(dy, multiply(dy, slope))
        if not self.turns:
            other = support.inward if self.forward else support.outward
            undefined = both(at, either(support.inward, support.outward) if d.again else other)
            if undefined is not False:
                slope = where(undefined, numpy_dtype(slope.type.dtype).type(np.nan), slope)
        self.supports.kinks = True
        fn = product_past_kink if self.forward != d.again else product_at_kink
        return self._selected(dy, inside(dy, lambda x: fn(at, x, slope)))

    def _selected(self, dy: Variable, value: Variable) -> Variable:
        """A product with a slope that is NaN where its operand is, 0 where the other factor is 0 by selection."""
        selected = self.supports.of(dy).selected
        return value if isinstance(selected, bool) or is_chosen_within(value, selected) else or_zero(selected, value)

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
        cotangents: list[Variable | None] = []
        is_sum, is_turned = fn is add or fn is subtract, is_complex(dy.type.dtype)
        for k, (x, partial) in enumerate(zip(inputs, fn.d, strict=True)):
            if partial is None or (wanted is not None and not wanted[k]) or not is_inexact(x.type.dtype):
                cotangents.append(None)
                continue
            d = partial(*inputs, output)
            if self.turns and fn is product_past_kink and k == 1:
                d = AtKink(inputs[0], inputs[2])  # of a tangent the cotangent
            if is_turned or is_complex(x.type.dtype):
                d_conj = fn.d_conj and fn.d_conj[k]
                dx = self._complex_cotangent(dy, x, d, d_conj and d_conj(*inputs, output))
            else:
                dx = self.times(dy, d)
            if is_sum and dx is not None:
                dx = through_sum(inputs[1 - k], dx)
            cotangents.append(None if dx is None else self.to_operand(dx, x))
        return cotangents

    def _complex_cotangent(self, dy: Variable, x: Variable, d: Any, d_conj: Any) -> Variable | None:
        """The cotangent of x where dy or x is complex: dy * d + conj(dy * d_conj), of a real x the real part."""
        if not is_complex(dy.type.dtype):  # both terms are equal
            dx = self.times(dy, d * 2)
            return None if dx is None else cast_variable(dx, x.type.dtype)
        straight, turned = self.times(dy, d), None if d_conj is None else self.times(dy, d_conj)
        terms = [v for v in (straight, None if turned is None else conjugate(turned)) if v is not None]
        total = add(*terms) if len(terms) == 2 else terms[0] if terms else None
        return total if total is None or is_complex(x.type.dtype) else real(total)

    def to_operand(self, dx: Variable, x: Variable) -> Variable:
        """A cotangent summed over the axes along which the operand was repeated."""
        if not x.type.shape:
            return reduce_sum(dx, tuple(range(-dx.type.ndim, 0))) if dx.type.shape else dx
        if x.lengths is dx.lengths and None not in x.lengths:
            return dx
        ones = tuple(k - x.type.ndim for k, n in enumerate(x.type.shape) if n == 1 and not same(dx.shape[k], 1))
        has_lengths = all(n is not None or same(x.shape[k], dx.shape[k]) for k, n in enumerate(x.type.shape))
        if has_lengths and not ones:
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
        stand_ins = self.supports.leaves_like(inputs)
        result = expression(*stand_ins)
        outputs = (result,) if isinstance(result, Variable) else result
        dxs = cotangents_of(outputs, cotangents, stand_ins, supports=self.supports, turns=self.turns)
        values = {id(s): v for s, v in zip(stand_ins, inputs, strict=True)}
        substitutes = substitute([v for v in dxs if v is not None], values)
        rest = iter(substitutes)
        return [None if v is None else next(rest) for v in dxs]

    def vjp_scan(self, op: Scan, *args: Any) -> list[Variable | None]:
        """The cotangents of the operands of a loop: one loop in the other direction."""
        return loops.vjp_scan(cotangents_of, self.supports, op, *args)

    def vjp_while(self, op: While, *args: Any) -> list[Variable | None]:
        """The cotangents of the operands of a loop of at most so many steps."""
        return loops.vjp_while(cotangents_of, self.supports, op, *args)

    def vjp_cond(self, op: Cond, *args: Any) -> list[Variable | None]:
        """The cotangents of the operands, by the branch that ran."""
        return loops.vjp_cond(cotangents_of, self.supports, op, *args)

    def transposed(
        self, tangent: FrozenGraph, inputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> list[Variable | None]:
        """The cotangents of operands by the transpose of their pushforward, a graph of them and their tangents.

        It is linear in the tangents: any will do, and these are zeros.
        """
        ts = {k: StopGradient()(zeros_like(v)) for k, v in enumerate(inputs) if is_inexact(v.type.dtype)}
        outputs = spelled_out(tangent, [*inputs, *ts.values()])
        dys = [dy for dy in cotangents if dy is not None]
        wrt = list(ts.values())
        dxs = iter(cotangents_of(outputs, dys, wrt, [*inputs, *wrt], supports=self.supports, turns=True))
        return [next(dxs) if k in ts else None for k in range(len(inputs))]

    def vjp_call(
        self, graph: FrozenGraph, inputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> list[Variable | None]:
        """The cotangents of the operands of an inner graph: one call of its pullback."""
        pairs = [(k, dy) for k, dy in enumerate(cotangents) if dy is not None]
        if not pairs:
            return [None] * len(inputs)
        inner, _, checks, outputs, *_ = opened(graph)
        leaves = [Variable(dy.type) for _, dy in pairs]
        inside = self.supports.inside([*inner, *leaves], [*inputs, *(dy for _, dy in pairs)])
        stated = [inside.stand_in(v, self.supports.of(dy), dy) for v, (_, dy) in zip(leaves, pairs, strict=True)]
        flags = [pair for _, own in stated for pair in own]
        flowing = [v for v, _ in stated]
        dxs = cotangents_of([outputs[k] for k, _ in pairs], flowing, inner, inner, supports=inside)
        return self.supports.of_call(inside, [*inner, *leaves], [*inputs, *(dy for _, dy in pairs)], flags, dxs, checks)


def ones_for(v: Variable) -> Variable:
    """The cotangent 1 of a scalar."""
    return _one(v.type.dtype)


@functools.cache
def _one(dtype: str) -> Constant:
    return Constant(np.ones((), numpy_dtype(dtype)))
