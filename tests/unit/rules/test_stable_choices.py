"""Sums of exponentials of which a part is read, or that are one of two choices: as stable as others, with gradients."""

import numpy as np
import pytest

import tg

X = np.array([[1.0, 2.0, -3.0], [-1000.0, -1002.0, -900.0], [800.0, 0.0, 790.0]])
W = np.array([0.5, -2.0, 3.0])


def log_sum(x, axis=-1, keepdims=False):
    return tg.log(tg.sum(tg.exp(x), axis=axis, keepdims=keepdims))


def values(a):
    """The logarithms of the sums of exponentials of rows, and the shares of each in its sum."""
    top = a.max(axis=-1, keepdims=True)
    e = np.exp(a - top)
    return (top[..., 0] + np.log(e.sum(axis=-1))), e / e.sum(axis=-1, keepdims=True)


LSE, SHARES = values(X)
TWO = np.array([[1], [1], [0]])
ROW = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 0.0]])

FORMS = {
    "last row": (lambda x: log_sum(x[1]), LSE[1], ROW * SHARES),
    "last row, axes kept": (lambda x: tg.sum(log_sum(x[1], None, keepdims=True)), LSE[1], ROW * SHARES),
    "row of logarithms": (lambda x: log_sum(x)[1], LSE[1], ROW * SHARES),
    "logarithm of a row's sum": (lambda x: tg.log(tg.sum(tg.exp(x), axis=-1)[1]), LSE[1], ROW * SHARES),
    "rows turned": (lambda x: tg.sum(log_sum(x.T, 0) * tg.constant(W)), LSE @ W, SHARES * W[:, None]),
    "chosen": (lambda x: tg.sum(tg.where(tg.all(x < 5, axis=-1), log_sum(x), 0.0)), LSE[:2].sum(), TWO * SHARES),
    "or not": (lambda x: tg.sum(tg.where(tg.any(x > 5, axis=-1), 0.0, log_sum(x))), LSE[:2].sum(), TWO * SHARES),
    "chosen for all": (lambda x: tg.sum(tg.where(tg.all(x < 900), log_sum(x), -np.inf)), LSE.sum(), SHARES),
    "weighted, chosen": (
        lambda x: tg.sum(tg.where(tg.all(x < 900), log_sum(x) * tg.constant(W), -np.inf)), LSE @ W, SHARES * W[:, None],
    ),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["perform", "c", "numba"])
