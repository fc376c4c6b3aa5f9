"""Orders along an axis: JAX's sorts are stable and put NaN last too.

Deviation from jax.numpy: complex numbers of which a part is NaN are ordered as NumPy orders them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp

from tg.backend import sorting as t

if TYPE_CHECKING:
    from tg.backend import Rule


def argsort(op: t.ArgSort, x: Any) -> Any:
    """The positions that sort; complex numbers by real, then imaginary part, those with a NaN behind all others."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        unknown = 2 * jnp.isnan(x.real) + jnp.isnan(x.imag)
        real, imag = (jnp.where(jnp.isnan(part), 0, part) for part in (x.real, x.imag))
        return jnp.lexsort((imag, real, unknown), axis=op.axis).astype(jnp.int64)
    return jnp.argsort(x, axis=op.axis, stable=True).astype(jnp.int64)


def sort(op: t.Sort, x: Any) -> Any:
    """The elements in order."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return jnp.take_along_axis(x, argsort(t.ArgSort(op.axis), x), axis=op.axis)
    return jnp.sort(x, axis=op.axis, stable=True)


def searchsorted(op: t.SearchSorted, a: Any, v: Any) -> Any:
    """Places in a sorted vector; of complex numbers by way of their ranks among all elements."""
    if jnp.issubdtype(a.dtype, jnp.complexfloating):
        return _among_complex(op.side, a, v.reshape(-1)).reshape(v.shape)
    return jnp.searchsorted(a, v, side=op.side).astype(jnp.int64)


def _among_complex(side: str, a: Any, v: Any) -> Any:
    """Number of elements of a that go before each element of v: those ahead of it in a stable order of both."""
    first, n = (v.shape[0], 0) if side == "left" else (0, a.shape[0])
    order = argsort(t.ArgSort(-1), jnp.concatenate([v, a] if side == "left" else [a, v]))
    own = (order >= first) & (order < first + a.shape[0])
    ahead = jnp.zeros_like(order).at[order].set(jnp.cumsum(own))
    return ahead[n : n + v.shape[0]]


RULES: Final[dict[object, Rule]] = {t.ArgSort: argsort, t.Sort: sort, t.SearchSorted: searchsorted}
