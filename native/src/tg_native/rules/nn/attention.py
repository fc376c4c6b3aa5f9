"""Attention and its gradient by blocks of keys, so that there is no table of all weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.nn import attention as t
from tg.types.tensor_type import TensorType
from tg_native.attention.backward import Backward
from tg_native.attention.forward import Forward
from tg_native.kernels.dtypes import is_half, working
from tg_native.loops.pointwise import converted
from tg_native.plan.values import Array, is_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg_native.graphs.site import Site
    from tg_native.plan.values import Value


def attention(op: t.Attention, site: Site) -> list[Value]:
    """Blocks of keys for some queries at a time."""
    if is_half(site.types[0].dtype):
        return _in_float32(op, site)
    q, k, v = (_rows(site, x) for x in site.inputs[:3])
    masks = _mask(site, site.inputs[3:])
    y = site.allocate_as_read(0)
    if not is_one(y.strides[-1]):
        y = site.allocate(0)
    sums = site.allocate(1)
    Forward(op, site, {"q": q, "k": k, "v": v, **masks, "y": y, "sums": sums}).write()
    return [y, sums]


def gradient(op: t.AttentionGradient, site: Site) -> list[Value]:
    """Blocks of queries for a block of keys at a time."""
    if is_half(site.types[0].dtype):
        return _in_float32(op, site)
    q, k, v, *masks, y, sums, dy = site.inputs
    read = {name: _rows(site, x) for name, x in (("q", q), ("k", k), ("v", v), ("y", y), ("dy", dy))}
    read |= _mask(site, masks)
    gradients = {name: site.allocate(number) for number, name in enumerate(("dq", "dk", "dv"))}
    Backward(op, site, {**read, "sums": site.memory(sums), **gradients}).write()
    return [*gradients.values()]


def _mask(site: Site, masks: Sequence[Value]) -> dict[str, Array]:
    """The mask in memory, if there is one."""
    return {"mask": site.memory(masks[0])} if masks else {}


def _rows(site: Site, value: Value) -> Array:
    """An array in memory, in whose rows elements follow one another."""
    array = site.memory(value)
    return array if is_one(array.strides[-1]) else site.contiguous(array)


def _in_float32(op: t.Attention | t.AttentionGradient, site: Site) -> list[Value]:
    """Of halves all is computed in float32, and rounded once: a rounded result is made again for the gradient."""
    inputs = [converted(v, working(v.dtype), site) for v in site.inputs]
    types = [TensorType(working(t.dtype), t.shape) for t in site.types]
    if isinstance(op, t.Attention):
        y, sums = attention(op, site.given(inputs, types))
        return [_rounded(y, site), sums]
    *operands, y, sums, dy = inputs
    again = t.Attention(op.is_causal, op.is_grouped, op.scale)
    results = [TensorType(v.dtype, v.shape) for v in (y, sums) if isinstance(v, Array)]
    dxs = gradient(op, site.given([*operands, *attention(again, site.given(operands, results)), dy], types))
    return [_rounded(dx, site) for dx in dxs]


def _rounded(value: Value, site: Site) -> Value:
    return converted(value, site.types[0].dtype, site)


RULES: Final[dict[object, Rule]] = {t.Attention: attention, t.AttentionGradient: gradient}
