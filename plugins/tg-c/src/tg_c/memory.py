"""The memory of one call, as C text."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg_native.plan.memory import ALIGNMENT, Memory

if TYPE_CHECKING:
    from tg_native.plan.memory import Buffer


@final
class CMemory(Memory):
    """Hands out the buffers of one C function, on the heap or, if it `has_arena`, in its frame (`tg_c.frames`)."""

    has_arena = False

    def times(self, size: str, length: str) -> str:
        return f"tg_times({size}, {length})"

    def frame(self, name: str, size: int) -> str:
        return f"char {name}[{size}] __attribute__((aligned({ALIGNMENT})));"

    def heap_name(self, place: int) -> str:
        """An element of one array: of so many locals, all released at the end, gcc's time grows with the square."""
        return f"heap[{place}]"

    def taken(self, name: str, size: str) -> None:
        if self.has_arena:
            self.lines.append(f"{name} = base + at{name.removeprefix('heap')};")
        else:
            self.need(f"{name} = tg_take({size})")

    def dropped(self, name: str) -> str:
        return f"{name} = 0;" if self.has_arena else f"tg_drop({name}), {name} = 0;"

    def there(self, buffer: Buffer) -> str:
        return f"&{buffer.name}"

    def received(self, buffer: Buffer, there: str, size: str) -> None:
        self.need(f"{buffer.name} || ({buffer.name} = tg_take({size}))")
