"""`InRegisters`: an op on small matrices that is computed as a whole, instead of by its expansion into factorisations.

Between the ops of an expansion whole batches go through memory; here nothing of a matrix does but operands and results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.graph.op import Op
from tg.ops.family import Family
from tg.ops.linalg.linear_systems import Inv, Solve
from tg.ops.linalg.solving import Det
from tg.rewrite.phases import REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import node_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from tg.graph.nodes import Apply
    from tg.types.lengths import Length
    from tg.types.tensor_type import TensorType

    Array = np.ndarray[Any, Any]

MOST: Final = 6
"""Rows and columns of matrices that are held in registers: of more, compilers spill most of what there is."""


def is_small(lengths: Sequence[int | Length | None]) -> bool:
    """Whether lengths are known, and all of them so small."""
    return all(type(n) is int and 0 < n <= MOST for n in lengths)


@final
class InRegisters(Op):
    """Computation of an op on matrices whose lengths are known and small."""

    op: Op

    def infer(self, *types: TensorType) -> tuple[TensorType, ...]:
        """The types of the op's results."""
        return self.op.infer(*types)

    def perform(self, *arrays: Array) -> tuple[Array, ...]:
        """The op's results."""
        return self.op.perform(*arrays)


def _of_small(node: Apply, outputs: object) -> Any:
    op = node.op
    is_turned = isinstance(op, Solve) and op.transpose != "n"
    return None if is_turned or not all(is_small(v.shape[-2:]) for v in node.inputs) else InRegisters(op)(*node.inputs)


RULES: Final = (
    node_rule(
        "small_matrices_in_registers",
        keys=(Det, Inv, Solve),
        apply=_of_small,
        phase=SPECIALIZE,
        kind=REASSOCIATES,
        why="Between the ops of an expansion whole batches go through memory: 1e5 determinants took 2.8 x as long.",
    ),
)

FAMILY = Family("registers", ops=(InRegisters,), is_lowered=True)
