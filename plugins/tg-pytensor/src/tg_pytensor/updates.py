"""What shared variables hold after a call: PyTensor's default updates, and generators after their draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RNGConsumerOp

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


def generators_left(outputs: Sequence[Variable], generators: Iterable[Variable]) -> dict[Variable, Variable]:
    """The generators that all draws of a graph leave of others.

    PyMC's functions update generators so; PyTensor's own, where these have no `default_update`, draw the same again.
    """
    after: dict[Variable, Variable] = {}
    for v in ancestors(outputs):
        if v.owner is None:
            continue
        node, op = v.owner, v.owner.op
        if hasattr(op, "outer_untraced_sit_sot"):
            held = op.outer_untraced_sit_sot(node.inputs), op.outer_untraced_sit_sot_outs(node.outputs)
            after |= zip(*held, strict=True)
        elif isinstance(op, RNGConsumerOp):
            after |= op.update(node)

    def last(v: Variable) -> Variable:
        while v in after:
            v = after[v]
        return v

    return {v: last(v) for v in generators}
