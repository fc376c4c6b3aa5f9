"""Loops with ends, positions and stages in lanes: against the reference, how exact sums are, inside their arrays."""

import math

import ml_dtypes
import numpy as np
import pytest

import tg
from tests.unit.native_backends.test_stages import LENGTHS, comparison, normal
from tg.graph.interpret import interpret
from tg.types.dtypes import numpy_dtype
from tg.types.tensor_type import TensorType
from tg_numba import kernel, processor
from tg_numba.lower import LOOPS


def agrees(inputs, outputs, arrays, rtol=1e-12):
    """Compare with the reference, layouts and dtypes too."""
    comparison("numba", inputs, outputs, rtol)(arrays)


@pytest.fixture(params=[64, 32, 16])
def width(request, monkeypatch):
    """The bytes of a vector, as on machines that have no wider ones."""
    if request.param > processor.vector_bytes():
        pytest.skip("this machine has no such vectors")
    monkeypatch.setattr(kernel, "vector_bytes", lambda: request.param)


def test_one_pass_gives_a_sum_an_extreme_and_an_array():
    x, mu = tg.vector("x"), tg.scalar("mu")
    z = x - mu
    f = tg.function([x, mu], [tg.sum(z * z), tg.sum(z), tg.exp(z)], backend="numba")
    assert f.source().count("define void @loop") == 1
    for n in LENGTHS:
        a = normal(n)
        found = f(a, 0.5)
        np.testing.assert_allclose(found[0], math.fsum((a - 0.5) ** 2), rtol=1e-13)
        np.testing.assert_allclose(found[2], np.exp(a - 0.5), rtol=1e-14)


@pytest.mark.usefixtures("width")
def test_rows_and_positions_with_narrower_vectors():
    x, i = tg.matrix("x"), tg.vector("i", dtype="int64")
    e = tg.exp(x - tg.max(x, axis=-1, keepdims=True))
    softmax = e / tg.sum(e, axis=-1, keepdims=True)
    for n in (5, 70):
        arrays = [normal(3, n), np.random.default_rng(2).integers(-3, 3, n)]
        z = x[i, 1] * 2.0
        agrees([x, i], [softmax, tg.sum(x * x), tg.any(x > 2.0), tg.sum(z), tg.grad(tg.sum(z * z), x)], arrays)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "float64", "complex64", "complex128"])
def test_columns(dtype):
    x = tg.tensor("x", dtype, (None, None))
    y, b = tg.tensor("y", dtype, (None, None, None)), tg.vector("b")
    squares = x & x if dtype == "bool" else x * x
    outputs = [tg.sum(squares, axis=0), tg.sum(squares), squares, tg.prod(y + y, axis=(0, 1)), tg.sum(y + y, axis=0)]
    wide = squares if dtype.startswith("complex") else tg.cast(squares, "float64")
    outputs.append(tg.sum(tg.exp(b) * wide, axis=0))
    if not dtype.startswith("complex"):
        outputs.append(tg.max(squares, axis=0))
    for m, n in ((1, 5), (3, 1), (70, 9), (4100, 33)):
        arrays = [normal(m, n) > 0 if dtype == "bool" else (np.abs(normal(m, n)) * 3).astype(dtype)]
        arrays += [arrays[0].reshape(1, m, n)[:, :40] + arrays[0][0, 0], normal(n)]
        agrees([x, y, b], outputs, arrays, 1e-5 if dtype in ("float32", "complex64") else 1e-11)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_reduced_in_wider_numbers_and_rounded_once(dtype):
    x = tg.tensor("x", dtype, (None, None))
    outputs = [tg.sum(-x, axis=-1), tg.max(-x, axis=-1), tg.sum(-x), tg.min(-x), tg.sum(abs(x), axis=0)]
    f = tg.function([x], outputs, backend="numba")
    for n in (1, 40, 700):
        a = normal(3, n).astype(numpy_dtype(dtype))
        wide = -a.astype(np.float64)
        known = (wide.sum(-1), wide.max(-1), wide.sum(), wide.min(), np.abs(wide).sum(0))
        for found, wanted in zip(f(a), known, strict=True):
            error = np.abs(found.astype(np.float64) - wanted)
            assert (error <= np.abs(wanted) * float(ml_dtypes.finfo(a.dtype).eps) / 2 * 1.001).all()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "complex128"])
