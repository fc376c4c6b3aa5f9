"""Steps of loops whose conditions have settled: a second body for them, in which these are constants.

Derivatives of loops carry where something flows, and mask products by it. After a few steps it flows everywhere, and
stays so: then nothing is masked, and no condition is computed of others. What the steps compute without conditions is
in neither branch.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.facts import facts_of
from tg.graph.function_graph import freeze
from tg.graph.nodes import Constant, Variable, apply
from tg.ops.assumptions import assume_facts
from tg.ops.elementwise.cast import cast
from tg.ops.elementwise.comparison import equal, greater, isinf, isnan, logical_and, logical_not, logical_or, where
from tg.ops.iteration import scan
from tg.ops.loops import Cond, Scan
from tg.ops.reduction import Reduce
from tg.ops.shape import broadcast_to, expand_dims
from tg.rewrite.phases import EXACT, EXPAND
from tg.rewrite.rule import Pass
from tg.rules.loops.halves import unchecked
from tg.rules.loops.steps import VIEWS, read_by_checks, with_parts
from tg.types.dtypes import BOOL
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph, Node
    from tg.graph.nodes import Apply
    from tg.graph.op import Op
    from tg.graph.view import View

    Array = np.ndarray[Any, Any]

MOST_STEPS: Final = 16  # after which conditions that go on to change are not followed
LEAST: Final = 8  # nodes that are gone where conditions are known, of those in a step
LARGEST: Final = 1 << 12  # elements of a value that is computed here
SELDOM: Final = (equal, isinf, isnan)  # hold of values


class _Parts(NamedTuple):
    """A step: the conditions that it is given, what it computes of them and may compute in a branch, and of what else.

    Args:
        conditions: inputs, of which the first ones are carries.
        outputs: results of a step that depend on conditions, or are carried ones.
        others: values that the branches are given besides.
    """

    conditions: tuple[int, ...]
    outputs: tuple[int, ...]
    others: tuple[int, ...]


def _with_branches(view: View) -> dict[int, Variable]:
    replacements: dict[int, Variable] = {}
    if not any(isinstance(node.op, Scan) and _carried_conditions(node.op) for node in view.applies):
        return replacements
    likely: dict[int, Array | None] = {}
    for node in view.applies:
        results, op = view.results(node), node.op
        arrays = [v.data if isinstance(v, Constant) else likely.get(id(v)) for v in node.inputs]
        settled = _settled(op, arrays[op.first :]) if isinstance(op, Scan) else None
        if settled is None or not isinstance(op, Scan):
            likely.update(zip(map(id, results), _likely(op, arrays, [v.type for v in results]), strict=True))
        else:
            likely.update(zip(map(id, results), _results(op, settled), strict=False))
            replacements.update(_branched(node, op, view, settled))
    return replacements


def _carried_conditions(op: Scan) -> list[int]:
    return [k for k in range(op.carries) if op.body.types[k].dtype == BOOL]


def _branched(node: Apply, op: Scan, view: View, settled: Mapping[int, Array]) -> dict[int, Variable]:
    """The results of a loop that has another body for steps whose conditions have settled."""
    choices = [one for one in op.body.nodes if one.op.rule_key is where and one.inputs[0] in settled]
    gone = [one for one in op.body.nodes if all(v in settled for v in one.outputs)]
    parts = _parts(op) if len(gone) + len(choices) >= LEAST else None
    loop = None if parts is None else _loop(node, op, parts, settled)
    if loop is None:
        return {}
    results, n = apply(*loop), op.carries
    return {id(old): new for old, new in zip(view.results(node), [*results[:n], *results[n + 1 :]], strict=True)}


def _parts(op: Scan) -> _Parts | None:
    """The parts of a step; None where what depends on conditions may fail, or is no more than choices of elements."""
    body = op.body
    conditions = tuple(k for k, t in enumerate(body.input_types) if t.dtype == BOOL)
    dependent, read = set(conditions), set[int]()
    nodes: list[Node] = []
    for one in body.nodes:
        if not dependent.isdisjoint(one.inputs):
            nodes.append(one)
            dependent.update(one.outputs)
            read.update(one.inputs)
    values = [*body.outputs, *(v for one in nodes for v in one.outputs)]
    is_simple = all(one.op.pointwise or isinstance(one.op, VIEWS) for one in nodes)
    if is_simple or not dependent.isdisjoint(read_by_checks(body)) or any(_may_do_more(one.op) for one in nodes):
        return None
    if any(None in body.types[v].shape for v in (*values, *read)):
        return None
    ends = [body.outputs[k] for k in _carried_conditions(op)]
    outputs = dict.fromkeys(v for v in body.outputs if v in dependent or v in ends)
    needed = read | set(ends)
    others = sorted(v for v in needed if v not in dependent and v not in _of_constants(body))
    return _Parts(conditions, tuple(outputs), tuple(others))


def _of_constants(body: FrozenGraph) -> set[int]:
    """The values of a step that are the same whatever is given to it: each branch has its own."""
    constants = set(range(body.arity, body.arity + len(body.constants)))
    for one in body.nodes:
        if constants.issuperset(one.inputs) and not _may_do_more(one.op):
            constants.update(one.outputs)
    return constants


def _may_do_more(op: Op) -> bool:
    return op.has_effect or op.calls_python or bool(op.graph_fields)


# --- what conditions settle at ---------------------------------------------------------------------------------------


def _settled(op: Scan, arrays: Sequence[Array | None]) -> dict[int, Array] | None:
    """The values of a step from some step on that are computed of conditions; None where these go on to change.

    Args:
        arrays: what operands are, None where that is not known.
    """
    body, carried = op.body, _carried_conditions(op)
    state = _begun(op, arrays) if carried else {}
    for _ in range(MOST_STEPS if carried else 0):
        values = dict(state)
        for one in body.nodes:
            results = _likely(one.op, [values[v] for v in one.inputs], [body.types[v] for v in one.outputs])
            values.update(zip(one.outputs, results, strict=True))
        after = {k: values[body.outputs[k]] for k in carried}
        if any(a is None or state[k] is None for k, a in after.items()):
            return None
        if all(np.array_equal(state[k], a) for k, a in after.items()):  # type: ignore[arg-type]
            return {k: a for k, a in values.items() if a is not None}
        state.update(after)
    return None


def _begun(op: Scan, arrays: Sequence[Array | None]) -> dict[int, Array | None]:
    """Known inputs and constants of a step: sequences are as in their middle, conditions hold."""
    body, slices = op.body, range(op.carries, op.carries + op.sequences)
    state: dict[int, Array | None] = {k: c.data for k, c in enumerate(body.constants, body.arity)}
    for k, (a, t) in enumerate(zip(arrays, body.input_types, strict=True)):
        row = a if k not in slices or a is None else a[len(a) // 2] if len(a) else None
        state[k] = _filled(t, holds=True) if row is None else row
    return state


def _filled(t: TensorType, *, holds: bool) -> Array | None:
    """A condition of a type that holds everywhere or nowhere; None for other types and large ones."""
    return np.full(t.shape, holds) if t.dtype == BOOL and _size(t) <= LARGEST else None


def _size(t: TensorType) -> float:
    return math.inf if None in t.shape else math.prod(t.shape)  # type: ignore[arg-type]


def _likely(op: Op, operands: Sequence[Array | None], types: Sequence[TensorType]) -> Sequence[Array | None]:
    """The results of an op for what is known of operands, and conditions of values as they mostly are."""
    arrays = [a for a in operands if a is not None and a.size <= LARGEST]
    if sum(map(_size, types)) <= LARGEST and len(arrays) == len(operands) and not _may_do_more(op):
        try:
            with np.errstate(all="ignore"):
                return op.perform(*arrays)
        except Exception:  # noqa: BLE001 (an error that is due when the function runs)
            return [None] * len(types)
    return [_filled(t, holds=_mostly_holds(op, operands)) for t in types]


def _mostly_holds(op: Op, operands: Sequence[Array | None]) -> bool:
    """Whether values mostly compare so: few are equal, infinite, NaN or, as the largest of shares, above a number."""
    if op.rule_key is greater:
        bound = operands[1]
        return bound is None or not bool(bound.any())
    return op.rule_key not in SELDOM


def _results(op: Scan, settled: Mapping[int, Array]) -> Iterator[Array | None]:
    """The results of a loop all of whose steps are as the last one."""
    for j, v in enumerate(op.body.outputs):
        a = settled.get(v)
        if j < op.carries or a is None:
            yield a
        else:
            yield np.broadcast_to(a, (op.length, *a.shape)) if op.length and op.length * a.size <= LARGEST else None


# --- the loop --------------------------------------------------------------------------------------------------------


def _loop(node: Apply, op: Scan, parts: _Parts, settled: Mapping[int, Array]) -> tuple[Scan, list[Variable]] | None:
    """A loop that carries behind its carries whether its conditions have settled, and its operands.

    None if its steps could fail otherwise than those of the loop whose place it takes.
    """
    n, held, operands = op.carries, op.carries + op.sequences, node.inputs[op.first :]
    of_slices = [_are_settled(operands[k], settled[k], rest=1) for k in parts.conditions if n <= k < held]
    of_captured = [_are_settled(operands[k], settled[k]) for k in parts.conditions if k >= held]
    start = _all(_are_settled(operands[k], settled[k]) for k in _carried_conditions(op))
    carries, sequences, rest = op.parts(node.inputs)
    body = _body(op, parts, settled, len(of_slices), len(of_captured))
    loop = Scan(body, n + 1, op.sequences + len(of_slices), op.length, op.reverse, op.told)
    if loop.inner_descriptors != op.inner_descriptors:
        return None
    return loop, [*node.inputs[: op.first], *carries, start, *sequences, *of_slices, *rest, *of_captured]


def _body(op: Scan, parts: _Parts, settled: Mapping[int, Array], slices: int, captured: int) -> FrozenGraph:
    """The step with branches for what depends on conditions; its last sequences and captured values are flags."""
    body, n, held = op.body, op.carries, op.carries + op.sequences
    leaves = [Variable(t) for t in body.input_types]
    flag, of_slices, of_captured = ([Variable(TensorType(BOOL)) for _ in range(k)] for k in (1, slices, captured))
    rest = [v for v in body.outputs if v not in parts.outputs]
    common = with_parts(body, range(body.arity), [*parts.others, *rest])
    values, checks = common.instantiate_with_checks(leaves)
    others, by_number = values[: len(parts.others)], dict(zip(rest, values[len(parts.others) :], strict=True))
    index = cast(_all([*flag, *of_slices, *of_captured]), "int64")
    results = apply(_branches(op, parts, settled, others), [index, *(leaves[k] for k in parts.conditions), *others])
    by_number |= dict(zip(parts.outputs, results[:-1], strict=True))
    outputs = [by_number[v] for v in body.outputs]
    inputs = [*leaves[:n], *flag, *leaves[n:held], *of_slices, *leaves[held:], *of_captured]
    return freeze(inputs, [*outputs[:n], results[-1], *outputs[n:]], checks)


def _branches(op: Scan, parts: _Parts, settled: Mapping[int, Array], others: Sequence[Variable]) -> Cond:
    """Branches of what depends on conditions, computed of them or of constants, and whether they have settled."""
    part = with_parts(unchecked(op.body), [*parts.conditions, *parts.others], parts.outputs)
    carried = _carried_conditions(op)
    places = [parts.outputs.index(op.body.outputs[k]) for k in carried]
    graphs = []
    for is_known in (False, True):
        conditions = [Variable(op.body.types[k]) for k in parts.conditions]
        leaves = [Variable(v.type) for v in others]
        inputs = [Constant(settled[k]) for k in parts.conditions] if is_known else conditions
        promised = [assume_facts(leaf, facts_of(v)) for leaf, v in zip(leaves, others, strict=True)]
        results = part.instantiate([*inputs, *promised])
        flag = _all(_are_settled(results[j], settled[k]) for k, j in zip(carried, places, strict=True))
        graphs.append(freeze([*conditions, *leaves], [*results, flag]))
    return Cond(tuple(graphs))


def _are_settled(v: Variable, settled: Array, rest: int = 0) -> Variable:
    """Whether a condition is what it settles at, for each element of so many first axes."""
    same = v if settled.all() else equal(v, Constant(settled))
    axes = tuple(range(rest - v.type.ndim, 0))
    return Reduce(logical_and, axes)(same) if axes else same


def _all(conditions: Iterable[Variable]) -> Variable:
    return functools.reduce(logical_and, conditions)


def _masked_products(x: Variable) -> Variable:
    """Result of a loop whose products are masked by where something flows: from the third step on it does all over."""

    def step(c: Any, v: Variable) -> Any:
        total, held, flows, is_on = c
        rows = expand_dims(Reduce(logical_or, (-1,))(flows), -1)
        after = logical_or(logical_and(broadcast_to(rows, flows.shape), is_on), flows)
        masked = where(after, where(flows, held * v, 0) + where(rows, held, 0), 0)
        return (total + where(is_on, masked * v, 0), held + masked, after, logical_or(is_on, logical_not(is_on))), None

    nowhere = broadcast_to(Constant(np.zeros((), bool)), x.shape)
    return scan(step, (x, x, nowhere, False), broadcast_to(x, (5, *x.shape)))[0][0]  # type: ignore[no-any-return]


SETTLED: Final = Pass(
    "scan_settled_conditions",
    keys=(Scan,),
    phase=EXPAND,
    kind=EXACT,
    why="Where something flows is settled after a few steps: the others compute no conditions and mask nothing.",
    run=_with_branches,
    example=_masked_products,
)
"""For backends that write loops, in which a branch costs less than an operation on an array of a few elements."""
