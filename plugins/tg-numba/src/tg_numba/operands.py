"""Single values in the function of a graph, as operands of LLVM's instructions: a complex number is a pair there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.backend import is_complex
from tg_native.kernels.dtypes import PARTS
from tg_native.kernels.lanes import Lanes, Pair
from tg_numba.assembly import ITEMS, constant_text
from tg_numba.body import body_of

if TYPE_CHECKING:
    from tg_native.kernels.lanes import Elements
    from tg_numba.body import Body


def type_of(dtype: str) -> str:
    """LLVM's type of a single value."""
    if not is_complex(dtype):
        return ITEMS[dtype]
    item = ITEMS[PARTS[dtype]]
    return f"{{{item}, {item}}}"


def literal(value: Any, dtype: str) -> str:
    """The operand that is a number."""
    if not is_complex(dtype):
        return constant_text(value, dtype)
    part = PARTS[dtype]
    return f"{{{', '.join(f'{ITEMS[part]} {constant_text(x, part)}' for x in (value.real, value.imag))}}}"


def elements(body: Body, dtype: str, operand: str) -> Elements:
    """A value as rules compute with it."""
    if not is_complex(dtype):
        return Lanes(body, dtype, operand)
    parts = (body.find(f"extractvalue {type_of(dtype)} {operand}, {k}") for k in (0, 1))
    return Pair(*(Lanes(body, PARTS[dtype], part) for part in parts))


def operand_of(value: Elements) -> str:
    """The operand that a value is."""
    if isinstance(value, Lanes):
        return str(value.text)
    aggregate, whole = "poison", type_of(value.dtype)
    for k, part in enumerate(value):
        aggregate = body_of(value).find(f"insertvalue {whole} {aggregate}, {part.kind} {part.text}, {k}")
    return aggregate


def loaded(body: Body, dtype: str, pointer: str) -> str:
    """The element that a pointer points to."""
    if dtype == "bool":
        return body.made(f"icmp ne i8 {body.made(f'load i8, ptr {pointer}')}, 0")
    return body.made(f"load {type_of(dtype)}, ptr {pointer}, align 1")


def store(body: Body, dtype: str, operand: str, pointer: str) -> None:
    """Write an element."""
    if dtype == "bool":
        body.do(f"store i8 {body.find(f'zext i1 {operand} to i8')}, ptr {pointer}")
    else:
        body.do(f"store {type_of(dtype)} {operand}, ptr {pointer}, align 1")
