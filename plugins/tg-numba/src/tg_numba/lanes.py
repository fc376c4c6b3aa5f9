"""Elements in lanes: numbers that rules compute with as if each was one.

The operators are those of the dtype: whole numbers wrap, comparisons give bools. Python's numbers are taken in the
dtype of the other operand.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final, overload

import numpy as np

from tg.types.dtypes import is_complex, is_float, numpy_dtype
from tg_numba.assembly import ITEMS, PARTS, Body
from tg_numba.text import item_size

if TYPE_CHECKING:
    from collections.abc import Sequence

ORDERS: Final = {  # of floats, signed and unsigned numbers
    "<": ("olt", "slt", "ult"),
    "<=": ("ole", "sle", "ule"),
    ">": ("ogt", "sgt", "ugt"),
    ">=": ("oge", "sge", "uge"),
    "==": ("oeq", "eq", "eq"),
    "!=": ("une", "ne", "ne"),
}


def is_signed(dtype: str) -> bool:
    """Whether a dtype of whole numbers has negative ones."""
    return dtype.startswith("int")


def constant_text(value: Any, dtype: str) -> str:
    """A number of a real dtype as LLVM writes constants, exact."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype in ("float16", "bfloat16"):
        return str(int(np.asarray(value, numpy_dtype(dtype)).view(np.uint16)))
    if is_float(dtype):
        with np.errstate(all="ignore"):
            wide = float(numpy_dtype(dtype).type(value))
        return f"0x{struct.pack('>d', wide).hex().upper()}"
    return str(int(value))


