"""Rules for ONNX: what writes each op of tg, `rule(op, scope, *values)`, in files named after the ops' families.

A rule that returns `NotImplemented` leaves an op to its expansion, whose ops are written in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg_onnx.writing.rules import contraction, elementwise, indexing, loops, nn, quantization, reduction, shape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RULES: Final[Mapping[object, Callable[..., Any]]] = {
    **elementwise.RULES,
    **shape.RULES,
    **reduction.RULES,
    **indexing.RULES,
    **contraction.RULES,
    **nn.RULES,
    **quantization.RULES,
    **loops.RULES,
}
