"""Gauss' hypergeometric function against mpmath: of exponents that differ by whole numbers, at ends, derivatives."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

import tg

NAN, INF = math.nan, math.inf
WITHIN = tg.hyp2f1.accuracy * np.finfo(float).eps


def value(*places):
    """tg's values at places, each of four numbers."""
    return tg.hyp2f1.op.perform(*(np.array(v, float) for v in zip(*places, strict=True)))[0]


def exact(a, b, c, z):
    """mpmath's value, of the polynomial where Euler's transformation leads to one."""
    with mpmath.workdps(40):
        a, b, c, z = map(mpmath.mpf, (a, b, c, z))
        if any(v <= 0 and v == round(v) for v in (c - a, c - b)):
            return (1 - z) ** (c - a - b) * mpmath.hyp2f1(c - a, c - b, c, z)
        return mpmath.hyp2f1(a, b, c, z, maxprec=20000, maxterms=10**6)


def holds(places, within=WITHIN):
    """Asserts that values are right as parts of themselves, and infinite or 0 where no float64 is near."""
    for numbers, found in zip(places, value(*places), strict=True):
        place = tuple(map(float, numbers))
        right = exact(*place)
        if abs(right) > np.finfo(float).max:
            assert found == math.copysign(INF, right), place
        elif abs(right) > np.finfo(float).tiny:
            assert abs(found - right) <= within * abs(right), (place, found, float(right))
        else:
            assert abs(found) <= 2 * np.finfo(float).tiny, (place, found)


def drawn(size, count, *, positive):
    """Places of which a third has exponents that differ by a whole number, or nearly: far below 0, beside it, at 1."""
    rng = np.random.default_rng(5)
    places = []
    for k in range(count):
        a, b, c = rng.uniform(-size, size, 3)
        if k % 3 == 0:
            b = a + rng.integers(-10, 11) + rng.choice([0, 10.0 ** rng.uniform(-15, -2)])
        z = (rng.uniform(-1, 0.5), rng.uniform(-5, -1), -(10 ** rng.uniform(0.5, 3)), 1 - 10 ** rng.uniform(-14, -0.3))
        places.append((a, b, abs(c) if positive else c, z[k % 4]))
    return places


FAR = (-3.5, -11.0, -40.0, -450.0, -1e6, -1e80, -1e300)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("step", [0, 1, 2, 3, 6, 10])
def test_b_and_a_differ_by_a_whole_number(step):
    """With c whole or not, and c - a or c - b among what gamma has poles at; a or b may say where a polynomial ends."""
    starts = (
        (0.7, 2.3),
        (-1.6, 0.4),
        (2.0, 5.0),
        (0.5, -2.5),
        (3.25, 1.25),
        (-2.0, 1.5),
        (1.5, 1.5 + step),
        (4.3, -0.7),
    )
    rows = [(a, a + step, c, z) for (a, c), z in itertools.product(starts, FAR)]
    holds(rows)
    assert value(*((b, a, c, z) for a, b, c, z in rows)).tobytes() == value(*rows).tobytes()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("off", [1e-14, -1e-12, 1e-9, -1e-6, 1e-4, -1e-3])
def test_b_and_a_nearly_differ_by_a_whole_number(off):
    starts = ((0.7, 2.3), (-1.6, 0.4), (2.0, 5.0), (0.5, -2.5), (3.25, 1.25), (4.3, -0.7))
    holds([(a, a + step + off, c, z) for (a, c), step, z in itertools.product(starts, (0, 1, 4), FAR)])
    holds([(a, c - step + off, c, z) for (a, c), step, z in itertools.product(starts, (0, 1, 4), FAR)])


