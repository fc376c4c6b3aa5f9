"""Windows of arrays that have a length of `jax.export`'s symbols: nothing is asked of these while tracing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from tg_jax.rules.elementwise import arithmetic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import SliceUpdate


def has_symbols(*shapes: Sequence[Any]) -> bool:
    """Whether a length is a symbol."""
    return any(not isinstance(n, int) for shape in shapes for n in shape)


def symbolic_window(x: Any, starts: Sequence[Any], sizes: Sequence[Any], steps: Sequence[int]) -> Any:
    """A window along the last axes."""
    for axis, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True), x.ndim - len(sizes)):
        if isinstance(start, int) and step == 1:
            x = x[(*[slice(None)] * axis, slice(start, start + size))]
        else:
            x = jnp.take(x, _positions(x.shape[axis], start, size, step), axis=axis, mode="clip")
    return x


def symbolic_update(op: SliceUpdate, x: Any, v: Any, starts: Sequence[Any]) -> Any:
    """A copy with a window along the last axes written."""
    front, count = x.ndim - len(op.steps), len(op.steps)
    rows = zip(x.shape[front:], starts, v.shape[v.ndim - count :], op.steps, strict=True)
    lines = [_positions(*row) for row in rows]
    place = (..., *[line.reshape(-1, *[1] * (count - 1 - k)) for k, line in enumerate(lines)])
    new = v if op.fn is None else arithmetic.RULES[op.fn](x[place], v)
    return x.at[place].set(new)


def _positions(n: Any, start: Any, size: Any, step: int) -> Any:
    """The positions of a window along an axis, of which the first is clamped into it."""
    span = (jnp.asarray(size, jnp.int64) - 1) * step
    first = jnp.clip(jnp.asarray(start, jnp.int64), jnp.maximum(0, -span), n - 1 - jnp.maximum(0, span))
    return first + step * jnp.arange(size, dtype=jnp.int64)
