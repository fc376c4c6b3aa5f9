"""Values shared by all lanes of a loop: whole numbers (indices, lengths, strides, counts), conditions, and places.

Python's numbers are taken beside an `Index`; a product with 0 or 1, and what is added to 0, is not written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, final

from tg_native.kernels.lanes import Lanes, in_all_lanes

if TYPE_CHECKING:
    from tg_native.kernels.routine import Routine

INT64 = "int64"


@final
class Index:
    """An int64; `value` is a single element, `known` the number where it is one."""

    __slots__ = ("known", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Lanes, number: int | None = None) -> None:
        self.value, self.known = value, number

    @property
    def body(self) -> Routine:
        """Routine in which it is computed."""
        return cast("Routine", self.value.body)

    def _by(self, word: str, other: Index | int) -> Index:
        body = self.body
        with body.of(0):
            return Index(body.computed(word, (self.value, index(body, other).value)))

    def _test(self, word: str, other: Index | int) -> Condition:
        body = self.body
        with body.of(0):
            return Condition(body.computed(word, (self.value, index(body, other).value)))

    def __add__(self, other: Index | int) -> Index:
        other = index(self.body, other)
        if self.known == 0:
            return other
        return self if other.known == 0 else self._by("add", other)

    def __sub__(self, other: Index | int) -> Index:
        other = index(self.body, other)
        return self if other.known == 0 else self._by("subtract", other)

    def __mul__(self, other: Index | int) -> Index:
        other = index(self.body, other)
        if self.known == 0 or other.known == 1:
            return self
        return other if other.known == 0 or self.known == 1 else self._by("multiply", other)

    def __floordiv__(self, other: Index | int) -> Index:
        """The quotient, towards 0."""
        return self._by("quotient", other)

    def __and__(self, other: Index | int) -> Index:
        return self if self.known == 0 else self._by("and", other)

    def __rshift__(self, other: Index | int) -> Index:
        return self._by("right", other)

    def __invert__(self) -> Index:
        body = self.body
        with body.of(0):
            return Index(~self.value)

    def __lt__(self, other: Index | int) -> Condition:
        return self._test("<", other)

    def __le__(self, other: Index | int) -> Condition:
        return self._test("<=", other)

    def __gt__(self, other: Index | int) -> Condition:
        return self._test(">", other)

    def __ge__(self, other: Index | int) -> Condition:
        return self._test(">=", other)

    def __eq__(self, other: Index | int) -> Condition:  # type: ignore[override]
        return self._test("==", other)

    def __ne__(self, other: Index | int) -> Condition:  # type: ignore[override]
        return self._test("!=", other)

    def least(self, other: Index | int) -> Index:
        """The lesser of two."""
        return self.body.extreme(self, index(self.body, other), largest=False)

    def most(self, other: Index | int) -> Index:
        """The larger of two."""
        return self.body.extreme(self, index(self.body, other), largest=True)

    def trailing(self) -> Index:
        """Number of trailing bits that are 0, of a number that is not 0."""
        return self.body.bits_of(self, trailing=True)

    def length(self) -> Index:
        """Number of bits of a number that is not below 0: 0 has none."""
        return self.body.bits_of(self, trailing=False)

    def lanes(self) -> Lanes:
        """The number in all lanes."""
        return in_all_lanes(self.value)

    def single(self, dtype: str) -> Lanes:
        """The number as a single element of a dtype."""
        with self.body.of(0):
            return self.value.to(dtype)


@final
class Condition:
    """A condition that is one for all lanes: a bool, as a single element."""

    __slots__ = ("value",)

    def __init__(self, value: Lanes) -> None:
        self.value = value

    @property
    def body(self) -> Routine:
        """Routine in which it is computed."""
        return cast("Routine", self.value.body)

    def _by(self, word: str, other: Condition) -> Condition:
        body = self.body
        with body.of(0):
            return Condition(body.computed(word, (self.value, other.value)))

    def __and__(self, other: Condition) -> Condition:
        return self._by("and", other)

    def __or__(self, other: Condition) -> Condition:
        return self._by("or", other)

    def __invert__(self) -> Condition:
        body = self.body
        with body.of(0):
            return Condition(~self.value)

    def choose(self, x: Index | int, y: Index | int) -> Index:
        """The first number where it holds, else the second."""
        body = self.body
        with body.of(0):
            return Index(body.computed("select", (self.value, index(body, x).value, index(body, y).value)))

    def number(self) -> Index:
        """1 where it holds, else 0."""
        with self.body.of(0):
            return Index(self.value.to(INT64))

    def lanes(self) -> Lanes:
        """The condition in all lanes."""
        return in_all_lanes(self.value)


@final
class Pointer:
    """Place of an element of a dtype in memory; `form` is what else the printer knows of it."""

    __slots__ = ("body", "dtype", "form", "text")

    def __init__(self, body: Routine, dtype: str, text: Any, form: str = "") -> None:
        self.body, self.dtype, self.text, self.form = body, dtype, text, form

    def moved(self, offset: Index | int) -> Pointer:
        """The place some elements on."""
        offset = index(self.body, offset)
        return self if offset.known == 0 else self.body.shifted(self, offset)


@final
class Counted:
    """Place of an element that is its own number: a place in no memory."""

    __slots__ = ("first",)
    dtype = INT64

    def __init__(self, first: Index) -> None:
        self.first = first

    def moved(self, offset: Index | int) -> Counted:
        """The place some elements on."""
        return Counted(self.first + offset)

    def load(self) -> Lanes:
        """The element, in all lanes."""
        return self.first.lanes() if self.first.body.lanes else self.first.value

    def load_apart(self, stride: Index) -> Lanes:
        """As many elements as there are lanes, at a distance."""
        numbers = self.first.body.own_numbers()
        return self.first.lanes() + (numbers if stride.known == 1 else numbers * stride.lanes())


def index(body: Routine, number: Index | int) -> Index:
    """A number that all lanes share."""
    if isinstance(number, Index):
        return number
    with body.of(0):
        return Index(body.number(number, INT64), number)
