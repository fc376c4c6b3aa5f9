"""The MLX linker: streams, memory, threads, options, lazy and compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import ml_dtypes
import mlx.core as mx
import numpy as np
import pytest

import tg
from tg.errors import NoRuleError, OptionError
from tg.graph.nodes import Variable
from tg.ops.catalog import FAMILIES
from tg.types.dtypes import is_integer
from tg.types.tensor_type import TensorType
from tg_mlx.arrays import NATIVE, from_numpy
from tg_mlx.rules import RULES

pytestmark = pytest.mark.sampled(2)

MODES = pytest.mark.parametrize(
    "backend", [tg.backend("mlx"), tg.backend("mlx", compile=True)], ids=["lazy", "compiled"]
)


def executable(f):
    return f.programs.main.executable


@MODES
def test_the_state_of_mlx_stays(backend) -> None:
    before = mx.default_device(), mx.default_stream(mx.cpu), mx.random.state[0].tolist(), dict(os.environ)
    x = tg.vector("x")
    tg.function([x], [tg.sum(x), x[::-1]], backend=backend)(np.ones(3))
    assert (mx.default_device(), mx.default_stream(mx.cpu), mx.random.state[0].tolist(), dict(os.environ)) == before


def test_an_error_leaves_the_lock_and_the_stream() -> None:
    before = mx.default_stream(mx.cpu)
    n = tg.scalar("n", dtype="int64")
    f = tg.function([n], tg.arange(n), backend="mlx")
    with pytest.raises(MemoryError):
        f(2**40)
    assert mx.default_stream(mx.cpu) == before
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(f(3).tolist()))
    thread.start()
    thread.join(60)
    assert found == [[0, 1, 2]]


def test_a_compiled_program_is_traced_once_for_each_shape() -> None:
    x = tg.vector("x")
    f = tg.function([x], tg.sum(x), backend=tg.backend("mlx", compile=True))
    for n in (3, 4, 3, 4, 4):
        assert f(np.ones(n)) == n
    assert executable(f).compiles == 2


def test_a_lazy_program_is_never_traced() -> None:
    x = tg.vector("x")
    f = tg.function([x], x + 1, backend="mlx")
    assert f(np.ones(3)).tolist() == [2.0] * 3
    assert executable(f).compiles == 0


@MODES
def test_a_window_that_moves_and_a_size_that_depends_on_a_value(backend) -> None:
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    f = tg.function([x, k], [x[k : k + 3], tg.sum(tg.arange(k))], backend=backend)
    for start in (0, 4, 2, 4):
        window, total = f(np.arange(9.0), start)
        assert window.tolist() == [start, start + 1.0, start + 2.0]
        assert total == start * (start - 1) // 2


@MODES
def test_a_reversed_array_is_read_in_its_order(backend) -> None:
    x = tg.matrix("x")
    f = tg.function([x], [2.0 * x[::-1], x[:, ::-1] + x], backend=backend)
    given = np.arange(12.0).reshape(3, 4)
    for a in (given, given[::-1], given[:, ::-1], given[::-1, ::-1], np.asfortranarray(given)):
        first, second = f(a)
        np.testing.assert_array_equal(first, 2.0 * a[::-1])
        np.testing.assert_array_equal(second, a[:, ::-1] + a)


@MODES
def test_nan_constants(backend) -> None:
    x = tg.vector("x")
    f = tg.function(
        [x], [x + np.nan, tg.where(x > 0, np.nan, x), tg.constant(np.array([np.nan, -0.0]))], backend=backend
    )
    added, chosen, constant = f(np.array([-1.0, 1.0]))
    assert np.isnan(added).all()
    assert np.isnan(chosen).tolist() == [False, True]
    assert np.isnan(constant).tolist() == [True, False]
    assert np.signbit(constant[1])


@pytest.mark.parametrize("dtype", NATIVE)
def test_numpy_arrays_arrive_in_every_layout(dtype) -> None:
    kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    plain = np.arange(24).reshape(2, 3, 4).astype(kind)
    odd = np.zeros((2, 3, 4), [("pad", "i1"), ("value", kind)])["value"]  # strides are no multiples of an element
    odd[...] = plain
    raw = np.frombuffer(bytes(1) + plain.tobytes(), np.uint8)[1:]
    unaligned = np.ndarray(plain.shape, kind, raw.data)
    for a in (
        plain,
        plain[::-1],
        plain[:, ::2, ::-2],
        plain.T,
        odd,
        unaligned,
        np.broadcast_to(plain, (2, 2, 3, 4)),
        plain[:1][::-1],
    ):
        found = from_numpy(a)
        assert found.dtype == NATIVE[dtype]
        assert found.shape == a.shape
        np.testing.assert_array_equal(np.asarray(found.astype(mx.complex64)), a.astype(np.complex64))
    before = from_numpy(plain)
    plain[...] = 0
    assert mx.any(before).item()  # a copy


@MODES
@pytest.mark.parametrize("output", ["native", "numpy"])
def test_outputs_share_no_memory(backend, output) -> None:
    x = tg.vector("x")
    y = x.reshape((2, 256))
    f = tg.function([x], [x, x, y, y, y.T, x[::-1], x + 1], backend=backend, output=output)
    given = np.arange(512.0)
    found = [np.asarray(v) for v in f(given)]
    for k, a in enumerate(found):
        assert not np.shares_memory(a, given)
        assert not any(np.shares_memory(a, b) for b in found[:k])
    np.testing.assert_array_equal(found[2], given.reshape(2, 256))


@MODES
def test_a_native_output_shares_no_memory_with_a_shared_variable(backend) -> None:
    s = tg.shared(np.arange(6.0), name="s")
    f = tg.function([], [s, s.reshape((2, 3)), s[1:]], backend=backend, output="native")
    for a in f():
        np.asarray(a)[...] = 9
    assert [np.asarray(a).ravel()[-1] for a in f()] == [5.0] * 3


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "fn", [fn for family in FAMILIES for fn in family.elementwise if fn.expansion is None], ids=lambda fn: fn.name
)
def test_no_elementwise_rule_returns_its_operand(fn) -> None:
    for dtype in NATIVE:
        try:
            loop = fn.loop((dtype,) * fn.arity)
        except tg.errors.DtypeError:
            continue
        if loop[1] not in NATIVE:
            continue
        operands = [Variable(TensorType(d, (None,))) for d in loop[0]]
        f = tg.function(operands, [*operands, fn.op(*operands)], backend="mlx", output="native")
        kinds = [np.dtype(ml_dtypes.bfloat16) if d == "bfloat16" else np.dtype(d) for d in loop[0]]
        found = f(*(np.ones(64).astype(kind) for kind in kinds))
        places = [np.asarray(a.view(mx.uint8)).ctypes.data for a in found]
        assert len(set(places)) == len(places), dtype


@MODES
def test_outputs_are_writable_and_owned(backend) -> None:
    x = tg.matrix("x")
    found = tg.function([x], [x, x.T, tg.sum(x)], backend=backend)(np.ones((2, 3)))
    for a in found:
        assert type(a) is np.ndarray
        assert a.flags.writeable
        assert a.flags.owndata
        a[...] = 5


def test_native_outputs_keep_their_dtype() -> None:
    x, h = tg.vector("x"), tg.vector("h", dtype="bfloat16")
    found, half = tg.function([x, h], [tg.cumsum(x), h + h], backend="mlx", output="native")(
        np.ones(1000), np.ones(3, ml_dtypes.bfloat16)
    )
    assert isinstance(found, mx.array)
    assert found.dtype == mx.float64
    assert half.dtype == mx.bfloat16
    assert float(mx.sum(half + 1)) == 9.0  # of use on the caller's own stream


@MODES
def test_large_constants(backend) -> None:
    data = np.random.default_rng(0).normal(size=(200, 30))
    x = tg.vector("x")
    inner = tg.call(lambda v: tg.matmul(tg.constant(data), v), x)
    f = tg.function([x], [tg.matmul(tg.constant(data), x), inner], backend=backend)
    a, b = f(np.ones(30))
    np.testing.assert_allclose(a, data.sum(1), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(a, b)
    assert [c.size for c in executable(f).main._constants].count(data.size) == 1


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts the threads that Linux lists")
def test_threads_that_end_leave_no_thread_behind() -> None:
    x = tg.vector("x")
    f = tg.function([x], tg.sum(x), backend="mlx")
    f(np.ones(3))

    def run() -> None:
        thread = threading.Thread(target=f, args=(np.ones(3),))
        thread.start()
        thread.join()

    run()
    before = len(list(Path("/proc/self/task").iterdir()))
    for _ in range(20):
        run()
    after = len(list(Path("/proc/self/task").iterdir()))
    assert after < before + 10  # one that has just ended may still be listed


MLX_BEFORE = """
import threading, mlx.core as mx, numpy as np
print(mx.ones(2).sum().item())
import tg
x = tg.vector("x")
f = tg.function([x], tg.sum(tg.exp(x) * x), backend="mlx")
found = []
for _ in range(3):
    thread = threading.Thread(target=lambda: found.append(float(f(np.array([0.0, 1.0])))))
    thread.start()
    thread.join()
