"""Drawing the inputs of a call: values of a class, in a memory layout, inside buffers that show any write.

All draws come from a seed that is a function of the item's id, so every run and every backend gets the same ones.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.types.dtypes import BOOL, is_complex, is_float, is_integer, numpy_dtype
from tg_conformance.compare import limits as finfo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.plugin.case import Input

Array = np.ndarray[Any, Any]

RANK_2: Final = ("row", "column")
RANK_3: Final = ("i", "j", "h")
RANK_4: Final = ("w", "x", "y", "z")
ELEMENTS: Final = (*RANK_2, *RANK_3, *RANK_4)
"""Lengths of the cases of elementwise functions: 65 elements, then 64; 96, then 64; twice 1,040. A rule that goes by
vectors or chunks is wrong behind the last whole one or where none is left over, at lengths above 64, at many axes."""
SIZES: Final = (  # what the named lengths of shapes are in the first and in the second call
    {
        "n": 5,
        "m": 19,
        "k": 4,
        "b": 2,
        "l": 7,
        "p": 3,
        **dict(zip(ELEMENTS, (5, 13, 16, 2, 3, 65, 2, 2, 4), strict=True)),
    },
    {"n": 7, "m": 8, "k": 3, "b": 4, "l": 5, "p": 6, **dict(zip(ELEMENTS, (4, 16, 4, 4, 4, 13, 4, 4, 5), strict=True))},
)
LONG: Final = 67  # a length with a tail for any width of vector
CANARY: Final = 0xA5
PAD: Final = 64  # bytes before and after

FLOAT_SPECIALS: Final = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 2.0, -2.0, 3.0, -7.0, 1e-3, 1e10)
INTEGER_SPECIALS: Final = (0, 1, -1, 2, -2, 3, -3, 5, -5, 7, 64)


def lengths(shape: Sequence[int | str], sizes: dict[str, int]) -> tuple[int, ...]:
    """The shape with named lengths filled in."""
    return tuple(sizes[n] if isinstance(n, str) else n for n in shape)


def generator(*parts: object) -> np.random.Generator:
    """The random generator of a text: of an item's id, a call's number and an input's."""
    return np.random.default_rng(zlib.crc32("|".join(map(str, parts)).encode()))


def values(item: Input, dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """The values of an input, C-contiguous; a function given as `values` may decide on the lengths."""
    kind = item.values
    if callable(kind):
        return np.ascontiguousarray(np.asarray(kind(rng, dtype, shape)).astype(numpy_dtype(dtype))).reshape(
            np.shape(kind(generator(0), dtype, shape))
        )
    if isinstance(kind, str):
        return CLASSES[kind](rng, dtype, shape, item)
    return np.array(kind, dtype=numpy_dtype(dtype)).reshape(shape)


def _random(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], item: Input) -> Array:
    low, high = item.low, item.high
    if dtype == BOOL:
        return np.asarray(rng.integers(0, 2, shape) == 1)
    if is_integer(dtype):
        limits = np.iinfo(dtype)
        low, high = max(-9, limits.min, low * 3), min(9, high * 3)
        return np.asarray(rng.integers(int(low), int(high) + 1, shape)).astype(dtype)
    if is_complex(dtype):
        z = rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)
        return np.asarray(z).astype(dtype)
    return _spread(rng, low, high, shape).astype(numpy_dtype(dtype))


def _spread(rng: np.random.Generator, low: float, high: float, shape: tuple[int, ...]) -> Array:
    """Uniform where the ends are near each other; over the magnitudes too where they are powers of ten apart."""
    plain = rng.uniform(low, high, shape)
    if high > 1e3 * max(low, 1e-9) and low > -1:
        start = max(low, high * 1e-12)
        wide = np.exp(rng.uniform(np.log(start), np.log(high), shape))
        plain = np.where(rng.uniform(size=shape) < 0.5, plain, wide)
    return np.asarray(plain)


def _distinct(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], item: Input) -> Array:
    """No two alike, and far enough apart for differences not to cross."""
    count = int(np.prod(shape))
    steps = rng.permutation(count) - count // 2
    if is_integer(dtype) and np.iinfo(dtype).min == 0:
        steps = steps + count // 2
    scale = 1 if is_integer(dtype) else 0.25
    return np.asarray((steps * scale).reshape(shape)).astype(numpy_dtype(dtype))


def _ties(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], item: Input) -> Array:
    """Few values, each many times."""
    return np.asarray(rng.integers(0, 3, shape)).astype(numpy_dtype(dtype))


def _integers(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], item: Input) -> Array:
    """Whole numbers in [low, high]."""
    return np.asarray(rng.integers(int(item.low), int(item.high) + 1, shape)).astype(numpy_dtype(dtype))


def _hostile(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], item: Input) -> Array:
    """Special values in random places, each at least once where there is room."""
    special, count = specials(dtype), int(np.prod(shape))
    drawn = np.concatenate([special, rng.choice(special, max(0, count - special.size))])
    return np.asarray(rng.permutation(drawn)[:count].reshape(shape))


