"""`odeint`: values are those of SciPy's solver, derivatives those of closed forms and of JAX's solver."""

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.integrate._ivp import rk
from scipy.linalg import expm

import tg
from tg.integrate.methods import METHODS

pytestmark = pytest.mark.sampled(2)

ODEINT = tg.integrate.odeint
R, Y0 = tg.scalar("r"), tg.scalar("y0")
T = tg.vector("t")
TIMES = np.array([0.0, 0.5, 1.75, 3.0])
PAIRS = {"RK45": rk.RK45, "RK23": rk.RK23}


def lotka(t, y):
    """Hares and lynxes, with a season."""
    a, b = y
    return a * (1.1 - 0.4 * b) + 0.1 * (tg.sin(t) if isinstance(t, tg.Variable) else np.sin(t)), b * (0.1 * a - 0.4)


def value(v, at=None):
    """A value by the reference."""
    found = tg.function([*at] if at else [], v, backend="perform")
    return found(*at.values()) if at else found()


@pytest.mark.parametrize("method", PAIRS)
def test_tables_are_those_of_scipy(method):
    own, other = METHODS[method], PAIRS[method]
    for k, row in enumerate(own.stages):
        np.testing.assert_allclose(row, other.A[k][: len(row)], rtol=1e-15)
        assert not other.A[k][len(row) :].any()
    np.testing.assert_allclose(own.times, other.C, rtol=1e-15)
    np.testing.assert_allclose(own.weights, other.B, rtol=1e-15)
    np.testing.assert_allclose(np.abs(own.difference), np.abs(other.E), rtol=1e-15)
    np.testing.assert_allclose(own.dense, other.P, rtol=1e-15)
    assert (own.order, own.estimate) == (other.order, other.error_estimator_order)


@pytest.mark.parametrize("method", PAIRS)
@pytest.mark.parametrize("times", [np.linspace(0, 12, 9), np.linspace(3, -4, 5), np.array([0.0, 0.0, 1e-3, 8, 8])])
def test_steps_and_states_are_those_of_scipy(method, times):
    options = {"method": method, "rtol": 1e-5, "atol": 1e-7}
    own, steps = ODEINT(lotka, (10.0, 5.0), times, full_output=True, **options)
    a, b, tried, accepted, reached = value([*own, *steps])
    ends = (times[0], times[-1])
    other = solve_ivp(lotka, ends, [10.0, 5.0], dense_output=True, **options)
    np.testing.assert_allclose([a, b], other.sol(times), rtol=1e-10)
    evaluations = len(METHODS[method].stages)
    assert (int(tried), int(accepted)) == ((other.nfev - 2) // evaluations, len(other.t) - 1)
    assert reached


def test_a_first_step_may_be_given():
    _, steps = ODEINT(lotka, (10.0, 5.0), [0.0, 1.0], rtol=1e-5, atol=1e-7, first_step=1e-4, full_output=True)
    other = solve_ivp(lotka, (0, 1), [10.0, 5.0], rtol=1e-5, atol=1e-7, first_step=1e-4)
    assert value(steps.accepted) == len(other.t) - 1


def test_states_have_any_structure_and_dtypes():
    y0 = {"x": np.array([1.0, 2.0], "float32"), "rest": (np.eye(2), 3)}

    def f(t, y):
        matrix, number = y["rest"]
        return {"rest": (-matrix @ matrix.T * t, 0.0), "x": y["x"] * number}

    y = ODEINT(f, y0, [0.0, 0.25, 0.5], rtol=1e-9, atol=1e-9)
    assert [str(v.type) for v in tg.tree.leaves(y)] == ["float32[3, 2]", "float64[3, 2, 2]", "float64[3]"]
    x, matrix, number = value(tg.tree.leaves(y))
    np.testing.assert_allclose(x, np.exp(3 * np.array([[0], [0.25], [0.5]])) * [1, 2], rtol=1e-6)
    np.testing.assert_allclose(matrix, np.eye(2) / (1 + np.array([0, 0.25, 0.5]) ** 2 / 2)[:, None, None], rtol=1e-7)
    np.testing.assert_array_equal(number, [3, 3, 3])


def test_complex_states_and_atol_of_each_part():
    y = ODEINT(lambda t, y: [y[0] * 1j, -y[1]], [1 + 0j, 1.0], TIMES, rtol=1e-9, atol=[1e-9, 1e-7])
    wave, decay = value(y)
    np.testing.assert_allclose(wave, np.exp(1j * TIMES), rtol=1e-7)
    np.testing.assert_allclose(decay, np.exp(-TIMES), rtol=1e-6)


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("midpoint", 2), ("heun", 2), ("rk4", 4)])
def test_methods_of_one_length_have_their_order(method, order):
    n = tg.scalar("n", "int64")
    times = tg.arange(n + 1) / n * 2

    def error(count, steps):
        y = ODEINT(lambda t, y: y * tg.cos(t), 1.0, times, method=method, steps=steps)
        return abs(value(y[-1], {n: count}) - np.exp(np.sin(2.0)))

    assert abs(np.log2(error(32, 1) / error(64, 1)) - order) < 0.15
    np.testing.assert_allclose(error(32, 2), error(64, 1), rtol=1e-6)


