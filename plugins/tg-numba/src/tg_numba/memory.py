"""The memory of one call, as Python text: pieces of an arena that is released when the function returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg.link.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.types.lengths import Length


@final
class ArenaMemory(Memory):
    """Hands out the buffers of one generated function."""

    def __init__(self, lines: list[str | None], length_text: Callable[[int | Length], str], fail: str) -> None:
        """Write into `lines`; `fail` is the statement for want of memory."""
        super().__init__(lines, length_text)
        self._fail = fail
        self.needs_arena = False  # also where an inner graph takes memory for its caller

    def times(self, size: str, length: str) -> str:
        return f"times({size}, {length})"

    def frame(self, name: str, size: int) -> str:
        return f"{name} = frame({size})"

    def taken(self, name: str, size: str) -> str:
        self.needs_arena = True
        return f"{name} = take(arena, {size})\nif {name} == 0:\n    {self._fail}"

    def dropped(self, name: str) -> str:
        return f"drop(arena, {name})"
