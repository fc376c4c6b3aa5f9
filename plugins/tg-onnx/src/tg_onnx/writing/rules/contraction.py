"""Products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.backend import MatMul

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg_onnx.writing.scope import Scope, Value

DTYPES: Final = frozenset({"float16", "bfloat16", "float32", "float64", "int32", "int64", "uint32", "uint64"})


def matmul(op: Any, w: Scope, x: Value, y: Value) -> Any:
    """The product; of small integers by way of int32 or int64, in which sums of so many wrap alike."""
    if x.dtype.startswith("complex"):
        return NotImplemented
    if x.dtype in DTYPES:
        return w("MatMul", x, y, shape=w.out.shape)
    wide = w("MatMul", w.cast(x, "int32"), w.cast(y, "int32"), shape=w.out.shape)
    if x.dtype == "bool":
        return w.cast(wide, "bool")
    return w.cast(wide, x.dtype)


RULES: Final[Mapping[object, Callable[..., Any]]] = {MatMul: matmul}
