"""Products in which weights take part: where an expression has them, and what they are with packed weights.

Weights are what follows from shared variables and constants alone, whatever movements and casts are on the way. They
are computed once, as rows along whose last axis the product sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tg.functions.make import evaluate
from tg.functions.shared import Shared
from tg.graph.nodes import Constant
from tg.graph.traversal import ancestors, key_of, sorted_applies
from tg.ops.contraction import MatMul
from tg.ops.groups import DequantizeGroups, MatMulGroups
from tg.ops.indexing import Gather
from tg.ops.nn.convolved import Convolution
from tg.ops.shape import expand_dims_at, matrix_transpose, reshape
from tg.types.dtypes import is_float

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.nodes import Apply, Variable
    from tg.quantization.weights import Packed

    Array = np.ndarray[Any, Any]


class Site(NamedTuple):
    """A product of data and weights, or rows of a table of weights.

    `operand` is the position of the weights. Those of a product from the right are stored transposed, kernels of
    convolutions with all that a result sums over along one axis.
    """

    node: Apply
    operand: int
    name: str  # of the shared variable that the weights are, or where they are in the expression

    @property
    def kind(self) -> str:
        """The name of the op for people."""
        return {MatMul: "matmul", Convolution: "convolution"}.get(type(self.node.op), "rows")

    @property
    def weights(self) -> Variable:
        """The weights as the expression has them."""
        return self.node.inputs[self.operand]

    @property
    def data(self) -> Variable | None:
        """The other factor; None for rows of a table."""
        return None if isinstance(self.node.op, Gather) else self.node.inputs[1 - self.operand]

    def rows(self) -> Array:
        """The weights now (..., rows, terms of a sum), without axes in front that are all of length 1."""
        array: Array = np.asarray(evaluate(self.weights, mode="off"))
        if isinstance(self.node.op, Convolution):
            return np.ascontiguousarray(array.reshape(*array.shape[:2], -1))
        if isinstance(self.node.op, MatMul):
            array = array.reshape(array.shape[-2:]) if set(array.shape[:-2]) == {1} else array
            array = array.swapaxes(-1, -2) if self.operand == 1 else array
        return np.ascontiguousarray(array)

    def shape_of(self, rows: Array) -> tuple[int, ...]:
        """The shape that the weights of these rows have in the expression."""
        if isinstance(self.node.op, Convolution):
            lengths = self.weights.type.shape
            return (*rows.shape[:2], *(int(n or 0) for n in lengths[2:]))
        return rows.shape if self.operand == 0 else (*rows.shape[:-2], rows.shape[-1], rows.shape[-2])

    def with_weights(self, operands: Sequence[Variable], packed: Packed, shape: Sequence[int]) -> Variable:
        """The result for other operands, by packed weights whose shape in the expression was this."""
        dtype = self.weights.type.dtype
        if isinstance(self.node.op, Gather):
            read = [None if v is None else self.node.op(v, *operands[1:]) for v in (packed.levels, packed.scale)]
            return packed.values(dtype, *read)
        if isinstance(self.node.op, MatMul) and self.operand == 1 and packed.is_whole and dtype == "float32":
            return MatMulGroups(packed.format)(operands[0], packed.levels)  # type: ignore[no-any-return]
        values = self.placed(packed.values(dtype), shape)
        return self.applied(operands, values)

    def placed(self, rows: Variable, shape: Sequence[int]) -> Variable:
        """Rows as the operand that the op has."""
        if isinstance(self.node.op, Convolution):
            return reshape(rows, tuple(shape))
        lead = tuple(range(-self.weights.type.ndim, -rows.type.ndim))
        return expand_dims_at(matrix_transpose(rows) if self.operand == 1 else rows, lead)

    def applied(self, operands: Sequence[Variable], weights: Variable) -> Variable:
        """The op on other operands, and weights."""
        pair = (operands[0], weights) if self.operand == 1 else (weights, operands[1])
        return self.node.op(*pair, *operands[2:])  # type: ignore[no-any-return]


def sites(outputs: Sequence[Variable], updated: Iterable[Variable]) -> list[Site]:
    """The products with weights below outputs, in the order of computing.

    Args:
        updated: shared variables that have another value after each call, which are no weights.
    """
    fixed: dict[tuple[int, int], bool] = {}
    changing = {id(v) for v in updated}

    def is_fixed(v: Variable) -> bool:
        if v.apply is None:
            return isinstance(v, Constant) or (isinstance(v, Shared) and id(v) not in changing)
        return fixed[key_of(v)]

    sites: list[Site] = []
    for node, results in sorted_applies(outputs):
        op = node.op
        packed = isinstance(op, DequantizeGroups) or op.has_effect or op.calls_python or bool(type(op).graph_fields)
        of_weights = not packed and all(map(is_fixed, node.inputs))
        fixed.update({(id(node), k + 1): of_weights for k in range(len(results))})
        places = [k for k in _places(node) if is_fixed(node.inputs[k]) and is_float(node.inputs[k].type.dtype)]
        if not of_weights and places:
            (place, *_) = places
            sites.append(Site(node, place, _name(node.inputs[place], len(sites))))
    return sites


def _places(node: Apply) -> tuple[int, ...]:
    """The operands of a node that may be weights."""
    op = node.op
    if isinstance(op, MatMul):
        return (1, 0)
    if isinstance(op, Convolution):
        return (1,)
    is_table = isinstance(op, Gather) and op.axes == (-2,) and node.inputs[0].type.ndim == 2
    return (0,) if is_table else ()


def _name(weights: Variable, number: int) -> str:
    leaves = [v for v in ancestors([weights]) if isinstance(v, Shared | Constant)]
    large = max(leaves, key=_size, default=None)
    return large.name if large is not None and large.name else f"weights {number}"


def _size(v: Shared | Constant) -> int:
    return v.snapshot.nbytes if isinstance(v, Shared) else v.data.nbytes