def test_steps_of_one_length_are_those_of_a_loop_in_python():
    def rates(t, y):
        return -R * y + t

    times, at = np.array([0.0, 0.5, 2.0]), {R: 0.8}
    y, exact = 1.0, [1.0]
    for start, end in itertools.pairwise(times):
        h = (end - start) / 3
        for k in range(3):
            t = start + h * k
            middle = y + h / 2 * (-0.8 * y + t)
            y += h * (-0.8 * middle + t + h / 2)
        exact.append(y)
    for checkpoint in (False, True):
        own, steps = ODEINT(rates, 1.0, times, method="midpoint", steps=3, checkpoint=checkpoint, full_output=True)
        states, count = value([own, steps.tried], at)
        np.testing.assert_allclose(states, exact, rtol=1e-14)
        assert count == 6
        slope = value(tg.grad(own[-1], R), at)
        np.testing.assert_allclose(slope, value(tg.jvp(own[-1], R, 1.0), at), rtol=1e-13)
    last = ODEINT(rates, exact[1], times[1:], method="midpoint", steps=3)
    np.testing.assert_allclose(value(last, at), exact[1:], rtol=1e-14)


def test_the_pairs_are_as_exact_as_is_asked():
    for method in PAIRS:
        for tolerance in (1e-4, 1e-7):
            y = ODEINT(lambda t, y: y * tg.cos(t), 1.0, TIMES, method=method, rtol=tolerance, atol=tolerance)
            np.testing.assert_allclose(value(y), np.exp(np.sin(TIMES)), rtol=20 * tolerance)


def logistic(t):
    """The logistic curve from 0.2 with a rate, and its derivatives by both, from mathematics alone."""
    y = Y0 / (Y0 + (1 - Y0) * tg.exp(-R * (t - t[0])))
    return tg.sum(y * tg.sin(1 + tg.arange(4)))


@pytest.mark.parametrize(("method", "steps"), [("RK45", None), ("rk4", 40)])
def test_derivatives_of_both_modes_and_orders_are_those_of_the_closed_form(method, steps):
    y = ODEINT(lambda t, y: R * y * (1 - y), Y0, T, method=method, rtol=1e-8, atol=1e-8, steps=steps)
    own, exact = tg.sum(y * tg.sin(1 + tg.arange(4))), logistic(T)
    at = {R: 1.3, Y0: 0.2, T: TIMES}
    tolerance = {"rtol": 2e-6, "atol": 1e-7}
    found = value(tg.grad(own, [R, Y0, T]), at)
    for a, b in zip(found, value(tg.grad(exact, [R, Y0, T]), at), strict=True):
        np.testing.assert_allclose(a, b, **tolerance)
    along = [tg.constant(0.7), tg.constant(-0.4), tg.sin(T)]
    np.testing.assert_allclose(*(value(tg.jvp(v, [R, Y0, T], along), at) for v in (own, exact)), **tolerance)
    seconds = [tg.grad(tg.grad(v, R), [R, Y0, T]) for v in (own, exact)]
    for a, b in zip(*(value(v, at) for v in seconds), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_the_slope_by_a_time_is_the_rate_there():
    y = ODEINT(lambda t, y: t * tg.cos(y), Y0, T, rtol=1e-6, atol=1e-6)
    at = {Y0: 0.3, T: TIMES}
    slopes = value(tg.grad(tg.sum(y), T), at)
    states = value(y, at)
    np.testing.assert_allclose(slopes[1:], TIMES[1:] * np.cos(states[1:]), rtol=1e-13)
    curvature = value(tg.grad(tg.grad(y[2], T)[2], T)[2], at)
    t, s = TIMES[2], states[2]
    np.testing.assert_allclose(curvature, np.cos(s) - t * np.sin(s) * t * np.cos(s), rtol=1e-12)


@pytest.mark.long(minutes=1)
def test_what_the_function_captures_has_derivatives_of_its_own_shape():
    a = tg.matrix("a")
    y0 = np.array([1.0, -0.5, 0.25])
    matrix = np.array([[0.1, 1.0, 0.0], [-1.0, -0.2, 0.3], [0.4, 0.0, -0.5]])
    own = ODEINT(lambda t, y: a @ y, y0, [0.0, 1.5], rtol=1e-9, atol=1e-9)[-1]
    np.testing.assert_allclose(value(own, {a: matrix}), expm(1.5 * matrix) @ y0, rtol=1e-7)
    exact = tg.linalg.expm(1.5 * a) @ y0
    found = [value(tg.grad(tg.sum(v**2), a), {a: matrix}) for v in (own, exact)]
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-8)


