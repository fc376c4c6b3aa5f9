"""Vectors in C: every elementwise function on lanes, at lengths around a block, along every stride, within arrays."""

import ctypes
import itertools
import mmap
import re

import numpy as np
import pytest

import tg
from tests.unit.native_backends.lanes import (
    FLOATS,
    LAYOUTS,
    REAL,
    agrees_at_lengths,
    check,
    hostile,
    lengths,
    loops,
    operand,
)
from tg.ops.elementwise.arithmetic import absolute, add, floor_divide, maximum, power, remainder
from tg.ops.elementwise.cast import convert
from tg.ops.elementwise.comparison import isnan, where
from tg.ops.elementwise.exponential import exp, log1p
from tg.ops.elementwise.trigonometric import sin, tanh
from tg.types.dtypes import numpy_dtype
from tg.types.tensor_type import TensorType
from tg_c import kernel, prelude, vectors
from tg_c import machine as this_machine
from tg_c.machine import masked_moves, vector_bytes
from tg_conformance.compare import differs
from tg_native.fusion.fused import fuse
from tg_native.loops.pointwise import SHORT

pytestmark = pytest.mark.sampled(2)


MACHINES = {64: "avx512", 32: "avx2", 16: ""}  # bytes of a vector, and the moves of its first lanes


@pytest.fixture(params=MACHINES)
def machine(request, monkeypatch):
    """Vectors and instructions of older machines."""
    if request.param > vector_bytes() or (MACHINES[request.param] and not masked_moves()):
        pytest.skip("this machine has no such vectors")
    for module in (kernel, prelude, vectors):
        monkeypatch.setattr(module, "vector_bytes", lambda: request.param)
    monkeypatch.setattr(vectors, "masked_moves", lambda: MACHINES[request.param])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", REAL)
def test_every_function_at_lengths_around_a_block(dtype, compiled, frozen_of):
    agrees_at_lengths(compiled, frozen_of, dtype, vector_bytes())


