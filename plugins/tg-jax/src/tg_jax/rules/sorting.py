"""Orders along an axis: JAX's sorts are stable and put NaN last too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp

from tg.ops import sorting as t

if TYPE_CHECKING:
    from tg.plugin.records import Rule


def argsort(op: t.ArgSort, x: Any) -> Any:
    """The positions that sort."""
    return jnp.argsort(x, axis=op.axis, stable=True).astype(jnp.int64)


def sort(op: t.Sort, x: Any) -> Any:
    """The elements in order."""
    return jnp.sort(x, axis=op.axis, stable=True)


def searchsorted(op: t.SearchSorted, a: Any, v: Any) -> Any:
    """Places in a sorted vector."""
    return jnp.searchsorted(a, v, side=op.side).astype(jnp.int64)


RULES: Final[dict[object, Rule]] = {t.ArgSort: argsort, t.Sort: sort, t.SearchSorted: searchsorted}
