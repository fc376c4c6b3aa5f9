"""float16 and bfloat16 in C: exact conversions, one rounding for each op, reductions and products in float32."""

import ctypes

import ml_dtypes
import numpy as np
import pytest

import tg
from tg.types.dtypes import numpy_dtype
from tg.types.tensor_type import TensorType
from tg_c import unit
from tg_c.half import narrowed, widened
from tg_c.prelude import Prelude
from tg_c.text import TYPEDEFS
from tg_native.kernels.dtypes import WORDS

HALVES = ("float16", "bfloat16")
SOURCES = ("float32", "float64")


def vector(dtype, *shape):
    return tg.Variable(TensorType(dtype, shape or (None,)), name="x")


def converted(dtype, to_c, arguments, array, result):
    """The elements of an array as a C expression of `x[i]` converts them."""
    prelude = Prelude()
    expression = to_c(prelude)
    source = (
        f"{TYPEDEFS}{prelude.text()}\n"
        f"void convert({arguments}, i64 n) {{ for (i64 i = 0; i < n; i++) y[i] = {expression}; }}\n"
        "i64 tg_run(const void *const *a, const i64 *d, void *const *b, i64 *s) { return 0; }\n"
        "i64 tg_plan(const void *const *a, const i64 *d, i64 *b, i64 *s) { return 0; }\n"
    )
    loaded = unit.load(source)
    library = ctypes.CDLL(str(loaded.path))
    found = np.empty(array.shape, result)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (array, found)]
    library.convert(*pointers, ctypes.c_longlong(array.size))
    return found


def same_bits_but_for_nan(found, wanted):
    bits = f"u{wanted.itemsize}"
    nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), nan)
    np.testing.assert_array_equal(np.where(nan, 0, found.view(bits)), np.where(nan, 0, wanted.view(bits)))


@pytest.mark.parametrize("dtype", HALVES)
def test_every_half_becomes_the_same_float32(dtype):
    x = np.arange(2**16, dtype=np.uint16).view(numpy_dtype(dtype))
    kind = WORDS[dtype]
    found = converted(dtype, lambda p: widened(p, dtype, "x[i]"), f"const {kind} *x, f32 *y", x, np.float32)
    with np.errstate(invalid="ignore"):
        same_bits_but_for_nan(found, x.astype(np.float32))


def edges(dtype, source):
    """Every half, every number between two halves, both as they are and moved to either side."""
    halves = np.arange(2**16, dtype=np.uint16).view(numpy_dtype(dtype))
    with np.errstate(all="ignore"):
        exact = halves[np.isfinite(halves)].astype(np.float64)
        ordered = np.sort(exact)
        middles = ordered[:-1] / 2 + ordered[1:] / 2
        limit = float(ml_dtypes.finfo(numpy_dtype(dtype)).max)
        over = limit * (1 + np.array([0.25, 0.5, 1, 2]) * float(ml_dtypes.finfo(numpy_dtype(dtype)).eps) / 2)
        x = np.concatenate([exact, middles, over, -over, [np.inf, -np.inf, np.nan, 0.0, -0.0]]).astype(source)
        return np.concatenate([x, np.nextafter(x, x.dtype.type(np.inf)), np.nextafter(x, x.dtype.type(-np.inf))])


@pytest.mark.parametrize("dtype", HALVES)
def test_float32_is_rounded_to_the_nearest_half(dtype):
    x = edges(dtype, "float32")
    found = converted(
        dtype, lambda p: narrowed(p, dtype, "x[i]"), f"const f32 *x, {WORDS[dtype]} *y", x, numpy_dtype(dtype)
    )
    with np.errstate(all="ignore"):
        same_bits_but_for_nan(found, x.astype(numpy_dtype(dtype)))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("dtype", HALVES)
def test_a_cast_gives_the_nearest_half(dtype, source, compiled, frozen_of):
    values, x = edges(dtype, source), vector(source)
    (found,), _ = compiled(frozen_of([x], [tg.cast(x, dtype)])).run([values])
    with np.errstate(all="ignore"):
        same_bits_but_for_nan(found, values.astype(numpy_dtype(dtype)))


def test_float64_is_rounded_to_float16_once(compiled, frozen_of):
    just_above, x = 1 + 2.0**-11 + 2.0**-40, vector("float64")  # float32 takes it for a tie
    values = np.array([just_above, -just_above, 1 + 3 * 2.0**-11 - 2.0**-40])
    (found,), _ = compiled(frozen_of([x], [tg.cast(x, "float16")])).run([values])
    np.testing.assert_array_equal(found, np.array([1 + 2.0**-10, -1 - 2.0**-10, 1 + 2.0**-10], np.float16))


@pytest.mark.parametrize("dtype", HALVES)
def test_each_op_of_a_fused_chain_rounds(dtype, compiled, frozen_of):
    from tg_native.fusion.fused import fuse

    kind = numpy_dtype(dtype)
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=1000).astype(kind) for _ in range(3))
    x, y, z = (vector(dtype, 1000) for _ in range(3))
    frozen = fuse(frozen_of([x, y, z], [(x * y + z) * y - x / z]))
    assert len(frozen.nodes) == 1
    (found,), _ = compiled(frozen).run([a, b, c])
    wanted = (a * b + c) * b - a / c
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", HALVES)
def test_sums_and_products_are_rounded_once(dtype, compiled, frozen_of):
    kind = numpy_dtype(dtype)
    a = (1 + np.random.default_rng(0).random((300, 40)) / 64).astype(kind)
    x = vector(dtype, None, None)
    outputs = [tg.sum(x, 0), tg.sum(x, 1), tg.sum(x), tg.prod(x, 0), tg.prod(x, 1)]
    found, _ = compiled(frozen_of([x], outputs)).run([a])
    wide = a.astype(np.float64)
    wanted = [wide.sum(0), wide.sum(1), wide.sum(), wide.prod(0), wide.prod(1)]
    for y, exact in zip(found, wanted, strict=True):
        eps = float(ml_dtypes.finfo(kind).eps)
        np.testing.assert_allclose(y.astype(np.float64), exact, rtol=0.51 * eps)


@pytest.mark.parametrize("dtype", HALVES)
def test_matrix_products_accumulate_in_float32(dtype, compiled, frozen_of):
    kind = numpy_dtype(dtype)
    a, b = np.full((3, 5000), 0.5, kind), np.full((5000, 2), 0.5, kind)
    x, y = vector(dtype, None, None), vector(dtype, None, None)
    (found,), _ = compiled(frozen_of([x, y], [x @ y])).run([a, b])
    np.testing.assert_array_equal(found, np.full((3, 2), 1250, np.float32).astype(kind))


@pytest.mark.parametrize("dtype", HALVES)
def test_constants_keep_their_bits(dtype, compiled, frozen_of):
    kind = numpy_dtype(dtype)
    table = np.array([0.1, -0.0, np.inf, -np.inf, 1e-7, 3.0], kind)
    zeros = np.array([0.0, -0.0], kind)
    large = np.arange(3000, dtype=np.uint16).view(kind)
    alike, one = np.full(5, 0.1, kind), np.array(-0.0, kind)
    constants = (table, zeros, large, -zeros[:1], alike, one)
    found, _ = compiled(frozen_of([], [tg.constant(v) for v in constants])).run([])
    assert [y.tobytes() for y in found] == [wanted.tobytes() for wanted in constants]
