"""Shape: permuting, inserting, dropping and repeating axes are views; reshaping is one of what is contiguous."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops import shape as t
from tg_native.plan.values import Array, Scalar, count, row_major, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.plan.values import Value


def axis_length(op: t.AxisLength, site: Site) -> Value:
    """A length of a type, without the value."""
    (x,) = site.inputs
    assert isinstance(x, Array)
    return site.scalar(site.length(x.shape[op.axis]))


def reshape(op: t.Reshape, site: Site) -> Value:
    """The same elements under other lengths."""
    shape = _shape(site)
    x = site.inputs[0]
    if isinstance(x, Scalar) or x.fill is not None:
        return _filled(x, shape)
    site.same(count(x.shape), count(shape))
    source = site.contiguous(x)
    return _element(source, site) if not shape else source.viewed(shape, row_major(shape))


def broadcast_to(op: t.BroadcastTo, site: Site) -> Value:
    """Strides of 0 where the array is repeated."""
    shape = _shape(site)
    x = site.inputs[0]
    if isinstance(x, Scalar):
        return _filled(x, shape)
    lead = len(shape) - x.ndim
    for own, n in zip(x.shape, shape[lead:], strict=True):
        if not (type(own) is int and own == 1):
            site.same(own, n)
    return spread(x, shape)


def transpose(op: t.Transpose, site: Site) -> Value:
    """Lengths and strides permuted."""
    (x,) = site.inputs
    if isinstance(x, Scalar):
        return x
    order = op.order(x.ndim)
    return x.viewed([x.shape[k] for k in order], [x.strides[k] for k in order])


def expand_dims(op: t.ExpandDims, site: Site) -> Value:
    """Axes of length 1, whose stride does not matter."""
    shape = _shape(site)
    (x,) = site.inputs
    if isinstance(x, Scalar):
        return _filled(x, shape)
    rest = iter(x.strides)
    strides: list[int | Length] = [0 if k in op.axes else next(rest) for k in range(-len(shape), 0)]
    return x.viewed(shape, strides)


def squeeze(op: t.Squeeze, site: Site) -> Value:
    """Axes of length 1 dropped: that they have it has been made sure of."""
    (x,) = site.inputs
    assert isinstance(x, Array)
    keep = [k for k in range(-x.ndim, 0) if k not in op.axes]
    view = x.viewed([x.shape[k] for k in keep], [x.strides[k] for k in keep])
    return view if keep else _element(view, site)


def concatenate(op: t.Concatenate, site: Site) -> Value:
    """Each piece copied to its place."""
    y = site.allocate(0)
    start: Any = 0
    for value in site.inputs:
        assert isinstance(value, Array)
        shape = list(y.shape)
        shape[op.axis] = value.shape[op.axis]
        place = site.target(y, site.length(start * y.strides[op.axis]))
        site.copy(value, place.viewed(shape, y.strides))
        start = start + value.shape[op.axis]
    return y


def named(op: t.Named, site: Site) -> Value:
    """The operand."""
    return site.inputs[0]


def _shape(site: Site) -> tuple[Any, ...]:
    return site.types[0].shape


def _filled(x: Value, shape: Sequence[Any]) -> Value:
    """One value at every index of a shape."""
    text = x.text if isinstance(x, Scalar) else str(x.fill)
    return Array(x.dtype, "", tuple(shape), (0,) * len(shape), None, text) if shape else Scalar(x.dtype, text)


def _element(x: Array, site: Site) -> Scalar:
    """The one element of an array."""
    return Scalar(x.dtype, x.fill) if x.fill is not None else site.scalar(site.first(x))


RULES: Final[dict[object, Rule]] = {
    t.AxisLength: axis_length,
    t.Reshape: reshape,
    t.BroadcastTo: broadcast_to,
    t.Transpose: transpose,
    t.ExpandDims: expand_dims,
    t.Squeeze: squeeze,
    t.Concatenate: concatenate,
    t.Named: named,
}
