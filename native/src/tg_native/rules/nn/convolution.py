"""Convolutions: products of matrices where windows have one pixel, else loops that tables of offsets guide.

Where there are few outer channels, results that follow one another are lanes, or elements of the kernel if these are
more; else outer channels are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.frozen import ValueSlot
from tg.ops.nn import convolution as t
from tg.types.atoms import ScalarValue
from tg.types.lengths import of_atom
from tg.types.tensor_type import TensorType
from tg_native.convolutions import sums
from tg_native.convolutions.axes import Axis
from tg_native.convolutions.epilogue import GROUP, IMAGE, Epilogue, Span
from tg_native.convolutions.rows import Rows
from tg_native.convolutions.sums import Sums
from tg_native.convolutions.tiles import Tiles
from tg_native.fusion.epilogue import WithEpilogue
from tg_native.kernels.index import index
from tg_native.loops.pointwise import in_float32
from tg_native.plan.values import collapsed, count
from tg_native.rules.contraction import product_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Index
    from tg_native.plan.values import Array, Value

FEW: Final = 4  # outer channels, of fewer of which no lanes are made


def convolution(op: t.Convolution, site: Site) -> Value:
    """A product where each result meets one pixel, else loops."""
    x, w = (site.memory(v) for v in site.inputs[:2])
    axes = _axes(op, site, x, w, site.types[0].shape)
    y = site.allocate_as_read(0)
    _write(site, (x, w, y), axes, None)
    return y


def with_epilogue(op: WithEpilogue, site: Site) -> list[Value]:
    """A convolution, and a loop on elements of what it has just made."""
    inner: Any = op.op
    x, w = (site.memory(v) for v in site.inputs[:2])
    function, numbers = site.function, site.node.inputs[: op.arity]
    sizes = [function.shapes.size(function.graph, number) for number in numbers[2:]]
    (inner_type,) = inner.infer(*(TensorType(v.dtype, v.shape) for v in (x, w)), *sizes)
    epilogue = Epilogue(op, site, inner_type.shape, inner_type.dtype)
    _write(site, (x, w, epilogue.y), _axes(inner, site, x, w, inner_type.shape), epilogue)
    return [*epilogue.results]


def _write(site: Site, arrays: tuple[Array, Array, Array], axes: Sequence[Axis], epilogue: Epilogue | None) -> None:
    """Choose the loops, and write them."""
    x, w, y = arrays
    outer = w.shape[1]
    if all(axis.is_plain for axis in axes):
        _product(site, arrays, epilogue)
    elif not (type(outer) is int and outer < FEW):
        Tiles(site, arrays, axes, epilogue).write()
    elif not sums.suits(w, axes[-1]):
        Rows(site, arrays, axes, epilogue).write()
    elif epilogue is None:
        Sums(site, arrays, axes).write()
    else:
        buffer = site.temporary(y.dtype, y.shape)
        Sums(site, (x, w, buffer), axes).write()
        epilogue.run(buffer)


def _axes(op: t.Convolution, site: Site, x: Array, w: Array, shape: Sequence[Any]) -> list[Axis]:
    """The axes of windows, of a convolution that makes an array of a shape."""
    numbers = iter(site.node.inputs[2:])
    before = [of_atom(ScalarValue(ValueSlot(next(numbers)))) if n is None else n for n in op.before]
    fields = zip(
        x.shape[t.LEAD :], w.shape[t.LEAD :], shape[t.LEAD :], before, op.strides, op.dilations, op.spread, strict=True
    )
    return [Axis(*each) for each in fields]


def _product(site: Site, arrays: tuple[Array, Array, Array], epilogue: Epilogue | None) -> None:
    """A matrix product for each group of each image."""
    x, w, y = arrays
    if not y.is_contiguous:
        buffer = site.temporary(y.dtype, y.shape)
        _product(site, (x, w, buffer), None)
        if epilogue is None:
            site.copy(buffer, y)
        else:
            epilogue.run(buffer)
        return
    pixels = count(y.shape[t.LEAD :])
    space = collapsed(x.shape[t.LEAD :], [x.strides[t.LEAD :]])
    if len(space.shape) > 1:
        x = site.contiguous(x)
        space = collapsed(x.shape[t.LEAD :], [x.strides[t.LEAD :]])
    images = x.viewed((*x.shape[: t.LEAD], pixels), (*x.strides[: t.LEAD], space.strides[0][0] if space.shape else 1))
    results = y.viewed((*y.shape[: t.LEAD], pixels), (*y.strides[: t.LEAD], 1))
    inner = site.part([results], [TensorType(y.dtype, results.shape)])
    inner.inputs = [w.viewed(w.shape[: t.LEAD], w.strides[: t.LEAD]), images]
    product = product_of(inner)
    if epilogue is None:
        product.write()
        return
    ends = epilogue.bound(product.kernel, product.pointers[2])

    def end(outer: Sequence[Index], first: Index, some: Index) -> None:
        here = ends
        for axis, at in zip((IMAGE, GROUP), outer, strict=True):
            here = here.moved(axis, at)
        body = product.body
        with body.of(0):
            zero = index(body, 0)
            lengths = [product.kernel.length(n) for n in y.shape[t.LEAD :]]
            spans = [Span(IMAGE, zero, 1, zero + 1), *(Span(t.LEAD + k, zero, 1, n) for k, n in enumerate(lengths))]
            here.over(spans, first, some, (zero, product.m))

    product.write(end)


RULES: Final[dict[object, Rule]] = {t.Convolution: in_float32(convolution), WithEpilogue: with_epilogue}