@pytest.mark.long(minutes=1)
def test_gradients_are_those_of_jax():
    jax = pytest.importorskip("jax")
    from jax.experimental.ode import odeint

    theta = tg.vector("theta")

    def rates(y, p, m):
        return m.stack([y[0] * (p[0] - p[1] * y[1]), y[1] * (p[2] * y[0] - p[3])])

    begin, times, at = np.array([10.0, 5.0]), TIMES[:3] / 2, np.array([1.1, 0.4, 0.1, 0.4])
    y = ODEINT(lambda t, y: rates(y, theta, tg), begin, times, rtol=1e-9, atol=1e-9)
    own = value([*tg.value_and_grad(tg.sum(tg.log(y)), theta)], {theta: at})
    with jax.enable_x64(True):

        def loss(p):
            y = odeint(lambda y, t: rates(y, p, jax.numpy), begin, times, rtol=1e-9, atol=1e-9)
            return jax.numpy.sum(jax.numpy.log(y))

        other = jax.value_and_grad(loss)(at)
        np.testing.assert_allclose(own[0], other[0], rtol=1e-7)
        np.testing.assert_allclose(own[1], other[1], rtol=1e-6)


def test_arguments_are_handed_on():
    y = ODEINT(lambda t, y, rate, shift: -rate * y + shift, 1.0, TIMES, (R, 0.0))
    np.testing.assert_allclose(value(y, {R: 0.7}), np.exp(-0.7 * TIMES), rtol=1e-6)


def test_elements_of_a_batch_have_steps_of_their_own():
    r = tg.vector("rates")

    def solved(rate):
        y, steps = ODEINT(lambda t, y: -rate * y, 1.0, TIMES, rtol=1e-6, atol=1e-9, full_output=True)
        return y, steps.accepted

    y, steps = tg.vmap(solved)(r)
    gradient = tg.grad(tg.sum(y[:, -1]), r)
    states, counts, slopes = value([y, steps, gradient], {r: [0.5, 20.0, -1.0]})
    one, count = solved(R)
    for k, rate in enumerate([0.5, 20.0, -1.0]):
        alone = value([one, count, tg.grad(one[-1], R)], {R: rate})
        np.testing.assert_allclose(states[k], alone[0], rtol=1e-13)
        assert counts[k] == alone[1]
        np.testing.assert_allclose(slopes[k], alone[2], rtol=1e-12)
    assert counts[1] > 2 * counts[0]


def test_a_batch_of_beginnings_and_of_times():
    b, t = tg.vector("b"), tg.matrix("t")
    y = tg.vmap(lambda b, t: ODEINT(lambda t, y: -y, b, t))(b, t)
    at = {b: [1.0, 2.0], t: [[0.0, 1.0], [1.0, 0.5]]}
    np.testing.assert_allclose(value(y, at), [[1, np.exp(-1)], [2, 2 * np.exp(0.5)]], rtol=1e-7)


def test_a_solution_that_ends_is_nan_from_there_on():
    """y' = y**2 has a pole at t = 1."""
    times = [0.0, 0.5, 0.9, 1.5, 2.0]
    y, steps = ODEINT(lambda t, y: y * y * Y0, 1.0, times, full_output=True)
    last = tg.grad(y[-1], Y0)
    states, reached, slope, before = value([y, steps.reached, last, tg.grad(y[2], Y0)], {Y0: 1.0})
    np.testing.assert_allclose(states[:3], [1, 2, 10], rtol=1e-6)
    assert np.isnan(states[3:]).all()
    assert not reached
    assert np.isnan(slope)
    np.testing.assert_allclose(before, 90, rtol=1e-5)


