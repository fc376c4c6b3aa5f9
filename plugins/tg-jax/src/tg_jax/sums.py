"""Programs whose sums XLA's library for processors may compute, together with what is summed.

The library reads its operands once and keeps several sums at a time; XLA itself writes what is summed to memory and
adds it up in trees of windows, which takes up to 14 times as long. With jaxlib 0.10 three things go wrong in it:

* a product of matrices below a sum in one kernel gives wrong rows beyond 16,384 (JAX's issue 39103);
* a sum of an array with seven axes or more ends the process (JAX's issue 39257);
* maxima and minima lose NaN, as those of JAX itself do.

So a program has its sums there if it is made of ops of which no rule multiplies matrices, all arrays have few axes, and
the NaN of what it takes extrema of are counted beside these.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from jax import lax

from tg.backend import Cast, Elementwise, Reduce, creation, indexing, shape
from tg_jax.extrema import Extrema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import FrozenGraph

AXES: Final = 4  # the library splits axes: some are left of those that it has
PLAIN: Final = frozenset(
    {
        Cast,
        Elementwise,
        Extrema,
        Reduce,
        creation.Arange,
        indexing.Gather,
        indexing.Scatter,
        indexing.Slice,
        indexing.SliceUpdate,
        indexing.WrapIndex,
        shape.AxisLength,
        shape.BroadcastTo,
        shape.Concatenate,
        shape.ExpandDims,
        shape.Reshape,
        shape.Squeeze,
        shape.Transpose,
    }
)
IN_LIBRARY: Final = ContextVar("tg_jax.in_library", default=False)
"""Whether a program is traced whose sums are computed by the library."""


def has_sums(graph: FrozenGraph) -> bool:
    """Whether the library may compute the sums of a program, and there are some."""
    ops = [node.op for node in graph.nodes]
    few = all(t.ndim <= AXES for t in graph.types)
    return few and all(type(op) in PLAIN for op in ops) and any(type(op) is Reduce for op in ops)


def in_library(function: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """The same function, to be traced as a program whose sums are computed by the library."""

    def traced(*arrays: Any) -> Sequence[Any]:
        token = IN_LIBRARY.set(True)
        try:
            return function(*arrays)
        finally:
            IN_LIBRARY.reset(token)

    return traced


def extremum(x: Any, start: Any, axes: Sequence[int], sign: int) -> Any:
    """The largest or smallest of floats, or NaN where there is one: the library loses those, so they are counted."""
    extreme = lax.reduce(x, start, lax.max if sign > 0 else lax.min, axes)
    count = lax.reduce(lax.ne(x, x).astype(np.float32), np.float32(0), lax.add, axes)
    return lax.select(count > 0, lax.full_like(extreme, np.nan), extreme)
