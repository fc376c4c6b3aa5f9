"""The memory of one call, as C text."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg_native.plan.memory import ALIGNMENT, Memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.types.lengths import Length


@final
class CMemory(Memory):
    """Hands out the buffers of one C function."""

    def __init__(self, lines: list[str | None], length_text: Callable[[int | Length], str], fail: str) -> None:
        """Write into `lines`; `fail` is the statement for want of memory."""
        super().__init__(lines, length_text)
        self._fail = fail

    def times(self, size: str, length: str) -> str:
        return f"tg_times({size}, {length})"

    def frame(self, name: str, size: int) -> str:
        return f"char {name}[{size}] __attribute__((aligned({ALIGNMENT})));"

    def heap_name(self, place: int) -> str:
        """An element of one array: of so many locals, all released at the end, gcc's time grows with the square."""
        return f"heap[{place}]"

    def taken(self, name: str, size: str) -> str:
        return f"if (!({name} = tg_take({size}))) {{ {self._fail} }}"

    def dropped(self, name: str) -> str:
        return f"tg_drop({name}), {name} = 0;"
