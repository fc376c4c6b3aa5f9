"""Products of matrices, and sums of products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import tg

if TYPE_CHECKING:
    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules


def _gemm(node: Node) -> Any:
    """alpha A B + beta C, either matrix transposed."""
    a, b = node[0], node[1]
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    product = tg.matmul(a.T if node.attr("transA", 0) else a, b.T if node.attr("transB", 0) else b)
    product = product if alpha == 1 else alpha * product
    if not node.has(2):
        return product
    return product + (node[2] if beta == 1 else beta * node[2])


def _einsum(node: Node) -> Variable:
    return tg.einsum(node.attr("equation").replace(" ", ""), *node.variables)


RULES: Final[Rules] = {
    "Det": lambda node: tg.linalg.det(node[0]),
    "Einsum": _einsum,
    "Gemm": _gemm,
    "MatMul": lambda node: tg.matmul(node[0], node[1]),
}
