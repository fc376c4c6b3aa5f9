"""Blocks of lanes from memory and to memory."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from tg.types.dtypes import is_complex
from tg_native.kernels.dtypes import PARTS
from tg_native.kernels.lanes import Lanes, Pair, lane_of, parts
from tg_native.plan.values import is_one, is_zero
from tg_numba.assembly import memory_cell, memory_item
from tg_numba.body import body_of, constant_text
from tg_numba.processor import GATHERED, GATHERS, has_gathers

if TYPE_CHECKING:
    from tg.types.lengths import Length
    from tg_native.kernels.lanes import Elements
    from tg_numba.kernel import Block, Kernel


def _from_memory(kernel: Kernel, dtype: str, text: str) -> Lanes:
    body = kernel.body
    if dtype != "bool":
        return Lanes(body, dtype, text)
    return Lanes(body, dtype, body.made(f"icmp ne {body.type('i8')} {text}, {body.all('0', 'i8')}"))


def load(kernel: Kernel, dtype: str, pointer: str, stride: int | Length, block: Block) -> Elements:
    """The elements of a block; lanes outside get some number."""
    if is_zero(stride):
        return load_one(kernel, dtype, pointer)
    if not kernel.body.lanes:
        return load_one(kernel, dtype, kernel.moved((dtype, pointer), [block.first], [stride]))
    if is_complex(dtype):
        return _load_pairs(kernel, dtype, pointer, stride, block)
    item = memory_item(dtype)
    if is_one(stride):
        place = kernel.body.place(item, pointer, block.first)
        return _from_memory(kernel, dtype, _load_row(kernel, item, dtype, place, kernel.body.lanes, block.mask))
    return _from_memory(kernel, dtype, _load_apart(kernel, dtype, pointer, stride, block))


def load_one(kernel: Kernel, dtype: str, pointer: str) -> Elements:
    """One element in all lanes."""
    body, item = kernel.body, memory_item(dtype)
    if is_complex(dtype):
        part = PARTS[dtype]
        places = (pointer, body.place(item, pointer, "1"))
        return Pair(*(Lanes(body, part, body.repeated(item, body.made(f"load {item}, ptr {p}"))) for p in places))
    return _from_memory(kernel, dtype, body.repeated(item, body.made(f"load {item}, ptr {pointer}")))


def _load_row(kernel: Kernel, item: str, dtype: str, place: str, lanes: int, mask: str | None) -> str:
    """Elements that follow one another; those outside are not read, and are 1."""
    body, kind = kernel.body, f"<{lanes} x {item}>"
    if mask is None:
        return body.made(f"load {kind}, ptr {place}, align 1")
    short = body.short(item).replace(f"v{body.lanes}", f"v{lanes}")
    name = f"llvm.masked.load.{short}.p0"
    kernel.module.declare(name, kind, ["ptr", "i32", f"<{lanes} x i1>", kind])
    one = f"splat ({item} {constant_text(1, dtype) if item != 'i8' else '1'})"
    return body.made(f"call {kind} @{name}(ptr {place}, i32 1, <{lanes} x i1> {mask}, {kind} {one})")


def _load_apart(kernel: Kernel, dtype: str, pointer: str, stride: int | Length, block: Block, part: int = 0) -> str:
    """Elements at a distance, or a part of each, one by one; lanes outside repeat the last one inside."""
    body, item, cell = kernel.body, memory_item(dtype), memory_cell(dtype)
    step = kernel.length(stride)
    start = body.place(item, body.place(cell, pointer, body.product(block.first, step)), str(part))
    kind, found = body.type(item), "poison"
    last = body.find(f"sub i64 {block.inside}, 1") if block.mask else ""
    for lane in range(body.lanes):
        at = body.called("llvm.umin.i64", "i64", [("i64", last), ("i64", str(lane))]) if last else str(lane)
        element = body.made(f"load {item}, ptr {body.place(cell, start, body.product(at, step))}")
        found = body.made(f"insertelement {kind} {found}, {item} {element}, i64 {lane}")
    return found


def _gather(dtype: str, pointer: str, offsets: Lanes) -> Lanes:
    """The elements at `GATHERED` offsets, where there are such instructions."""
    body, (item, name) = body_of(offsets), GATHERS[dtype]
    kind, every = f"<{GATHERED} x {item}>", f"<{GATHERED} x i1>"
    symbol = f"llvm.x86.avx512.mask.gather.{name}.512"
    body.module.declare(symbol, kind, [kind, "ptr", offsets.kind, every, "i32"], "nounwind memory(read)")
    given = f"{kind} zeroinitializer, ptr {pointer}, {offsets.kind} {offsets.text}, {every} splat (i1 true)"
    size = 8 if item in ("i64", "double") else 4
    return Lanes(body, dtype, body.made(f"call {kind} @{symbol}({given}, i32 {size})"))


def gathered(kernel: Kernel, dtype: str, pointer: str, offsets: Lanes, *, one_by_one: bool = False) -> Elements:
    """The elements at some offsets: by an instruction, or one by one."""
    if has_gathers(dtype) and not one_by_one:
        return kernel.body.in_vectors(functools.partial(_gather, dtype, pointer), GATHERED, offsets)
    body, item = kernel.body, memory_item(dtype)
    kind, count = body.type(item), 2 if is_complex(dtype) else 1
    found = ["poison"] * count
    for lane in range(body.lanes):
        place = body.place(memory_cell(dtype), pointer, lane_of(offsets, lane).text)
        for k in range(count):
            element = body.made(f"load {item}, ptr {body.place(item, place, str(k))}")
            found[k] = body.made(f"insertelement {kind} {found[k]}, {item} {element}, i64 {lane}")
    if count == 2:
        return Pair(*(Lanes(body, PARTS[dtype], text) for text in found))
    return _from_memory(kernel, dtype, found[0])


def _load_pairs(kernel: Kernel, dtype: str, pointer: str, stride: int | Length, block: Block) -> Pair:
    body, item, part = kernel.body, memory_item(dtype), PARTS[dtype]
    if not is_one(stride):
        found = (_load_apart(kernel, dtype, pointer, stride, block, k) for k in (0, 1))
        return Pair(*(Lanes(body, part, text) for text in found))
    lanes = 2 * body.lanes
    place = body.place(memory_cell(dtype), pointer, block.first)
    row = _load_row(kernel, item, part, place, lanes, _doubled(kernel, block))
    kind = f"<{lanes} x {item}>"
    every = [", ".join(f"i32 {k}" for k in range(first, lanes, 2)) for first in (0, 1)]
    texts = (body.made(f"shufflevector {kind} {row}, {kind} poison, <{body.lanes} x i32> <{k}>") for k in every)
    return Pair(*(Lanes(body, part, text) for text in texts))


def _doubled(kernel: Kernel, block: Block) -> str | None:
    """The mask for numbers of two parts."""
    if block.mask is None:
        return None
    lanes = kernel.body.lanes
    kind, twice = f"<{lanes} x i1>", ", ".join(f"i32 {k // 2}" for k in range(2 * lanes))
    return kernel.body.find(f"shufflevector {kind} {block.mask}, {kind} poison, <{2 * lanes} x i32> <{twice}>")


def store(kernel: Kernel, value: Elements, pointer: str, stride: int | Length, block: Block) -> None:
    """Write the elements of a block: where they follow one another, or, without lanes, at any distance."""
    body, item = kernel.body, memory_item(value.dtype)
    if not body.lanes:
        store_one(kernel, value, kernel.moved((value.dtype, pointer), [block.first], [stride]))
        return
    assert is_one(stride)
    place = body.place(memory_cell(value.dtype), pointer, block.first)
    if isinstance(value, Pair):
        lanes = 2 * body.lanes
        real, imag = value
        turns = ", ".join(f"i32 {k // 2 + body.lanes * (k % 2)}" for k in range(lanes))
        kind = body.type(item)
        row = body.made(f"shufflevector {kind} {real.text}, {kind} {imag.text}, <{lanes} x i32> <{turns}>")
        _store_row(kernel, item, row, place, lanes, _doubled(kernel, block))
    else:
        _store_row(kernel, item, _to_memory(value), place, body.lanes, block.mask)


def _to_memory(value: Lanes) -> str:
    """Elements as they are in memory."""
    body = body_of(value)
    return body.made(f"zext {value.kind} {value.text} to {body.type('i8')}") if value.dtype == "bool" else value.text


def store_one(kernel: Kernel, value: Elements, place: str) -> None:
    """Write the first lane."""
    body, item = kernel.body, memory_item(value.dtype)
    for k, part in enumerate(parts([value])):
        text = _to_memory(part)
        if body.lanes:
            text = body.made(f"extractelement {body.type(item)} {text}, i64 0")
        body.do(f"store {item} {text}, ptr {body.place(item, place, str(k))}")


def _store_row(kernel: Kernel, item: str, text: str, place: str, lanes: int, mask: str | None) -> None:
    body, kind = kernel.body, f"<{lanes} x {item}>"
    if mask is None:
        body.do(f"store {kind} {text}, ptr {place}, align 1")
        return
    short = body.short(item).replace(f"v{body.lanes}", f"v{lanes}")
    name = f"llvm.masked.store.{short}.p0"
    kernel.module.declare(name, "void", [kind, "ptr", "i32", f"<{lanes} x i1>"])
    body.do(f"call void @{name}({kind} {text}, ptr {place}, i32 1, <{lanes} x i1> {mask})")
