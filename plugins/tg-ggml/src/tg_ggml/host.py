"""Operations of ggml's graph that NumPy computes: what ggml has none of and what surrounds networks needs.

They are ggml's own custom operations (`ggml_custom_4d`), in order with all others: comparisons and choices, which ggml
would compose of products that leak NaN; extrema; integers, which are positions and counts. `f.source()` counts them.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

import ggml as g
import numpy as np

from tg_ggml.tensors import KINDS, Tensor, constant, current, extents, packed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_ggml.trace import Trace

    Array = np.ndarray[Any, Any]

MOST: Final = 9  # operands of a custom operation


def hosted(function: Callable[..., Array], operands: Sequence[Tensor], shape: Sequence[int], dtype: str) -> Tensor:
    """The result of a NumPy function of arrays; computed at once where all operands are constants.

    Raises:
        ValueError: there are more operands than ggml has room for.
    """
    if all(x.data is not None for x in operands):
        with np.errstate(all="ignore"):
            result = np.empty(shape, dtype)
            result[...] = function(*(x.data for x in operands))
        return constant(result)
    node = hosted_node(function, operands, shape, dtype)
    return Tensor(shape, dtype, node=node)


def hosted_node(function: Callable[..., Array], operands: Sequence[Tensor], shape: Sequence[int], dtype: str) -> Any:
    """The same as a tensor of ggml."""
    if len(operands) > MOST:
        raise ValueError(f"found {len(operands)} operands, needed {MOST} at most")
    trace = current()
    nodes = [x.node for x in operands if x.data is None and x.size]
    fixed = [x.data if x.data is not None else np.zeros(x.shape, x.dtype) for x in operands]
    places = [k for k, x in enumerate(operands) if x.data is None and x.size]
    types = [(operands[k].shape, operands[k].dtype) for k in places]
    result = (tuple(shape), np.dtype(dtype))

    def compute(target: Any, _ith: int, _nth: int, data: Any) -> None:
        try:
            arrays = [*fixed]
            for at, k in enumerate(places):
                arrays[k] = _window(target.contents.src[at], *types[at])
            with np.errstate(all="ignore"):
                _window(target, *result)[...] = function(*arrays)
        except BaseException as error:  # noqa: BLE001 (an exception cannot pass through ggml: the run raises it)
            trace.error = error

    return _custom(trace, nodes, shape, dtype, compute)


def _custom(trace: Trace, nodes: Sequence[Any], shape: Sequence[int], dtype: str, compute: Any) -> Any:
    callback = g.ggml_custom_op_t(compute)
    trace.callbacks.append(callback)  # as long as the graph calls it
    pointers = (ctypes.POINTER(g.ggml_tensor) * max(len(nodes), 1))(*nodes)
    lengths = extents(packed(shape))
    return g.ggml_custom_4d(trace.ctx, KINDS[dtype], *lengths, pointers, len(nodes), callback, 1, None)


def _window(node: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """The memory of a contiguous tensor as an array."""
    tensor = node.contents
    count = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    memory = (ctypes.c_char * count).from_address(tensor.data)
    window: Array = np.frombuffer(memory, dtype).reshape(shape)  # type: ignore[call-overload]
    return window


def positions(index: Tensor) -> Tensor:
    """Positions as ggml reads them, a vector of int32."""
    return hosted(lambda i: i.reshape(-1), [index], (index.size,), "int32")
