"""Operators of ONNX that write each op and function of tg."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg import NoRuleError
from tg.graph.function_graph import freeze
from tg.ops.catalog import FAMILIES
from tg_onnx.writing.graphs import write_graph
from tg_onnx.writing.rules import RULES
from tg_onnx.writing.scope import Scope, Shared
from tg_pages.docstring import table

if TYPE_CHECKING:
    from tg.ops.elementwise.record import ElementwiseFunction

OPSET = 23
DTYPES = ("float32", "int64", "uint64", "bool")
OPS = {
    "AxisLength": "Shape", "Reshape": "Reshape", "BroadcastTo": "Expand", "Transpose": "Transpose",
    "ExpandDims": "Unsqueeze", "Squeeze": "Squeeze", "Concatenate": "Concat", "Arange": "Range", "Cast": "Cast",
    "Reduce": "ReduceSum, ReduceProd, ReduceMax, ReduceMin, ReduceMean", "ArgReduce": "ArgMax, ArgMin",
    "Accumulate": "CumSum; CumProd since opset 26; Scan", "Sort": "TopK", "ArgSort": "TopK",
    "WrapIndex": "nothing before Gather; Where, Min, Max", "Slice": "Slice", "SliceUpdate": "ScatterND",
    "Gather": "Gather, GatherND", "Scatter": "ScatterND; extremes since opset 18", "Nonzero": "NonZero",
    "MatMul": "MatMul, Gemm", "Convolution": "Conv, ConvTranspose, AveragePool", "MaxPool": "MaxPool",
    "Softmax": "Softmax", "LogSoftmax": "LogSoftmax", "MaskedSoftmax": "Softmax, Where",
    "Attention": "Attention since opset 23; MatMul, Softmax", "Scan": "Scan", "While": "Loop", "Cond": "If",
    "Call": "its nodes", "Quantize": "QuantizeLinear", "Dequantize": "DequantizeLinear",
    "FakeQuantize": "QuantizeLinear, DequantizeLinear", "IntegerMatMul": "MatMulInteger",
    "IntegerConvolution": "ConvInteger",
}  # fmt: skip
"""Operators that write each op that is no function of elements."""


def part() -> str:
    """A table of ops by families, with the operators that write each."""
    rows = []
    for family in FAMILIES:
        ops = [f"`{op.__name__}`: {OPS[op.__name__]}" for op in family.ops if op in RULES]
        texts = {fn.name: written(fn) for fn in family.elementwise if is_public(fn)}
        functions = [f"`{name}`: {text}" for name, text in texts.items() if text is not None]
        absent = [name for name, text in texts.items() if text is None]
        told = [*ops, *functions, *([f"none: {', '.join(f'`{name}`' for name in absent)}"] if absent else [])]
        if told:
            rows.append((family.path, "; ".join(told)))
    return table(("family", f"written as, at opset {OPSET}"), rows)


def is_public(fn: ElementwiseFunction) -> bool:
    """Whether users call it under its name."""
    return fn in (getattr(tg, fn.name, None), getattr(tg.special, fn.name, None))


def written(fn: ElementwiseFunction) -> str | None:
    """The operators that write a function of elements, None if it cannot be written."""
    if fn not in RULES:
        return "its expansion" if fn.op.expands else None  # of thousands of nodes, some of them
    for dtype in reversed(DTYPES) if fn.name.startswith("logical") else DTYPES:
        inputs: list[Any] = [tg.vector(f"x{k}", dtype=dtype) for k in range(fn.arity)]
        try:
            if fn.name in ("where", "kink"):
                inputs[0] = tg.vector("x0", dtype="bool")
            graph = freeze(inputs, [fn(*inputs)])
            scope = Scope(Shared(OPSET, write=write_graph))
            write_graph(graph, scope, [scope.input(v.type.dtype, v.type.shape) for v in inputs])
        except (NoRuleError, tg.DtypeError):
            continue
        kinds = list(dict.fromkeys(node.op_type for node in scope.nodes))
        return (", ".join(kinds) or "nothing") if len(kinds) <= 6 else f"{len(scope.nodes)} nodes"
    return None