print(found == [np.exp(1.0)] * 3)
"""


def test_programs_run_in_every_thread_where_mlx_was_used_before() -> None:
    done = subprocess.run([sys.executable, "-c", MLX_BEFORE], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["2.0", "True"], done.stderr


def test_a_check_that_shapes_decide_raises_at_every_call_of_what_is_compiled() -> None:
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], x + y, backend=tg.backend("mlx", compile=True))
    for _ in range(2):
        with pytest.raises(tg.errors.ShapeError, match="lengths differ: 2 and 3"):
            f(np.ones(2), np.ones(3))
    assert f(np.ones(3), np.ones(3)).tolist() == [2.0] * 3


def test_a_length_that_depends_on_values_needs_lazy_evaluation() -> None:
    x = tg.vector("x")
    y = x[x > 0]
    f = tg.function([x], [y, tg.sum(y)], backend="mlx")
    for a in ([1.0, -2.0, 3.0], [-1.0], [4.0]):
        kept, total = f(np.array(a))
        assert kept.tolist() == [v for v in a if v > 0]
        assert total == sum(v for v in a if v > 0)
    with pytest.raises(NoRuleError, match="length of nonzero depends on values"):
        tg.function([x], y, backend=tg.backend("mlx", compile=True))


def test_options_are_refused_with_what_there_is() -> None:
    with pytest.raises(OptionError, match="option device: found 'tpu'"):
        tg.backend("mlx", device="tpu")
    with pytest.raises(OptionError, match="option compile: found 1"):
        tg.backend("mlx", compile=1)


@pytest.mark.skipif(mx.is_available(mx.gpu), reason="there is a GPU")
def test_a_device_that_is_absent_is_refused() -> None:
    x = tg.vector("x", dtype="float32")
    with pytest.raises(OptionError, match="option device: found 'gpu', needed 'cpu'"):
        tg.function([x], x + 1, backend=tg.backend("mlx", device="gpu"))


@pytest.mark.skipif(not mx.is_available(mx.gpu), reason="there is no GPU")
def test_the_gpu_refuses_double_precision() -> None:
    x, y = tg.vector("x", dtype="float32"), tg.vector("y")
    gpu = tg.backend("mlx", device="gpu")
    assert tg.function([x], x + 1, backend=gpu)(np.ones(2, "f4")).tolist() == [2.0, 2.0]
    with pytest.raises(NoRuleError, match="no dtype float64"):
        tg.function([y], y + 1, backend=gpu)


def test_double_precision_complex_numbers_are_refused() -> None:
    z = tg.vector("z", dtype="complex128")
    with pytest.raises(NoRuleError, match="no dtype complex128"):
        tg.function([z], z + 1, backend="mlx")


@pytest.mark.parametrize("dtype", [d for d in NATIVE if is_integer(d)])
def test_products_of_integer_matrices_are_exact_modulo_the_width(dtype) -> None:
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(3)
    a, b = (rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True) for shape in ((5, 70), (70, 4)))
    x, y = tg.matrix("x", dtype=dtype), tg.matrix("y", dtype=dtype)
    found = tg.function([x, y], tg.matmul(x, y), backend="mlx")(a, b)
    wide = a.astype(object) @ b.astype(object)
    np.testing.assert_array_equal(found, (wide & (2 ** (8 * a.itemsize) - 1)).astype(f"u{a.itemsize}").view(dtype))


def test_every_rule_is_of_an_op_of_core() -> None:
    known = {key for family in FAMILIES for key in (*family.elementwise, *family.ops)}
    assert set(RULES) <= known


def test_a_constant_or_an_input_of_a_missing_dtype_that_no_op_reads_is_refused() -> None:
    z = tg.tensor("z", dtype="complex128", shape=(3,))
    for inputs, output in (([], tg.constant(np.array([1j]))), ([z], z), ([z], z < z)):
        with pytest.raises(NoRuleError, match="has no dtype complex128"):
            tg.function(inputs, output, backend="mlx")