def test_every_way_to_write_at_positions(dtype):
    x, y = (tg.tensor(name, dtype, (None,)) for name in "xy")
    i = tg.tensor("i", "uint64" if dtype == "uint64" else "int16", (None,))
    ways = ["set", "add", "multiply", "min", "max"]
    outputs = [getattr(x.at[i], way)(tg.where(y == x[i], y, x[i])) for way in ways]
    for n in (0, 1, 9, 70):
        arrays = [(normal(m, seed=s) * 2).astype(dtype) for s, m in enumerate((5, n))]
        index = np.random.default_rng(n).integers(0, 5, n).astype(i.type.dtype)
        agrees([x, y, i], outputs, [*arrays, index], 1e-5)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_divisor_that_a_row_shares_is_inverted_and_scaled_where_it_must_be(dtype):
    x, s = tg.tensor("x", dtype, (None,)), tg.tensor("s", dtype, ())
    f = tg.function([x, s], [x / s - 0.0, tg.max(x / s)], backend="numba")
    info = np.finfo(dtype)
    known = [1.0, -0.0, 3.0, np.inf, -np.inf, np.nan, info.smallest_subnormal, info.max / 1.05, 7.0]
    divisors = [3.0, -7.0, info.smallest_subnormal, info.tiny / 3, info.tiny, info.max / 1e3, info.max, 0.0, -0.0]
    a = np.array(known, dtype)
    with np.errstate(all="ignore"):
        for divisor in np.array([*divisors, np.inf, np.nan, 1e37, 1e-37], dtype):
            wanted = a / divisor - 0
            found, most = f(a, divisor)
            np.testing.assert_allclose(found, wanted, rtol=1.05 * info.eps, atol=info.smallest_subnormal)
            assert np.isnan(most)
            np.testing.assert_allclose(f(a[6:], divisor)[1], wanted[6:].max(), rtol=1.05 * info.eps, atol=info.tiny)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("dtype", ["bool", "int16", "float16", "float32", "float64", "complex128"])
def test_nothing_outside_the_arrays_is_read_or_written(dtype, at_end, compiled, frozen_of, guarded):
    x, t = (tg.Variable(TensorType(dtype, (None,)), name="x") for _ in range(2))
    m = tg.Variable(TensorType(dtype, (None, None)), name="m")
    i = tg.Variable(TensorType("int64", (None,)), name="i")
    read = tg.where(x == t[i], x, t[i])
    rows = tg.sum(tg.where(m == m[:, 0][:, None], m, m[:, ::-1]), axis=-1)
    outputs = [tg.sum(read), rows, t.at[i].add(read), read, tg.sum(tg.where(m == m[0], m, m[:, ::-1]), axis=0)]
    frozen = frozen_of([x, t, m, i], outputs)
    executable = compiled(LOOPS.fused(frozen))
    kinds = [v.type.dtype for v in (x, t, m, i, *outputs)]
    memory = [guarded(3 * 200 * 16) for _ in kinds]
    for n in (1, 7, 33, 200):
        shapes = ((n,), (5,), (3, n), (n,), (), (3,), (5,), (n,), (n,))
        arrays = [g.array(d, math.prod(s), at_end).reshape(s) for g, d, s in zip(memory, kinds, shapes, strict=True)]
        for seed, (a, d) in enumerate(zip(arrays[:4], kinds, strict=False)):
            a[...] = np.random.default_rng(seed).integers(0, 5, a.shape).astype(numpy_dtype(d))
        assert executable.program.run(*arrays, np.zeros(5, np.int64)) == 0
        for found, wanted in zip(arrays[4:], interpret(frozen, arrays[:4]), strict=True):
            np.testing.assert_array_equal(found, wanted)  # small whole numbers, whose sums are exact


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "float32"])
def test_masks_hold_over_calls_in_loops_of_several_widths(dtype, compiled, frozen_of, guarded):
    x, y, z = (tg.Variable(TensorType(d, (None,)), name="x") for d in ("float64", "float64", dtype))
    outputs = [tg.cast(x, dtype), tg.floor_divide(x, y), tg.equal(z, tg.cast(y, dtype))]
    executable = compiled(LOOPS.fused(frozen_of([x, y, z], outputs)))
    kinds = ["float64", "float64", dtype, dtype, "float64", "bool"]
    memory = [guarded(8 * 200) for _ in kinds]
    for n in (7, 8, 9, 15, 17, 55, 64, 65):
        a, b, c, *found = arrays = [m.array(d, n, at_end=True) for m, d in zip(memory, kinds, strict=True)]
        for s, given in enumerate(arrays[:3]):
            given[:] = np.random.default_rng(s).integers(1, 9, n)
        assert executable.program.run(*arrays, np.zeros(5, np.int64)) == 0
        for one, right in zip(found, (a.astype(dtype), a // b, c == b.astype(dtype)), strict=True):
            np.testing.assert_array_equal(one, right)
