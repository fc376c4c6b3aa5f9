"""The backend of these tests, a cache of their own, and memory whose surroundings cannot be touched."""

import ctypes
import mmap

import numpy as np
import pytest

from tg.types.dtypes import numpy_dtype
from tg_numba import results


@pytest.fixture
def backend():
    return "numba"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The directory of the cache, without what a process makes once."""
    results.opened()
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path / "home"))
    return tmp_path / "home" / "numba"


class Guarded:
    """Arrays that end, or begin, where the pages end that may be read and written."""

    def __init__(self, size):
        page = mmap.PAGESIZE
        self.size = -(-size // page) * page
        self.memory = mmap.mmap(-1, self.size + 2 * page)
        self.bytes = np.frombuffer(self.memory, np.uint8)
        libc = ctypes.CDLL(None, use_errno=True)
        for start in (0, self.size + page):
            assert libc.mprotect(ctypes.c_void_p(self.bytes.ctypes.data + start), ctypes.c_size_t(page), 0) == 0
        self.inside = self.bytes[page : page + self.size]

    def array(self, dtype, n, at_end):
        size = n * numpy_dtype(dtype).itemsize
        return (self.inside[self.size - size :] if at_end else self.inside[:size]).view(numpy_dtype(dtype))


@pytest.fixture
def guarded():
    """Makes memory of at least some bytes, between pages that may be neither read nor written."""
    return Guarded