@pytest.mark.sampled(12)
@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", *FLOATS])
def test_every_function_with_narrower_vectors(dtype, compiled, frozen_of):
    agrees_at_lengths(compiled, frozen_of, dtype, vector_bytes())


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_function_where_there_is_no_vector_library(dtype, monkeypatch, compiled, frozen_of):
    monkeypatch.setattr(this_machine, "vector_library", lambda: None)
    agrees_at_lengths(compiled, frozen_of, dtype, vector_bytes())


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", REAL)
def test_every_function_along_every_stride(dtype, compiled, frozen_of):
    firsts = range(len(LAYOUTS) if dtype == "float64" else 1)  # the loads are the same for all functions of a dtype
    cases = [
        (fn, (at + first) % len(LAYOUTS), operands, result)
        for at, (fn, operands, result) in enumerate(loops(dtype))
        for first in firsts
    ]
    inputs, outputs = [], []
    for fn, first, operands, _ in cases:
        given = []
        for k, d in enumerate(operands):
            view, _, shape = LAYOUTS[(first + k) % len(LAYOUTS)]
            length = [1 if n == 1 else None for n in shape(2, 2)]
            inputs.append(tg.Variable(TensorType(d, length), name="x"))
            given.append(view(inputs[-1]))
        outputs.append(fn(*given))
    executable = compiled(frozen_of(inputs, outputs))
    for m, n in ((3, 2 * vector_bytes() // numpy_dtype(dtype).itemsize + 3), (2, 5)):
        arrays, views = [], []
        for fn, first, operands, _ in cases:
            layouts = [LAYOUTS[(first + k) % len(LAYOUTS)] for k in range(len(operands))]
            given = [operand(fn, k, d, layouts[k][2](m, n)) for k, d in enumerate(operands)]
            arrays += given
            views.append([layout[1](a) for layout, a in zip(layouts, given, strict=True)])
        found, status = executable.run(arrays)
        assert status == ()
        for (fn, _, _, result), xs, y in zip(cases, views, found, strict=True):
            check(fn, xs, y, result)


def test_values_of_several_widths_share_a_loop(agrees):
    x, y, c, k, b = (
        tg.Variable(TensorType(d, (None,)), name="v") for d in ("float64", "float32", "bool", "int8", "uint16")
    )
    wide = tg.cast(y, "float64")
    near = tg.logical_and(tg.less(x, wide), tg.logical_or(c, tg.greater(y, 0)))
    chosen = tg.where(near, x * wide, tg.cast(k, "float64") + tg.cast(b, "float64"))
    outputs = [
        chosen,
        near,
        tg.where(near, y, -y),
        tg.cast(near, "int8") + k,
        tg.logical_not(tg.equal(k, 0)),
        chosen > 1,
    ]
    for n in (0, 1, 7, 8, 9, 70):
        arrays = [hostile(v.type.dtype, (n,), s) for s, v in enumerate((x, y, c, k, b))]
        agrees([x, y, c, k, b], outputs, arrays)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64"])
def test_lanes_computed_by_themselves_stand_among_vectors(dtype, compiled, frozen_of):
    functions = (floor_divide, remainder, power, isnan)
    x, y = (tg.Variable(TensorType(dtype, (None,)), name="x") for _ in range(2))
    outputs = [where(x > y, fn(x, y) if fn.arity == 2 else tg.cast(fn(x), dtype), x) for fn in functions]
    executable = compiled(fuse(frozen_of([x, y], outputs)))
    assert "v[k] = tg_power_" in executable.full_source()
    for n in (1, 9, 70):
        with np.errstate(all="ignore"):
            a, b = hostile(dtype, (n,), 0), hostile(dtype, (n,), 1) % 7
            found, _ = executable.run([a, b])
            for fn, z in zip(functions, found, strict=True):
                right = np.where(a > b, fn.reference(a, b) if fn.arity == 2 else convert(np.isnan(a), dtype), a)
                assert differs(z, right, dtype=dtype, accuracy=fn.accuracy) is None


@pytest.mark.sampled(8)
@pytest.mark.parametrize("has_library", [True, False])
@pytest.mark.parametrize("dtype", FLOATS)
def test_no_function_of_floats_is_computed_lane_by_lane(dtype, has_library, monkeypatch, compiled, frozen_of):
    if not has_library:
        monkeypatch.setattr(this_machine, "vector_library", lambda: None)
    cases = [(fn, operands) for fn, operands, _ in loops(dtype) if set(operands) == {dtype}]
    inputs = [[tg.Variable(TensorType(d, (None,)), name="x") for d in operands] for _, operands in cases]
    outputs = [fn(*xs) for (fn, _), xs in zip(cases, inputs, strict=True)]
    source = compiled(frozen_of(list(itertools.chain(*inputs)), outputs)).full_source()
    assert "tg_each_" not in source
    by_lanes = set(re.findall(r"v\[k\] = (\w+)\(", source))
    assert by_lanes <= (set() if this_machine.has_fused() else {"fmod", "fmodf", "pow", "powf"})


def test_what_rows_share_is_computed_once_a_row(compiled, frozen_of):
    x, s = (tg.Variable(TensorType("float64", shape), name="x") for shape in ((3, 10), (3, 1)))
    executable = compiled(fuse(frozen_of([x, s], [x * tg.exp(tg.broadcast_to(s, (3, 10)))])))
    assert len(re.findall(r"= \w*exp\w*\(", executable.source())) == 1  # before the loop over a row, which stands twice
    a, b = np.arange(30.0).reshape(3, 10), np.array([[0.0], [1.0], [-2.0]])
    (found,), _ = executable.run([a, b])
    np.testing.assert_allclose(found, a * np.exp(b), rtol=1e-15)


@pytest.mark.parametrize(("steps", "times"), [(1, 2), (SHORT // 2, 1)])  # of three operations each
def test_few_steps_are_written_for_whole_blocks_and_for_the_last_one(steps, times, compiled, frozen_of):
    x = tg.Variable(TensorType("float64", (None,)), name="x")
    y = x
    for k in range(steps):
        y = y + tg.sqrt(x - float(k))
    source = compiled(fuse(frozen_of([x], [y]))).source()
    assert len(re.findall(r"= \w*sqrt\w*\(", source)) == steps * times


def test_a_long_function_is_written_once_for_both(compiled, frozen_of):
    x = tg.Variable(TensorType("float64", (None,)), name="x")
    source = compiled(fuse(frozen_of([x], [x + tg.exp(x)]))).source()
    assert len(re.findall(r"= \w*exp\w*\(", source)) == 1


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", FLOATS)
def test_strict_results_are_those_of_single_numbers(dtype, compiled, frozen_of):
    functions = (exp, sin, tanh, log1p)
    x, s = (tg.Variable(TensorType(dtype, shape), name="x") for shape in ((None,), ()))
    strict = compiled(frozen_of([x], [fn(x) for fn in functions]), accuracy="strict")
    assert "_ZGV" not in strict.full_source()
    single = compiled(frozen_of([s], [fn(s) for fn in functions]))
    a = hostile(dtype, (50,), 0)
    found, _ = strict.run([a])
    alone = [single.run([a[k]])[0] for k in range(a.size)]
    for y, numbers in zip(found, zip(*alone, strict=True), strict=True):
        np.testing.assert_array_equal(y, np.array(numbers, dtype))


# --- no element outside an array --------------------------------------------------------------------------------------


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


@pytest.mark.sampled(8)
@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("dtype", REAL)
def test_nothing_outside_the_arrays_is_read_or_written(dtype, at_end, compiled, frozen_of):
    x, y, r = (tg.Variable(TensorType(dtype, shape), name="x") for shape in ((None,), (None,), (None, None)))
    outputs = [maximum(x, y), absolute(x[::2]), add(x[::-1], y), absolute(r.T), tg.equal(x, y)]
    executable = compiled(frozen_of([x, y, r], outputs))
    memory = [Guarded(16 * vector_bytes() * 8) for _ in range(3 + len(outputs))]
    for n in (n for n in lengths(vector_bytes()) if n):
        sizes = (n, n, n, n, -(-n // 2), n, n, n)
        dtypes = (*[dtype] * 7, "bool")
        arrays = [m.array(d, k, at_end) for m, d, k in zip(memory, dtypes, sizes, strict=True)]
        for s, a in enumerate(arrays[:3]):
            a[:] = hostile(dtype, (n,), s)
        a, b, c = arrays[:3]
        assert executable._unit.run([a, b, c.reshape(1, n)], arrays[3:]) == (0, ())
        with np.errstate(all="ignore"):
            expected = [np.maximum(a, b), np.abs(a[::2]), a[::-1] + b, np.abs(c), a == b]
        for found, right in zip(arrays[3:], expected, strict=True):
            np.testing.assert_array_equal(found, right)


def test_bools_and_small_integers_of_one_unit_stay_apart():
    """Masks beside bytes have the type of int8: functions are told apart by the dtypes."""
    b, x = tg.vector("b", dtype="bool"), tg.vector("x", dtype="int8")
    outputs = [tg.clip(b, False, b), tg.clip(x, -5, x), tg.minimum(b, b[::-1]), tg.minimum(x, x[::-1])]
    f = tg.function([b, x], outputs, backend="c")
    flags, numbers = np.arange(100) % 3 == 0, np.arange(-50, 50, dtype=np.int8)
    wanted = [
        flags,
        np.minimum(np.maximum(numbers, -5), numbers),
        flags & flags[::-1],
        np.minimum(numbers, numbers[::-1]),
    ]
    for found, expected in zip(f(flags, numbers), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)