@final
class Lanes:
    """Elements of one real dtype; `text` is the operand that they are in the body."""

    __slots__ = ("body", "dtype", "text")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, body: Body, dtype: str, text: str) -> None:
        self.body, self.dtype, self.text = body, dtype, text

    @property
    def kind(self) -> str:
        """LLVM's type."""
        return self.body.kind(self.dtype)

    @property
    def operand(self) -> tuple[str, str]:
        """LLVM's type and the operand."""
        return self.kind, self.text

    def like(self, value: Any) -> Lanes:
        """A number in all lanes, in the same dtype."""
        return constant(self.body, value, self.dtype)

    def taken(self, value: Any) -> Lanes:
        """Another operand, which may be a Python number."""
        return value if isinstance(value, Lanes) else self.like(value)

    def _made(self, instruction: str, *others: Lanes, dtype: str | None = None) -> Lanes:
        operands = ", ".join(x.text for x in (self, *others))
        return Lanes(self.body, dtype or self.dtype, self.body.find(f"{instruction} {self.kind} {operands}"))

    def _by(self, other: Any, floating: str, signed: str, unsigned: str) -> Lanes:
        return self._made(_one(self.dtype, floating, signed, unsigned), self.taken(other))

    # --- operators -----------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Lanes:
        return self._by(other, "fadd", "add", "add")

    def __radd__(self, other: Any) -> Lanes:
        return self.like(other) + self

    def __sub__(self, other: Any) -> Lanes:
        return self._by(other, "fsub", "sub", "sub")

    def __rsub__(self, other: Any) -> Lanes:
        return self.like(other) - self

    def __mul__(self, other: Any) -> Lanes:
        return self._by(other, "fmul", "mul", "mul")

    def __rmul__(self, other: Any) -> Lanes:
        return self.like(other) * self

    def __truediv__(self, other: Any) -> Lanes:
        return self._made("fdiv", self.taken(other))

    def __rtruediv__(self, other: Any) -> Lanes:
        return self.like(other) / self

    def __floordiv__(self, other: Any) -> Lanes:
        """The quotient towards 0, of a divisor that is neither 0 nor, with the least number, -1."""
        return self._by(other, "", "sdiv", "udiv")

    def __mod__(self, other: Any) -> Lanes:
        """The remainder that goes with `//`."""
        return self._by(other, "", "srem", "urem")

    def __neg__(self) -> Lanes:
        return self._made("fneg") if is_float(self.dtype) else self.like(0) - self

    def __and__(self, other: Any) -> Lanes:
        return self._made("and", self.taken(other))

    def __or__(self, other: Any) -> Lanes:
        return self._made("or", self.taken(other))

    def __xor__(self, other: Any) -> Lanes:
        return self._made("xor", self.taken(other))

    def __invert__(self) -> Lanes:
        return self ^ (True if self.dtype == "bool" else -1)

    def __lshift__(self, other: Any) -> Lanes:
        """By less than the width."""
        return self._made("shl", self.taken(other))

    def __rshift__(self, other: Any) -> Lanes:
        """By less than the width; the sign stays."""
        return self._made("ashr" if is_signed(self.dtype) else "lshr", self.taken(other))

    def _compared(self, order: str, other: Any) -> Lanes:
        other = self.taken(other)
        if self.dtype != other.dtype:
            return _compared_by_value(order, self, other)
        test = "fcmp" if is_float(self.dtype) else "icmp"
        return self._made(f"{test} {_one(self.dtype, *ORDERS[order])}", other, dtype="bool")

    def __lt__(self, other: Any) -> Lanes:
        return self._compared("<", other)

    def __le__(self, other: Any) -> Lanes:
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> Lanes:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> Lanes:
        return self._compared(">=", other)

    def __eq__(self, other: object) -> Lanes:  # type: ignore[override]
        return self._compared("==", other)

    def __ne__(self, other: object) -> Lanes:  # type: ignore[override]
        return self._compared("!=", other)

    def is_nan(self) -> Lanes:
        """Whether a number is not one."""
        return self._compared("!=", self)

    def is_zero(self) -> Lanes:
        """Whether a number is 0, of either sign."""
        return self == 0

    # --- other dtypes --------------------------------------------------------------------------------------------

    def to(self, dtype: str) -> Lanes:
        """The elements in another real dtype, no half: whole numbers wrap, floats saturate and NaN becomes 0."""
        if dtype == self.dtype:
            return self
        if dtype == "bool":
            return self != 0
        if is_float(self.dtype) and not is_float(dtype):
            return self._saturated(dtype)
        if is_float(dtype):
            if is_float(self.dtype):
                change = "fpext" if dtype == "float64" else "fptrunc"
            else:
                change = "sitofp" if is_signed(self.dtype) else "uitofp"
            return self._changed(change, dtype)
        size, wanted = (0 if d == "bool" else item_size(d) for d in (self.dtype, dtype))
        if size == wanted:
            return Lanes(self.body, dtype, self.text)
        widens = "sext" if is_signed(self.dtype) else "zext"
        return self._changed("trunc" if wanted < size else widens, dtype)

    def _changed(self, change: str, dtype: str) -> Lanes:
        wanted = self.body.kind(dtype)
        return Lanes(self.body, dtype, self.body.find(f"{change} {self.kind} {self.text} to {wanted}"))

    def truncated(self, dtype: str) -> Lanes:
        """Floats as whole numbers of a signed dtype, which all of them are known to fit."""
        return self._changed("fptosi", dtype)

    def _saturated(self, dtype: str) -> Lanes:
        body = self.body
        change = "fptosi" if is_signed(dtype) else "fptoui"
        name = f"llvm.{change}.sat.{body.short(ITEMS[dtype])}.{body.short(ITEMS[self.dtype])}"
        return Lanes(body, dtype, body.called(name, body.kind(dtype), [self.operand]))

    def bits(self) -> Lanes:
        """The elements' bits, as unsigned numbers."""
        dtype = f"uint{8 * item_size(self.dtype)}"
        return self._changed("bitcast", dtype) if is_wide_float(self.dtype) else Lanes(self.body, dtype, self.text)

    def seen_as(self, dtype: str) -> Lanes:
        """The elements that bits stand for, in a dtype of the same size."""
        return self._changed("bitcast", dtype) if is_wide_float(dtype) else Lanes(self.body, dtype, self.text)


def is_wide_float(dtype: str) -> bool:
    """Whether elements in registers are floats; halves are bits there."""
    return dtype in ("float32", "float64")


def _one(dtype: str, floating: str, signed: str, unsigned: str) -> str:
    if is_wide_float(dtype):
        return floating
    return signed if is_signed(dtype) else unsigned


def _compared_by_value(order: str, x: Lanes, y: Lanes) -> Lanes:
    """An int64 and a uint64 as numbers: what is below 0 is less than all that is not."""
    signed = x if is_signed(x.dtype) else y
    below = signed < 0
    found: Lanes = x.to("uint64")._compared(order, y.to("uint64"))
    if order == "==":
        return found & ~below
    if order == "!=":
        return found | below
    return select(below, constant(x.body, (order[0] == "<") == (signed is x), "bool"), found)


