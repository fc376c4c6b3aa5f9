"""Rules of Fourier transforms: beside NumPy's transforms of all frequencies."""

from __future__ import annotations

import numpy as np
import pytest

import tg

CUTS = {
    "first half": lambda y, n: y[..., : n // 2],
    "with the middle": lambda y, n: y[..., : n // 2 + 1],
    "every other": lambda y, n: y[..., 1 : n // 2 : 2],
    "one": lambda y, n: y[..., 2],
    "one row": lambda y, n: y[0, : n // 2],
}


def fires(f, name):
    """Whether a rewrite is among those that are counted at the end of the explanation."""
    return f"\n  {name} " in str(f.explain()).partition("how often")[2]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", ["fft", "ifft"])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("shape", [(2, 9), (2, 8), (None, None)])
def test_real_points_have_half_a_spectrum(cut, name, norm, shape) -> None:
    x = tg.tensor("x", "float64", shape)
    f = tg.function([x], CUTS[cut](getattr(tg.fft, name)(x, norm=norm), x.shape[1]), backend="c")
    assert fires(f, "half_spectrum_of_real") == (cut != "one" or shape[1] is not None)
    for n in (9, 8) if shape[1] is None else (shape[1],):
        a = np.random.default_rng(n).normal(size=(2, n))
        np.testing.assert_allclose(f(a), CUTS[cut](getattr(np.fft, name)(a, norm=norm), n), rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_points_of_other_dtypes(dtype) -> None:
    x = tg.tensor("x", dtype, (9,))
    a = np.arange(-4, 5).astype(dtype)
    f = tg.function([x], tg.fft.fft(x)[:3], backend="c")
    assert fires(f, "half_spectrum_of_real")
    np.testing.assert_allclose(f(a), np.fft.fft(a)[:3], rtol=1e-6)
    assert f(a).dtype == np.fft.fft(a).dtype


@pytest.mark.parametrize(
    "build",
    [
        lambda z, n: (z[: n // 2], z[-1]),  # a frequency beyond the half
        lambda z, n: (z[: n // 2], z * 2),  # and all of them
        lambda z, n: (z[1 : n // 2 + 2],),
        lambda z, n: (z[n // 2 :],),
    ],
)
def test_all_frequencies_are_computed_where_one_is_read_beyond_the_half(build) -> None:
    x = tg.vector("x")
    f = tg.function([x], list(build(tg.fft.fft(x), x.shape[0])), backend="c")
    assert not fires(f, "half_spectrum_of_real")
    a = np.random.default_rng(0).normal(size=12)
    for found, want in zip(f(a), build(np.fft.fft(a), 12), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-14)


def test_complex_points_have_all_of_it() -> None:
    z = tg.vector("z", "complex128")
    assert not fires(tg.function([z], tg.fft.fft(z)[: z.shape[0] // 2], backend="c"), "half_spectrum_of_real")


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_a_transform_undoes_its_inverse_where_all_is_finite(norm) -> None:
    z = tg.vector("z", "complex128")
    both = [tg.fft.fft(tg.fft.ifft(z, norm=norm), norm=norm), tg.fft.ifft(tg.fft.fft(z, norm=norm), norm=norm)]
    f = tg.function([z], both, backend="c", mode="finite")
    a = np.array([1 + 2j, -3.0, 0.5j])
    assert [v.tolist() for v in f(a)] == [a.tolist()] * 2  # bit for bit: nothing is computed
    g = tg.function([z], both, backend="c")
    assert np.isnan(g([np.nan, 1, 2])).all()  # as NumPy's, in the usual mode
    other = tg.function([z], tg.fft.fft(tg.fft.ifft(z, norm="ortho")), backend="c", mode="finite")
    np.testing.assert_allclose(other(a), np.fft.fft(np.fft.ifft(a, norm="ortho")), rtol=1e-14)
