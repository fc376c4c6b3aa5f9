"""Products of matrices of 8-bit integers, summed in 32 bits: by pairs of terms (`tg_native.matrices.pairs`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops import integer_products as t
from tg_native.matrices.pairs import Pairs
from tg_native.plan.values import is_one, spread

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.graphs.site import Site
    from tg_native.plan.values import Array, Value


def integer_matmul(op: t.IntegerMatMul, site: Site) -> Value:
    """A product for each index of the leading axes; a column is a row of the product turned round."""
    x, y = (site.memory(v) for v in site.inputs)
    z = site.allocate(0)
    site.same(x.shape[-1], y.shape[-2])
    x, y = (spread(v, (*z.shape[:-2], *v.shape[-2:])) for v in (x, y))
    left, right, product = (_turned(y), _turned(x), _turned(z)) if is_one(y.shape[-1]) else (x, y, z)
    if not is_one(left.strides[-1]):
        left = site.contiguous(left)
    if not (is_one(right.strides[-1]) or is_one(right.strides[-2])):
        right = site.contiguous(right)
    Pairs(site, left, right, product).write()
    return z


def _turned(v: Array) -> Array:
    """The matrices transposed; one of a single column lies as a row does."""
    *lead, rows, columns = v.shape
    *apart, row, column = v.strides
    if is_one(columns):
        column = 1 if is_one(rows) else row
        return v.viewed((*lead, 1, rows), (*apart, column, column))
    return v.viewed((*lead, columns, rows), (*apart, column, row))


RULES: Final[dict[object, Rule]] = {t.IntegerMatMul: integer_matmul}
