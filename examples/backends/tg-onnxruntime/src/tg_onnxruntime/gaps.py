"""Gaps of the backend, one entry for each case; the conformance suite holds it to them."""

from tg import NoRuleError
from tg.backend import Gap, Nonzero, arithmetic, bitwise, loops, sparse_factors, trigonometric

ONNX_HAS_NONE = (arithmetic.cbrt, arithmetic.hypot, arithmetic.nextafter, trigonometric.arctan2)
SHIFTS = (bitwise.left_shift, bitwise.right_shift)
FACTORS = (sparse_factors.SparseCholesky, sparse_factors.SparseInverse)
FLOAT32_ONLY = ("arcsin", "arccos", "arctan", "sinh", "cosh", "arcsinh", "arccosh", "arctanh")


def gap(op, dtypes, category, reason):
    """A gap that compiling tells of."""
    return Gap(op, dtypes and frozenset(dtypes.split()), None, category, NoRuleError, reason)


GAPS = (
    *(
        gap(op, None, "todo", "ONNX's Loop, Scan and If are not used yet")
        for op in (loops.Scan, loops.While, loops.Cond)
    ),
    gap(Nonzero, None, "todo", "a model is made for known lengths; with size= there is room for a stated number"),
    gap(arithmetic.power, "int32 int64", "upstream", "onnxruntime has powers of integers by way of floats"),
    *(gap(fn, None, "upstream", "ONNX shifts unsigned integers only") for fn in SHIFTS),
    *(gap(fn, None, "upstream", "ONNX has no such function") for fn in ONNX_HAS_NONE),
    *(gap(op, None, "upstream", "ONNX factors no sparse matrices") for op in FACTORS),
    *(gap(getattr(trigonometric, fn), "float64", "upstream", "the kernel is for float32 only") for fn in FLOAT32_ONLY),
)
