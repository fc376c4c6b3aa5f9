"""The memory of one call: pieces of an arena that is released when the function returns."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final, final

from tg_native.plan.memory import ALIGNMENT, Memory
from tg_numba import results

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import Length
    from tg_native.plan.memory import Buffer
    from tg_numba.body import Body

TIMES: Final = """
define internal i64 @tg.times(i64 %size, i64 %length) {
  %either = or i64 %size, %length
  %negative = icmp slt i64 %either, 0
  %both = call {i64, i1} @llvm.smul.with.overflow.i64(i64 %size, i64 %length)
  %product = extractvalue {i64, i1} %both, 0
  %overflows = extractvalue {i64, i1} %both, 1
  %large = icmp sgt i64 %product, 4611686018427387904
  %uncounted = or i1 %overflows, %large
  %none = or i1 %negative, %uncounted
  %found = select i1 %none, i64 -1, i64 %product
  ret i64 %found
}
"""
"""The product of a size and a length; -1 where it is too large to count."""

TAKE: Final = f"""
define internal ptr @tg.take(ptr %arena, i64 %size) {{
  %negative = icmp slt i64 %size, 0
  br i1 %negative, label %none, label %some
some:
  %start = call ptr @{results.TAKE}(ptr null, i64 %size)
  %failed = icmp eq ptr %start, null
  br i1 %failed, label %none, label %taken
taken:
  %before = getelementptr ptr, ptr %start, i64 -2
  %after = getelementptr ptr, ptr %start, i64 -1
  %first = load ptr, ptr %arena
  store ptr null, ptr %before
  store ptr %first, ptr %after
  %alone = icmp eq ptr %first, null
  br i1 %alone, label %done, label %others
others:
  %back = getelementptr ptr, ptr %first, i64 -2
  store ptr %start, ptr %back
  br label %done
done:
  store ptr %start, ptr %arena
  ret ptr %start
none:
  ret ptr null
}}
"""
"""Memory that is released with the arena at the latest; null if there is none.

