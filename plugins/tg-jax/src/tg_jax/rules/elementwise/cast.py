"""Conversion between dtypes; XLA truncates and saturates from floating to integer, and makes NaN 0, as tg declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import cast as t

if TYPE_CHECKING:
    from tg.backend import Rule

HALVES: Final = ("bfloat16", "float16")
WIDER: Final = ("float32", "float64")
"""From halves to these XLA goes around the rounding to halves, but through a barrier. Its flag against that,
`xla_allow_excess_precision`, and its own rounding, `reduce_precision`, make it end the process over networks with
convolutions of bfloat16 (jaxlib 0.10).
"""


def cast(op: t.Cast, x: Any) -> Any:
    """The elements in another dtype; complex ones without their imaginary part."""
    if op.dtype == "bool":
        return x != 0
    if jnp.issubdtype(x.dtype, jnp.complexfloating) and not op.dtype.startswith("complex"):
        x = x.real
    if x.dtype == bool and jnp.issubdtype(op.dtype, jnp.inexact):
        x = x.astype("int8")  # XLA makes a selection of a product with a converted bool, and 0 of NaN * False
    if x.dtype.name in HALVES and op.dtype in WIDER:
        x = lax.optimization_barrier(x)  # type: ignore[no-untyped-call]
    return x.astype(op.dtype)


RULES: Final[dict[object, Rule]] = {t.Cast: cast}
