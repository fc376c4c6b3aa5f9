"""Vectors that go abreast, and what all their lanes share.

Where there are more lanes than a vector of the widest dtype has, several vectors go abreast: the text of a value is
then a tuple, and every operation is written for each of them.
"""

from __future__ import annotations

import abc
import contextlib
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from tg_c.apart import one_after_another
from tg_c.body import SHARED, Body
from tg_native.kernels import routine
from tg_native.kernels.dtypes import WORDS, is_half, item_size
from tg_native.kernels.index import Condition, Index
from tg_native.kernels.lanes import Lanes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tg_c.prelude import Prelude

CONST: Final = "const "
T = TypeVar("T")


class Width(int):
    """A number of lanes, and how many of them a vector of the widest dtype has."""

    native: int

    def __new__(cls, lanes: int, native: int) -> Self:
        width = super().__new__(cls, lanes)
        width.native = max(native, 1)
        return width


class Abreast(Body, routine.Routine):
    """The inside of a C function of vectors that go abreast."""

    letter = "t"  # parameters that are values have names with a v
    asks_whole = True
    shares_from = 2  # of one sum, gcc takes 8 % longer with a function than without

    def __init__(self, prelude: Prelude, width: Width) -> None:
        """Begin one of so many lanes."""
        super().__init__(prelude, width)
        self.native, self.size = width.native, self._size(width.native)
        self._places: dict[str, str] = {}  # of whole vectors of integers: from where they were loaded
        self._vector = -1  # the vector that is written for
        self._vector_of: dict[int, int] = {}  # by line

    @abc.abstractmethod
    def another(self) -> Abreast:
        """A body for a function of the same prelude, of as many lanes."""

    def resize(self, lanes: int) -> tuple[int, int, int]:
        before = self.lanes, self.native, self.size
        self.lanes = lanes
        if isinstance(lanes, Width):
            self.native, self.size = lanes.native, self._size(lanes.native)
        return before

    def resume(self, before: tuple[int, int, int]) -> None:
        self.lanes, self.native, self.size = before

    def _size(self, native: int) -> int:
        """The bytes of the widest element where a vector has so many lanes."""
        return min(max(self.machine.vector_bytes // native, 1), 8)

    @property
    def usual_mask(self) -> str:
        """The masks that bools in memory become: as wide as the widest element."""
        return f"i{8 * self.size}"

    def vector_type(self, dtype: str, form: str = "", count: int = 0) -> str:
        """The C type of the lanes in one of so many vectors, or of as many as go abreast now, or of one element."""
        if not self.lanes:
            return self.kind(dtype)
        with self.of(self.lanes // (count or self.abreast)):
            return self.vectors.type(form) if form else self.kind(dtype)

    # --- vectors that go abreast -----------------------------------------------------------------------------------

    @property
    def abreast(self) -> int:
        return max(1, self.lanes // self.native)

    def width_of(self, dtype: str) -> int:
        native = min(self.native, self.machine.vector_bytes // item_size(dtype))
        return self.lanes if native == self.native or not self.lanes else Width(self.lanes, native)

    def regrouped(self, value: Lanes) -> Lanes:
        if not self.lanes:
            return value
        count, form = self.abreast, value.form
        if form == SHARED:
            form = self.usual_mask if value.dtype == "bool" else ""
            kind = self.vector_type(value.dtype, form)
            texts = [self.local(f"{CONST}{kind}", text) for text in self.texts(value, form)]
        elif len(self._names(value)) == count:
            return value
        elif len(self._names(value)) > count:
            texts = self._merged(value, count)
        else:
            width = self.lanes // count
            with self.of(self.lanes // len(self._names(value))):
                wide = [Lanes(self, value.dtype, text, value.form) for text in self._names(value)]
                pieces = range(self.lanes // width)
                texts = [self._piece(x, k, width).text for x in wide for k in pieces]
        return Lanes(self, value.dtype, tuple(texts) if count > 1 else texts[0], form)

    def _merged(self, x: Lanes, count: int) -> list[str]:
        """The lanes of a value in so many vectors, which are fewer than it has."""
        texts = [*self._names(x)]
        while len(texts) > count:
            width = 2 * self.lanes // len(texts)
            places = ", ".join(map(str, range(width)))
            with self.of(width):
                kind = self.vectors.type(x.form or self.item(x.dtype))
                pairs = zip(texts[::2], texts[1::2], strict=True)
                texts = [self.local(f"{CONST}{kind}", f"__builtin_shufflevector({a}, {b}, {places})") for a, b in pairs]
        return texts

    def in_full_vectors(self, write: Callable[..., Sequence[Lanes]], *operands: Lanes) -> Sequence[Lanes]:
        full = min(self.machine.vector_bytes // item_size(operands[0].dtype), self.lanes)
        if full <= self.native:
            return write(*operands)
        with self.of(Width(self.lanes, full)):
            values = write(*map(self.regrouped, operands))
        return [self.regrouped(x) for x in values]

    @staticmethod
    def _names(x: Lanes) -> tuple[str, ...]:
        return x.text if isinstance(x.text, tuple) else (x.text,)

    def _part(self, x: Lanes, k: int) -> Lanes:
        return Lanes(self, x.dtype, x.text[k], x.form) if isinstance(x.text, tuple) else x

    def _together(self, vectors: Sequence[Lanes]) -> Lanes:
        first = vectors[0]
        if first.form == SHARED:
            return first
        return Lanes(self, first.dtype, tuple(x.text for x in vectors), first.form)

    def each(self, write: Callable[..., Lanes], *operands: Lanes) -> Lanes:
        """Write for one vector, for each that goes abreast by itself."""
        count = self.abreast
        if count == 1:
            return write(*operands)
        with self.of(self.native):
            return self._together([write(*(self._part(x, k) for x in operands)) for k in self._numbered(range(count))])

    def _numbered(self, items: Iterable[T]) -> Iterator[T]:
        """Items of the vectors, one by one; while one is at hand, lines are that vector's."""
        for self._vector, one in enumerate(items):
            yield one
        self._vector = -1

    def line(self, text: str) -> None:
        if self._vector >= 0:
            self._vector_of[len(self.lines)] = self._vector
        super().line(text)

    @contextlib.contextmanager
    def vector_by_vector(self) -> Iterator[None]:
        first = len(self.lines)
        self._vector_of.clear()
        yield
        of = {k - first: vector for k, vector in self._vector_of.items()}
        self.lines[first:] = one_after_another(self.lines[first:], of)

    def texts(self, x: Lanes, form: str = "", count: int = 0) -> list[str]:
        """A value as vectors (as many as there are, or as go abreast now), a condition as masks; or as one element."""
        if not self.lanes:
            return [str(x.text)]
        count = count or (len(x.text) if isinstance(x.text, tuple) else self.abreast)
        with self.of(self.lanes // count):
            each = [self._part(x, k) for k in range(count)]
            return [self.mask(v, form or self._width(v)) if x.dtype == "bool" else self.vector(v) for v in each]

    def write(self, word: str, operands: Sequence[Lanes], dtype: str, attribute: Any) -> Lanes:
        plain = super().write
        if self.abreast == 1:
            return plain(word, operands, dtype, attribute)
        return self.each(lambda *each: plain(word, each, dtype, attribute), *operands)

    def has_form(self, word: str, dtype: str) -> bool:
        with self.of(min(self.lanes, self.native)):
            return super().has_form(word, dtype)

    def lane(self, value: Lanes, lane: int) -> Lanes:
        if value.form == SHARED:
            with self.of(0):
                return self._of_shared(value)
        if not isinstance(value.text, tuple):
            place = self._places.get(str(value.text))
            if place is None:
                return super().lane(value, lane)
            with self.of(0):  # memory has single integers at hand, a vector has to be taken apart
                return self.find(value.dtype, f"{place}[{lane}]")
        with self.of(self.native):
            return super().lane(self._part(value, lane // self.native), lane % self.native)

    def _of_shared(self, value: Lanes) -> Lanes:
        """Value that all lanes share, as one element: a half has another form."""
        text = f"(({WORDS[value.dtype]}){{{value.text}}})" if is_half(value.dtype) else value.text
        return Lanes(self, value.dtype, text, SHARED)

    def splat(self, value: Lanes) -> Lanes:
        if self.lanes and is_half(value.dtype):
            return Lanes(self, value.dtype, f"({value.text}).bits", SHARED)
        return super().splat(value)

    def in_vectors(self, function: Callable[..., Lanes], width: int, *operands: Lanes) -> Lanes:
        plain = super().in_vectors
        return self.each(lambda *each: plain(function, width, *each), *operands)

    def shared(
        self,
        name: str,
        write: Callable[..., Lanes],
        operands: Sequence[Lanes],
        *,
        inline: bool,
        together: bool = False,
    ) -> Lanes:
        plain = super().shared
        if inline or not together or self.abreast == 1:
            return self.each(lambda *each: plain(name, write, each, inline=inline), *operands)
        result = self.subroutine(name, write, operands)
        assert result is not None
        return result

    def vector_library(self, name: str, operands: Sequence[Lanes]) -> Lanes | None:
        plain = super().vector_library
        if self.abreast == 1:
            return plain(name, operands)
        count = self.abreast
        with self.of(self.native):
            results = [plain(name, [self._part(x, k) for x in operands]) for k in range(count)]
            vectors = [x for x in results if x is not None]
            return self._together(vectors) if vectors else None

    def one_by_one(self, name: str, operands: Sequence[Lanes]) -> Lanes:
        plain = super().one_by_one
        return self.each(lambda *each: plain(name, each), *operands)

    def redone(self, name: str, condition: Lanes, value: Lanes, operands: Sequence[Lanes]) -> Lanes:
        plain = super().redone
        return self.each(lambda c, v, *each: plain(name, c, v, each), condition, value, *operands)

    def power(self, base: Lanes, exponent: Lanes) -> Lanes:
        return self.each(super().power, base, exponent)

    def one_complex(self, name: str, operands: Sequence[Lanes]) -> tuple[Lanes, Lanes]:
        if not self.lanes:
            return super().one_complex(name, operands)
        count, reals, imags = self.lanes, list[Lanes](), list[Lanes]()
        for k in range(count):
            each = [self.lane(x, k) for x in operands]
            with self.of(0):
                real, imag = super().one_complex(name, each)
            reals.append(real)
            imags.append(imag)
        return self.of_elements("float64", reals), self.of_elements("float64", imags)

    def of_elements(self, dtype: str, elements: Sequence[Lanes]) -> Lanes:
        kind, native = self.vector_type(dtype), min(self.lanes, self.native)
        texts = tuple(
            self.local(f"{CONST}{kind}", f"{{{', '.join(str(x.text) for x in elements[k : k + native])}}}")
            for k in range(0, self.lanes, native)
        )
        return Lanes(self, dtype, texts if len(texts) > 1 else texts[0])

    def halves(self, value: Lanes) -> tuple[Lanes, Lanes]:
        if value.form == SHARED:
            return value, value
        if isinstance(value.text, tuple):
            count = len(value.text) // 2
            low, high = (
                Lanes(self, value.dtype, half if count > 1 else half[0], value.form)
                for half in (value.text[:count], value.text[count:])
            )
            return low, high
        width = self.lanes // 2
        low, high = (self._piece(value, k, width) for k in (0, 1))
        return low, high

    def interleaved(self, x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
        half, (a,), (b,) = self.lanes // 2, self.texts(x), self.texts(y)
        every = (", ".join(f"{k}, {self.lanes + k}" for k in range(first, first + half)) for first in (0, half))
        low, high = (self.find(x.dtype, f"__builtin_shufflevector({a}, {b}, {places})") for places in every)
        return low, high

    # --- conditions and numbers that all lanes share ---------------------------------------------------------------

    def anywhere(self, condition: Lanes) -> Condition:
        if not self.lanes or condition.form == SHARED:
            return Condition(Lanes(self, "bool", condition.text))
        return self._any(condition, " | ".join(self.texts(condition)))

    def everywhere(self, condition: Lanes) -> Condition:
        if not self.lanes or condition.form == SHARED:
            return Condition(Lanes(self, "bool", condition.text))
        return ~self._any(condition, f"~({' & '.join(self.texts(condition))})")

    def _any(self, condition: Lanes, masks: str) -> Condition:
        """Whether a condition holds in some lane of masks that are made of its own."""
        with self.of(min(self.lanes, self.native)):
            some = f"{self.vectors.function('any', condition.form)}({masks})"
        with self.of(0):
            return Condition(self.find("bool", some))

    def extreme(self, x: Index, y: Index, *, largest: bool) -> Index:
        a, b = x.value.text, y.value.text
        with self.of(0):
            return Index(self.find("int64", f"{a} {'>' if largest else '<'} {b} ? {a} : {b}"))

    def bits_of(self, x: Index, *, trailing: bool) -> Index:
        text = x.value.text
        expression = f"__builtin_ctzll({text})" if trailing else f"{text} ? 64 - __builtin_clzll({text}) : 0"
        with self.of(0):
            return Index(self.find("int64", expression))

    def first_lanes(self, count: Index) -> Lanes:
        form, native, text = self.usual_mask, min(self.lanes, self.native), count.value.text
        parts = self.abreast
        with self.of(native):
            name = self.vectors.function("first", form)
            each = [self.find("bool", f"{name}({self._less(text, k * native)})", form) for k in range(parts)]
            return self._together(each) if parts > 1 else each[0]

    @staticmethod
    def _less(text: str, number: int) -> str:
        return f"{text} - {number}" if number else text

    def own_numbers(self) -> Lanes:
        native, parts = min(self.lanes, self.native), self.abreast
        with self.of(native):
            kind = self.vectors.type("i64")
            each = [
                self.find("int64", f"({kind}){{{', '.join(str(k * native + j) for j in range(native))}}}")
                for k in range(parts)
            ]
            return self._together(each) if parts > 1 else each[0]
