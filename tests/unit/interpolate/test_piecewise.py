"""Piecewise polynomials through points: the numbers are SciPy's, derivatives those of differences."""

import numpy as np
import pytest
from scipy import interpolate

import tg
from tg import plugin

pytestmark = pytest.mark.sampled(3)

OWN = tg.interpolate
X, V, Y = tg.vector("x"), tg.vector("v"), tg.matrix("y")
CONDITIONS = {
    "not-a-knot": "not-a-knot",
    "natural": "natural",
    "clamped": "clamped",
    "periodic": "periodic",
    "orders": ((1, np.array([0.5, -1.0])), (2, np.array([-0.3, 2.0]))),
    "two": ("natural", "not-a-knot"),
}
MADE = {
    "CubicSpline": {},
    "natural": {"bc_type": "natural"},
    "periodic": {"bc_type": "periodic"},
    "PchipInterpolator": {},
    "Akima1DInterpolator": {},
}


def points(n, *, is_periodic=False):
    """Points, values in two columns, and places inside, at points and outside."""
    draw = np.random.default_rng(n)
    x = np.cumsum(draw.uniform(0.2, 1, n))
    y = draw.normal(size=(n, 2))
    if is_periodic:
        y[-1] = y[0]
    places = draw.uniform(x[0] - 1, x[-1] + 1, (3, 2))
    places[:, 1] = x[0], x[n // 2], x[-1]
    return x, y, places


def same(own, other, places, orders=(0, 1, 2, 3)):
    for nu in orders:
        np.testing.assert_allclose(own(places, nu).eval(), other(places, nu), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 4, 9])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_cubic_splines_are_those_of_scipy(n, condition):
    x, y, places = points(n, is_periodic=condition == "periodic")
    options = {"bc_type": CONDITIONS[condition]}
    own, other = OWN.CubicSpline(x, y, **options), interpolate.CubicSpline(x, y, **options)
    same(own, other, places)
    np.testing.assert_allclose(own.c.eval(), other.c, rtol=1e-9, atol=1e-9)
    ends = (x[0] + 0.05, x[-1] - 0.01)
    np.testing.assert_allclose(own.integrate(*ends).eval(), other.integrate(*ends), rtol=1e-9, atol=1e-10)
    across = interpolate.CubicSpline(x, y.T, axis=1, **options)
    same(OWN.CubicSpline(x, y.T, axis=1, **options), across, places, (0,))


@pytest.mark.parametrize("n", [2, 3, 9])
def test_hermites_polynomials_are_those_of_scipy(n):
    x, y, places = points(n)
    same(OWN.PchipInterpolator(x, y), interpolate.PchipInterpolator(x, y), places)
    dydx = np.cos(y)
    same(OWN.CubicHermiteSpline(x, y, dydx), interpolate.CubicHermiteSpline(x, y, dydx), places)
    for method in ("akima", "makima"):
        own, other = (m.Akima1DInterpolator(x, y, method=method) for m in (OWN, interpolate))
        same(own, other, places, (0,))


def test_flat_and_turning_points_have_the_slopes_of_scipy():
    x, y = np.arange(8.0), np.array([0.0, 0, 0, 1, 3, 3, 2, 2])
    places = np.linspace(0, 7, 29)
    same(OWN.PchipInterpolator(x, y), interpolate.PchipInterpolator(x, y), places, (0, 1))
    same(OWN.Akima1DInterpolator(x, y), interpolate.Akima1DInterpolator(x, y), places, (0, 1))


@pytest.mark.parametrize("outside", [True, False, "periodic"])
def test_outside_is_what_scipy_has_there(outside):
    x, y, _ = points(5, is_periodic=True)
    places = np.array([x[0] - 2.2, x[0], x[2], x[-1], x[-1] + 7.5])
    own, other = (m.CubicSpline(x, y, extrapolate=outside) for m in (OWN, interpolate))
    same(own, other, places, (0, 1))
    same(own.derivative(2), other.derivative(2), places, (0,))
    same(own.antiderivative(2), other.antiderivative(2), places, (0,))
    span = (x[0] - 3.0, x[-1] + 8.0)
    np.testing.assert_allclose(own.integrate(*span).eval(), other.integrate(*span), rtol=1e-8, atol=1e-8)


def test_places_that_are_no_numbers_give_none():
    spline = OWN.CubicSpline([0.0, 1, 2, 3], [0.0, 1, 0, 1])
    for nu in range(4):  # pieces of the third derivative are constant
        assert np.isnan(spline(np.nan, nu).eval())


