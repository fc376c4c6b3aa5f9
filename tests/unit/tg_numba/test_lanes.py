"""Loops over lanes: every elementwise function at lengths around a block, along every stride, inside its arrays."""

import ctypes

import numpy as np
import pytest

import tg
from tests.unit.native_backends.lanes import (
    FLOATS,
    HALVES,
    LAYOUTS,
    REAL,
    agrees_at_lengths,
    hostile,
    lengths,
)
from tests.unit.native_backends.test_conversions import same
from tg.ops.elementwise.arithmetic import absolute, add, maximum
from tg.ops.elementwise.cast import Cast
from tg.types.dtypes import is_complex, numpy_dtype
from tg.types.tensor_type import TensorType
from tg_numba import body, kernel, processor

pytestmark = pytest.mark.sampled(2)
EVERY_REAL = (*REAL, *HALVES)


@pytest.fixture
def width(request, monkeypatch):
    """The bytes of a vector, as on machines that have no wider ones."""
    if request.param > processor.vector_bytes():
        pytest.skip("this machine has no such vectors")
    monkeypatch.setattr(kernel, "vector_bytes", lambda: request.param)
    return request.param


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", EVERY_REAL)
def test_every_function_at_lengths_around_a_block(dtype, compiled, frozen_of):
    agrees_at_lengths(compiled, frozen_of, dtype, processor.vector_bytes())


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("dtype", "width"), [("int8", 32), ("float32", 32), ("float16", 16), ("float64", 16)], indirect=["width"]
)
def test_every_function_with_narrower_vectors(dtype, width, compiled, frozen_of):
    agrees_at_lengths(compiled, frozen_of, dtype, processor.vector_bytes())


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_function_where_there_is_no_vector_library(dtype, monkeypatch, compiled, frozen_of):
    monkeypatch.setattr(body, "library_symbol", lambda name, dtype, arity: None)
    agrees_at_lengths(compiled, frozen_of, dtype, processor.vector_bytes())


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", ["bool", "int16", "uint64", "bfloat16", "float64", "complex64"])
def test_functions_along_every_stride(dtype, compiled, frozen_of):
    cases = [(fn, first) for fn in (maximum, add, tg.equal) for first in range(len(LAYOUTS))]
    inputs, outputs = [], []
    for fn, first in cases:
        given = []
        for k in range(2):
            view, _, shape = LAYOUTS[(first + k) % len(LAYOUTS)]
            inputs.append(tg.Variable(TensorType(dtype, [1 if n == 1 else None for n in shape(2, 2)]), name="x"))
            given.append(view(inputs[-1]))
        outputs.append(fn(*given))
    executable = compiled(frozen_of(inputs, outputs))
    for m, n in ((3, 2 * processor.vector_bytes() // numpy_dtype(dtype).itemsize + 3), (2, 5)):
        arrays, views = [], []
        for _, first in cases:
            layouts = [LAYOUTS[(first + k) % len(LAYOUTS)] for k in range(2)]
            given = [elements(dtype, layout[2](m, n), k) for k, layout in enumerate(layouts)]
            arrays += given
            views.append([layout[1](a) for layout, a in zip(layouts, given, strict=True)])
        found, status = executable.run(arrays)
        assert status == ()
        for (fn, _), xs, y in zip(cases, views, found, strict=True):
            with np.errstate(all="ignore"):
                same(y, np.asarray(fn.reference(*xs)))


def elements(dtype, shape, seed):
    if not is_complex(dtype):
        return hostile(dtype, shape, seed)
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", HALVES)
def test_every_half_becomes_the_same_float32_and_comes_back(dtype, compiled, frozen_of):
    x = tg.Variable(TensorType(dtype, (None,)), name="x")
    y = tg.Variable(TensorType("float32", (None,)), name="y")
    run = compiled(frozen_of([x, y], [Cast("float32")(x), Cast(dtype)(y)])).run
    a = np.arange(2**16, dtype=np.uint16).view(numpy_dtype(dtype))
    with np.errstate(all="ignore"):
        wide = a.astype(np.float32)
        (found, back), _ = run([a, wide])
    np.testing.assert_array_equal(found, wide)
    number = ~np.isnan(wide)
    np.testing.assert_array_equal(back.view(np.uint16)[number], a.view(np.uint16)[number])
    assert np.isnan(back[~number].astype(np.float32)).all()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("dtype", HALVES)
def test_numbers_between_two_halves_are_rounded_once(dtype, source, compiled, frozen_of):
    x = tg.Variable(TensorType(source, (None,)), name="x")
    run = compiled(frozen_of([x], [Cast(dtype)(x)])).run
    with np.errstate(all="ignore"):
        halves = np.arange(2**16, dtype=np.uint16).view(numpy_dtype(dtype)).astype(source)
        halves = np.unique(halves[np.isfinite(halves)])
        between = (halves[1:] + halves[:-1]) / 2
        a = np.concatenate([between, np.nextafter(between, np.inf), np.nextafter(between, -np.inf)], dtype=source)
        (found,), _ = run([a])
        np.testing.assert_array_equal(found, a.astype(numpy_dtype(dtype)))


def test_values_of_several_widths_share_a_loop(agrees):
    x, y, c, k, b, h = (
        tg.Variable(TensorType(d, (None,)), name="v")
        for d in ("float64", "float32", "bool", "int8", "uint16", "float16")
    )
    wide = tg.cast(y, "float64")
    near = tg.logical_and(tg.less(x, wide), tg.logical_or(c, tg.greater(y, 0)))
    chosen = tg.where(near, x * wide, tg.cast(k, "float64") + tg.cast(b, "float64"))
    outputs = [chosen, near, tg.where(near, y, -y), tg.cast(near, "int8") + k, tg.exp(y) * tg.cast(h, "float32")]
    for n in (0, 1, 7, 8, 9, 70):
        arrays = [hostile(v.type.dtype, (n,), s) for s, v in enumerate((x, y, c, k, b, h))]
        agrees([x, y, c, k, b, h], outputs, arrays)


# --- no element outside an array --------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("dtype", ["bool", "int16", "float16", "float32", "float64", "complex128"])
def test_nothing_outside_the_arrays_is_read_or_written(dtype, at_end, compiled, frozen_of, guarded):
    x, y, r = (tg.Variable(TensorType(dtype, shape), name="x") for shape in ((None,), (None,), (None, None)))
    outputs = [add(x, y), tg.equal(x[::2], y[::2]), add(x[::-1], y), absolute(r.T), tg.equal(x, y)]
    executable = compiled(frozen_of([x, y, r], outputs))
    kinds = [v.type.dtype for v in (x, y, r, *outputs)]
    memory = [guarded(16 * processor.vector_bytes() * 8) for _ in kinds]
    for n in (n for n in lengths(processor.vector_bytes()) if n):
        sizes = (n, n, n, n, -(-n // 2), n, n, n)
        arrays = [m.array(d, k, at_end) for m, d, k in zip(memory, kinds, sizes, strict=True)]
        for s, a in enumerate(arrays[:3]):
            a[:] = elements(dtype, (n,), s)
        a, b, c = arrays[:3]
        shaped = [*arrays[3:6], arrays[6].reshape(n, 1), arrays[7]]
        assert executable.program.run(a, b, c.reshape(1, n), *shaped, np.zeros(5, np.int64)) == 0
        with np.errstate(all="ignore"):
            expected = [add.reference(a, b), a[::2] == b[::2], add.reference(a[::-1], b), absolute.reference(c), a == b]
        for k, (found, right) in enumerate(zip(arrays[3:], expected, strict=True)):
            if k != 3 or not is_complex(dtype):
                np.testing.assert_array_equal(found, right)


# --- the machine code of loops ----------------------------------------------------------------------------------------


def test_code_goes_with_its_last_program(compiled, frozen_of):
    import gc

    from tg_numba import engine

    x = tg.Variable(TensorType("float64", (None,)), name="x")
    kept = compiled(frozen_of([x], [tg.arctan(x * 17.25)]))
    gc.collect()  # what earlier tests left
    inside = len(engine._known)
    again = compiled(frozen_of([x], [tg.arctan(x * 17.25)]))
    assert len(engine._known) == inside
    np.testing.assert_array_equal(kept.run([np.ones(3)])[0][0], again.run([np.ones(3)])[0][0])
    del kept, again
    gc.collect()
    assert len(engine._known) < inside


@pytest.mark.long
def test_a_thousand_compilations_take_no_more_and_more_memory():
    import resource

    from tg_numba import engine
    from tg_numba.assembly import Module

    def compile_one(k):
        text = f"define void @loop(ptr %a) {{\nentry:\n  store i64 {k}, ptr %a\n  ret void\n}}"
        written = engine.Written(Module(), text)
        code = engine.loaded(engine.bundle(engine.compiled([written]), {"loop": written.symbol}), {})
        place = ctypes.c_int64(-1)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("loop"))(ctypes.addressof(place))
        assert place.value == k

    for k in range(300):
        compile_one(k)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for k in range(300, 1000):
        compile_one(k)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8_000
