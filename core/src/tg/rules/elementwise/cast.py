"""Rules of conversion: a cast that changes nothing, and two that are one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.cast import Cast, cast_variable
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import rule_of_node
from tg.types.dtypes import is_complex, is_float, is_inexact, is_integer, is_unsigned, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

DIGITS: Final = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53, "complex64": 24, "complex128": 53}
LARGEST_EXPONENT: Final = {
    "float16": 16, "bfloat16": 128, "float32": 128, "float64": 1024, "complex64": 128, "complex128": 1024,
}  # fmt: skip


@rule_of_node(Cast, kind=EXACT, below=(Cast,), example=lambda x: Cast("float16")(Cast("float64")(x)))
def _cast_through_wider(node: Apply, outputs: Any) -> Variable | None:
    """A dtype that holds every value of the first adds nothing on the way to the second."""
    (y,) = node.inputs
    (x,) = y.inputs
    source, middle, target = x.type.dtype, y.type.dtype, outputs[0].type.dtype
    return cast_variable(x, target) if is_superfluous(source, middle, target) else None


def is_superfluous(source: str, middle: str, target: str) -> bool:
    """Whether casting `source` to `middle` to `target` gives for every value what casting to `target` at once does."""
    if is_integer(source) and is_integer(middle) and is_integer(target):  # both wrap, modulo powers of two
        return _width(target) <= _width(middle) or holds(middle, source)
    if target == "bool" and is_integer(source) and is_inexact(middle):  # what is not 0 does not round to 0
        return True
    if not holds(middle, source):
        return False
    saturates = is_integer(source) and is_integer(target)  # a float between them would, where one cast wraps
    return not saturates or holds(target, source)


def holds(wide: str, narrow: str) -> bool:
    """Whether a dtype has every value of another."""
    if narrow == "bool":
        return True
    if wide == "bool" or (is_inexact(narrow) and is_integer(wide)) or (is_complex(narrow) and not is_complex(wide)):
        return False
    if is_integer(narrow):
        bits = _bits(narrow)
        if is_integer(wide):
            return bits <= _bits(wide) and (is_unsigned(narrow) or not is_unsigned(wide))
        return bits <= DIGITS[wide]
    return DIGITS[narrow] <= DIGITS[wide] and LARGEST_EXPONENT[narrow] <= LARGEST_EXPONENT[wide]


def _width(dtype: str) -> int:
    return numpy_dtype(dtype).itemsize


def _bits(dtype: str) -> int:
    """The number of bits of the largest magnitude of an integer dtype."""
    assert not is_float(dtype)
    return numpy_dtype(dtype).itemsize * 8 - (0 if is_unsigned(dtype) else 1)


RULES = (_cast_through_wider,)
