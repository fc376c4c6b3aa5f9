"""Products of matrices. ggml multiplies rows by rows: of the second factor it wants the transpose, in order.

A constant factor is transposed once, and is quantised where the options say so. A factor that is a transpose itself is
taken back. Leading axes of a first factor are rows more where the second has none.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import ggml as g
import numpy as np

from tg.backend import contraction as t
from tg_ggml.tensors import Tensor, constant, current, expand, reshape, transpose
from tg_ggml.weights import factor

if TYPE_CHECKING:
    from tg.backend import Rule


def matmul(op: t.MatMul, x: Tensor, y: Tensor) -> Any:
    """The product over the last two axes."""
    if x.dtype != np.float32:
        return NotImplemented
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    shape = (*lead, x.shape[-2], y.shape[-1])
    if math.prod(shape) == 0:
        return Tensor(shape)
    if x.shape[-1] == 0:
        return constant(np.zeros(shape, np.float32))
    if x.data is not None and y.data is None and math.prod(x.shape[:-2]) == 1:
        return _turned(x, y, shape)
    if math.prod(y.shape[:-2]) == 1:
        return _of_rows(x, y, shape)
    count = math.prod(lead)
    x, y = (reshape(expand(v, (*lead, *v.shape[-2:])), (count, *v.shape[-2:])) for v in (x, y))
    columns = transpose(y, (0, 2, 1))
    node = g.ggml_mul_mat(current().ctx, factor("matmul", columns, columns.shape), x.rows())
    return Tensor(shape, node=node)


def _of_rows(x: Tensor, y: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A product with one matrix for all rows of x."""
    columns = transpose(reshape(y, y.shape[-2:]), (1, 0))
    rows = x.dims((x.size // x.shape[-1], x.shape[-1]))
    node = g.ggml_mul_mat(current().ctx, factor("matmul", columns, columns.shape), rows)
    return Tensor(shape, node=node)


def _turned(x: Tensor, y: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A product with a constant first factor: that of the transposes, transposed."""
    axes = [*range(y.ndim - 2), y.ndim - 1, y.ndim - 2]
    columns = transpose(y, axes)
    rows = columns.dims((columns.size // columns.shape[-1], columns.shape[-1]))
    node = g.ggml_mul_mat(current().ctx, factor("matmul", x, x.shape[-2:]), rows)
    turned = (*y.shape[:-2], shape[-1], shape[-2])
    return reshape(transpose(Tensor(turned, node=node), axes), shape)


RULES: Final[dict[object, Rule]] = {t.MatMul: matmul}
