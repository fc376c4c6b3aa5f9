"""Factors of sparse matrices, which XLA does not have: the host computes them, by the ops' own reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax
import numpy as np

from tg.backend import Hosted, SparseCholesky, SparseInverse, SparseSolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Op, Rule


def _hosted(shapes: Callable[..., tuple[Any, ...]]) -> Hosted:
    """A rule that calls back; `shapes` gives those of the results and their dtypes, of the operands."""

    def rule(op: Op, *operands: Any) -> tuple[Any, ...]:
        struct: Any = jax.ShapeDtypeStruct
        types = tuple(struct(shape, dtype) for shape, dtype in shapes(*operands))
        results = jax.pure_callback(lambda *arrays: op.perform(*map(np.asarray, arrays)), types, *operands)
        return tuple(results) if len(types) > 1 else results[0]

    return Hosted(rule)


RULES: Final[dict[object, Rule]] = {
    SparseCholesky: _hosted(lambda a, i, p: ((a.shape, a.dtype), (a.shape[:-1], np.int32))),
    SparseSolve: _hosted(lambda a, l, i, p, b: ((b.shape, b.dtype),)),
    SparseInverse: _hosted(lambda l, i, p: ((l.shape, l.dtype),)),
}
