"""Inputs of draws of own bits: parameters in float64, and 64 bits for each element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.random.keys import own_bits
from tg.ops.random.parameters import broadcast_parameters, counting_dtype, floating_dtype, packed_key, parameters

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

WIDE: Final = "float64"


def of_own_bits(
    what: str, key: Any, arguments: dict[str, Any], shape: Any, dtype: object
) -> tuple[list[Variable], Variable, str]:
    """The parameters in float64, the bits of a draw of real numbers, and the dtype that it is to have."""
    values = parameters(what, **arguments)
    wanted = floating_dtype(what, dtype, values)
    operands, lengths = broadcast_parameters(what, arguments, shape, WIDE)
    return operands, own_bits(packed_key(what, key), lengths), wanted


def counts_of_own_bits(
    what: str, key: Any, arguments: dict[str, Any], shape: Any, dtype: object
) -> tuple[list[Variable], Variable, str]:
    """The parameters in float64, the bits of a draw of counts, and the dtype that it is to have."""
    wanted = counting_dtype(what, dtype)
    parameters(what, **arguments)
    operands, lengths = broadcast_parameters(what, arguments, shape, WIDE)
    return operands, own_bits(packed_key(what, key), lengths), wanted
