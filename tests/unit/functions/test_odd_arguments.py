"""Arguments whose bytes or lengths NumPy allows and programs do not count on."""

import numpy as np
import pytest

import tg
from tg import plugin

BACKENDS = sorted(b.name for b in plugin.registry().backends() if b.is_available)
ODD = np.array([2, 255, 0, 1], np.uint8).view(bool)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", ["whole", "reversed", "long"])
def test_every_byte_of_a_bool_but_0_is_true(backend, layout):
    given = {"whole": ODD, "reversed": ODD[::-1], "long": np.tile(ODD, 100)}[layout]
    x = tg.vector("x", dtype="bool")
    f = tg.function([x], [tg.where(x, 1, 0), tg.sum(x), tg.max(tg.cast(x, "int8")), ~x], backend=backend)
    plain = given != 0
    wanted = (np.where(plain, 1, 0), plain.sum(), plain.astype("int8").max(), ~plain)
    for _ in range(2):  # the second call may take a shorter way
        for found, right in zip(f(given), wanted, strict=True):
            np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("byte", [0, 1, 2, 255])
def test_a_bool_without_axes_is_true_for_every_byte_but_0(backend, byte):
    x = tg.scalar("x", dtype="bool")
    f = tg.function([x], tg.where(x, 3, 4), backend=backend)
    for _ in range(2):
        assert int(f(np.array(byte, np.uint8).view(bool))) == (3 if byte else 4)


def test_constants_and_shared_values_of_bool_are_0_or_1():
    for v in (tg.constant(ODD), tg.shared(ODD)):
        np.testing.assert_array_equal(tg.function([], tg.cast(v, "int8") * 1, backend="perform")(), [1, 1, 0, 1])


def test_a_product_without_value_is_nan_also_where_the_caller_lets_numpy_raise():
    x, y = tg.matrix("x"), tg.matrix("y")
    infinite, nothing = np.full((1, 2), np.inf), np.zeros((2, 1))
    with np.errstate(all="raise"):
        called = tg.function([x, y], x @ y, backend="perform")(infinite, nothing)
        folded = tg.function([], tg.constant(infinite) @ nothing, backend="perform")()
    assert np.isnan(called).all()
    assert np.isnan(folded).all()


@pytest.mark.parametrize("backend", ["perform", "c", "numba", "jax", "torch", "mlx"])
def test_numbers_of_an_input_s_own_type_are_taken_as_they_are(backend, monkeypatch):
    s, k = tg.scalar("s"), tg.scalar("k", "int64")
    f = tg.function([s, k], [2 * s, k + 1], backend=backend)
    first = f(np.array(0.5), np.array(1))
    monkeypatch.setattr("tg.functions.binding.to_array", None)  # it is not asked
    for given in ((0.5, np.int64(1)), (np.float64(0.5), np.array(1)), (np.array(0.5), np.int64(1))):
        for value, known in zip(f(*given), first, strict=True):
            assert type(value) is np.ndarray
            assert (value.dtype, value.shape, value.tolist()) == (known.dtype, (), known.tolist())


@pytest.mark.parametrize("backend", ["perform", "c", "numba", "jax", "torch", "mlx"])
def test_other_numbers_are_converted_or_refused(backend):
    s, k = tg.scalar("s"), tg.scalar("k", "int64")
    f = tg.function([s, k], [2 * s, k + 1], backend=backend)
    low, high = -(2**63), 2**63 - 2
    assert [int(f(0.0, n)[1]) for n in (low, high)] == [low + 1, high + 1]
    assert [v.dtype.name for v in f(1, True)] == ["float64", "int64"]
    assert [float(v) for v in f(np.float32(0.5), np.int8(3))] == [1.0, 4.0]
    with pytest.raises(tg.RangeError, match="input 'k': found 9223372036854775808"):
        f(1.0, 2**63)
    with pytest.raises(tg.DtypeError, match="input 'k': found dtype float64, needed int64"):
        f(1.0, 1.5)
    with pytest.raises(tg.DtypeError, match="input 's': found dtype complex128, needed float64"):
        f(1j, 1)
