"""Factors of sparse matrices, which XLA does not have: the host computes them, by the ops' own reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax
import numpy as np

from tg.backend import Hosted, SparseCholesky, SparseInverse, SparseSolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Op, Rule

WIDE: Final = 8  # bytes


def _hosted(shapes: Callable[..., tuple[Any, ...]]) -> Hosted:
    """A rule that calls back; `shapes` gives those of the results and their dtypes, of the operands.

    XLA calls from a thread of its choice, where JAX has no 64 bits: it rounds arrays of them on their way there and
    back. They go as pairs of 32.
    """

    def rule(op: Op, *operands: Any) -> tuple[Any, ...]:
        kinds, results = [x.dtype for x in operands], shapes(*operands)

        def computed(*halves: Any) -> list[Any]:
            arrays = [_whole(np.asarray(x), dtype) for x, dtype in zip(halves, kinds, strict=True)]
            value = op.perform(*arrays)
            return [_halves(y) for y in (value if isinstance(value, tuple) else (value,))]

        struct: Any = jax.ShapeDtypeStruct
        types = [
            struct((*shape, 2), np.uint32) if np.dtype(dtype).itemsize == WIDE else struct(shape, dtype)
            for shape, dtype in results
        ]
        sent = [jax.lax.bitcast_convert_type(x, np.uint32) if x.dtype.itemsize == WIDE else x for x in operands]
        values: list[Any] = [
            jax.lax.bitcast_convert_type(y, dtype) if np.dtype(dtype).itemsize == WIDE else y
            for y, (_, dtype) in zip(jax.pure_callback(computed, types, *sent), results, strict=True)
        ]
        return tuple(values) if len(values) > 1 else values[0]

    return Hosted(rule)


def _halves(array: Any) -> Any:
    """An array of 64 bits as pairs of 32, any other as it is."""
    if array.dtype.itemsize != WIDE:
        return array
    return np.ascontiguousarray(array).reshape(*array.shape, 1).view(np.uint32)


def _whole(array: Any, dtype: Any) -> Any:
    """The array of a dtype that came in pairs."""
    return array if array.dtype == dtype else np.ascontiguousarray(array).view(dtype)[..., 0]


RULES: Final[dict[object, Rule]] = {
    SparseCholesky: _hosted(lambda a, i, p: ((a.shape, a.dtype), (a.shape[:-1], np.int32))),
    SparseSolve: _hosted(lambda a, l, i, p, b: ((b.shape, b.dtype),)),
    SparseInverse: _hosted(lambda l, i, p: ((l.shape, l.dtype),)),
}
