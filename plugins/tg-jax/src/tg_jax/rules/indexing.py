"""Reading and writing parts of arrays; XLA clamps what lies outside, so nothing outside is ever read or written.

A window whose start is known at run time only is a dynamic slice of the positions it spans, thinned by its step.
"""

from __future__ import annotations

import operator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tg.backend import arithmetic as core
from tg.backend import indexing as t
from tg.backend import known_shape, merge_sizes
from tg_jax.rules.elementwise import arithmetic
from tg_jax.symbolic import has_symbols, symbolic_update, symbolic_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import Rule


SMALL: Final = 2048  # elements: writing a window of fewer takes less than a step of a program of its own


def wrap_index(op: t.WrapIndex, i: Any, n: Any) -> Any:
    """Indices counted from the front, and clamped."""
    if i.dtype == jnp.uint64:
        i = jnp.minimum(i, np.iinfo(jnp.int64).max)
    wide = i.astype(jnp.int64)
    wrapped = wide if op.mode == "clip" else jnp.where(wide < 0, wide + n, wide)
    return jnp.maximum(jnp.minimum(wrapped, n - 1), 0)


MAY_NOT_RUN: Final = ContextVar("tg_jax.may_not_run", default=False)
"""Whether a branch or a step is traced: where it runs, a check tells of a window that does not fit; else none does."""


def slice_(op: t.Slice, x: Any, *rest: Any) -> Any:
    """A window; starts that are operands are clamped into the array."""
    count = op.starts.count(None)
    sizes = known_shape(op.sizes, rest[count:])
    if has_symbols(x.shape, sizes):
        return symbolic_window(x, merge_sizes(op.starts, rest[:count]), sizes, op.steps)
    if _cannot_run(x, sizes, op.steps):
        return jnp.zeros((*x.shape[: x.ndim - len(sizes)], *sizes), x.dtype)
    if not count:
        return x[(..., *t.window(x.shape, op.starts, sizes, op.steps))]  # type: ignore[arg-type]
    extents = _extents(sizes, op.steps)
    lows = _lows(x.shape, op.starts, rest[:count], sizes, op.steps)
    return _thinned(_read(x, lows, extents), sizes, op.steps)


