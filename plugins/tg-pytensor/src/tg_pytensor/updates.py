"""Values of shared variables after a call: PyTensor's default updates, and generators after their draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytensor.compile.builders import OpFromGraph
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RNGConsumerOp
from pytensor.tensor.random.type import RandomType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytensor.graph.basic import Variable

    from tg_pytensor.conversion import Conversion


def default_updates(conversion: Conversion, outputs: Sequence[Variable]) -> None:
    """Give shared variables the default updates that PyTensor's have; a generator's is what draws leave of it."""
    done: set[Variable] = set()
    while waiting := [v for v in conversion.shared if v not in done]:
        left = generators_left(outputs, waiting)
        for v in waiting:
            done.add(v)
            after = v.default_update if v.default_update is not None else left.get(v, v)
            if after is not v:
                conversion.shared[v].default_update = conversion[after]


def is_generator(v: Variable) -> bool:
    """Whether a variable is a generator of random numbers."""
    return isinstance(v.type, RandomType)


def generators_left(outputs: Sequence[Variable], generators: Iterable[Variable]) -> dict[Variable, Variable]:
    """The generators that all draws of a graph leave of others.

    PyMC's functions update generators so; PyTensor's own, where these have no `default_update`, draw the same again.
    """
    after: dict[Variable, Variable] = {}
    for v in ancestors(outputs):
        if v.owner is not None and any(map(is_generator, v.owner.inputs)):
            after |= left_by(v.owner)

    def last(v: Variable) -> Variable:
        while v in after:
            v = after[v]
        return v

    return {v: last(v) for v in generators}


def left_by(node: Any) -> dict[Variable, Variable]:
    """The generators that one node leaves of those that it is given."""
    op = node.op
    if isinstance(op, RNGConsumerOp):
        return dict(op.update(node))
    if hasattr(op, "outer_untraced_sit_sot"):
        before, after = op.outer_untraced_sit_sot(node.inputs), op.outer_untraced_sit_sot_outs(node.outputs)
        return dict(zip(before, after, strict=True))
    if isinstance(op, OpFromGraph):
        left = generators_left(op.fgraph.outputs, op.fgraph.inputs)
        outer = dict(zip(op.fgraph.outputs, node.outputs, strict=True))
        pairs = zip(node.inputs, op.fgraph.inputs, strict=True)
        return {x: outer[left[inner]] for x, inner in pairs if left[inner] in outer}
    return {}