def _subnormal(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], item: Input) -> Array:
    """Positive numbers below the smallest normal one."""
    least = float(finfo(dtype).smallest_subnormal)
    return np.asarray(rng.integers(1, 60, shape) * least).astype(numpy_dtype(dtype))


def _balanced(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], item: Input) -> Array:
    """Factors near 1 in magnitude, of either sign, so that products of many neither vanish nor overflow."""
    if not (is_float(dtype) or is_complex(dtype)):
        return _random(rng, dtype, shape, item)
    size = np.exp(rng.uniform(-0.3, 0.3, shape)) * rng.choice([-1.0, 1.0], shape)
    return np.asarray(size * (np.exp(1j * size) if is_complex(dtype) else 1)).astype(numpy_dtype(dtype))


CLASSES: Final[dict[str, Callable[..., Array]]] = {
    "random": _random,
    "distinct": _distinct,
    "ties": _ties,
    "integers": _integers,
    "hostile": _hostile,
    "subnormal": _subnormal,
    "balanced": _balanced,
}


def specials(dtype: str) -> Array:
    """The values at which functions go wrong: zeros, ones, ties of rounding, limits, infinities, NaN."""
    kind = numpy_dtype(dtype)
    if dtype == BOOL:
        return np.array([False, True])
    if is_integer(dtype):
        limits = np.iinfo(dtype)
        near = [v for v in INTEGER_SPECIALS if limits.min <= v <= limits.max]
        integers = [*near, limits.min, limits.min + 1, limits.max - 1, limits.max]
        return np.array(list(dict.fromkeys(integers)), kind)
    if is_float(dtype):
        real = finfo(dtype)
        edges = [float(real.max), -float(real.max), float(real.tiny), -float(real.tiny), np.inf]
        with np.errstate(over="ignore"):
            return np.array([*FLOAT_SPECIALS, *edges, -np.inf, np.nan]).astype(kind)
    return np.array([0, 1, -1, 1j, 2.5 - 1j, -3 + 0.5j], kind)


@final
class Guarded:
    """An array in a layout inside a buffer of its own, with canaries around it and in its gaps."""

    __slots__ = ("array", "before", "buffer")

    def __init__(self, plain: Array, layout: str) -> None:
        strides, first, extent = _arrangement(plain, layout)
        size = plain.itemsize
        offset = PAD + (1 if layout == "unaligned" else 0)
        raw = np.full(offset + extent * size + PAD, CANARY, np.uint8)
        raw = _aligned(raw)
        place: Array = np.ndarray(
            plain.shape, plain.dtype, raw.data, offset + first * size, tuple(s * size for s in strides)
        )
        if layout == "broadcast":
            index = tuple(slice(0, 1) if s == 0 else slice(None) for s in strides)
            place[index] = plain[index]
        else:
            place[...] = plain
        if layout == "readonly":
            place.flags.writeable = False
        self.array, self.buffer, self.before = place, raw, raw.tobytes()

    @property
    def is_untouched(self) -> bool:
        """Whether no byte of the buffer has changed, in the array, around it or in its gaps."""
        return self.buffer.tobytes() == self.before


def _aligned(raw: Array) -> Array:
    """The same bytes at an address that is a multiple of 64."""
    room = np.empty(raw.size + 64, np.uint8)
    start = -room.ctypes.data % 64
    view = room[start : start + raw.size]
    view[:] = raw
    return view


def _arrangement(plain: Array, layout: str) -> tuple[list[int], int, int]:
    """Strides in elements, the first element's place, and how many elements the buffer holds."""
    shape = plain.shape
    if plain.size == 0:
        return _contiguous(shape, range(len(shape))), 0, 1
    if layout == "F":
        return _contiguous(shape, range(len(shape) - 1, -1, -1)), 0, plain.size
    if layout == "transposed":
        axes = [*range(1, len(shape)), 0] if shape else []
        return _contiguous(shape, axes), 0, plain.size
    if layout == "strided":
        wide = [*shape[:-1], 2 * shape[-1] + 1] if shape else []
        strides = _contiguous(wide, range(len(wide)))
        if strides:
            strides[-1] = 2
        return strides, 0, max(1, int(np.prod(wide)))
    if layout == "reversed":
        strides = [-s for s in _contiguous(shape, range(len(shape)))]
        first = sum(-s * (n - 1) for s, n in zip(strides, shape, strict=True))
        return strides, first, plain.size
    if layout == "broadcast" and shape:
        axis = next((k for k, n in enumerate(shape) if n > 1), 0)
        rest = [1 if k == axis else n for k, n in enumerate(shape)]
        strides = _contiguous(rest, range(len(rest)))
        strides[axis] = 0
        return strides, 0, max(1, int(np.prod(rest)))
    return _contiguous(shape, range(len(shape))), 0, max(1, plain.size)


def _contiguous(shape: Sequence[int], order: Sequence[int]) -> list[int]:
    """Strides, in elements, of axes that vary from slowest to fastest in `order`."""
    strides = [0] * len(shape)
    step = 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(1, shape[axis])
    return strides
