"""Loops in C: what is repeated, left out, loaded and stored around the kernels of `tg_c.body`.

Where there are more lanes than a vector of the widest dtype has, several vectors go abreast: the text of a value is
then a tuple, and every operation is written for each of them.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, final

from tg.backend import is_complex, is_integer
from tg_c.apart import one_after_another
from tg_c.body import SHARED, Body
from tg_c.interrupts import INTERRUPTED, LEFT
from tg_c.outlining import SHARES, kinds_in, outlined
from tg_c.text import integer
from tg_native.kernels import routine
from tg_native.kernels.dtypes import PARTS, WORDS, is_half, item_size
from tg_native.kernels.index import Condition, Index, Pointer, index
from tg_native.kernels.lanes import Lanes, Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tg_c.prelude import Prelude
    from tg_c.vectors import Vectors
    from tg_native.kernels.lanes import Elements
    from tg_native.kernels.routine import Block, Operand

CONST: Final = "const "
T = TypeVar("T")


class Width(int):
    """A number of lanes, and how many of them a vector of the widest dtype has."""

    native: int

    def __new__(cls, lanes: int, native: int) -> Self:
        found = super().__new__(cls, lanes)
        found.native = max(native, 1)
        return found


@final
class Local(routine.Variable):
    """Locals of the function: one for each vector that goes abreast, or an array of them."""

    def __init__(self, body: Routine, dtype: str, names: tuple[str, ...], lanes: int) -> None:
        self.body, self.dtype, self.names, self.lanes = body, dtype, names, lanes
        self._form = body.usual_mask if dtype == "bool" and lanes else ""

    def _places(self, at: Index | None) -> list[str]:
        return [name if at is None else f"{name}[{at.value.text}]" for name in self.names]

    def get(self, at: Index | None = None) -> Lanes:
        with self.body.of(self.lanes):
            kind = self.body.vector_type(self.dtype, self._form)
            texts = tuple(self.body.local(f"{CONST}{kind}", place) for place in self._places(at))
        return Lanes(self.body, self.dtype, texts if len(texts) > 1 else texts[0], self._form)

    def set(self, value: Lanes, at: Index | None = None) -> None:
        with self.body.of(self.lanes):
            for place, text in zip(self._places(at), self.body.texts(value, self._form), strict=True):
                self.body.line(f"{place} = {text};")


@final
class Routine(Body, routine.Routine):
    """The inside of a C function of memory."""

    letter = "t"  # parameters that are values have names with a v
    asks_whole = True
    shares_from = 2  # of one sum, gcc takes 8 % longer with a function than without

    def __init__(self, prelude: Prelude, width: Width) -> None:
        """Begin one of so many lanes."""
        super().__init__(prelude, width)
        self.native, self.size = width.native, self._size(width.native)
        self.frame: list[str] = []  # what comes before the first line
        self._read: set[str] = set()  # parts of complex numbers that are as they lie in memory
        self._places: dict[str, str] = {}  # of whole vectors of integers: from where they were loaded
        self._vector = -1  # the vector that is written for
        self._vector_of: dict[int, int] = {}  # by line
        self.kinds = dict.fromkeys(SHARES, f"{CONST}i64 ")  # the types of parameters and locals, by name
        self._listed = 0  # how many lines have theirs among these

    def another(self) -> Routine:
        return Routine(self.prelude, Width(self.lanes, self.native))

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
            found = write(*map(self.regrouped, operands))
        return [self.regrouped(x) for x in found]

    def _part(self, x: Lanes, k: int) -> Lanes:
        return Lanes(self, x.dtype, x.text[k], x.form) if isinstance(x.text, tuple) else x

    def _together(self, found: Sequence[Lanes]) -> Lanes:
        first = found[0]
        if first.form == SHARED:
            return first
        return Lanes(self, first.dtype, tuple(x.text for x in found), first.form)

    def each(self, write: Callable[..., Lanes], *operands: Lanes) -> Lanes:
        """What is written for one vector, for each that goes abreast by itself."""
        count = self.abreast
        if count == 1:
            return write(*operands)
        with self.of(self.native):
            return self._together([write(*(self._part(x, k) for x in operands)) for k in self._numbered(range(count))])

    def _numbered(self, given: Iterable[T]) -> Iterator[T]:
        """What there is for each vector; while it is at hand, lines are that vector's."""
        for self._vector, one in enumerate(given):
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

    def write(self, word: str, operands: Sequence[Lanes], dtype: str, given: Any) -> Lanes:
        plain = super().write
        if self.abreast == 1:
            return plain(word, operands, dtype, given)
        return self.each(lambda *each: plain(word, each, dtype, given), *operands)

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
        """What all lanes share as one element: a half has another form."""
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
        found = self.subroutine(name, write, operands)
        assert found is not None
        return found

    def vector_library(self, name: str, operands: Sequence[Lanes]) -> Lanes | None:
        plain = super().vector_library
        if self.abreast == 1:
            return plain(name, operands)
        count = self.abreast
        with self.of(self.native):
            found = [plain(name, [self._part(x, k) for x in operands]) for k in range(count)]
            known = [x for x in found if x is not None]
            return self._together(known) if known else None

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
                Lanes(self, value.dtype, found if count > 1 else found[0], value.form)
                for found in (value.text[:count], value.text[count:])
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

    def replaced(self, condition: Condition, value: Lanes, write: Callable[[], Lanes]) -> Lanes:
        found = self._changing(value)
        with self._block(f"if (__builtin_expect({condition.value.text}, 0)) {{"):
            self._change([found], [write()])
        return found

    def extreme(self, x: Index, y: Index, *, largest: bool) -> Index:
        a, b = x.value.text, y.value.text
        with self.of(0):
            return Index(self.find("int64", f"{a} {'>' if largest else '<'} {b} ? {a} : {b}"))

    def bits_of(self, x: Index, *, trailing: bool) -> Index:
        text = x.value.text
        found = f"__builtin_ctzll({text})" if trailing else f"{text} ? 64 - __builtin_clzll({text}) : 0"
        with self.of(0):
            return Index(self.find("int64", found))

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

    # --- branches and loops ----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def loop(self, start: Index | int, end: Index | int, step: int = 1) -> Iterator[Index]:
        first, last = (index(self, n).value.text for n in (start, end))
        name = f"k{self._count}"
        self._count += 1
        more = f"{name}++" if step == 1 else f"{name} += {integer(step)}"
        with self._block(f"for (i64 {name} = {first}; {name} < {last}; {more}) {{"):
            yield Index(Lanes(self, "int64", name))

    @contextlib.contextmanager
    def when(self, condition: Condition) -> Iterator[None]:
        with self._block(f"if ({condition.value.text}) {{"):
            yield

    def fold(
        self,
        start: Index | int,
        end: Index | int,
        step: int,
        first: Sequence[Lanes],
        write: Callable[..., Sequence[Lanes]],
    ) -> list[Lanes]:
        found = [self._changing(x) for x in first]
        with self.loop(start, end, step) as at:
            self._change(found, write(at, *found))
        return found

    def while_loop(
        self, first: Sequence[Lanes], holds: Callable[..., Condition], write: Callable[..., Sequence[Lanes]]
    ) -> list[Lanes]:
        found = [self._changing(x) for x in first]
        with self._block("for (;;) {"):  # the condition is several statements
            self.line(f"if (!{holds(*found).value.text}) break;")
            self._change(found, write(*found))
        return found

    def _changing(self, x: Lanes) -> Lanes:
        """A local that begins with a value, and may become another."""
        form = (self._width(x) if self.lanes else "") if x.dtype == "bool" else ""
        texts = self.texts(x, form)
        kind = self.vector_type(x.dtype, form, len(texts))
        names = tuple(self.local(kind, text) for text in texts)
        return Lanes(self, x.dtype, names if len(names) > 1 else names[0], form)

    def _change(self, targets: Sequence[Lanes], values: Sequence[Lanes]) -> None:
        """Give locals new values, which may be the old ones of others."""
        pairs = [
            (name, text, target)
            for target, value in zip(targets, values, strict=True)
            for name, text in self._pairs_of(target, value)
        ]
        changed = {name for name, _, _ in pairs}
        kept = []
        for name, text, target in pairs:
            if text in changed and text != name:
                kind = self.vector_type(target.dtype, target.form, len(self._names(target)))
                text = self.local(f"{CONST}{kind}", text)  # noqa: PLW2901
            kept.append((name, text))
        for name, text in kept:
            if name != text:
                self.line(f"{name} = {text};")

    def _pairs_of(self, target: Lanes, value: Lanes) -> list[tuple[str, str]]:
        """The locals of a target, each with what it becomes."""
        names = self._names(target)
        return list(zip(names, self.texts(value, target.form, len(names)), strict=True))

    @staticmethod
    def _names(x: Lanes) -> tuple[str, ...]:
        return x.text if isinstance(x.text, tuple) else (x.text,)

    def either(
        self, condition: Condition, then: Callable[[], Sequence[Lanes]], otherwise: Callable[[], Sequence[Lanes]]
    ) -> list[Lanes]:
        place, indent = len(self.lines), "  " * len(self._known)
        declared: list[str] = []
        with self._block(f"if ({condition.value.text}) {{"):
            values = then()
            found = [self._declared(x, declared) for x in values]
            self._change(found, values)
        with self._block("else {"):
            self._change(found, otherwise())
        self.lines[place:place] = [indent + text for text in declared]
        return found

    def _declared(self, x: Lanes, declared: list[str]) -> Lanes:
        """A local for values of a type, without one."""
        form = (self._width(x) if self.lanes else "") if x.dtype == "bool" else ""
        count = self.abreast if x.form == SHARED else len(self._names(x))
        kind, names = self.vector_type(x.dtype, form, count), self._new_names(count)
        declared += [f"{kind} {name};" for name in names]
        return Lanes(self, x.dtype, names if len(names) > 1 else names[0], form)

    def interrupted(self, left: Pointer, asked: Pointer) -> Condition:
        self.prelude.need("interrupted", INTERRUPTED)
        self.prelude.need("left", LEFT)
        with self.of(0):
            return Condition(Lanes(self, "bool", self.local(f"{CONST}b8", f"tg_left({left.text}, {asked.text})")))

    # --- functions -------------------------------------------------------------------------------------------------

    def subroutine(self, name: str, write: Callable[..., Lanes | None], operands: Sequence[Operand]) -> Lanes | None:
        if not self.lanes:
            return write(*operands)
        symbol = f"tg_{name}_{self._kept(operands)}_{self.abreast}"
        dtype = self.prelude.results.get(symbol)
        if dtype is None:
            dtype = self.prelude.results[symbol] = self._written_apart(symbol, write, operands)
        given = [text for x in operands for text in self._given(x)]
        if not dtype:
            self.line(f"{symbol}({', '.join(given)});")
            return None
        kind, names = self.vector_type(dtype), self._new_names(self.abreast)
        for made in names:
            self.line(f"{kind} {made};")
        self.line(f"{symbol}({', '.join((*given, *(f'&{made}' for made in names)))});")
        return Lanes(self, dtype, names if len(names) > 1 else names[0])

    def _written_apart(
        self,
        symbol: str,
        write: Callable[..., Lanes | None],
        operands: Sequence[Operand],
    ) -> str:
        """The dtype of what a function gives, which the prelude gets; "" if that is nothing."""
        body, parameters = Routine(self.prelude, Width(self.lanes, self.native)), list[str]()
        result = write(*(self._received(body, f"p{k}", x, parameters) for k, x in enumerate(operands)))
        if result is not None:
            for k, text in enumerate(body.texts(result)):
                body.line(f"*y{k} = {text};")
                parameters.append(f"{body.vector_type(result.dtype)} *y{k}")
        head = f"({', '.join(parameters)}) {{"
        self.prelude.add_function(symbol, "\n".join((head, *body.text(), "}")))
        return result.dtype if result is not None else ""

    @contextlib.contextmanager
    def outlined(self, name: str) -> Iterator[None]:
        first = len(self.lines)
        self.kinds.update(kinds_in(self.lines[self._listed :]))
        self._known.append({})
        yield
        self._known.pop()
        self._listed = len(self.lines)
        found = outlined(self.lines[first:], self.kinds) if self._listed > first else None
        if found is None:
            self._listed = first
            return
        del self.lines[first:]
        self._listed = first
        symbol = self.prelude.outlined.get(found.text)
        if symbol is None:
            symbol = self.prelude.outlined[found.text] = f"tg_{name}_{len(self.prelude.outlined)}"
            self.prelude.add_function(symbol, found.text)
        self.line(f"{symbol}({', '.join(found.arguments)});")

    def _kept(self, operands: Sequence[Operand]) -> str:
        """The vectors in memory that a function is given, or of the first value where it is given none; else lanes."""
        kept = next((x.dtype for x in operands if isinstance(x, Local)), None)
        kept = kept or next((x.dtype for x in operands if isinstance(x, Lanes)), None)
        return self.vector_type(kept) if kept else f"x{self.lanes}"

    def _given(self, x: Operand) -> Sequence[str]:
        """What a function is given for an operand."""
        if isinstance(x, Index):
            return [str(x.value.text)]
        if isinstance(x, Pointer):
            return [str(x.text)]
        if isinstance(x, Local):
            return x.names
        assert isinstance(x, Lanes)
        return self.texts(x)

    def _received(self, body: Routine, name: str, x: Operand, parameters: list[str]) -> Local | Index | Lanes | Pointer:
        """An operand as a function has it; adds its parameters."""
        if isinstance(x, Index):
            parameters.append(f"i64 {name}")
            return Index(Lanes(body, "int64", name, SHARED))
        if isinstance(x, Pointer):
            parameters.append(f"{x.form}{WORDS[x.dtype]} *{name}")
            return Pointer(body, x.dtype, name, x.form)
        assert isinstance(x, Local | Lanes)
        names = tuple(f"{name}{k}" for k in range(self.abreast))
        star = "*" if isinstance(x, Local) else ""
        parameters.extend(f"{self.vector_type(x.dtype)} {star}{one}" for one in names)
        if isinstance(x, Local):
            return Local(body, x.dtype, names, x.lanes)
        return Lanes(body, x.dtype, names if len(names) > 1 else names[0])

    # --- memory ----------------------------------------------------------------------------------------------------

    def variable(self, dtype: str, count: int = 1) -> Local:
        form = self.usual_mask if dtype == "bool" and self.lanes else ""
        kind, names = self.vector_type(dtype, form), self._new_names(self.abreast)
        self.frame += [f"{kind} {name}{f'[{count}]' if count > 1 else ''};" for name in names]
        return Local(self, dtype, names, self.lanes)

    def cell(self, dtype: str) -> Pointer:
        (name,) = self._new_names()
        self.frame.append(f"{WORDS[dtype]} {name}[1] = {{0}};")
        return Pointer(self, dtype, name)

    def shifted(self, pointer: Pointer, offset: Index) -> Pointer:
        return self._pointer(pointer, f"{pointer.text} + {offset.value.text}")

    def nearer(self, condition: Condition, x: Pointer, y: Pointer) -> Pointer:
        return self._pointer(x, f"{condition.value.text} ? {x.text} : {y.text}")

    def held(self, pointer: Pointer) -> Pointer:
        # Of x + a + b, x + a known outside a loop, gcc 12 makes x + (a + b): a sum for each place, and more registers.
        name = self.local(f"{pointer.form}{WORDS[pointer.dtype]} *", pointer.text)
        self.line(f'__asm__("" : "+r"({name}));')
        return Pointer(self, pointer.dtype, name, pointer.form)

    def parts_at(self, pointer: Pointer) -> Pointer:
        part = PARTS[pointer.dtype]
        return Pointer(self, part, self._as_items(pointer, WORDS[part]), pointer.form)

    def _pointer(self, like: Pointer, expression: str) -> Pointer:
        key = f"* {expression}"
        for known in reversed(self._known):
            if key in known:
                return Pointer(self, like.dtype, known[key].text, like.form)
        name = self.local(f"{like.form}{WORDS[like.dtype]} *const", expression)
        self._known[-1][key] = Lanes(self, like.dtype, name)
        return Pointer(self, like.dtype, name, like.form)

    def _item(self, dtype: str) -> str:
        """The C type of an element in memory, for vectors, of a complex one's parts: a bool's can be negated."""
        return "i8" if dtype == "bool" else self.item(PARTS.get(dtype, dtype))

    def _as_items(self, pointer: Pointer, item: str) -> str:
        """A pointer to elements as vectors know them."""
        text = str(pointer.text)
        return text if item == WORDS[pointer.dtype] else f"(({pointer.form}{item} *){text})"

    def _from_memory(self, dtype: str, expression: str) -> Lanes:
        if dtype != "bool":
            return self._taken(dtype, expression)
        form = self.usual_mask
        return self._taken(dtype, self.vectors.masks(expression, form), form)

    def _taken(self, dtype: str, expression: str, form: str = "") -> Lanes:
        """A value that is read here and now."""
        kind = self.vectors.type(form) if form else self.kind(dtype)
        return Lanes(self, dtype, self.local(f"{CONST}{kind}", expression), form)

    def load(self, pointer: Pointer) -> Elements:
        dtype = pointer.dtype
        if is_complex(dtype):
            part = PARTS[dtype]
            places = [f"{self._as_items(pointer, WORDS[part])}[{k}]" for k in (0, 1)]
            texts = [self.local(f"{CONST}{WORDS[part]}", place) for place in places]
            self._read.update(texts)
            return Pair(*(Lanes(self, part, text, SHARED) for text in texts))
        if self.lanes and is_half(dtype):
            return Lanes(self, dtype, self.local("const u16", f"{pointer.text}[0].bits"), SHARED)
        return Lanes(self, dtype, self.local(f"{CONST}{WORDS[dtype]}", f"{pointer.text}[0]"), SHARED)

    def _rows(self, dtype: str, texts: Sequence[str]) -> Lanes:
        """What is read here and now for each vector."""
        with self.of(min(self.lanes, self.native)):
            found = [self._from_memory(dtype, text) for text in self._numbered(texts)]
            return self._together(found) if len(found) > 1 else found[0]

    def load_row(self, pointer: Pointer, block: Block) -> Elements:
        dtype, item = pointer.dtype, self._item(pointer.dtype)
        start = self._as_items(pointer, item)
        if is_complex(dtype):
            return self._pairs(start, item, PARTS[dtype], block)

        found = self._rows(dtype, [self._row(k, start, item, block) for k in range(self.abreast)])
        if is_integer(dtype) and block.inside is None and pointer.form == CONST and self.abreast == 1:
            self._places[str(found.text)] = start
        return found

    def _inside(self, block: Block, before: int, times: int = 1) -> str:
        """How many elements of a block are left behind some of them.

        Args:
            times: so many elements are one of the block.
        """
        assert block.inside is not None
        with self.of(0):
            whole = str(block.inside.value.text)
            left = whole if times == 1 else str(self.find("int64", f"{times} * {whole}").text)
            return str(self.find("int64", f"{left} - {before}").text) if before else left

    def _row(self, k: int, start: str, item: str, block: Block, *, stride: str = "", times: int = 1) -> str:
        """Vector k from a place on; where not all of it is inside, what is outside repeats the first element."""
        native, name = min(self.lanes, self.native), self.vectors_of
        before = k * native
        place = start if not k else f"{start} + {before} * {stride}" if stride else f"{start} + {before}"
        word, more, head = ("gather", f", {stride}", "gather_head") if stride else ("load", "", "head")
        if block.inside is None:
            return f"{name().function(word, item)}({place}{more})"
        left = self._inside(block, before, times)
        found = f"{name().function(head, item)}({place}{more}, ({start})[0], {left})"
        if block.whole is None:
            return found
        return f"({block.whole.value.text} ? {name().function(word, item)}({place}{more}) : {found})"

    def vectors_of(self) -> Vectors:
        """The vectors that go abreast."""
        with self.of(min(self.lanes, self.native)):
            return self.vectors

    def _pairs(self, start: str, item: str, part: str, block: Block) -> Pair:
        """Complex numbers one after the other, as their real and imaginary parts."""
        native, count = min(self.lanes, self.native), self.abreast
        texts = [self._row(k, start, item, block, times=2) for k in range(2 * count)]
        reals, imags = list[str](), list[str]()
        with self.of(native):
            kind = self.vectors.type(item)
            rows = [self.local(f"{CONST}{kind}", text) for text in texts]
        for a, b in zip(rows[::2], rows[1::2], strict=True):
            for found, first in ((reals, 0), (imags, 1)):
                places = ", ".join(str(2 * n + first) for n in range(native))
                found.append(f"__builtin_shufflevector({a}, {b}, {places})")
        return Pair(self._rows(part, reals), self._rows(part, imags))

    def load_apart(self, pointer: Pointer, stride: Index, block: Block) -> Elements:
        dtype, item, step = pointer.dtype, self._item(pointer.dtype), str(stride.value.text)
        start = self._as_items(pointer.moved(block.first * stride), item)
        count = range(self.abreast)
        if not is_complex(dtype):
            return self._rows(dtype, [self._row(k, start, item, block, stride=step) for k in count])
        twice = f"(2 * {step})"
        starts = (f"({start} + {part})" for part in (0, 1))
        return Pair(
            *(self._rows(PARTS[dtype], [self._row(k, s, item, block, stride=twice) for k in count]) for s in starts)
        )

    def gathered(self, pointer: Pointer, offsets: Lanes, *, one_by_one: bool = False) -> Elements:
        dtype, item = pointer.dtype, self._item(pointer.dtype)
        start = self._as_items(pointer, item)
        if not is_complex(dtype):
            return self._at(dtype, item, start, offsets)
        twice = offsets + offsets
        return Pair(*(self._at(PARTS[dtype], item, f"{start} + {k}", twice) for k in (0, 1)))

    def _at(self, dtype: str, item: str, start: str, offsets: Lanes) -> Lanes:
        place, vectors = self._places.get(str(offsets.text)), self.vectors_of()
        if place is not None and not vectors.gathers(item):
            each = ", ".join(f"{start}[{place}[{k}]]" for k in range(self.lanes))
            return self._rows(dtype, [f"({vectors.type(item)}){{{each}}}"])
        at = vectors.function("at", item)
        return self._rows(dtype, [f"{at}({start}, {places})" for places in self.texts(offsets)])

    # --- stores ----------------------------------------------------------------------------------------------------

    def prefetch(self, pointer: Pointer) -> None:
        self.line(f"__builtin_prefetch({pointer.text}, 0, 3);")

    def store(self, value: Elements, pointer: Pointer) -> None:
        if isinstance(value, Pair):
            item, texts = WORDS[value.real.dtype], [*map(self._first, value)]
            if not self.lanes and not self._read.issuperset(texts):
                texts[0] = self.apart(value.real)
            for k, text in enumerate(texts):
                self.line(f"{self._as_items(pointer, item)}[{k}] = {text};")
            return
        self.line(f"{pointer.text}[0] = {self._first(value)};")

    def _first(self, x: Lanes) -> str:
        return str(self.lane(x, 0).text) if self.lanes else str(x.text)

    def store_row(self, value: Elements, pointer: Pointer, block: Block) -> None:
        item = self._item(pointer.dtype)
        start = self._as_items(pointer, item)
        if isinstance(value, Pair):
            for k, text in enumerate(self._interleaved(value, item)):
                self._put(k, start, item, text, block, 2)
        else:
            for k, text in enumerate(self._numbered(self._to_memory(value))):
                self._put(k, start, item, text, block)

    def _put(self, k: int, start: str, item: str, text: str, block: Block, times: int = 1) -> None:
        """Store vector k from a place on, as far as it is inside."""
        before, vectors = k * min(self.lanes, self.native), self.vectors_of()
        place = f"{start} + {before}" if before else start
        whole = f"{vectors.function('store', item)}({place}, {text});"
        if block.inside is None:
            self.line(whole)
            return
        left = self._inside(block, before, times)
        guard = f"if ({left} > 0) " if before else ""
        if block.whole is not None:
            guard = f"if ({block.whole.value.text}) {whole} else {guard}"
        self.line(f"{guard}{vectors.function('tail', item)}({place}, {left}, {text});")

    def _to_memory(self, value: Lanes) -> list[str]:
        if value.dtype != "bool":
            return self.texts(value)
        form = self.usual_mask if value.form == SHARED else value.form
        masks = self.texts(value, form)
        with self.of(min(self.lanes, self.native)):
            return [self.vectors.bytes(text, form) for text in masks]

    def _interleaved(self, value: Pair, item: str) -> list[str]:
        """Complex numbers as they lie in memory, from their parts."""
        native, found = min(self.lanes, self.native), list[str]()
        reals, imags = self.texts(value.real), self.texts(value.imag)
        with self.of(native):
            kind = self.vectors.type(item)
            for real, imag in zip(reals, imags, strict=True):
                a, b = (self.local(f"{CONST}{kind}", text) for text in (real, imag))
                for j in (0, 1):
                    turns = ", ".join(str(n // 2 + native * (n % 2)) for n in range(j * native, (j + 1) * native))
                    found.append(f"__builtin_shufflevector({a}, {b}, {turns})")
        return found

    def text(self) -> list[str]:
        """The statements, indented."""
        return [*("  " + line for line in self.frame), *self.lines]
