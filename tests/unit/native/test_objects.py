"""What compiled entries take for granted about objects: looked at, and noticed where it is otherwise."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest

from tg.types.dtypes import DTYPES, numpy_dtype
from tg_native.calls import objects


def test_the_layout_of_this_interpreter_is_known():
    assert objects.is_layout_known()
    assert all(objects.bound().values())


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_have_their_value_after_the_head(dtype):
    assert objects.scalar_type(dtype) == id(numpy_dtype(dtype).type)


@pytest.mark.parametrize("shift", [-8, 8])
def test_another_layout_is_noticed(monkeypatch, shift):
    objects.scalar_type.cache_clear()
    monkeypatch.setattr(objects, "HEAD", objects.HEAD + shift)
    assert not objects.is_layout_known()
    assert objects.scalar_type("float64") == 0
    objects.scalar_type.cache_clear()


def test_a_table_without_a_function_is_noticed(monkeypatch):
    objects.bound.cache_clear()
    monkeypatch.setattr(objects, "FUNCTIONS", (*objects.FUNCTIONS, "PyNothing_OfThisName"))
    with pytest.raises(AttributeError, match="PyNothing_OfThisName"):
        objects.bound()
    objects.bound.cache_clear()


def copying(found, *, declines=True, fails=True):
    """An entry as it should be, in Python, and ones that are not."""

    def make(interface, signature, code):
        def call(*args, **kwargs):
            usual = len(args) == 2 and not kwargs and isinstance(args[0], np.ndarray) and args[0].flags.c_contiguous
            usual = usual and args[0].shape[0] != 1 and not isinstance(args[1], complex)
            failed = fails and ctypes.c_int64.from_address(code).value
            if declines and (not usual or failed):
                return signature.general(*args, **kwargs)
            return found(args[0], np.array(1.5, np.float32))

        return call

    return make


@pytest.mark.parametrize(
    ("make", "works"),
    [
        (copying(lambda x, y: (x.copy(), y.copy())), True),
        (copying(lambda x, y: (x, y)), False),
        (copying(lambda x, y: (x.copy(), y[()])), False),
        (copying(lambda x, y: (x.T.copy().T, y.copy())), False),
        (copying(lambda x, y: (x + 1, y.copy())), False),
        (copying(lambda x, y: (x.copy(), y.copy()), declines=False), False),
        (copying(lambda x, y: (x.copy(), y.copy()), fails=False), False),
    ],
)
def test_an_entry_that_does_otherwise_than_it_must_is_noticed(make, works):
    assert objects.works(make) is works


def test_one_reference_more_or_less_is_one():
    thing = object()
    before = sys.getrefcount(thing)
    keep, drop = (objects.bound()[name] for name in ("Py_IncRef", "Py_DecRef"))
    ctypes.PYFUNCTYPE(None, ctypes.py_object)(keep)(thing)
    assert sys.getrefcount(thing) == before + 1
    ctypes.PYFUNCTYPE(None, ctypes.py_object)(drop)(thing)
    assert sys.getrefcount(thing) == before
