"""Conversion between dtypes; XLA truncates and saturates from floating to integer, and makes NaN 0, as tg declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp

from tg.backend import cast as t

if TYPE_CHECKING:
    from tg.backend import Rule


def cast(op: t.Cast, x: Any) -> Any:
    """The elements in another dtype; complex ones without their imaginary part."""
    if op.dtype == "bool":
        return x != 0
    if jnp.issubdtype(x.dtype, jnp.complexfloating) and not op.dtype.startswith("complex"):
        x = x.real
    if x.dtype == bool and jnp.issubdtype(op.dtype, jnp.inexact):
        x = x.astype("int8")  # XLA makes a selection of a product with a converted bool, and 0 of NaN * False
    return x.astype(op.dtype)


RULES: Final[dict[object, Rule]] = {t.Cast: cast}
