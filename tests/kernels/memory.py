"""Memory as recorded loops have it: arrays of one axis, outside of which nothing is read or written."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tests.kernels.operations import kind_of
from tg_native.kernels.dtypes import PARTS


def garbage(dtype, count):
    """What memory may hold that nobody has written: for a half of the calls NaN or -1, else any bits."""
    kind = np.dtype(kind_of(dtype))
    if dtype == "bool":
        return RANDOM.integers(0, 2, count).astype(bool)
    size = count * kind.itemsize
    found = RANDOM.integers(0, 256, size, dtype=np.uint8) if RANDOM.random() < 0.5 else np.full(size, 255, np.uint8)
    return found.view(kind)


RANDOM = np.random.default_rng(0)


class Place(NamedTuple):
    """An element of an array; it may be one before or behind, as long as nobody reads or writes it."""

    array: np.ndarray
    dtype: str
    at: int = 0

    def moved(self, offset):
        """The place some elements on."""
        return self._replace(at=self.at + int(offset))

    def parts(self):
        """The place of the real part of a complex element."""
        return Place(self.array.view(self.array.real.dtype), PARTS[self.dtype], 2 * self.at)

    def _span(self, count):
        assert 0 <= self.at <= self.at + count <= self.array.size, (
            f"elements {self.at} to {self.at + count - 1} of {self.array.size}"
        )
        return slice(self.at, self.at + count)

    def load(self):
        """The element."""
        return self.array[self._span(1)][0]

    def store(self, value):
        """Write the element."""
        assert value.dtype == self.array.dtype
        self.array[self._span(1)] = value

    def row(self, lanes, mask=None, inside=None):
        """Elements that follow one another, of which some may be outside."""
        count = counted(lanes, mask, inside)
        found = garbage(self.dtype, lanes)
        found[:count] = self.array[self._span(count)]
        return found

    def apart(self, stride, lanes, mask=None, inside=None):
        """Elements at a distance."""
        count, stride = counted(lanes, mask, inside), int(stride)
        found = garbage(self.dtype, lanes)
        for k in range(count):
            found[k] = self.moved(k * stride).load()
        return found

    def gathered(self, offsets):
        """Elements at some offsets."""
        return np.array([self.moved(k).load() for k in offsets], self.array.dtype)

    def put(self, values, mask=None, inside=None):
        """Write the elements of a row that are inside."""
        count = counted(values.size, mask, inside)
        assert values.dtype == self.array.dtype
        self.array[self._span(count)] = values[:count]


def counted(lanes, mask, inside):
    """How many lanes of a block are inside, which its mask says as well."""
    if mask is None:
        return lanes
    assert 1 <= inside <= lanes
    assert np.array_equal(mask, np.arange(lanes) < inside)
    return int(inside)


def memory(dtype, count):
    """Memory for as many elements, which are not initialised."""
    return Place(garbage(dtype, count), dtype)


def zero(dtype):
    """Memory for one element, which is 0."""
    return Place(np.zeros(1, kind_of(dtype)), dtype)


class Slots:
    """A variable, or several: of so many lanes each."""

    def __init__(self, dtype, lanes, count):
        self.values = [garbage(dtype, lanes) if lanes else garbage(dtype, 1)[0] for _ in range(count)]

    def get(self, at=0):
        """One of them."""
        assert 0 <= at < len(self.values)
        return self.values[at]

    def set(self, value, at=0):
        """Change one of them."""
        assert 0 <= at < len(self.values)
        self.values[at] = value