def test_more_steps_than_there_may_be_are_nan():
    def robertson(t, y):
        a, b, c = y
        slow, fast, back = 0.04 * a, 3e7 * b * b, 1e4 * b * c
        return -slow + back, slow - back - fast, fast

    y, steps = ODEINT(
        robertson, (1.0, 0.0, 0.0), [0.0, 1e-3, 100.0], rtol=1e-6, atol=1e-12, max_steps=64, full_output=True
    )
    *states, tried, reached = value([*y, steps.tried, steps.reached])
    other = solve_ivp(robertson, (0, 1e-3), [1.0, 0.0, 0.0], method="LSODA", rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose([v[1] for v in states], other.y[:, -1], rtol=1e-4)
    assert np.isnan([v[2] for v in states]).all()
    assert tried == 64
    assert not reached


@pytest.mark.parametrize("start", [np.nan, np.inf])
def test_a_beginning_that_is_no_number_ends_at_once(start):
    y, steps = ODEINT(lambda t, y: -y, start, [0.0, 1.0], full_output=True)
    state, tried = value([y[-1], steps.tried])
    assert np.isnan(state)
    assert tried < 200


def test_times_that_turn_back_at_run_time_are_nan():
    y = value(ODEINT(lambda t, y: -y, 1.0, T), {T: [0.0, 1.0, 0.5, 2.0]})
    np.testing.assert_allclose(y[[0, 1, 3]], np.exp([0, -1, -2]), rtol=1e-7)
    assert np.isnan(y[2]) or abs(y[2] - np.exp(-0.5)) < 1e-7


def test_a_single_time_is_the_beginning():
    y = ODEINT(lambda t, y: -R * y, Y0, [2.0])
    states, slope = value([y, tg.grad(y[0], Y0)], {Y0: 3.0, R: 1.0})
    assert states.tolist() == [3.0]
    assert slope == 1


def test_values_alone_note_no_steps():
    y = ODEINT(lambda t, y: -R * y, Y0, TIMES, max_steps=777)
    f = tg.function([R, Y0], y, backend="perform")
    assert "[800]" not in tg.to_text(f.graph)
    assert "[801]" not in tg.to_text(f.graph)
    g = tg.function([R, Y0], tg.grad(y[-1], R), backend="perform")
    assert "[801]" in tg.to_text(g.graph)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"method": "LSODA"}, tg.InputError, "odeint: method: found 'LSODA', needed one of 'euler'"),
        ({"max_steps": 0}, tg.InputError, "odeint: max_steps: found 0, needed an int of at least 1"),
        ({"steps": 1.5}, tg.InputError, "odeint: steps: found 1.5, needed an int of at least 1"),
        ({"rtol": -1.0}, tg.InputError, "odeint: rtol: found -1.0, needed a number of at least 0"),
        ({"t": 1.0}, tg.ShapeError, "odeint: t: found float64\\[\\], needed a vector of times, the first that of y0"),
        ({"t": [0.0, 1.0, 0.5]}, tg.InputError, "odeint: t: found times that turn back"),
        ({"y0": None}, tg.InputError, "odeint: y0: found None, needed an array, or a structure of arrays"),
        ({"y0": (1.0, 2.0), "f": lambda t, y: y[0]}, tg.InputError, r"odeint: f\(t, y\): found .*, needed \(\*, \*\)"),
        (
            {"f": lambda t, y: tg.stack([y, y])},
            tg.ShapeError,
            r"odeint: the rate of y: found float64\[2\], needed float64\[\]",
        ),
        ({"f": lambda t, y: None}, tg.InputError, r"odeint: the rate of y: found None, needed float64\[\]"),
        ({"f": lambda t, y: y * 1j}, tg.DtypeError, r"odeint: the rate of y: found complex128\[\], needed float64\[\]"),
    ],
)
def test_mistakes_are_told(options, error, text):
    given = {"f": lambda t, y: -y, "y0": 1.0, "t": [0.0, 1.0]} | options
    with pytest.raises(error, match=text):
        ODEINT(**given)


@pytest.mark.parametrize(
    ("method", "options", "name"),
    [
        ("RK45", {"steps": 3}, "steps"),
        ("RK23", {"checkpoint": True}, "checkpoint"),
        ("rk4", {"first_step": 0.1}, "first"),
    ],
)
def test_options_that_a_method_does_not_take_are_refused(method, options, name):
    with pytest.raises(tg.errors.InputError, match=f"odeint: {name}.*method='{method}'"):
        tg.integrate.odeint(lambda t, y: -y, 1.0, [0.0, 1.0], method=method, **options)


@pytest.mark.parametrize("method", ["RK45", "rk4"])
def test_no_times_are_told_when_the_function_is_called(method):
    t = tg.vector("t")
    f = tg.function([t], tg.integrate.odeint(lambda t, y: -y, 1.0, t, method=method), backend="perform")
    np.testing.assert_allclose(f([0.0, 1.0])[-1], np.exp(-1), rtol=0.03)
    with pytest.raises(tg.errors.ShapeError, match="odeint: t: found no times"):
        f(np.zeros(0))
