"""Rules for ops that are loops, the same for every backend that writes code; in files named as core's `ops/`.

A rule is called with the op and a `Site`, and returns the value of each result: a `Scalar` or an `Array`. Rules for
functions of single elements are kernels: `tg_native.kernels.elementwise.KERNELS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_native.fusion.lane_loops import LaneLoop
from tg_native.fusion.loop import Loop
from tg_native.fusion.registers import InRegisters
from tg_native.loops.lane_loops import lane_loop
from tg_native.loops.nest import loop
from tg_native.matrices.registers import in_registers
from tg_native.rules import (
    contraction,
    control,
    creation,
    cumulative,
    fourier,
    groups,
    indexing,
    integer_products,
    linalg,
    loops,
    nn,
    reduction,
    shape,
    sorting,
    sparse,
    sparse_factors,
)

if TYPE_CHECKING:
    from tg.plugin.records import Rule

RULES: Final[dict[object, Rule]] = {
    **contraction.RULES,
    **control.RULES,
    **loops.RULES,
    **creation.RULES,
    **cumulative.RULES,
    **groups.RULES,
    **indexing.RULES,
    **integer_products.RULES,
    **linalg.RULES,
    **nn.RULES,
    **reduction.RULES,
    **shape.RULES,
    **fourier.RULES,
    **sorting.RULES,
    **sparse.RULES,
    **sparse_factors.RULES,
    InRegisters: in_registers,
    Loop: loop,
    LaneLoop: lane_loop,
}