@pytest.mark.parametrize("form", FORMS)
def test_values_and_gradients_are_those_of_exact_sums(form, backend):
    build, value, slope = FORMS[form]
    x = tg.matrix("x")
    y = build(x)
    f = tg.function([x], [y, tg.grad(y, x)], backend=backend)
    found, gradient = f(X)
    np.testing.assert_allclose(found, value, rtol=1e-14)
    np.testing.assert_allclose(gradient, slope, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("backend", ["perform", "c"])
def test_logarithms_of_shares_that_are_read_do_not_vanish(backend):
    x = tg.matrix("x")
    e = tg.exp(x - tg.max(x, axis=-1, keepdims=True))
    shares = e / tg.sum(e, axis=-1, keepdims=True)
    f = tg.function([x], [tg.log(shares[2, 1]), tg.log(shares.T)[:, 2], tg.log(tg.softmax(x)[2])], backend=backend)
    wanted = X[2] - LSE[2]
    for found, expected in zip(f(X), (wanted[1], wanted, wanted), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("backend", ["perform", "c"])
def test_a_loop_over_sums_of_exponentials_has_a_finite_gradient(backend):
    """A chain of hidden states, whose likelihood is far below the least number."""
    log_rows, emitted = tg.matrix("log_rows"), tg.matrix("emitted")

    def forward(before, now):
        return now + tg.log(tg.sum(tg.exp(before[:, None] + log_rows), axis=0, keepdims=True))[0]

    states = tg.scan(lambda c, now: (forward(c, now),) * 2, emitted[0], emitted[1:])[1]
    total = tg.sum(tg.log(tg.sum(tg.exp(states[-1]), keepdims=True)))
    f = tg.function([log_rows, emitted], [total, *tg.grad(total, [log_rows, emitted])], backend=backend)
    rows, steps = np.log([[0.9, 0.1], [0.2, 0.8]]), -40 + np.cos(np.arange(120.0)).reshape(60, 2)
    state = steps[0]
    for now in steps[1:]:
        state = now + values((state[:, None] + rows).T)[0]
    found, by_rows, by_steps = f(rows, steps)
    np.testing.assert_allclose(found, values(state)[0], rtol=1e-14)
    np.testing.assert_allclose(by_steps.sum(axis=-1), 1, rtol=1e-12)  # each step adds what all states share
    np.testing.assert_allclose(by_rows.sum(), 59, rtol=1e-12)  # so many moves there are


LOGISTIC = {
    "quotient": lambda z: -tg.log(1 / (1 + tg.exp(-z))),
    "logarithm of a sum": lambda z: tg.log(1 + tg.exp(-z)),
    "the other share": lambda z: -tg.log(1 - 1 / (1 + tg.exp(z))),
    "share of exponentials": lambda z: -tg.log(tg.exp(z) / (1 + tg.exp(z))),
}
OPERANDS = {
    "product": (lambda x, b: x * b, lambda x: 1.1 * x, 1.1),
    "quotient": (lambda x, b: x / b, lambda x: x / 1.1, 1 / 1.1),
    "by a constant": (lambda x, b: x / 1.25, lambda x: x / 1.25, 0.8),
    "by its negative": (lambda x, b: x / -1.25, lambda x: -x / 1.25, -0.8),
    "quotient by a constant": (lambda x, b: b * x / 1.25, lambda x: 1.1 * x / 1.25, 0.88),
    "difference by a constant": (lambda x, b: (b - x) / np.sqrt(2), lambda x: (1.1 - x) / np.sqrt(2), -np.sqrt(0.5)),
}


TAILS = [tg.ndtr, lambda z: (1 + tg.erf(z / np.sqrt(2))) / 2, lambda z: tg.erfc(-z / np.sqrt(2)) / 2]


@pytest.mark.parametrize("is_chosen", [False, True])
@pytest.mark.parametrize("form", LOGISTIC)
@pytest.mark.parametrize("operand", OPERANDS)
def test_a_logistic_density_has_a_gradient_where_exponentials_overflow(form, operand, is_chosen):
    build, values, slope = OPERANDS[operand]
    x, b = tg.vector("x"), tg.scalar("b")
    y = LOGISTIC[form](build(x, b))
    y = tg.sum(tg.where(b > 0, y, -np.inf) if is_chosen else y)
    f = tg.function([x, b], [y, tg.grad(y, x)], backend="perform", on_unused_input="ignore")
    given = np.array([-1.5, -800.0, -745.0, -710.0, 3.0, 900.0])
    z = values(given)
    found, gradient = f(given, 1.1)
    np.testing.assert_allclose(found, np.logaddexp(0, -z).sum(), rtol=1e-14)
    # a share of 1e-219 may be 0
    np.testing.assert_allclose(gradient, -slope * np.exp(-np.logaddexp(0, z)), rtol=1e-12, atol=1e-200)


@pytest.mark.parametrize(
    "written", [tg.ndtr, lambda z: (1 + tg.erf(z / np.sqrt(2))) / 2, lambda z: tg.erfc(-z / np.sqrt(2)) / 2]
)
def test_a_tail_that_is_one_of_two_choices_has_the_slope_of_its_logarithm(written):
    """Beside forty digits."""
    mpmath = pytest.importorskip("mpmath")
    z, s = tg.vector("z"), tg.scalar("s")
    y = tg.sum(tg.where(s > 0, tg.log(written(z * s)), -np.inf))
    f = tg.function([z, s], [y, tg.grad(y, z)], backend="c")
    given = np.array([-2500.0, -40.0, -3.0, 0.5, 8.0])
    with mpmath.workdps(40):
        wanted = [float(mpmath.npdf(v) / mpmath.ncdf(v)) for v in given]
    np.testing.assert_allclose(f(given, 1.0)[1], wanted, rtol=1e-12)
    np.testing.assert_array_equal(f(given, -1.0)[1], np.zeros(5))


def test_what_a_closed_choice_hides_stays_hidden():
    x, c = tg.matrix("x"), tg.matrix("c", dtype="bool")
    y = tg.sum(tg.where(c, tg.log(tg.sum(tg.exp(x), axis=-1, keepdims=True)), 0.0))
    f = tg.function([x, c], tg.grad(y, x), backend="perform")
    given = np.array([[np.nan, 1.0], [np.inf, np.inf], [0.0, 0.0]])
    found = f(given, np.array([[False], [False], [True]]))
    np.testing.assert_array_equal(found, [[0, 0], [0, 0], [0.5, 0.5]])
