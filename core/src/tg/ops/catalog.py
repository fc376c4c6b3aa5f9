"""All op families of core, and the flat namespace of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops import contraction, control, creation, cumulative, index_syntax, indexing, numpy_protocol, reduction, shape
from tg.ops.elementwise import arithmetic, bitwise, cast, comparison, exponential, trigonometric

if TYPE_CHECKING:
    from tg.ops.family import Family

FAMILIES: Final[tuple[Family, ...]] = (
    arithmetic.FAMILY,
    bitwise.FAMILY,
    cast.FAMILY,
    comparison.FAMILY,
    exponential.FAMILY,
    trigonometric.FAMILY,
    contraction.FAMILY,
    control.FAMILY,
    creation.FAMILY,
    cumulative.FAMILY,
    indexing.FAMILY,
    reduction.FAMILY,
    shape.FAMILY,
)

NAMES: Final[dict[str, Any]] = {
    **{fn.name: fn for family in FAMILIES for fn in family.elementwise},
    **{fn.__name__: fn for family in FAMILIES for fn in family.functions},
}

INTERNAL: Final[dict[str, Any]] = {
    "axis_length": shape.axis_length,
    "IndexedUpdates": index_syntax.IndexedUpdates,
    "getitem": index_syntax.getitem,
    "numpy_ufunc": numpy_protocol.numpy_ufunc,
    "numpy_function": numpy_protocol.numpy_function,
}
