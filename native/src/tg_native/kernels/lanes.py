"""Elements in lanes: numbers that kernels compute with as if each was one.

The operators are those of the dtype: whole numbers wrap, comparisons give bools. Python's numbers are taken in the
dtype of the other operand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast, final, overload

from tg.types.dtypes import is_complex, is_float
from tg_native.kernels.dtypes import PARTS, is_signed, item_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_native.kernels.body import Body
    from tg_native.kernels.routine import Routine


@final
class Lanes:
    """Elements of one real dtype; `text` is what the body calls them, `form` how it holds them if there are several."""

    __slots__ = ("body", "dtype", "form", "text")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, body: Body, dtype: str, text: Any, form: str = "") -> None:
        self.body, self.dtype, self.text, self.form = body, dtype, text, form

    @property
    def kind(self) -> str:
        """Their type in the printer's language."""
        return self.body.kind(self.dtype)

    @property
    def operand(self) -> tuple[str, str]:
        """Type and text."""
        return self.kind, self.text

    def like(self, value: Any) -> Lanes:
        """A number in all lanes, in the same dtype."""
        return self.body.number(value, self.dtype)

    def taken(self, value: Any) -> Lanes:
        """Another operand, which may be a Python number."""
        return value if isinstance(value, Lanes) else self.body.number(value, self.dtype)

    def _by(self, word: str, other: Any) -> Lanes:
        return self.body.computed(word, (self, self.taken(other)))

    def _from(self, word: str, other: Any) -> Lanes:
        return self.body.computed(word, (self.like(other), self))

    # --- operators -----------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Lanes:
        return self._by("add", other)

    def __radd__(self, other: Any) -> Lanes:
        return self._from("add", other)

    def __sub__(self, other: Any) -> Lanes:
        return self._by("subtract", other)

    def __rsub__(self, other: Any) -> Lanes:
        return self._from("subtract", other)

    def __mul__(self, other: Any) -> Lanes:
        return self._by("multiply", other)

    def __rmul__(self, other: Any) -> Lanes:
        return self._from("multiply", other)

    def __truediv__(self, other: Any) -> Lanes:
        return self._by("divide", other)

    def __rtruediv__(self, other: Any) -> Lanes:
        return self._from("divide", other)

    def __floordiv__(self, other: Any) -> Lanes:
        """The quotient towards 0, of a divisor that is neither 0 nor, with the least number, -1."""
        return self._by("quotient", other)

    def __mod__(self, other: Any) -> Lanes:
        """The remainder that goes with `//`."""
        return self._by("remainder", other)

    def __neg__(self) -> Lanes:
        return self.body.computed("negative", (self,))

    def __and__(self, other: Any) -> Lanes:
        return self._by("and", other)

    def __or__(self, other: Any) -> Lanes:
        return self._by("or", other)

    def __xor__(self, other: Any) -> Lanes:
        return self._by("xor", other)

    def __invert__(self) -> Lanes:
        return self.body.computed("not", (self,))

    def __lshift__(self, other: Any) -> Lanes:
        """By less than the width."""
        return self._by("left", other)

    def __rshift__(self, other: Any) -> Lanes:
        """By less than the width; the sign stays."""
        return self._by("right", other)

    def _compared(self, order: str, other: Any) -> Lanes:
        other = self.taken(other)
        if self.dtype != other.dtype:
            return _compared_by_value(order, self, other)
        return self.body.computed(order, (self, other))

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
            return self.body.computed("saturate", (self,), dtype)
        return self.body.computed("convert", (self,), dtype)

    def truncated(self, dtype: str) -> Lanes:
        """Floats as whole numbers of a signed dtype, which all of them are known to fit."""
        return self.body.computed("truncate", (self,), dtype)

    def bits(self) -> Lanes:
        """The elements' bits, as unsigned numbers."""
        return self.seen_as(f"uint{8 * item_size(self.dtype)}")

    def seen_as(self, dtype: str) -> Lanes:
        """The elements that the bits stand for in a dtype of the same size."""
        return self if dtype == self.dtype else self.body.computed("view", (self,), dtype)


def _compared_by_value(order: str, x: Lanes, y: Lanes) -> Lanes:
    """An int64 and a uint64 as numbers: what is below 0 is less than all that is not."""
    signed = x if is_signed(x.dtype) else y
    below = signed < 0
    unsigned = x.body.computed(order, (x.to("uint64"), y.to("uint64")))
    if order == "==":
        return unsigned & ~below
    if order == "!=":
        return unsigned | below
    return select(below, constant(x.body, (order[0] == "<") == (signed is x), "bool"), unsigned)


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
        """Body in which they are computed."""
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
    return body.number(value, dtype)


def constant_of(body: Body, value: Any, dtype: str) -> Elements:
    """A number of any dtype in all lanes."""
    if not is_complex(dtype):
        return body.number(value, dtype)
    return Pair(body.number(value.real, PARTS[dtype]), body.number(value.imag, PARTS[dtype]))


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
    return x.body.computed("select", (condition, x, x.taken(y)))


@overload
def lane_of(value: Lanes, lane: int) -> Lanes: ...
@overload
def lane_of(value: Elements, lane: int) -> Elements: ...
def lane_of(value: Elements, lane: int) -> Elements:
    """One lane, as a single element: for what is computed without lanes."""
    if isinstance(value, Pair):
        return Pair(lane_of(value.real, lane), lane_of(value.imag, lane))
    return value.body.lane(value, lane) if value.body.lanes else value


@overload
def in_all_lanes(value: Lanes) -> Lanes: ...
@overload
def in_all_lanes(value: Elements) -> Elements: ...
def in_all_lanes(value: Elements) -> Elements:
    """A single element in all lanes."""
    if isinstance(value, Pair):
        return Pair(in_all_lanes(value.real), in_all_lanes(value.imag))
    return value.body.splat(value)


def transposed(values: Sequence[Lanes]) -> list[Lanes]:
    """As many vectors as each has lanes, a power of 2, with lanes and vectors exchanged."""
    body, half, vectors = cast("Routine", values[0].body), len(values) // 2, list(values)
    for _ in range(half.bit_length()):
        pairs = zip(vectors[:half], vectors[half:], strict=True)
        vectors = [x for pair in pairs for x in body.interleaved(*pair)]
    return vectors


def parts(values: Sequence[Elements]) -> list[Lanes]:
    """All values, complex ones by their parts."""
    lanes: list[Lanes] = []
    for value in values:
        lanes += value if isinstance(value, Pair) else [value]
    return lanes


def parameter_names(count: int) -> tuple[str, ...]:
    """The parameters of a function of lanes: x, y, z, w, x4, x5 and so on."""
    return (*"xyzw"[:count], *(f"x{k}" for k in range(4, count)))
