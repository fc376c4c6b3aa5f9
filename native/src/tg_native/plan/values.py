"""Form of a value in a C function: a scalar in a local, an array behind a pointer with lengths and strides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tg.types.lengths import Length, same, times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_native.plan.memory import Buffer

    Lengths = tuple[int | Length, ...]


TERMS: Final = 4  # of a stride; beyond, it is a local's value times a length: x[1:, …] has strides of 2**k terms


class Scalar(NamedTuple):
    """A 0-d value: a local of the function, or a literal.

    `operand` is its number among the operands of a loop, where it is one: it is handed over even if it is a literal,
    for the loop may be called with another one.
    """

    dtype: str
    text: str
    operand: int | None = None


class Array(NamedTuple):
    """A value with axes: `pointer` is text of the language, strides count elements.

    `buffer` is the memory of this call that it lies in (None for inputs, constants and outputs); `fill` is the text
    of the one value that all elements have, and then there need be no pointer. Where it `counts`, each element is its
    own place, by the strides, and the pointer, if there is one, the int64 that it is counted from.
    """

    dtype: str
    pointer: str
    shape: Lengths
    strides: Lengths
    buffer: Buffer | None = None
    fill: str | None = None
    counts: bool = False

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements are known to follow one another in C order."""
        return self.fill is None and is_row_major(self.shape, self.strides)

    def viewed(
        self, shape: Sequence[int | Length], strides: Sequence[int | Length], pointer: str | None = None
    ) -> Array:
        """The same memory under another shape."""
        return self._replace(shape=tuple(shape), strides=tuple(strides), pointer=pointer or self.pointer)


class Slot(NamedTuple):
    """A place in the memory of a tile: so many elements of a dtype behind a pointer."""

    dtype: str
    base: str
    offset: int


Value = Scalar | Array


def row_major(shape: Sequence[int | Length]) -> Lengths:
    """The strides of a contiguous array in C order."""
    strides: list[int | Length] = []
    step: int | Length = 1
    for n in reversed(shape):
        strides.append(step)
        step = times(step, n, TERMS)
    return tuple(reversed(strides))


def is_row_major(shape: Sequence[int | Length], strides: Sequence[int | Length]) -> bool:
    """Whether strides are those of C order, axes of length 1 apart."""
    return all(n == 1 or same(a, b) for n, a, b in zip(_plain(shape), strides, row_major(shape), strict=True))


def _plain(shape: Sequence[int | Length]) -> tuple[int | None, ...]:
    """The lengths that are known, which can be compared."""
    return tuple(n if type(n) is int else None for n in shape)


def is_one(n: int | Length) -> bool:
    """Whether a length is known to be 1."""
    return type(n) is int and n == 1


def is_zero(n: int | Length) -> bool:
    """Whether a length or a stride is known to be 0."""
    return type(n) is int and n == 0


def spread(array: Array, shape: Sequence[int | Length]) -> Array:
    """The array as operand of an index space: strides of 0 where it is repeated, on new leading axes too."""
    lead = len(shape) - array.ndim
    strides: list[int | Length] = [0] * lead
    for n, own, stride in zip(shape[lead:], array.shape, array.strides, strict=True):
        strides.append(0 if is_one(own) and not is_one(n) else stride)
    return array.viewed(shape, strides)


class Space(NamedTuple):
    """An index space and the strides of several arrays over it: no axis of length 1, none that could be merged."""

    shape: Lengths
    strides: tuple[Lengths, ...]  # of each array


def collapsed(shape: Sequence[int | Length], strides: Sequence[Sequence[int | Length]]) -> Space:
    """The space with as few axes as its arrays allow, in the same order of elements."""
    lengths: list[int | Length] = []
    columns: list[list[int | Length]] = []  # of each axis: the strides of the arrays
    for axis, n in enumerate(shape):
        if is_one(n):
            continue
        column = [s[axis] for s in strides]
        if lengths and all(
            same(outer, times(n, inner, TERMS)) for outer, inner in zip(columns[-1], column, strict=True)
        ):
            lengths[-1] = times(lengths[-1], n, TERMS)
            columns[-1] = column
        else:
            lengths.append(n)
            columns.append(column)
    return Space(tuple(lengths), tuple(tuple(c[k] for c in columns) for k in range(len(strides))))


def count(shape: Sequence[int | Length]) -> int | Length:
    """The number of elements."""
    total: int | Length = 1
    for n in shape:
        total = times(total, n)
    return total
