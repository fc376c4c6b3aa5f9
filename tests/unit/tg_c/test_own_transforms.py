"""Fourier transforms in C, for units that no NumPy is near, beside SciPy's in extended precision."""

import numpy as np
import pytest
import scipy.fft

import tg
import tg_c.function
from tg_c.own_transforms import BOUND, room

NAMES = ("fft", "ifft", "rfft", "irfft")
POINTS = (*range(1, 41), 64, 74, 111, 128, 243, 360, 625, 1009, 1024, 2018, 2401)
wide = pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="there is no extended precision")


def transforms(dtype, shape, norm="backward", **options):
    """One function of the four: of real numbers, and of complex ones."""
    x, z = tg.tensor("x", dtype, shape), tg.tensor("z", np.result_type(dtype, np.complex64).name, shape)
    n, options = x.shape[options.get("axis", -1)], {"norm": norm, **options}
    back = tg.fft.irfft(z, n, **options)
    outputs = {"fft": tg.fft.fft(z, **options), "ifft": tg.fft.ifft(z, **options)}
    return tg.function([x, z], {**outputs, "rfft": tg.fft.rfft(x, **options), "irfft": back}, backend="c")


def drawn(dtype, shape):
    rng = np.random.default_rng(len(shape) + shape[-1])
    x = rng.normal(size=shape).astype(dtype)
    return x, (x + 1j * rng.normal(size=shape)).astype(np.result_type(dtype, np.complex64))


def exact(name, x, z, axis=-1, norm="backward"):
    """The transform in extended precision."""
    n = (x.shape[axis],) if name == "irfft" else ()
    wide = x.astype(np.longdouble) if name == "rfft" else z.astype(np.clongdouble)
    return getattr(scipy.fft, name)(wide, *n, axis=axis, norm=norm)


@pytest.fixture(autouse=True)
def without_loops(monkeypatch):
    monkeypatch.setattr(tg_c.function, "has_transforms", lambda: False)


@wide
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_errors_are_those_of_rounding_for_any_number_of_points(dtype):
    """At most 1e-15 log2(n) of the root of the mean square, in float64; NumPy's own are as large."""
    f, unit = transforms(dtype, (None, None)), {"float64": 1e-15, "float32": 1e-15 * 2**29}[dtype]
    for n in POINTS:
        x, z = drawn(dtype, (3, n))
        for name, y in f(x, z).items():
            right = exact(name, x, z)
            error = np.abs(y - right).max() / np.sqrt(np.mean(np.abs(right) ** 2))
            assert error <= unit * max(1, np.log2(n)), (name, n)


@pytest.mark.parametrize("n", [6, 37, 74])
def test_other_axes_and_norms_of_a_known_number_of_points(n):
    f = transforms("float64", (2, n, 3), norm="ortho", axis=1)
    x, z = drawn("float64", (2, n, 3))
    for name, y in f(x, z).items():
        np.testing.assert_allclose(y, exact(name, x, z, 1, "ortho"), rtol=1e-13, atol=1e-13)


def test_imaginary_parts_that_stand_for_nothing_are_not_read():
    z = tg.tensor("z", "complex128", (None,))
    values = np.array([complex(1, np.inf), 2 + 3j, complex(4, np.nan)])
    result = tg.function([z], tg.fft.irfft(z, 4), backend="c")(values)
    np.testing.assert_allclose(result, np.fft.irfft([1, 2 + 3j, 4], 4))


def test_no_number_of_points_needs_more_than_the_bound():
    numbers = (*range(1, 700), *(2**k + j for k in range(10, 20) for j in range(-3, 4)))
    assert max(room(n, is_real=r) / n for n in numbers for r in (False, True)) <= BOUND


def test_nothing_is_transformed_where_there_are_no_points():
    f = transforms("float64", (None, None))
    assert f(*drawn("float64", (0, 5)))["rfft"].shape == (0, 3)
    with pytest.raises(tg.ShapeError, match="needed at least 1"):
        f(*drawn("float64", (2, 0)))
