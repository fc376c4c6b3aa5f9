"""The memory of large results: aligned, owned by the array, and kept for the next result of its size."""

import ctypes
import importlib
import subprocess
import sys
import threading

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

import tg
from tg_native.calls import objects

pytestmark = pytest.mark.sampled(2)

SMALL, LARGE = 1000, 1 << 18
NUMPYS = "default_allocator"
FORK = """
import os, sys, numpy as np, tg
t, x = tg.vector("t"), np.ones(1 << 18)
double = tg.function([t], t * 2, backend=sys.argv[1])
double(x)
child = os.fork()
assert (double(x + 1) == 4).all() and (double(x) == 2).all()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
AT_EXIT = """
import builtins, sys, numpy as np, tg
t = tg.vector("t")
builtins.kept = [tg.function([t], t * k, backend=sys.argv[1])(np.ones(1 << 18)) for k in (2, 3)]
"""


@pytest.fixture
def double(backend):
    x = tg.vector("x")
    return tg.function([x], x * 2, backend=backend)


@pytest.fixture
def kept(backend):
    """The bytes that are kept, as a function."""
    where, name = {"c": ("entry", "tg_kept"), "numba": ("results", "kept")}[backend]
    return getattr(importlib.import_module(f"tg_{backend}.{where}").opened(), name)


@pytest.fixture
def others():
    """The name of a handler that is set, which does what NumPy's does."""
    new, pointer = ctypes.pythonapi.PyCapsule_New, ctypes.pythonapi.PyCapsule_GetPointer
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    exchange = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(objects.bound()["PyDataMem_SetHandler"])
    usual = ctypes.PYFUNCTYPE(ctypes.py_object)(objects.bound()["PyDataMem_GetHandler"])()
    handler = ctypes.create_string_buffer(ctypes.string_at(pointer(usual, b"mem_handler"), 168), 168)
    handler[:7] = b"others\0"
    own = new(handler, b"mem_handler", None)
    exchange(own)
    yield "others"
    exchange(usual)


def address(y):
    return y.__array_interface__["data"][0]


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_results_own_their_memory(double, n):
    y = double(np.arange(float(n)))
    assert y.flags.owndata
    assert y.flags.writeable
    assert np.array_equal(y, np.arange(float(n)) * 2)


def test_large_results_are_aligned_for_other_frameworks(backend, double):
    y = double(np.ones(LARGE))
    assert get_handler_name(y) == f"tg_{backend}_results"
    assert address(y) % 64 == 0


def test_numpys_own_arrays_are_as_they_were(double):
    double(np.ones(LARGE))
    assert get_handler_name() == NUMPYS
    assert get_handler_name(np.empty(LARGE)) == NUMPYS
    assert get_handler_name(double(np.ones(SMALL))) == NUMPYS


def test_a_result_that_there_is_no_memory_for_leaves_numpys_handler(backend):
    n = tg.scalar("n", dtype="int64")
    ones = tg.function([n], tg.ones((n,)), backend=backend)
    with pytest.raises(MemoryError):
        ones(1 << 48)
    assert get_handler_name() == NUMPYS
    assert np.array_equal(ones(LARGE), np.ones(LARGE))


def test_memory_that_is_kept_is_given_back_on_request(double, kept):
    first, second = double(np.ones(LARGE * 16)), double(np.ones(LARGE * 32))
    del first
    assert kept() > 0
    assert tg.release_memory() >= second.nbytes // 2
    assert kept() == 0
    assert tg.release_memory() == 0
    assert np.array_equal(second, np.full(LARGE * 32, 2.0))
    assert np.array_equal(double(np.ones(LARGE * 16)), np.full(LARGE * 16, 2.0))


def test_whoever_has_set_a_handler_gets_memory_from_that(double, others):
    y = double(np.ones(LARGE))
    assert get_handler_name(y) == get_handler_name() == others
    assert (y == 2).all()


def test_what_is_given_back_is_used_again(double, kept):
    x = np.ones(LARGE)
    first = double(x)
    at = address(first)
    del first
    assert kept() >= x.nbytes
    assert address(double(x)) == at


def test_a_result_that_is_held_is_never_used_again(double):
    held = [double(np.full(LARGE, float(k))) for k in range(6)]
    assert len({address(y) for y in held}) == 6
    assert all((y == 2 * k).all() for k, y in enumerate(held))


def test_a_view_holds_the_memory(double):
    x = np.ones(LARGE)
    view = double(x)[1:]
    other = double(x + 1)
    assert address(other) + 8 != address(view)
    assert (view == 2).all()


def test_no_more_is_kept_than_is_said(double, kept):
    xs = [np.ones(n) for n in (1 << 20, 3 << 20, 5 << 20, 7 << 20, 9 << 20, 11 << 20)]
    results = [double(x) for x in xs]
    del results
    assert 0 < kept() <= 1 << 28


@pytest.mark.parametrize("n", [2 * LARGE, LARGE // 2, SMALL])
def test_results_can_be_resized(double, n):
    y = double(np.arange(float(LARGE)))
    y.resize(n, refcheck=False)
    expected = np.arange(float(LARGE)) * 2
    expected.resize(n)
    assert np.array_equal(y, expected)


def test_a_copy_is_numpys(double):
    assert get_handler_name(double(np.ones(LARGE)).copy()) == NUMPYS


def test_threads_have_results_of_their_own(double):
    wrong = []

    def work(number):
        for k in range(40):
            n = LARGE + 1000 * (k % 7)
            one, other = double(np.full(n, float(number))), double(np.full(n, float(k)))
            if not ((one == 2 * number).all() and (other == 2 * k).all()):
                wrong.append((number, k))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def run(script, backend):
    subprocess.run([sys.executable, "-c", script, backend], check=True, timeout=120)


def test_a_forked_process_has_its_own(backend):
    run(FORK, backend)


def test_results_may_live_until_the_process_ends(backend):
    run(AT_EXIT, backend)
