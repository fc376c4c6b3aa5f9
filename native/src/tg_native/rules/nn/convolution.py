"""Convolutions: products of matrices where windows have one pixel, else loops that tables of offsets guide.

Where there are few outer channels, results that follow one another are lanes, or elements of the kernel if these are
more; else outer channels are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.graph.frozen import ValueSlot
from tg.ops.contraction import MatMul
from tg.ops.nn import convolution as t
from tg.types.lengths import ScalarValue, of_atom
from tg.types.tensor_type import TensorType
from tg_native.convolutions import sums
from tg_native.convolutions.axes import Axis
from tg_native.convolutions.rows import Rows
from tg_native.convolutions.sums import Sums
from tg_native.convolutions.tiles import Tiles
from tg_native.loops.pointwise import in_float32
from tg_native.plan.values import collapsed, count
from tg_native.rules.contraction import matmul

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.graphs.site import Site
    from tg_native.plan.values import Array, Value

FEW: Final = 4  # outer channels, of fewer of which no lanes are made


def convolution(op: t.Convolution, site: Site) -> Value:
    """A product where each result meets one pixel, else loops."""
    x, w = (site.memory(v) for v in site.inputs[:2])
    axes = _axes(op, site, x, w)
    if all(axis.is_plain for axis in axes):
        return _product(site, x, w)
    y, outer = site.allocate_as_read(0), w.shape[1]
    if not (type(outer) is int and outer < FEW):
        Tiles(site, (x, w, y), axes).write()
    elif sums.suits(w, axes[-1]):
        Sums(site, (x, w, y), axes).write()
    else:
        Rows(site, (x, w, y), axes).write()
    return y


def _axes(op: t.Convolution, site: Site, x: Array, w: Array) -> list[Axis]:
    """The axes of windows."""
    given = iter(site.node.inputs[2:])
    before = [of_atom(ScalarValue(ValueSlot(next(given)))) if n is None else n for n in op.before]
    sizes = site.types[0].shape[t.LEAD :]
    fields = zip(x.shape[t.LEAD :], w.shape[t.LEAD :], sizes, before, op.strides, op.dilations, op.spread, strict=True)
    return [Axis(*each) for each in fields]


def _product(site: Site, x: Array, w: Array) -> Array:
    """A matrix product for each group of each image."""
    y = site.allocate_as_read(0)
    if not y.is_contiguous:
        site.copy(_product(site.given(site.inputs, site.types), x, w), y)
        return y
    pixels = count(y.shape[t.LEAD :])
    space = collapsed(x.shape[t.LEAD :], [x.strides[t.LEAD :]])
    if len(space.shape) > 1:
        x = site.contiguous(x)
        space = collapsed(x.shape[t.LEAD :], [x.strides[t.LEAD :]])
    images = x.viewed((*x.shape[: t.LEAD], pixels), (*x.strides[: t.LEAD], space.strides[0][0] if space.shape else 1))
    results = y.viewed((*y.shape[: t.LEAD], pixels), (*y.strides[: t.LEAD], 1))
    inner = site.part([results], [TensorType(y.dtype, results.shape)])
    inner.inputs = [w.viewed(w.shape[: t.LEAD], w.strides[: t.LEAD]), images]
    matmul(MatMul(), inner)
    return y


RULES: Final[dict[object, Rule]] = {t.Convolution: in_float32(convolution)}
