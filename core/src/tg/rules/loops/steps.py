"""Graphs of steps: with other inputs and outputs, and what they read."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.frozen import FrozenGraph
from tg.graph.nodes import Constant
from tg.ops.elementwise.record import Elementwise
from tg.ops.iteration import scan
from tg.ops.shape import ravel
from tg.ops.shape_ops import AxisLength, ExpandDims, Squeeze, Transpose
from tg.ops.sized_ops import BroadcastTo, Reshape
from tg.types.atoms import AxisLength as AxisAtom
from tg.types.substitution import atoms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tg.graph.frozen import Node
    from tg.graph.nodes import Variable

ARRAY: Final = 4.0  # what it costs to write an element and to read it again, in additions
VIEWS: Final = (AxisLength, BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose)  # which compute nothing
NONE: Final[Mapping[int, Constant]] = MappingProxyType({})


def with_parts(
    body: FrozenGraph, inputs: Sequence[int], outputs: Sequence[int], literals: Mapping[int, Constant] = NONE
) -> FrozenGraph:
    """A graph with other inputs and outputs, which are any of its values; without nodes that these do not need.

    Args:
        literals: inputs that become constants.
    """
    leaves = {*inputs, *literals}
    makers = {number: k for k, node in enumerate(body.nodes) for number in node.outputs if number not in leaves}
    needed: set[int] = set()
    stack = [*outputs, *read_by_checks(body)]
    while stack:
        k = makers.get(stack.pop())
        if k is not None and k not in needed:
            needed.add(k)
            stack.extend(body.nodes[k].inputs)
    nodes = sorted(needed)
    read = {number for k in nodes for number in body.nodes[k].inputs}
    read.update(outputs, read_by_checks(body))
    constants = {k: c for k in read if (c := literals[k] if k in literals else body.constant(k)) is not None}
    order = [*inputs, *sorted(constants), *(number for k in nodes for number in body.nodes[k].outputs)]
    new = {old: k for k, old in enumerate(order)}
    moved = [
        node._replace(inputs=tuple(new[v] for v in node.inputs), outputs=tuple(new[v] for v in node.outputs))
        for node in (body.nodes[k] for k in nodes)
    ]
    checks = [
        check._replace(condition=new[check.condition], values=tuple(new[v] for v in check.values))
        for check in body.checks
    ]
    return FrozenGraph(
        len(inputs),
        [body.types[k] for k in order],
        [constants[k] for k in sorted(constants)],
        moved,
        [new[v] for v in outputs],
        checks,
        {new[k]: name for k, name in body.names.items() if k in new and k not in literals},
        {k: body.origins[old] for k, old in enumerate(nodes) if old in body.origins},
        {new[k]: facts for k, facts in body.assumed.items() if k in new and k not in literals},
    )


def read_by_checks(body: FrozenGraph) -> list[int]:
    """Values that the checks of a graph read."""
    return [v for check in body.checks for v in (check.condition, *check.values)]


def kept_inputs(body: FrozenGraph, first: int, leaves: Iterable[int]) -> list[int]:
    """The inputs of a step, from some number on only those that it reads where other values are given as well."""
    makers = {number: node for node in body.nodes for number in node.outputs}
    stack, visited = [*body.outputs, *read_by_checks(body)], set[int](leaves)
    while stack:
        number = stack.pop()
        if number not in visited:
            visited.add(number)
            stack.extend(makers[number].inputs if number in makers else ())
    return [k for k in range(body.arity) if k < first or k in visited]


def ancestors(makers: Mapping[int, Node], numbers: Iterable[int]) -> set[int]:
    """Values, and all that they are computed of."""
    stack, visited = list(numbers), set[int]()
    while stack:
        number = stack.pop()
        if number not in visited:
            visited.add(number)
            stack.extend(makers[number].inputs if number in makers else ())
    return visited


def constants_of(body: FrozenGraph) -> dict[int, Variable]:
    """The constants of a graph by their numbers."""
    return dict(enumerate(body.constants, body.arity))


def is_safe(node: Node) -> bool:
    """Whether a node is of single elements and cannot fail."""
    return isinstance(node.op, Elementwise) and node.op.fn.checks is None


def cost(node: Node) -> float:
    """Cost of an elementwise node for each element, in additions."""
    return node.op.fn.cost  # type: ignore[attr-defined,no-any-return]


def may_be_length(number: int, body: FrozenGraph) -> bool:
    """Whether a value is of the type that lengths have."""
    return not body.types[number].ndim and body.types[number].dtype == "int64"


def has_given_lengths(number: int, body: FrozenGraph) -> bool:
    """Whether the lengths of a value follow from those of what a step is given."""
    if None not in body.types[number].shape:
        return True
    length_atoms = [atom for n in body.symbolic[number].shape for atom in atoms(n)]
    return all(type(a) is AxisAtom and a.owner.number < body.arity for a in length_atoms)  # type: ignore[attr-defined]


def has_effect(body: FrozenGraph) -> bool:
    """Whether a graph, or one inside it, does something besides its results."""
    return any(
        one.op.has_effect or one.op.calls_python or any(map(has_effect, one.op.inner_graphs())) for one in body.nodes
    )


def literal(c: Constant) -> tuple[object, ...]:
    """Key that equal constants have in common."""
    return (c.type, c.data.tobytes())


def over_numbers(x: Variable, step: Any) -> Variable:
    """Traces of steps over the elements of an array."""
    return scan(step, Constant(np.zeros((), x.type.numpy_dtype)), ravel(x))[1]  # type: ignore[no-any-return]