def _cannot_run(x: Any, sizes: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether a step or branch is traced that is not run with such lengths, as its windows do not fit."""
    return MAY_NOT_RUN.get() and any(map(operator.gt, _extents(sizes, steps), x.shape[x.ndim - len(sizes) :]))


def _extents(sizes: Sequence[Any], steps: Sequence[int]) -> list[int]:
    """Number of positions that each window spans."""
    return [(size - 1) * abs(step) + 1 if size > 0 else 0 for size, step in zip(sizes, steps, strict=True)]


def _lows(
    shape: Sequence[int], field: Sequence[int | None], starts: Sequence[Any], sizes: Sequence[Any], steps: Sequence[int]
) -> list[Any]:
    """The first position that each window spans, clamped into the array: an int where it is known while tracing."""
    lows: list[Any] = []
    lengths = shape[len(shape) - len(sizes) :]
    extents = _extents(sizes, steps)
    for n, start, size, step, extent in zip(lengths, merge_sizes(field, starts), sizes, steps, extents, strict=True):
        t.window((n,), (0,), (size,), (step,))  # refuses a window that is longer than the axis
        low = start - (extent - 1 if step < 0 and size > 0 else 0)
        if isinstance(low, jax.core.Tracer):
            lows.append(jnp.clip(low.astype(jnp.int64), 0, n - extent))
        else:
            lows.append(min(max(int(low), 0), n - extent))
    return lows


def _read(x: Any, lows: Sequence[Any], extents: Sequence[int]) -> Any:
    """The positions from `lows` along the last axes."""
    front = x.ndim - len(lows)
    if all(isinstance(low, int) for low in lows):
        ends = [low + extent for low, extent in zip(lows, extents, strict=True)]
        return lax.slice(x, [0] * front + [*lows], [*x.shape[:front], *ends])
    return lax.dynamic_slice(x, _positions(front, lows), [*x.shape[:front], *extents])


def _positions(front: int, lows: Sequence[Any]) -> list[Any]:
    """Begin of a window along all axes."""
    return [jnp.asarray(low, jnp.int64) for low in [0] * front + [*lows]]


def _thinned(x: Any, sizes: Sequence[int], steps: Sequence[int]) -> Any:
    """Every `|step|`-th position along the last axes, backwards where a step is negative."""
    taken = (  # of one position the step may be of any size, and one of JAX has less than 64 bits
        slice(None, None, step if size > 1 else None) if size else slice(0, 0)
        for size, step in zip(sizes, steps, strict=True)
    )
    return x[(..., *taken)]


def slice_update(op: t.SliceUpdate, x: Any, v: Any, *starts: Any) -> Any:
    """A copy with a window written."""
    count = len(op.steps)
    sizes = v.shape[v.ndim - count :]
    if has_symbols(x.shape, sizes):
        return symbolic_update(op, x, v, merge_sizes(op.starts, starts))
    if 0 in v.shape or _cannot_run(x, sizes, op.steps):
        return x
    extents = _extents(sizes, op.steps)
    lows = _lows(x.shape, op.starts, starts, sizes, op.steps)
    old = _read(x, lows, extents)
    if op.fn is not None:
        v = arithmetic.RULES[op.fn](_thinned(old, sizes, op.steps), v)
    if any(step not in (1, -1) for step in op.steps):
        v = _spread(old, v, op.steps)
    else:
        v = lax.rev(v, [k for k, step in zip(range(v.ndim - count, v.ndim), op.steps, strict=True) if step < 0])
    front = x.ndim - count
    if x.size <= SMALL and all(isinstance(low, int) for low in lows):
        return _chosen(x, v, [0] * front + lows)
    return lax.dynamic_update_slice(x, v, _positions(front, lows))


def _chosen(x: Any, v: Any, lows: Sequence[int]) -> Any:
    """An array with a window written, element by element: what fuses with what surrounds it."""
    sides = [(low, n - low - k, 0) for low, n, k in zip(lows, x.shape, v.shape, strict=True)]
    window = np.zeros(x.shape, bool)
    window[tuple(slice(low, low + k) for low, k in zip(lows, v.shape, strict=True))] = True
    return jnp.where(window, lax.pad(v, jnp.zeros((), v.dtype), sides), x)


def _spread(old: Any, v: Any, steps: Sequence[int]) -> Any:
    """The positions that a window spans, with v at every `|step|`-th."""
    front = v.ndim - len(steps)
    v = lax.rev(v, [front + k for k, step in enumerate(steps) if step < 0])
    gaps = [(0, 0, 0)] * front + [(0, 0, abs(step) - 1) for step in steps]
    written = lax.pad(jnp.ones(v.shape, bool), jnp.asarray(False), gaps)
    return jnp.where(written, lax.pad(v, jnp.zeros((), v.dtype), gaps), old)


def gather(op: t.Gather, x: Any, *indices: Any) -> Any:
    """The elements at positions along `axes`, the index axes in front."""
    axes = [k + x.ndim for k in op.axes]
    front = indices[0].ndim
    rest = [n for k, n in enumerate(x.shape) if k not in axes]
    if 0 in [x.shape[k] for k in axes]:
        return jnp.zeros((*indices[0].shape, *rest), x.dtype)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(front, front + len(rest))),
        collapsed_slice_dims=tuple(sorted(axes)),
        start_index_map=tuple(axes),
    )
    lengths = [1 if k in axes else n for k, n in enumerate(x.shape)]
    return lax.gather(x, jnp.stack(indices, -1), numbers, lengths, mode=lax.GatherScatterMode.CLIP)


def scatter(op: t.Scatter, x: Any, v: Any, *indices: Any) -> Any:
    """A copy with elements written or combined at positions along `axes`."""
    axes = [k + x.ndim for k in op.axes]
    front = indices[0].ndim
    if 0 in x.shape or 0 in v.shape:
        return x
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(front, v.ndim)),
        inserted_window_dims=tuple(sorted(axes)),
        scatter_dims_to_operand_dims=tuple(axes),
    )
    # JAX's own bounds are of 32 bits where the user's program has no more, and it makes them while it lowers.
    places = jnp.stack([jnp.clip(i, 0, x.shape[k] - 1) for i, k in zip(indices, axes, strict=True)], -1)
    mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    if op.fn is None:
        return lax.scatter(x, places, v, numbers, mode=mode)
    if x.dtype == bool:
        return BOOLEAN[op.fn](x.astype(jnp.int8), places, v.astype(jnp.int8), numbers, mode=mode) > 0
    return COMBINERS[op.fn](x, places, v, numbers, mode=mode)


COMBINERS: Final[dict[object, Any]] = {
    core.add: lax.scatter_add,
    core.multiply: lax.scatter_mul,
    core.minimum: lax.scatter_min,
    core.maximum: lax.scatter_max,
}
BOOLEAN: Final = {**COMBINERS, core.add: lax.scatter_max, core.multiply: lax.scatter_min}


RULES: Final[dict[object, Rule]] = {
    t.WrapIndex: wrap_index,
    t.Slice: slice_,
    t.SliceUpdate: slice_update,
    t.Gather: gather,
    t.Scatter: scatter,
}
