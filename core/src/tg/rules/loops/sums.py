"""Sums of what there is of all steps, which are no carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.frozen import FrozenGraph, ValueSlot
from tg.graph.nodes import Constant, apply
from tg.ops.contraction import matmul
from tg.ops.creation import zeros
from tg.ops.elementwise.arithmetic import add, multiply, subtract
from tg.ops.iteration import scan
from tg.ops.loops import Scan
from tg.ops.reduction import Reduce
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import broadcast_to, ravel, swapaxes
from tg.ops.shape_ops import AxisLength, ExpandDims
from tg.rewrite.phases import REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import INEXACT, pass_of
from tg.rules.loops.steps import VIEWS, kept_inputs, with_parts
from tg.rules.shape.moved import every
from tg.types.atoms import AxisLength as AxisAtom
from tg.types.substitution import atoms, evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.graph.frozen import Node
    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View
    from tg.types.lengths import Length


def _of_sums(view: View, replaced: Callable[[Apply, Scan, View], dict[int, Variable]]) -> dict[int, Variable]:
    """Replacements of loops that carry something and cannot fail."""
    replacements: dict[int, Variable] = {}
    for node in view.applies:
        if isinstance(node.op, Scan) and node.op.carries and not node.op.body.checks:
            replacements.update(replaced(node, node.op, view))
    return replacements


def _total(x: Variable) -> Variable:
    """The sum of the elements of an array by a loop that traces nothing."""
    zero = Constant(np.zeros((), x.type.numpy_dtype))
    return _without_traces(scan(lambda c, v: (c + v, None), zero, ravel(x))[0])[0]


@pass_of(Scan, phase=SPECIALIZE, kind=REASSOCIATES, example=_total)
def _scan_sums(view: View) -> dict[int, Variable]:
    """Loops behind which what their steps only add up is added up.

    A sum of what there is of all steps is no carry, and one of outer products is a product of matrices.
    """
    return _of_sums(view, _summed)


def _summed(node: Apply, op: Scan, view: View) -> dict[int, Variable]:
    body, n, operands = op.body, op.carries, node.inputs[op.first :]
    makers = {number: one for one in body.nodes for number in one.outputs}
    addends = {k: v for k in range(n) if (v := _addend(body, makers, k)) is not None and _is_zero(operands[k])}
    traced = dict.fromkeys(body.outputs[n:])
    products = {}
    for k, v in addends.items():
        factors = _outer_factors(body, makers, v)
        if factors is not None:
            products[k] = factors
            traced.update(dict.fromkeys(u for u in factors if not n <= u < n + op.sequences))
    sums = {k: v for k, v in addends.items() if k not in products and (v in traced or n <= v < n + op.sequences)}
    if not products and not sums:
        return {}
    others = [k for k in range(n) if k not in products and k not in sums]
    order = [k for k in range(body.arity) if k >= n or k in others]
    smaller = with_parts(body, order, [*(body.outputs[k] for k in others), *traced])
    read = kept_inputs(smaller, len(others), ())  # what only sums were of is no sequence of the loop
    smaller, order = with_parts(smaller, read, smaller.outputs), [order[k] for k in read]
    loop = Scan(smaller, len(others), sum(n <= k < n + op.sequences for k in order), op.length, op.reverse, op.told)
    outputs = apply(loop, [*node.inputs[: op.first], *(operands[k] for k in order)])
    carries = dict(zip(others, outputs, strict=False))
    values = {
        **dict(zip(traced, outputs[len(others) :], strict=True)),
        **dict(enumerate(operands[n : n + op.sequences], n)),
    }
    for k, (u, v) in products.items():
        carries[k] = matmul(swapaxes(values[u], 0, 1), values[v])
    for k, v in sums.items():
        carries[k] = sum_of(values[v], 0)
    traces = dict(zip(traced, outputs[len(others) :], strict=True))
    results = [*(carries[k] for k in range(n)), *(traces[v] for v in body.outputs[n:])]
    return {id(old): v for old, v in zip(view.results(node), results, strict=True)}


def _addend(body: FrozenGraph, makers: Mapping[int, Node], k: int) -> int | None:
    """Value that each step adds to a carry that nothing else reads; None if there is none."""
    after = body.outputs[k]
    one = makers.get(after)
    if one is None or one.op is not add.op or k not in one.inputs or body.types[k].dtype not in INEXACT:
        return None
    (v,) = [u for u in one.inputs if u != k] or (k,)
    reads = [u for other in body.nodes for u in other.inputs] + list(body.outputs)
    alone = reads.count(k) == 1 and reads.count(after) == 1 and v != k
    return v if alone and body.types[v] == body.types[k] else None


def _outer_factors(body: FrozenGraph, makers: Mapping[int, Node], v: int) -> tuple[int, int] | None:
    """The vectors of which a matrix is the outer product: that of its rows, that of its columns."""
    one = makers.get(v)
    if one is None or one.op is not multiply.op or body.types[v].ndim != 2:
        return None
    by_axes = {}
    for u in one.inputs:
        widened = makers.get(u)
        if widened is None or type(widened.op) is not ExpandDims or body.types[widened.inputs[0]].ndim != 1:
            return None
        by_axes[widened.op.axes] = widened.inputs[0]
    return (by_axes[(-1,)], by_axes[(-2,)]) if by_axes.keys() == {(-1,), (-2,)} else None


def _total_of_elements(x: Variable) -> Variable:
    """The sum of all elements that some steps have, added up by these."""

    def step(carry: Any, v: Variable) -> Any:
        return (carry[0] * v, carry[1] + sum_of(carry[0])), None

    zero = Constant(np.zeros((), x.type.numpy_dtype))
    carries, _ = scan(step, (x, zero), broadcast_to(x, (9, *x.shape)))
    return _without_traces(carries[0])[1]


@pass_of(Scan, phase=SPECIALIZE, kind=REASSOCIATES, example=_total_of_elements)
def _scan_sums_of_elements(view: View) -> dict[int, Variable]:
    """Loops whose steps add elements of arrays up, each by itself, and behind them the sums over these.

    Steps that work on each element by itself can be run element by element; a sum over them waits for all.
    """
    return _of_sums(view, _summed_behind)


def _summed_behind(node: Apply, op: Scan, view: View) -> dict[int, Variable]:
    body, n, operands = op.body, op.carries, node.inputs[op.first :]
    makers = {number: one for one in body.nodes for number in one.outputs}
    sums = {k: one for k in range(n) if (one := _sum_of_elements(body, makers, k)) is not None}
    others = [one for one in body.nodes if all(one is not other for other in sums.values())]
    if not sums or not all(one.op.pointwise or isinstance(one.op, (*VIEWS, AxisLength)) for one in others):
        return {}  # only then is an array that is carried one that stays where it is computed with
    if not any(body.types[k].ndim for k in range(n) if k not in sums):
        return {}
    inputs = list(operands)
    for k, one in sums.items():
        start = _zeros_outside(op, body, operands, one.inputs[0])
        if start is None:
            return {}
        inputs[k] = start
    outputs = apply(op.with_body(_with_elements_added(body, makers, sums)), [*node.inputs[: op.first], *inputs])
    results = list(outputs)
    for k, one in sums.items():
        (total,) = apply(one.op, [outputs[k]])
        results[k] = total if _is_zero(operands[k]) else add(operands[k], total)
    return {id(old): v for old, v in zip(view.results(node), results, strict=True)}


def _with_elements_added(body: FrozenGraph, makers: Mapping[int, Node], sums: Mapping[int, Node]) -> FrozenGraph:
    """A step that adds the elements to carries, of which it has added sums."""
    types, nodes = list(body.types), list(body.nodes)
    for k, one in sums.items():
        last, (x,), (total,) = makers[body.outputs[k]], one.inputs, one.outputs
        types[k] = types[body.outputs[k]] = body.types[x]
        nodes[nodes.index(last)] = last._replace(inputs=tuple(x if v == total else v for v in last.inputs))
    parts = (body.arity, types, body.constants, nodes, body.outputs, body.checks)
    wide = FrozenGraph(*parts, body.names, body.origins, body.assumed)
    return with_parts(wide, range(body.arity), body.outputs)


def _sum_of_elements(body: FrozenGraph, makers: Mapping[int, Node], k: int) -> Node | None:
    """The sum over axes that each step adds to a carry, or takes from it, which nothing else reads; None for others."""
    last = makers.get(body.outputs[k])
    if last is None or last.op not in (add.op, subtract.op) or k not in last.inputs[: 1 + (last.op is add.op)]:
        return None
    (total,) = [v for v in last.inputs if v != k] or (k,)
    one = makers.get(total)
    if one is None or type(one.op) is not Reduce or one.op.fn is not add:
        return None
    reads = [v for other in body.nodes for v in other.inputs] + list(body.outputs)
    is_alone = all(reads.count(v) == 1 for v in (k, total, body.outputs[k]))
    is_same = body.types[total] == body.types[k] and body.types[k].dtype in INEXACT
    return one if is_alone and is_same else None


def _zeros_outside(op: Scan, body: FrozenGraph, operands: Sequence[Variable], number: int) -> Variable | None:
    """Zeros like a value of a step, outside of the loop; None where its lengths are not those of operands."""
    first, last = op.carries, op.carries + op.sequences

    def length_of(atom: Any) -> int | Length | None:
        owner = getattr(atom, "owner", None)
        if type(atom) is not AxisAtom or not isinstance(owner, ValueSlot) or owner.number >= body.arity:
            return None
        v = operands[owner.number]
        return v.shape[1:][atom.axis] if first <= owner.number < last else v.shape[atom.axis]

    shape: Any = body.symbolic[number].shape
    if any(length_of(atom) is None for length in shape for atom in atoms(length)):
        return None
    return zeros([evaluate(length, length_of) for length in shape], dtype=body.types[number].dtype)


def _is_zero(v: Variable) -> bool:
    return every(v, lambda u: isinstance(u, Constant) and not u.data.any())


def _without_traces(carry: Variable) -> Sequence[Variable]:
    """The carries that a loop ends with, for examples: the loop without what gradients would want of its steps."""
    node: Any = carry.apply
    body, carries = node.op.body, node.op.carries
    smaller = with_parts(body, range(body.arity), body.outputs[:carries])
    return apply(node.op.with_body(smaller), node.inputs)


PASSES = (_scan_sums_of_elements, _scan_sums)