@pytest.mark.sampled(5)
@pytest.mark.parametrize("off", [0.0, 1e-13, -1e-8, 1e-3, 0.3])
def test_next_to_one(off):
    """c - a - b is a whole number, or nearly: at 1 there is a logarithm, or a power that is large."""
    pairs = ((0.7, 1.9), (-1.6, 0.4), (2.0, 3.0), (3.25, -0.75), (2.5, 2.5), (-3.0, 1.5))
    near = (0.55, 0.93, 0.999, 1 - 1e-7, 1 - 2**-52)
    steps = (-3, -1, 0, 1, 4)
    rows = [(a, b, a + b + step + off, z) for (a, b), step, z in itertools.product(pairs, steps, near)]
    holds([row for row in rows if row[2] > 0 or row[2] != round(row[2])])


@pytest.mark.long
@pytest.mark.parametrize(("size", "positive"), [(5, False), (15, True), (50, True)])
def test_parameters_of_any_sign(size, positive):
    """Between -10 and -1/2 a value near a zero is as exact as its terms are, of which it may be a thousandth."""
    holds(drawn(size, 600, positive=positive), 100 * WITHIN)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_lower_precision_is_double_precision_rounded(dtype):
    places = np.array([(0.5, 2.5, 1.25, -3e4), (1, 1, 2, -1e3), (2, 5, 3.5, -40), (0.25, 0.75, 1, 0.996)], dtype).T
    found = tg.hyp2f1.op.perform(*places)[0]
    assert found.dtype == dtype
    assert found.tolist() == tg.hyp2f1.op.perform(*places.astype(float))[0].astype(dtype).tolist()


@pytest.mark.parametrize(
    ("place", "right"),
    [
        ((1, 2, 3, -INF), 0),
        ((0, 1, 2, -INF), 1),
        ((-1.5, 2, 3, -INF), INF),
        ((-0.5, -0.5, 2, -INF), -INF),
        ((-3, 2, 1.5, -1e200), INF),
        ((-2.5, 1.5, -2.5, -1e100), 1e-150),  # nothing of the larger power is left
        ((-2.5, 1.5, -2.5, -INF), 0),
        ((2, 5, 3, 1), INF),
        ((2, 1.5, -0.3, 1), -INF),
        ((-2.5, 3, 0.5, 1), -INF),
        ((1, 2, 3, 1), INF),
        ((-2, 5, 3, 1), 1 / 6),
        ((2.5, -6, 0.5, 1), 0),
        ((-2, 1, 3, 5), 11 / 6),
        ((1, 1, 2, 2), NAN),
        ((1, 2, 3, INF), NAN),
        ((3, 4, 5, 0), 1),
        ((1, 1, -1, 0.5), NAN),
        ((-2, 1, -1, 0.5), NAN),
        ((-2, 1, -3, 0.5), 17 / 12),
        ((-2, 1, -2, 0.5), 7 / 4),
        ((-2, 1, -3, -INF), INF),
        ((0, 1, -1, 0.5), 1),
        ((1, INF, 1, 0.5), NAN),
        ((NAN, 1, 1, 0.5), NAN),
    ],
    ids=str,
)
def test_ends_and_polynomials(place, right):
    assert value(place)[0] == pytest.approx(right, rel=WITHIN, nan_ok=True)


def test_a_power_that_overflows_may_have_a_small_factor():
    holds([(-2.646645272948737, 0.0027730411948709843, 4.170401761434405, -1.32891280929339e117)])


def test_a_series_goes_on_where_its_terms_grow_again():
    """Up to -c, and for as long as the others are large beside the step."""
    holds(
        [
            (-36.62267794382422, -33.62267794382422, -35.62267813850664, 0.9336520721879614),
            (-53.23340361529432, -52.23340670632515, -48.23340361529432, 0.38241473256139236),
            (-44.11982860415258, -46.11982860415258, -48.1233797492551, 0.7180900832117398),
        ]
    )


