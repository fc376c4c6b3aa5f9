"""Elements from memory and to memory, in LLVM's language."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from tg.backend import is_complex
from tg_native.kernels.dtypes import PARTS
from tg_native.kernels.index import Pointer
from tg_native.kernels.lanes import Lanes, Pair, lane_of, parts
from tg_numba.assembly import constant_text, memory_cell, memory_item
from tg_numba.flow import Flow
from tg_numba.processor import GATHERED, GATHERS, has_gathers

if TYPE_CHECKING:
    from tg_native.kernels.index import Condition, Index
    from tg_native.kernels.lanes import Elements
    from tg_native.kernels.routine import Block


class Moves(Flow):
    """Loads and stores."""

    def cell(self, dtype: str) -> Pointer:
        place = self.frame(memory_cell(dtype))
        self.do(f"store {memory_cell(dtype)} zeroinitializer, ptr {place}")
        return Pointer(self, dtype, place)

    def shifted(self, pointer: Pointer, offset: Index) -> Pointer:
        return self._at(pointer, self.place(memory_cell(pointer.dtype), pointer.text, str(offset.value.text)))

    def nearer(self, condition: Condition, x: Pointer, y: Pointer) -> Pointer:
        return self._at(x, self.find(f"select i1 {condition.value.text}, ptr {x.text}, ptr {y.text}"))

    def held(self, pointer: Pointer) -> Pointer:
        return pointer

    def parts_at(self, pointer: Pointer) -> Pointer:
        return Pointer(self, PARTS[pointer.dtype], pointer.text)

    def _at(self, pointer: Pointer, text: str) -> Pointer:
        return Pointer(self, pointer.dtype, text)

    # --- loads -----------------------------------------------------------------------------------------------------

    def _from_memory(self, dtype: str, text: str) -> Lanes:
        if dtype != "bool":
            return Lanes(self, dtype, text)
        return Lanes(self, dtype, self.made(f"icmp ne {self.type('i8')} {text}, {self.all('0', 'i8')}"))

    def load(self, pointer: Pointer) -> Elements:
        dtype, item = pointer.dtype, memory_item(pointer.dtype)
        if is_complex(dtype):
            places = (pointer.text, self.place(item, pointer.text, "1"))
            return Pair(
                *(Lanes(self, PARTS[dtype], self.repeated(item, self.made(f"load {item}, ptr {p}"))) for p in places)
            )
        return self._from_memory(dtype, self.repeated(item, self.made(f"load {item}, ptr {pointer.text}")))

    def load_row(self, pointer: Pointer, block: Block) -> Elements:
        dtype, item, mask = pointer.dtype, memory_item(pointer.dtype), _mask(block)
        if not is_complex(dtype):
            return self._from_memory(dtype, self._row(item, dtype, pointer.text, self.lanes, mask))
        lanes = 2 * self.lanes
        row = self._row(item, PARTS[dtype], pointer.text, lanes, self._doubled(mask))
        kind = f"<{lanes} x {item}>"
        every = [", ".join(f"i32 {k}" for k in range(first, lanes, 2)) for first in (0, 1)]
        texts = (self.made(f"shufflevector {kind} {row}, {kind} poison, <{self.lanes} x i32> <{k}>") for k in every)
        return Pair(*(Lanes(self, PARTS[dtype], text) for text in texts))

    def _row(self, item: str, dtype: str, place: str, lanes: int, mask: str | None) -> str:
        """Elements that follow one another; those outside are not read, and are 1."""
        kind = f"<{lanes} x {item}>"
        if mask is None:
            return self.made(f"load {kind}, ptr {place}, align 1")
        short = self.short(item).replace(f"v{self.lanes}", f"v{lanes}")
        name = f"llvm.masked.load.{short}.p0"
        self.module.declare(name, kind, ["ptr", "i32", f"<{lanes} x i1>", kind])
        one = f"splat ({item} {constant_text(1, dtype) if item != 'i8' else '1'})"
        return self.made(f"call {kind} @{name}(ptr {place}, i32 1, <{lanes} x i1> {mask}, {kind} {one})")

    def load_apart(self, pointer: Pointer, stride: Index, block: Block) -> Elements:
        dtype = pointer.dtype
        if not is_complex(dtype):
            return self._from_memory(dtype, self._apart(pointer, stride, block, 0))
        return Pair(*(Lanes(self, PARTS[dtype], self._apart(pointer, stride, block, k)) for k in (0, 1)))

    def _apart(self, pointer: Pointer, stride: Index, block: Block, part: int) -> str:
        """Elements at a distance, or a part of each, one by one; lanes outside repeat the last one inside."""
        item, cell, step = memory_item(pointer.dtype), memory_cell(pointer.dtype), str(stride.value.text)
        start = self.place(cell, pointer.text, self.product(str(block.first.value.text), step))
        start = self.place(item, start, str(part))
        kind, vector = self.type(item), "poison"
        last = self.find(f"sub i64 {block.inside.value.text}, 1") if block.inside is not None else ""
        for lane in range(self.lanes):
            at = self.called("llvm.smin.i64", "i64", [("i64", last), ("i64", str(lane))]) if last else str(lane)
            element = self.made(f"load {item}, ptr {self.place(cell, start, self.product(at, step))}")
            vector = self.made(f"insertelement {kind} {vector}, {item} {element}, i64 {lane}")
        return vector

    def _by_instruction(self, pointer: Pointer, offsets: Lanes) -> Lanes:
        """The elements at `GATHERED` offsets, where there are such instructions."""
        item, name = GATHERS[pointer.dtype]
        kind, every = f"<{GATHERED} x {item}>", f"<{GATHERED} x i1>"
        symbol = f"llvm.x86.avx512.mask.gather.{name}.512"
        self.module.declare(symbol, kind, [kind, "ptr", offsets.kind, every, "i32"], "nounwind memory(read)")
        operands = f"{kind} zeroinitializer, ptr {pointer.text}, {offsets.kind} {offsets.text}, {every} splat (i1 true)"
        size = 8 if item in ("i64", "double") else 4
        return Lanes(self, pointer.dtype, self.made(f"call {kind} @{symbol}({operands}, i32 {size})"))

    def gathered(self, pointer: Pointer, offsets: Lanes, *, one_by_one: bool = False) -> Elements:
        dtype, item = pointer.dtype, memory_item(pointer.dtype)
        if has_gathers(dtype) and not one_by_one:
            return self.in_vectors(functools.partial(self._by_instruction, pointer), GATHERED, offsets)
        kind, count = self.type(item), 2 if is_complex(dtype) else 1
        vectors = ["poison"] * count
        for lane in range(self.lanes):
            place = self.place(memory_cell(dtype), pointer.text, lane_of(offsets, lane).text)
            for k in range(count):
                element = self.made(f"load {item}, ptr {self.place(item, place, str(k))}")
                vectors[k] = self.made(f"insertelement {kind} {vectors[k]}, {item} {element}, i64 {lane}")
        if count == 2:
            return Pair(*(Lanes(self, PARTS[dtype], text) for text in vectors))
        return self._from_memory(dtype, vectors[0])

    def _doubled(self, mask: str | None) -> str | None:
        """The mask for numbers of two parts."""
        if mask is None:
            return None
        kind, twice = f"<{self.lanes} x i1>", ", ".join(f"i32 {k // 2}" for k in range(2 * self.lanes))
        return self.find(f"shufflevector {kind} {mask}, {kind} poison, <{2 * self.lanes} x i32> <{twice}>")

    # --- stores ----------------------------------------------------------------------------------------------------

    def prefetch(self, pointer: Pointer) -> None:
        self.module.declare("llvm.prefetch.p0", "void", ("ptr", "i32", "i32", "i32"))
        self.do(f"call void @llvm.prefetch.p0(ptr {pointer.text}, i32 0, i32 3, i32 1)")

    def store(self, value: Elements, pointer: Pointer) -> None:
        item = memory_item(value.dtype)
        for k, part in enumerate(parts([value])):
            text = self._to_memory(part)
            if self.lanes:
                text = self.made(f"extractelement {self.type(item)} {text}, i64 0")
            self.do(f"store {item} {text}, ptr {self.place(item, pointer.text, str(k))}")

    def store_row(self, value: Elements, pointer: Pointer, block: Block) -> None:
        item, mask = memory_item(value.dtype), _mask(block)
        if isinstance(value, Lanes):
            self._store_row(item, self._to_memory(value), pointer.text, self.lanes, mask)
            return
        lanes = 2 * self.lanes
        turns = ", ".join(f"i32 {k // 2 + self.lanes * (k % 2)}" for k in range(lanes))
        kind, (real, imag) = self.type(item), value
        row = self.made(f"shufflevector {kind} {real.text}, {kind} {imag.text}, <{lanes} x i32> <{turns}>")
        self._store_row(item, row, pointer.text, lanes, self._doubled(mask))

    def _to_memory(self, value: Lanes) -> str:
        """Elements as they are in memory."""
        if value.dtype != "bool":
            return str(value.text)
        return self.made(f"zext {value.kind} {value.text} to {self.type('i8')}")

    def _store_row(self, item: str, text: str, place: str, lanes: int, mask: str | None) -> None:
        kind = f"<{lanes} x {item}>"
        if mask is None:
            self.do(f"store {kind} {text}, ptr {place}, align 1")
            return
        short = self.short(item).replace(f"v{self.lanes}", f"v{lanes}")
        name = f"llvm.masked.store.{short}.p0"
        self.module.declare(name, "void", [kind, "ptr", "i32", f"<{lanes} x i1>"])
        self.do(f"call void @{name}({kind} {text}, ptr {place}, i32 1, <{lanes} x i1> {mask})")


def _mask(block: Block) -> str | None:
    mask = block.mask
    return None if mask is None else str(mask.text)
