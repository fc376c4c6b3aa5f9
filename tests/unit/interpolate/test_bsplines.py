"""B-splines: the numbers are SciPy's, derivatives those of differences."""

import numpy as np
import pytest
from scipy import interpolate

import tg

OWN = tg.interpolate
T, C, V = tg.vector("t"), tg.vector("c"), tg.vector("v")
PLACES = np.array([0.0, 0.1, 0.25, 0.26, 0.5, 0.9, 1.0])
OUTSIDE = np.array([-0.2, 1.3])


def draw():
    """Random numbers that are the same in every test."""
    return np.random.default_rng(35)


def knots(k):
    """Knots with as many ends as a basis has that reaches them, and two that are equal."""
    return np.sort(np.concatenate([np.zeros(k), np.linspace(0, 1, 5), [0.25], np.ones(k)]))


@pytest.mark.parametrize("k", [0, 1, 2, 3, 5])
def test_bases_are_those_of_scipy(k):
    t = knots(k)
    basis = OWN.bspline_basis(PLACES, t, k).eval()
    np.testing.assert_allclose(basis, interpolate.BSpline.design_matrix(PLACES, t, k).toarray(), atol=1e-14)
    np.testing.assert_allclose(basis.sum(1), 1, rtol=1e-14)
    assert np.isnan(OWN.bspline_basis(OUTSIDE, t, k).eval()).all()


@pytest.mark.parametrize("k", [0, 1, 2, 3, 5])
def test_splines_and_their_derivatives_are_those_of_scipy(k):
    t, places = knots(k), np.concatenate([PLACES, OUTSIDE])
    c = draw().normal(size=(len(t) - k - 1, 2))
    own, other = OWN.BSpline(t, c, k), interpolate.BSpline(t, c, k)
    for nu in range(k + 2):
        exact = other(places, nu)
        np.testing.assert_allclose(own(places, nu).eval(), exact, rtol=1e-9, atol=1e-9)
        basis = OWN.bspline_basis(places, t, k, nu, extrapolate=True)
        np.testing.assert_allclose((basis @ c).eval(), exact, rtol=1e-9, atol=1e-9)
    inside = OWN.BSpline(t, c, k, extrapolate=False)(places).eval()
    np.testing.assert_array_equal(inside, interpolate.BSpline(t, c, k, extrapolate=False)(places) * 0 + inside)
    across = OWN.BSpline(t, c.T, k, axis=1)(places[:, None]).eval()
    np.testing.assert_allclose(across, interpolate.BSpline(t, c.T, k, axis=1)(places[:, None]), rtol=1e-9)


def test_knots_without_equal_ends_are_those_of_scipy():
    t = np.cumsum(draw().uniform(0.1, 0.5, 11))
    c, places = draw().normal(size=7), np.linspace(t[0], t[-1], 40)
    np.testing.assert_allclose(OWN.BSpline(t, c, 3)(places).eval(), interpolate.BSpline(t, c, 3)(places), rtol=1e-8)


def test_derivatives_by_knots_coefficients_and_places():
    t = np.cumsum(draw().uniform(0.1, 0.5, 11))
    at = {T: t, C: draw().normal(size=7), V: t[[3, 4, 6]] + 0.03}
    cost = tg.sum(tg.sin(OWN.BSpline(T, C, 3)(V)))
    assert tg.check_grad(cost, at)
    slope = tg.grad(tg.sum(OWN.BSpline(T, C, 3)(V)), V)
    np.testing.assert_allclose(slope.eval(at), OWN.BSpline(T, C, 3)(V, 1).eval(at), rtol=1e-10)
    assert tg.check_grad(tg.sum(tg.grad(cost, V) ** 2), at)


def test_a_curve_is_found_by_least_squares():
    places = np.linspace(0, 1, 200)
    t = np.concatenate([np.zeros(3), np.linspace(0, 1, 9), np.ones(3)])
    basis = OWN.bspline_basis(V, t)
    fitted = basis @ tg.linalg.lstsq(basis, tg.sin(6 * V))[0]
    other = interpolate.make_lsq_spline(places, np.sin(6 * places), t)
    np.testing.assert_allclose(fitted.eval({V: places}), other(places), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: OWN.bspline_basis(0.5, [0.0, 1.0], 3), tg.ShapeError, "needed a vector of at least 8 knots"),
        (lambda: OWN.bspline_basis(0.5, [0.0, 1.0, 0.5, 2.0], 1), tg.InputError, "t: found knots that descend"),
        (lambda: OWN.bspline_basis(0.5, np.arange(8.0), 1.5), tg.InputError, "k: found 1.5, needed an int"),
        (lambda: OWN.BSpline(np.arange(8.0), np.ones(3), 3), tg.ShapeError, "c: found 3 coefficients, needed 4 for 8"),
        (lambda: OWN.BSpline(np.arange(8.0), 1.0, 3), tg.ShapeError, "c: found float64.., needed an axis"),
        (lambda: OWN.BSpline(np.arange(8.0), np.ones(4), 3)(0.5, -1), tg.InputError, "nu: found -1"),
    ],
)
def test_mistakes_are_told(make, error, text):
    with pytest.raises(error, match=text):
        make()
