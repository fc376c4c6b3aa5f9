"""Products with weights that are packed by group, which are read as they lie: one-row products take what memory takes.

Of many rows the weights are unpacked once, and multiplied by BLAS: the op declines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops import groups as t
from tg_native.matrices.groups import PACKED, PackedProduct
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.graphs.site import Site
    from tg_native.plan.values import Array, Value

MOST: Final = 64  # rows, if they are known: of more BLAS makes up for unpacking (`python benchmarks/groups.py`)


def matmul_groups(op: t.MatMulGroups, site: Site) -> Any:
    """The packed product, where there is one for the format and rows are few, or are not known."""
    x, q = site.inputs
    rows = site.types[0].shape[-2]
    if op.format not in PACKED or (isinstance(rows, int) and rows > MOST):
        return NotImplemented
    product = PackedProduct(site, _dense(site, x), site.contiguous(site.memory(q)), PACKED[op.format])
    return product.write()


def _dense(site: Site, value: Value) -> Array:
    """An array in memory, in whose rows elements follow one another."""
    array = site.memory(value)
    return array if is_one(array.strides[-1]) else site.contiguous(array)


RULES: Final[dict[object, Rule]] = {t.MatMulGroups: matmul_groups}