DERIVATIVES = [
    (0.3, 1.1, 2.0, -3.5), (-1.7, 0.6, 0.9, -8.0), (2.5, 0.75, 5.5, -60.0), (4.1, -2.6, 1.3, -1e3),
    (0.5, 3.3, 0.25, -1e6), (1.25, 0.45, 3.75, -1e12), (1.0, 1.0, 2.0, -1e5), (0.5, 2.5, 1.3, -7.0),
    (2.25, 2.25, 0.6, -300.0), (-1.5, 2.5, 0.4, -1e30), (0.75, 4.75, 2.75, -20.0), (2.0, 1.0, 5.0, -40.0),
    (1.5, 0.5 + 1e-9, 2.2, -1e4), (0.5, 1.25, 3.75, 0.97), (1.5, 2.0, 2.5, 1 - 1e-6), (30.5, 28.25, 3.0, -0.8),
]  # fmt: skip


SLOPES = tg.hyp2f1_along.accuracy * np.finfo(float).eps


def slopes(places, backend="perform"):
    """tg's derivatives by a, b and c at places."""
    operands = [tg.vector(name) for name in "abcz"]
    f = tg.function(operands, tg.grad(tg.sum(tg.hyp2f1(*operands)), operands[:3]), backend=backend)
    return np.array(f(*(np.array(v, float) for v in zip(*places, strict=True)))).T


def exact_slopes(place):
    """F and its derivatives by a, b and c, by central differences in mpmath."""
    with mpmath.workdps(50):
        *parameters, z = map(mpmath.mpf, place)
        step = mpmath.mpf(10) ** -15

        def at(k, change):
            moved = [v + change * (j == k) for j, v in enumerate(parameters)]
            return mpmath.hyp2f1(*moved, z, maxprec=20000, maxterms=10**6)

        return at(0, 0), *((at(k, step) - at(k, -step)) / (2 * step) for k in range(3))


def slopes_hold(places):
    """Asserts that derivatives by parameters are right as parts of themselves or of F, whichever is larger."""
    for place, row in zip(places, slopes(places), strict=True):
        size, *right = exact_slopes(tuple(map(float, place)))
        for k, (slope, true) in enumerate(zip(row, right, strict=True)):
            scale = max(abs(true), abs(size), np.finfo(float).tiny)
            if scale < np.finfo(float).max:
                assert abs(slope - true) <= SLOPES * scale, (place, k, slope, float(true))
            else:  # F of its own may be infinite, and the derivative with it
                assert not np.isfinite(slope), place


DEGENERATE = [
    (1, 1, 2), (0.5, 0.5, 1), (0, 1.5, 2.5), (0, 0, 1), (-2, 1.5, 2.5), (-2, -3, 1.5), (1.5, 2.5, 2.5), (2.5, 3.5, 1.5),
    (3, 2, 1), (1.5, 1.5 + 1e-9, 3), (0.7, 2.7, -1.5), (-1.5, -2.5, -0.5), (3, 4, -2.5), (1e-8, 2, 3), (30, 30, 60),
]  # fmt: skip


POINTS = (0.3, -2.5, 0.9999, 1e-20, -1e5, -0.7, 0.0, 0.7, -1e100)


def test_slopes_in_parameters_whose_differences_are_whole_numbers():
    """By each way of computing: formulas about 1 and infinity, both series, and what is between."""
    slopes_hold([(*place, POINTS[k % 6]) for k, place in enumerate(DEGENERATE)])


@pytest.mark.long
def test_slopes_in_parameters_whose_differences_are_whole_numbers_everywhere():
    slopes_hold([(*place, z) for place in DEGENERATE for z in POINTS])


@pytest.mark.long
@pytest.mark.parametrize(("size", "positive"), [(5, False), (15, True), (50, True)])
def test_slopes_in_parameters_of_any_sign(size, positive):
    slopes_hold(drawn(size, 300, positive=positive))


