"""Loads and stores in C: the inside of a function of memory, as loops around kernels are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg.backend import is_complex, is_integer
from tg_c.abreast import CONST, Width
from tg_c.body import SHARED
from tg_c.flow import Flow, Local
from tg_native.kernels.dtypes import PARTS, WORDS, is_half
from tg_native.kernels.index import Condition, Index, Pointer
from tg_native.kernels.lanes import Lanes, Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_c.prelude import Prelude
    from tg_c.vectors import Vectors
    from tg_native.kernels.lanes import Elements
    from tg_native.kernels.routine import Block


@final
class Routine(Flow):
    """The inside of a C function of memory."""

    def __init__(self, prelude: Prelude, width: Width) -> None:
        """Begin one of so many lanes."""
        super().__init__(prelude, width)
        self.frame: list[str] = []  # what comes before the first line
        self._read: set[str] = set()  # parts of complex numbers that are as they lie in memory

    def another(self) -> Routine:
        return Routine(self.prelude, Width(self.lanes, self.native))

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
        for block in reversed(self._known):
            if key in block:
                return Pointer(self, like.dtype, block[key].text, like.form)
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
        """Values that are read here and now for each vector."""
        with self.of(min(self.lanes, self.native)):
            vectors = [self._from_memory(dtype, text) for text in self._numbered(texts)]
            return self._together(vectors) if len(vectors) > 1 else vectors[0]

    def load_row(self, pointer: Pointer, block: Block) -> Elements:
        dtype, item = pointer.dtype, self._item(pointer.dtype)
        start = self._as_items(pointer, item)
        if is_complex(dtype):
            return self._pairs(start, item, PARTS[dtype], block)

        value = self._rows(dtype, [self._row(k, start, item, block) for k in range(self.abreast)])
        if is_integer(dtype) and block.inside is None and pointer.form == CONST and self.abreast == 1:
            self._places[str(value.text)] = start
        return value

    def _inside(self, block: Block, before: int, times: int = 1) -> str:
        """Number of elements of a block that are left behind some of them.

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
        text = f"{name().function(head, item)}({place}{more}, ({start})[0], {left})"
        if block.whole is None:
            return text
        return f"({block.whole.value.text} ? {name().function(word, item)}({place}{more}) : {text})"

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
            for target, first in ((reals, 0), (imags, 1)):
                places = ", ".join(str(2 * n + first) for n in range(native))
                target.append(f"__builtin_shufflevector({a}, {b}, {places})")
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
        native, rows = min(self.lanes, self.native), list[str]()
        reals, imags = self.texts(value.real), self.texts(value.imag)
        with self.of(native):
            kind = self.vectors.type(item)
            for real, imag in zip(reals, imags, strict=True):
                a, b = (self.local(f"{CONST}{kind}", text) for text in (real, imag))
                for j in (0, 1):
                    turns = ", ".join(str(n // 2 + native * (n % 2)) for n in range(j * native, (j + 1) * native))
                    rows.append(f"__builtin_shufflevector({a}, {b}, {turns})")
        return rows

    def text(self) -> list[str]:
        """The statements, indented."""
        return [*("  " + line for line in self.frame), *self.lines]
