"""The memory of one call: who needs it, when it is given back, and which array takes it over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg_c.values import Array, count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tg.types.lengths import Length
    from tg_c.values import Value

SMALL: Final = 1024  # bytes; a temporary of a known size up to this is an array of the C function
FRAME: Final = 32768  # bytes of such arrays in one function
ALIGNMENT: Final = 64


@final
class Buffer:
    """Memory of the call: the C name of its pointer, the text of its size, and the values that still need it."""

    __slots__ = ("name", "on_heap", "size", "users")

    def __init__(self, name: str, size: str, *, on_heap: bool) -> None:
        self.name, self.size, self.on_heap = name, size, on_heap
        self.users: set[int] = set()


@final
class Memory:
    """Hands out the buffers of one C function.

    What nothing needs any more serves the next array of its size; if there is none, it is released at once.
    """

    def __init__(self, lines: list[str | None], length_text: Callable[[int | Length], str], fail: str) -> None:
        """Write into `lines`; `fail` is the statement for want of memory."""
        self.lines, self._length_text, self._fail = lines, length_text, fail
        self.frames: list[str] = []  # declarations
        self.heap: list[Buffer] = []
        self._fresh: list[Buffer] = []
        self._free: dict[str, list[tuple[Buffer, int]]] = {}
        self._used = 0

    def size_text(self, shape: Sequence[int | Length], item: int) -> str:
        """The bytes of an array as C text; -1 where they are too many to count."""
        n = count(shape)
        if type(n) is int:
            return str(n * item)
        size = str(item)
        for length in shape:
            size = f"tg_times({size}, {self._length_text(length)})"
        return size

    def take(self, shape: Sequence[int | Length], item: int) -> Buffer:
        """A buffer for an array."""
        n = count(shape)
        bytes_ = -(-max(n * item, 1) // ALIGNMENT) * ALIGNMENT if type(n) is int else None
        size = str(bytes_) if bytes_ is not None else self.size_text(shape, item)
        buffer = self._reused(size)
        if buffer is None and bytes_ is not None and bytes_ <= SMALL and self._used + bytes_ <= FRAME:
            buffer = Buffer(f"frame{len(self.frames)}", size, on_heap=False)
            self.frames.append(f"char {buffer.name}[{size}] __attribute__((aligned({ALIGNMENT})));")
            self._used += bytes_
        if buffer is None:
            buffer = self.adopted(size)
            self.lines.append(f"if (!({buffer.name} = tg_take({size}))) {{ {self._fail} }}")
        self._fresh.append(buffer)
        return buffer

    def adopted(self, size: str) -> Buffer:
        """A pointer to memory that something else takes, to be released here."""
        buffer = Buffer(f"heap{len(self.heap)}", size, on_heap=True)
        self.heap.append(buffer)
        return buffer

    def _reused(self, size: str) -> Buffer | None:
        free = self._free.get(size)
        if not free:
            return None
        buffer, at = free.pop()
        self.lines[at] = None  # it is not released there after all
        return buffer

    def bury(self, dying: Iterable[int], values: Mapping[int, Value]) -> None:
        """Let go of values that nothing reads any more, and of what the last op needed for itself."""
        idle = {id(b): b for b in self._fresh if not b.users}
        for number in dying:
            value = values.get(number)
            if isinstance(value, Array) and value.buffer is not None:
                value.buffer.users.discard(number)
                if not value.buffer.users:
                    idle[id(value.buffer)] = value.buffer
        self._fresh.clear()
        for buffer in idle.values():
            self.lines.append(f"tg_drop({buffer.name}), {buffer.name} = 0;" if buffer.on_heap else None)
            self._free.setdefault(buffer.size, []).append((buffer, len(self.lines) - 1))