@pytest.mark.parametrize(
    ("place", "right"),
    [
        ((-2, 1.5, -3, 0.3), (NAN, 0.26, 0.146875)),  # next to a = -2 it is no polynomial, and c is a pole
        ((-2, -1, -3, 0.3), (0.1, 0.185, -1 / 15)),
        ((-2, 1.5, 2.5, 3), (NAN, 12 / 7, -1.2048979591836735)),  # nor beyond 1
        ((1, 2, 0, 0.5), (NAN, NAN, NAN)),
        ((1, 2, 3, 1.5), (NAN, NAN, NAN)),
        ((1, 2, 3, 1), (NAN, NAN, NAN)),
        ((2.5, -6, 0.5, 1), (-0.07388167388167388, 0, 0.07388167388167388)),  # Gauss' quotient, over two poles
        ((1.5, -0.5, 1.5, 1), (-math.pi / 2, 0, math.pi / 2)),
        ((1, 2, 3, -INF), (0, 0, 0)),
        ((0, 2, 3, -INF), (NAN, NAN, NAN)),
        ((NAN, 1, 1, 0.5), (NAN, NAN, NAN)),
        ((1, INF, 1, 0.5), (NAN, NAN, NAN)),
    ],
    ids=str,
)
def test_slopes_at_ends_and_of_polynomials(place, right):
    np.testing.assert_allclose(slopes([place])[0], right, rtol=SLOPES, atol=SLOPES)


CURVED = [
    (0.7, 1.3, 2.2, -3.5), (1, 1, 2, 0.3), (0.5, 0.5, 1, 0.95), (1.5, 2.5, 2.5, -40), (2, 5, 3.5, -1e5),
    (1.25, 3, -1.5, -0.6), (30.5, 28.25, 3, -0.8), (2, 1, 5, 1 - 1e-6),
]  # fmt: skip


@pytest.mark.long
def test_second_derivatives_in_parameters():
    operands = [tg.vector(name) for name in "abcz"]
    first = tg.grad(tg.sum(tg.hyp2f1(*operands)), operands)
    pairs = [(0, 0), (0, 1), (2, 2), (1, 2), (2, 3)]
    second = [tg.grad(tg.sum(first[i]), operands[j]) for i, j in pairs]
    f = tg.function(operands, second, backend="perform")
    step = mpmath.mpf(10) ** -14
    for (i, j), values in zip(pairs, f(*(np.array(v, float) for v in zip(*CURVED, strict=True))), strict=True):
        for place, curvature in zip(CURVED, values, strict=True):
            with mpmath.workdps(60):

                def at(u, v, place=place, i=i, j=j):
                    moved = [mpmath.mpf(x) + step * (u * (k == i) + v * (k == j)) for k, x in enumerate(place)]
                    return mpmath.hyp2f1(*moved, maxprec=20000)

                right = (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * step * step)
                size = max(abs(right), abs(at(0, 0)))
            assert abs(curvature - right) <= SLOPES * size, (place, i, j, curvature, float(right))


# customers of Fader and Hardie: repeat purchases, the last of them, and the weeks observed; one never came again
PURCHASES, LAST, OBSERVED = [0.0, 1.0, 3.0, 11.0, 26.0], [0.0, 5.7, 24.1, 30.3, 31.1], [38.9, 38.9, 36.4, 33.7, 31.1]


def pareto_nbd(xp, f, r, alpha, s, beta, x, last, observed):
    """The log-likelihood of the Pareto/NBD model for alpha >= beta.

    Source:
        P. S. Fader and B. G. S. Hardie, "A Note on Deriving the Pareto/NBD Model and Related Expressions" (2005).
    """
    total, difference = r + s + x, alpha - beta

    def part(t):
        return f(total, s + 1, total + 1, difference / (alpha + t)) * xp.exp(-total * xp.log(alpha + t))

    alive = xp.exp(-(r + x) * xp.log(alpha + observed) - s * xp.log(beta + observed))
    front = xp.gammaln(r + x) - xp.gammaln(r) + r * xp.log(alpha) + s * xp.log(beta)
    return front + xp.log(alive + s / total * (part(last) - part(observed)))


