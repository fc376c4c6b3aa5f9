"""The memory of one call: who needs it, when it is given back, and which array takes it over."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg_native.plan.values import Array, count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tg.types.lengths import Length
    from tg_native.plan.values import Value

SMALL: Final = 1024  # bytes; a temporary of a known size up to this is part of the function's frame
FRAME: Final = 32768  # bytes of such arrays in one function
ALIGNMENT: Final = 64


@final
class Buffer:
    """Memory of the call: the name of its pointer, the text of its size, and the values that still need it."""

    __slots__ = ("name", "on_heap", "size", "users")

    def __init__(self, name: str, size: str, *, on_heap: bool) -> None:
        self.name, self.size, self.on_heap = name, size, on_heap
        self.users: set[int] = set()


class Take(NamedTuple):
    """The line that takes memory on the heap, the text of its size, and the shape of the array that it is for."""

    line: int
    size: str
    shape: tuple[int | Length, ...]


class Memory(abc.ABC):
    """Hands out the buffers of one generated function.

    What nothing needs any more serves the next array of its size; if there is none, it is released at once.
    """

    def __init__(
        self,
        lines: list[str | None],
        length_text: Callable[[int | Length], str],
        need: Callable[[str], None],
    ) -> None:
        """Write into `lines`; `need` writes what leaves the function for want of memory unless a condition holds."""
        self.lines, self._length_text, self.need = lines, length_text, need
        self.frames: list[str] = []  # declarations
        self.heap: list[Buffer] = []
        self.takes: list[Take] = []
        self._fresh: list[Buffer] = []
        self._free: dict[str, list[tuple[Buffer, int]]] = {}
        self._used = 0

    @abc.abstractmethod
    def times(self, size: str, length: str) -> str:
        """The product of a size and a length as text; -1 where it is too large to count."""

    @abc.abstractmethod
    def frame(self, name: str, size: int) -> str:
        """The declaration of memory in the function's frame."""

    def heap_name(self, place: int) -> str:
        """The pointer to the memory on the heap that was asked for after so many others."""
        return f"heap{place}"

    @abc.abstractmethod
    def taken(self, name: str, size: str) -> None:
        """Take memory, or leave the function for want of it."""

    @abc.abstractmethod
    def dropped(self, name: str) -> str:
        """The statement that gives memory back."""

    @abc.abstractmethod
    def there(self, buffer: Buffer) -> str:
        """A place, null until then, where an inner function is to say where the memory is that it hands over."""

    @abc.abstractmethod
    def received(self, buffer: Buffer, there: str, size: str) -> None:
        """Have what was handed over as a buffer; where that is null, take memory all the same."""

    def size_text(self, shape: Sequence[int | Length], item: int) -> str:
        """The bytes of an array as text; -1 where they are too many to count."""
        n = count(shape)
        if type(n) is int:
            return str(n * item)
        size = str(item)
        for length in shape:
            size = self.times(size, self._length_text(length))
        return size

    def take(self, shape: Sequence[int | Length], item: int) -> Buffer:
        """A buffer for an array."""
        n = count(shape)
        bytes_ = -(-max(n * item, 1) // ALIGNMENT) * ALIGNMENT if type(n) is int else None
        size = str(bytes_) if bytes_ is not None else self.size_text(shape, item)
        buffer = self._reused(size)
        if buffer is None and bytes_ is not None and bytes_ <= SMALL and self._used + bytes_ <= FRAME:
            buffer = Buffer(f"frame{len(self.frames)}", size, on_heap=False)
            self.frames.append(self.frame(buffer.name, bytes_))
            self._used += bytes_
        if buffer is None:
            buffer = self.adopted(size)
            self.takes.append(Take(len(self.lines), size, tuple(shape)))
            self.taken(buffer.name, size)
        self._fresh.append(buffer)
        return buffer

    def adopted(self, size: str) -> Buffer:
        """A pointer to memory that something else takes, to be released here."""
        buffer = Buffer(self.heap_name(len(self.heap)), size, on_heap=True)
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
            self._release(buffer)

    def _release(self, buffer: Buffer) -> None:
        self.lines.append(self.dropped(buffer.name) if buffer.on_heap else None)
        self._free.setdefault(buffer.size, []).append((buffer, len(self.lines) - 1))