The memory of an arena is a chain: before the start of each piece, which is a block of `results`, stand the one before
and the one after.
"""

DROP: Final = f"""
define internal void @tg.drop(ptr %arena, ptr %start) {{
  %before_at = getelementptr ptr, ptr %start, i64 -2
  %after_at = getelementptr ptr, ptr %start, i64 -1
  %before = load ptr, ptr %before_at
  %after = load ptr, ptr %after_at
  %is_first = icmp eq ptr %before, null
  %forward = getelementptr ptr, ptr %before, i64 -1
  %link = select i1 %is_first, ptr %arena, ptr %forward
  store ptr %after, ptr %link
  %is_last = icmp eq ptr %after, null
  br i1 %is_last, label %done, label %others
others:
  %back = getelementptr ptr, ptr %after, i64 -2
  store ptr %before, ptr %back
  br label %done
done:
  call void @{results.GIVE_BACK}(ptr null, ptr %start, i64 0)
  ret void
}}
"""
"""Give a piece of memory back."""

LEAVE: Final = f"""
define internal void @tg.leave(ptr %arena) {{
entry:
  %first = load ptr, ptr %arena
  br label %head
head:
  %start = phi ptr [%first, %entry], [%after, %piece]
  %done = icmp eq ptr %start, null
  br i1 %done, label %end, label %piece
piece:
  %after_at = getelementptr ptr, ptr %start, i64 -1
  %after = load ptr, ptr %after_at
  call void @{results.GIVE_BACK}(ptr null, ptr %start, i64 0)
  br label %head
end:
  ret void
}}
"""
"""Release all memory of an arena."""

TAKE_UNLESS: Final = """
define internal ptr @tg.take_unless(ptr %there, ptr %arena, i64 %size) {
  %absent = icmp eq ptr %there, null
  br i1 %absent, label %take, label %done
take:
  %taken = call ptr @tg.take(ptr %arena, i64 %size)
  ret ptr %taken
done:
  ret ptr %there
}
"""
"""Memory that is there, else taken."""


@final
class ArenaMemory(Memory):
    """Hands out the buffers of one generated function, each named as the pointer to it."""

    def __init__(self, body: Body, length_operand: Callable[[int | Length], str], need: Callable[[str], None]) -> None:
        """Write into a body."""
        super().__init__(body.lines, length_operand, need)
        self._body = body
        self.needs_arena = False  # also where an inner graph takes memory for its caller

    def times(self, size: str, length: str) -> str:
        module = self._body.module
        module.declare("llvm.smul.with.overflow.i64", "{i64, i1}", ("i64", "i64"))
        module.define("tg.times", TIMES)
        return self._body.find(f"call i64 @tg.times(i64 {size}, i64 {length})")

    def frame(self, name: str, size: int) -> str:
        return f"  %{name} = alloca [{size} x i8], align {ALIGNMENT}"

    def taken(self, name: str, size: str) -> None:
        self.needs_arena = True
        self.take_from("%arena", size, f"%{name}")

    def dropped(self, name: str) -> str:
        self._body.module.define("tg.drop", DROP)
        return f"  call void @tg.drop(ptr %arena, ptr %{name})"

    def take_from(self, arena: str, size: str, name: str) -> None:
        """Take memory of an arena, or leave the function."""
        self._define()
        self._body.do(f"{name} = call ptr @tg.take(ptr {arena}, i64 {size})")
        self.need(self._body.made(f"icmp ne ptr {name}, null"))

    def there(self, buffer: Buffer) -> str:
        place = self._body.frame("ptr")
        self._body.do(f"store ptr null, ptr {place}")
        return place

    def received(self, buffer: Buffer, there: str, size: str) -> None:
        self._define()
        self._body.module.define("tg.take_unless", TAKE_UNLESS)
        place = self._body.made(f"load ptr, ptr {there}")
        self._body.do(f"%{buffer.name} = call ptr @tg.take_unless(ptr {place}, ptr %arena, i64 {size})")
        self.need(self._body.made(f"icmp ne ptr %{buffer.name}, null"))

    def _define(self) -> None:
        module = self._body.module
        results.opened()  # from here on machine code finds the two
        module.declare(results.TAKE, "ptr", ("ptr", "i64"))
        module.declare(results.GIVE_BACK, "void", ("ptr", "ptr", "i64"))
        module.define("tg.take", TAKE)
        module.define("tg.leave", LEAVE)


MANY: Final = 32  # pointers to memory on the heap in a function, from which on they lie in an array
HEAP: Final = re.compile(r"%heap\d+\b")


def in_slots(lines: Sequence[str]) -> list[str]:
    """The lines of a function in which many pointers to memory on the heap lie in an array, read before each use.

    A function of n loops has about n of them, each from its allocation to the end, across n blocks: kept as values they
    took LLVM a time that grew with n * n, 4.3 s for a program of 3,000 steps.
    """
    places = {match[0]: k for k, match in enumerate(filter(None, (HEAP.match(line.lstrip()) for line in lines)))}
    if len(places) < MANY or any(" phi " in line and HEAP.search(line) for line in lines):
        return [*lines]
    changed = [f"  %heaps = alloca [{len(places)} x ptr]"]
    reads = itertools.count()
    for line in lines:
        first = HEAP.match(line.lstrip())
        if first is not None:
            changed += [line, _slot(f"{first[0]}.at", places[first[0]]), f"  store ptr {first[0]}, ptr {first[0]}.at"]
            continue
        code, mark, note = line.partition(";")
        for name in dict.fromkeys(HEAP.findall(code)):
            read = f"{name}.{next(reads)}"
            changed += [_slot(f"{read}.at", places[name]), f"  {read} = load ptr, ptr {read}.at"]
            code = re.sub(rf"{name}(?![\w.])", read, code)
        changed.append(code + mark + note)
    return changed


def _slot(name: str, place: int) -> str:
    return f"  {name} = getelementptr ptr, ptr %heaps, i64 {place}"