def test_gradient_of_a_pareto_nbd_likelihood():
    class Exact:
        exp, log, gammaln = mpmath.exp, mpmath.log, mpmath.loggamma

    theta = (0.55, 10.6, 0.61, 6.4)
    parameters = [tg.scalar(name) for name in ("r", "alpha", "s", "beta")]
    data = [tg.vector(name) for name in ("x", "last", "observed")]
    loss = tg.sum(pareto_nbd(tg, tg.hyp2f1, *parameters, *data))
    f = tg.function([*parameters, *data], [loss, *tg.grad(loss, parameters)], backend="perform")
    values = f(*theta, *map(np.array, (PURCHASES, LAST, OBSERVED)))
    customers = list(zip(PURCHASES, LAST, OBSERVED, strict=True))
    with mpmath.workdps(40):

        def exact(*theta):
            return sum(pareto_nbd(Exact, mpmath.hyp2f1, *theta, *map(mpmath.mpf, one)) for one in customers)

        point = tuple(map(mpmath.mpf, theta))
        right = [exact(*point), *(mpmath.diff(exact, point, tuple(int(j == k) for j in range(4))) for k in range(4))]
    np.testing.assert_allclose(np.array(values, float), np.array(right, float), rtol=1e-12)


@pytest.mark.long
def test_derivatives_in_every_operand():
    """Of the parameters those of all that stands before the series too, where these are one in the limit."""
    operands = [tg.vector(name) for name in "abcz"]
    y = tg.hyp2f1(*operands)
    first = tg.grad(tg.sum(y), operands)
    f = tg.function(operands, [*first, tg.grad(tg.sum(first[3]), operands[3])], backend="perform")
    found = f(*(np.array(v) for v in zip(*DERIVATIVES, strict=True)))
    with mpmath.workdps(60):
        step = mpmath.mpf(10) ** -20
        for place, slopes in zip(DERIVATIVES, zip(*found, strict=True), strict=True):
            a, b, c, z = map(mpmath.mpf, place)
            right = []
            for k in range(3):
                above, below = ([v + s * (j == k) for j, v in enumerate((a, b, c))] for s in (step, -step))
                right.append((mpmath.hyp2f1(*above, z) - mpmath.hyp2f1(*below, z)) / (2 * step))
            right.append(a * b / c * mpmath.hyp2f1(a + 1, b + 1, c + 1, z))
            right.append(a * (a + 1) * b * (b + 1) / (c * (c + 1)) * mpmath.hyp2f1(a + 2, b + 2, c + 2, z))
            size = abs(mpmath.hyp2f1(a, b, c, z))
            for k, (slope, true) in enumerate(zip(slopes, right, strict=True)):
                least = size if k < 3 else 0
                assert abs(slope - true) <= 4 * WITHIN * max(abs(true), least), (place, k, slope, float(true))


@pytest.mark.long
def test_derivatives_in_parameters_at_one_are_those_of_gauss_quotient():
    operands = [tg.vector(name) for name in "abcz"]
    f = tg.function(operands, tg.grad(tg.sum(tg.hyp2f1(*operands)), operands[:3]), backend="perform")
    for place in ((0.5, 0.3, 2.0), (-1.5, 0.75, 0.6), (1.25, -3.5, 2.5)):
        found = f(*(np.array([v]) for v in (*place, 1.0)))
        for k, slope in enumerate(found):
            order = tuple(int(k == j) for j in range(3))
            with mpmath.workdps(40):
                right = mpmath.diff(
                    lambda a, b, c: mpmath.gammaprod([c, c - a - b], [c - a, c - b]),
                    tuple(map(mpmath.mpf, place)),
                    order,
                )
            assert slope[0] == pytest.approx(float(right), rel=4 * WITHIN)