class Pair(NamedTuple):
    """Complex numbers in lanes, by their parts."""

    real: Lanes
    imag: Lanes

    @property
    def dtype(self) -> str:
        """The complex dtype."""
        return "complex64" if self.real.dtype == "float32" else "complex128"

    @property
    def body(self) -> Body:
        """Where they are computed."""
        return self.real.body

    def to(self, dtype: str) -> Pair:
        """The numbers in another complex dtype."""
        return Pair(self.real.to(PARTS[dtype]), self.imag.to(PARTS[dtype]))

    def plus(self, other: Pair) -> Pair:
        """The sum."""
        return Pair(self.real + other.real, self.imag + other.imag)

    def minus(self, other: Pair) -> Pair:
        """The difference."""
        return Pair(self.real - other.real, self.imag - other.imag)

    def negated(self) -> Pair:
        """The number of the other sign."""
        return Pair(-self.real, -self.imag)

    def equals(self, other: Pair) -> Lanes:
        """Whether both parts are equal."""
        return (self.real == other.real) & (self.imag == other.imag)

    def differs(self, other: Pair) -> Lanes:
        """Whether some part is not equal."""
        return (self.real != other.real) | (self.imag != other.imag)

    def is_nan(self) -> Lanes:
        """Whether some part is."""
        return self.real.is_nan() | self.imag.is_nan()

    def is_zero(self) -> Lanes:
        """Whether both parts are 0."""
        return self.real.is_zero() & self.imag.is_zero()

    def like(self, real: Any, imag: Any = 0) -> Pair:
        """A number in all lanes."""
        return Pair(self.real.like(real), self.imag.like(imag))


Elements = Lanes | Pair


def constant(body: Body, value: Any, dtype: str) -> Lanes:
    """A number of a real dtype in all lanes."""
    return Lanes(body, dtype, body.all(constant_text(value, dtype), ITEMS[dtype]))


def constant_of(body: Body, value: Any, dtype: str) -> Elements:
    """A number of any dtype in all lanes."""
    if not is_complex(dtype):
        return constant(body, value, dtype)
    return Pair(constant(body, value.real, PARTS[dtype]), constant(body, value.imag, PARTS[dtype]))


@overload
def select(condition: Lanes, x: Pair, y: Pair) -> Pair: ...
@overload
def select(condition: Lanes, x: Lanes | float, y: Lanes | float) -> Lanes: ...
@overload
def select(condition: Lanes, x: Elements, y: Elements) -> Elements: ...
def select(condition: Lanes, x: Any, y: Any) -> Any:
    """Of each lane one of two values, one of which may be a Python number."""
    if isinstance(x, Pair):
        return Pair(select(condition, x.real, y.real), select(condition, x.imag, y.imag))
    x = x if isinstance(x, Lanes) else y.like(x)
    y = x.taken(y)
    text = f"select {condition.kind} {condition.text}, {x.kind} {x.text}, {y.kind} {y.text}"
    return Lanes(x.body, x.dtype, x.body.find(text))


@overload
def lane_of(value: Lanes, lane: int) -> Lanes: ...
@overload
def lane_of(value: Elements, lane: int) -> Elements: ...
def lane_of(value: Elements, lane: int) -> Elements:
    """One lane, as a single element: for what is computed without lanes."""
    if isinstance(value, Pair):
        return Pair(lane_of(value.real, lane), lane_of(value.imag, lane))
    body = value.body
    if not body.lanes:
        return value
    text = body.find(f"extractelement {value.kind} {value.text}, i64 {lane}")
    return Lanes(body, value.dtype, text)


@overload
def in_all_lanes(value: Lanes) -> Lanes: ...
@overload
def in_all_lanes(value: Elements) -> Elements: ...
def in_all_lanes(value: Elements) -> Elements:
    """A single element in all lanes."""
    if isinstance(value, Pair):
        return Pair(in_all_lanes(value.real), in_all_lanes(value.imag))
    return Lanes(value.body, value.dtype, value.body.splat(ITEMS[value.dtype], value.text))


def parts(values: Sequence[Elements]) -> list[Lanes]:
    """All values, complex ones by their parts."""
    found: list[Lanes] = []
    for value in values:
        found += value if isinstance(value, Pair) else [value]
    return found


def of_parts(body: Body, dtype: str, texts: Sequence[str]) -> Elements:
    """The value whose parts are some operands: the other way round."""
    if not is_complex(dtype):
        return Lanes(body, dtype, texts[0])
    return Pair(*(Lanes(body, PARTS[dtype], text) for text in texts))


def everywhere(condition: Lanes) -> str:
    """Whether a condition holds in all lanes: the operand of a branch."""
    body = condition.body
    if not body.lanes:
        return condition.text
    return body.called(f"llvm.vector.reduce.and.v{body.lanes}i1", "i1", [condition.operand])