def test_three_points_of_a_length_that_is_known_late_are_a_parabola():
    spline, slope = OWN.CubicSpline(X, Y), tg.vector("slope")
    moved = tg.jvp(spline(V), Y, slope[:, None] * np.ones(2))
    f = tg.function([X, Y, V, slope], [spline(V), moved])
    for n in (3, 5):
        x, y, places = points(n)
        values, by_y = f(x, y, places[:, 0], x**2)
        np.testing.assert_allclose(values, interpolate.CubicSpline(x, y)(places[:, 0]), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(by_y, np.stack([places[:, 0] ** 2] * 2, 1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MADE)
def test_derivatives_by_points_values_and_places(name):
    make = getattr(OWN, name if name[0].isupper() else "CubicSpline")
    f = make(X, Y, **MADE[name])
    cost = tg.sum(tg.sin(f(V)) * tg.cos(1 + tg.arange(3))[:, None])
    x, y, _ = points(6)
    at = {X: x, Y: y, V: x[[0, 2, 4]] + 0.1}
    assert tg.check_grad(cost, at)
    assert tg.check_grad(tg.sum(tg.grad(cost, V) ** 2), at)


def test_a_spline_has_its_second_derivative_at_a_point():
    x, y, _ = points(6)
    f = OWN.CubicSpline(x, y)
    v = tg.scalar("v")
    own = tg.grad(tg.grad(tg.sum(f(v)), v), v).eval({v: x[2]})
    np.testing.assert_allclose(own, np.sum(interpolate.CubicSpline(x, y)(x[2], 2)), rtol=1e-9)


def test_elements_of_a_batch_have_points_of_their_own():
    x = np.array([points(5)[0] * size for size in (1, 2, 3)])
    y = np.random.default_rng(0).normal(size=(3, 5))
    m = tg.matrix("m")
    values = tg.vmap(lambda x, y: OWN.CubicSpline(x, y)(1.5))(m, Y).eval({m: x, Y: y})
    np.testing.assert_allclose(values, [interpolate.CubicSpline(*each)(1.5) for each in zip(x, y, strict=True)])


def test_dtypes_are_those_of_points_and_values():
    x = np.arange(5, dtype="float32")
    assert OWN.CubicSpline(x, x)(x).type.dtype == "float32"
    assert OWN.CubicSpline(np.arange(5), np.arange(5))(1).type.dtype == "float64"
    own, other = (m.CubicSpline(np.arange(5.0), np.exp(1j * np.arange(5))) for m in (OWN, interpolate))
    same(own, other, np.array([0.3, 3.9]))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: OWN.CubicSpline([0.0, 0.0, 1.0], [1.0, 2, 3]), tg.InputError, "x: found places that do not ascend"),
        (lambda: OWN.CubicSpline([0.0], [1.0]), tg.ShapeError, "x: found float64.1., needed a vector of at least two"),
        (lambda: OWN.CubicSpline([0.0, 1], [1.0, 2, 3]), tg.ShapeError, "lengths differ: x has 2, y has 3"),
        (lambda: OWN.CubicSpline([0.0, 1], 1.0), tg.ShapeError, "y: found float64.., needed an axis for x"),
        (lambda: OWN.CubicSpline([0.0, 1], [1.0, 2], bc_type="free"), tg.InputError, "bc_type: found 'free', needed"),
        (lambda: OWN.CubicSpline([0.0, 1], [1.0, 2], bc_type=("periodic", "natural")), tg.InputError, "bc_type"),
        (lambda: OWN.Akima1DInterpolator([0.0, 1], [1.0, 2], method="x"), tg.InputError, "method: found 'x'"),
        (lambda: OWN.PPoly([[1.0, 2.0]], [0.0, 1.0]), tg.ShapeError, "c has 2 pieces, needed 1 for 2 breakpoints"),
        (lambda: OWN.PPoly([[1.0]], [0.0, 1.0])(0.5, -1), tg.InputError, "nu: found -1, needed an int of at least 0"),
        (lambda: OWN.PPoly([[1.0]], [0.0, 1.0], extrapolate="no"), tg.InputError, "extrapolate: found 'no', needed"),
    ],
)
def test_mistakes_are_told(make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize("backend", [one.name for one in plugin.registry().backends() if one.is_available])
def test_backends_agree(backend):
    x, y, places = (np.asarray(v, "float32") for v in points(6))
    xs, ys, vs = (tg.tensor(n, "float32", shape=(None,) * r) for n, r in (("x", 1), ("y", 2), ("v", 2)))
    f = OWN.CubicSpline(xs, ys)
    run = tg.function([xs, ys, vs], [f(vs), tg.grad(tg.sum(f(vs) ** 2), ys)], backend=backend)
    exact = tg.function([xs, ys, vs], [f(vs), tg.grad(tg.sum(f(vs) ** 2), ys)], backend="perform")
    other = interpolate.CubicSpline(x, y)(places)
    values, slopes = run(x, y, places)
    np.testing.assert_allclose(values, other, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(slopes, exact(x, y, places)[1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("spline", "least"),
    [
        (tg.interpolate.CubicSpline, 3),
        (lambda x, y: tg.interpolate.CubicSpline(x, y, bc_type="periodic"), 4),
        (tg.interpolate.PchipInterpolator, 3),
        (tg.interpolate.Akima1DInterpolator, 3),
    ],
)
def test_too_few_points_of_a_number_that_is_not_known_are_told(spline, least):
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], spline(x, y)(0.5), backend="perform")
    values = np.array([0.0, 1.0, 0.5, 0.0])
    known = spline(np.arange(least), values[-least:])(0.5).eval()
    np.testing.assert_allclose(f(np.arange(least, dtype=float), values[-least:]), known, rtol=1e-12)
    with pytest.raises(tg.errors.ShapeError, match=f"found {least - 1} points, needed at least {least}"):
        f(np.arange(least - 1, dtype=float), values[: least - 1])


def test_knots_that_are_nan_are_refused():
    with pytest.raises(tg.errors.InputError, match="descend or are NaN"):
        tg.interpolate.bspline_basis([0.5], [0.0, 0.0, np.nan, 1.0, 1.0, 1.0], 1)
