"""Short programs of statistics and linear algebra, as users of SciPy and JAX write them, on every backend."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from scipy import special, stats

import tg

BACKENDS = [one.name for one in tg.backends() if one.is_available]
PROGRAMS = {}


def program(function):
    """A function of a random generator that gives inputs, outputs, values of the inputs, and what is needed."""
    PROGRAMS[function.__name__] = function
    return function


def slopes(f, x, step=1e-3):
    """The gradient by differences of fourth order, of a function of an array."""
    found = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        move = np.zeros_like(x)
        move[index] = step
        near, far = (f(x + k * move) - f(x - k * move) for k in (1, 2))
        found[index] = (8 * near - far) / (12 * step)
    return found


def definite(draw, n, *batch):
    a = draw.normal(size=(*batch, n, n))
    return a @ np.swapaxes(a, -1, -2) + n * np.eye(n)


@program
def normal_densities_of_a_covariance_each(draw):
    x, s = tg.matrix("x"), tg.tensor("s", shape=(None, None, None))
    factor = tg.linalg.cholesky(s)
    z = tg.linalg.solve_triangular(factor, x[..., None], lower=True)[..., 0]
    half = tg.sum(tg.log(tg.diagonal(factor, axis1=-2, axis2=-1)), -1)
    density = -0.5 * tg.sum(z**2, -1) - half - 0.5 * x.shape[-1] * np.log(2 * np.pi)
    values = draw.normal(size=(20, 3)), definite(draw, 3, 20)
    needed = [stats.multivariate_normal(np.zeros(3), b).logpdf(a) for a, b in zip(*values, strict=True)]
    by_x = -np.linalg.solve(values[1], values[0][..., None])[..., 0]
    return [x, s], [density, tg.grad(tg.sum(density), x)], values, [np.array(needed), by_x]


@program
def a_kalman_filter_by_solve(draw):
    y, f, h, q, r = (tg.matrix(name) for name in "yfhqr")

    def step(known, seen):
        mean, covariance = f @ known[0], f @ known[1] @ f.T + q
        spread, error = h @ covariance @ h.T + r, seen - h @ mean
        gain = tg.linalg.solve(spread, h @ covariance, assume_a="pos").T
        size = tg.linalg.slogdet(spread)[1] + error.shape[0] * np.log(2 * np.pi)
        term = -0.5 * (error @ tg.linalg.solve(spread, error) + size)
        return (mean + gain @ error, covariance - gain @ spread @ gain.T), term

    total = tg.sum(tg.scan(step, (tg.zeros(3), tg.eye(3)), y)[1])
    forward = 0.9 * np.linalg.qr(draw.normal(size=(3, 3)))[0]
    values = draw.normal(size=(12, 2)), forward, draw.normal(size=(2, 3)), 0.1 * definite(draw, 3), definite(draw, 2)

    def joint(forward):
        """The log-density of all that is seen at once, from its covariance."""
        ys, _, h, q, r = values
        steps, at = len(ys), [np.eye(3)]
        for _ in range(steps):
            at.append(forward @ at[-1] @ forward.T + q)
        blocks = [
            [
                h @ np.linalg.matrix_power(forward, max(i - j, 0)) @ at[min(i, j) + 1]
                @ np.linalg.matrix_power(forward, max(j - i, 0)).T @ h.T + (r if i == j else 0)
                for j in range(steps)
            ]
            for i in range(steps)
        ]  # fmt: skip
        return stats.multivariate_normal(np.zeros(2 * steps), np.block(blocks)).logpdf(ys.ravel())

    return [y, f, h, q, r], [total, tg.grad(total, f)], values, [joint(forward), slopes(joint, forward)]


@program
def an_approximation_of_laplace(draw):
    x, y, b = tg.matrix("x"), tg.vector("y"), tg.vector("b")
    density = tg.sum(y * (x @ b) - tg.softplus(x @ b)) - 0.5 * tg.sum(b**2)
    hessian = tg.hessian(density, b)
    after = b - tg.linalg.solve(hessian, tg.grad(density, b))
    evidence = density + 0.5 * b.shape[0] * np.log(2 * np.pi) - 0.5 * tg.linalg.slogdet(-hessian)[1]
    values = draw.normal(size=(50, 3)), (draw.uniform(size=50) < 0.5) * 1.0, draw.normal(size=3)
    xs, ys, at = values
    p = special.expit(xs @ at)
    curvature = -(xs.T * (p * (1 - p))) @ xs - np.eye(3)
    height = np.sum(np.log(np.where(ys, p, 1 - p))) - 0.5 * at @ at
    needed = [
        at - np.linalg.solve(curvature, xs.T @ (ys - p) - at),
        height + 1.5 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(-curvature)[1],
        curvature,
    ]
    return [x, y, b], [after, evidence, hessian], values, needed


@program
def newtons_method_in_a_loop(draw):
    x, y = tg.matrix("x"), tg.vector("y")

    def nearer(carry):
        b, _ = carry
        density = tg.sum(y * (x @ b) - tg.exp(x @ b)) - 0.5 * tg.sum(b**2)
        step = tg.linalg.solve(-tg.hessian(density, b), tg.grad(density, b))
        return b + step, step

    b, _ = tg.while_loop(lambda c: tg.max(tg.abs(c[1])) > 1e-12, nearer, (tg.zeros(3), tg.ones(3)), max_steps=30)
    values = 0.3 * draw.normal(size=(60, 3)), draw.poisson(1.5, 60) * 1.0
    xs, ys = values
    found = np.zeros(3)
    for _ in range(20):
        mean = np.exp(xs @ found)
        found = found + np.linalg.solve((xs.T * mean) @ xs + np.eye(3), xs.T @ (ys - mean) - found)
    return [x, y], [b], values, [found]


@program
def whitening_by_cholesky(draw):
    x = tg.matrix("x")
    white = tg.linalg.solve_triangular(tg.linalg.cholesky(tg.cov(x.T)), (x - tg.mean(x, axis=0)).T, lower=True).T
    values = (draw.normal(size=(12, 3)) @ draw.normal(size=(3, 3)),)

    def by_scipy(x):
        return scipy.linalg.solve_triangular(np.linalg.cholesky(np.cov(x.T)), (x - x.mean(0)).T, lower=True).T

    needed = [by_scipy(*values), np.eye(3), slopes(lambda x: np.sum(by_scipy(x) ** 3), *values, step=1e-4)]
    return [x], [white, tg.cov(white.T), tg.grad(tg.sum(white**3), x)], values, needed


@program
def principal_components_by_eigh(draw):
    x = tg.matrix("x")
    centred = x - x.mean(axis=0)
    w, v = tg.linalg.eigh(centred.T @ centred / (x.shape[0] - 1))
    share, first = w[::-1] / tg.sum(w), v[:, ::-1][:, :2]
    values = (draw.normal(size=(10, 4)) @ np.diag([3, 2, 1, 0.5]),)

    def by_svd(x):
        u, s, vh = np.linalg.svd(x - x.mean(0), full_matrices=False)
        return s**2 / np.sum(s**2), (u[:, :2] * s[:2]) @ vh[:2]

    needed = [*by_svd(*values), slopes(lambda x: by_svd(x)[0][0], *values)]
    return [x], [share, centred @ first @ first.T, tg.grad(share[0], x)], values, needed


@program
def ridge_regression_by_lstsq(draw):
    x, y, penalty = tg.matrix("x"), tg.vector("y"), tg.scalar("penalty")
    longer = tg.concatenate([x, tg.sqrt(penalty) * tg.eye(x.shape[1])])
    b, _, rank, _ = tg.linalg.lstsq(longer, tg.concatenate([y, tg.zeros(x.shape[1])]))
    left = tg.sum((x @ b - y) ** 2)
    values = draw.normal(size=(20, 4)), draw.normal(size=20), np.array(2.5)
    xs, ys, at = values

    def by_normal_equations(penalty):
        return np.linalg.solve(xs.T @ xs + penalty * np.eye(4), xs.T @ ys)

    by_penalty = slopes(lambda penalty: np.sum((xs @ by_normal_equations(penalty) - ys) ** 2), at)
    return [x, y, penalty], [b, rank, tg.grad(left, penalty)], values, [by_normal_equations(at), 4, by_penalty]


@program
def logarithms_of_determinants(draw):
    s = tg.tensor("s", shape=(None, None, None))
    whole = tg.linalg.slogdet(s)[1]
    by_factor = 2 * tg.sum(tg.log(tg.diagonal(tg.linalg.cholesky(s), axis1=-2, axis2=-1)), -1)
    values = (definite(draw, 4, 3),)
    needed, inverse = np.linalg.slogdet(*values)[1], np.linalg.inv(*values)
    lower = np.tril(2 * inverse) - inverse * np.eye(4)  # of the factor, which reads the lower triangle
    outputs = [whole, by_factor, tg.grad(tg.sum(whole), s), tg.grad(tg.sum(by_factor), s)]
    return [s], outputs, values, [needed, needed, inverse, lower]


@program
def linear_equations_of_motion_by_expm(draw):
    a, start, t = tg.matrix("a"), tg.vector("start"), tg.scalar("t")
    x = tg.linalg.expm(a * t) @ start
    values = draw.normal(size=(3, 3)), draw.normal(size=3), np.array(1.5)
    rates, begin, _ = values
    moved = scipy.linalg.expm(1.5 * rates)
    by_rates = slopes(lambda a: np.sum((scipy.linalg.expm(1.5 * a) @ begin) ** 2), rates)
    outputs = [x, tg.grad(tg.sum(x), t), tg.grad(tg.sum(x**2), a), tg.jacobian(x, start)]
    return [a, start, t], outputs, values, [moved @ begin, np.sum(rates @ moved @ begin), by_rates, moved]


@program
def a_log_likelihood_of_students_t(draw):
    y, nu, scale = tg.vector("y"), tg.scalar("nu"), tg.scalar("scale")
    density = tg.gammaln((nu + 1) / 2) - tg.gammaln(nu / 2) - 0.5 * tg.log(nu * np.pi) - tg.log(scale)
    density = density - (nu + 1) / 2 * tg.log1p((y / scale) ** 2 / nu)
    values = 2 * draw.standard_t(4, 30), np.array(4.0), np.array(2.0)

    def by_scipy(nu, scale):
        return np.sum(stats.t(nu, 0, scale).logpdf(values[0]))

    needed = [
        stats.t(4, 0, 2).logpdf(values[0]),
        slopes(lambda nu: by_scipy(nu, 2.0), values[1]),
        slopes(lambda scale: by_scipy(4.0, scale), values[2]),
    ]
    return [y, nu, scale], [density, *tg.grad(tg.sum(density), [nu, scale])], values, needed


@program
def a_log_likelihood_of_integer_counts(draw):
    y, mean, r = tg.vector("y", dtype="int64"), tg.vector("mean"), tg.scalar("r")
    density = tg.gammaln(y + r) - tg.gammaln(r) - tg.gammaln(y + 1)
    density = density + r * tg.log(r / (r + mean)) + tg.xlogy(y, mean / (r + mean))
    means = draw.uniform(0.5, 5, 30)
    counts = draw.negative_binomial(3, 3 / (3 + means))
    counts[0] = 0
    needed = [
        stats.nbinom.logpmf(counts, 3, 3 / (3 + means)),
        counts / means - (counts + 3) / (3 + means),
        slopes(lambda r: np.sum(stats.nbinom.logpmf(counts, r, r / (r + means))), np.array(3.0)),
    ]
    return [y, mean, r], [density, *tg.grad(tg.sum(density), [mean, r])], (counts, means, np.array(3.0)), needed


@program
def a_log_likelihood_of_shares(draw):
    y, a, b = tg.vector("y"), tg.scalar("a"), tg.scalar("b")
    density = tg.xlogy(a - 1, y) + tg.xlog1py(b - 1, -y) - tg.betaln(a, b)
    total = tg.sum(density)
    values = draw.beta(2, 3, 20), np.array(2.0), np.array(3.0)
    logs = np.sum(np.log(values[0])), np.sum(np.log1p(-values[0]))
    by_a, by_b = (s - 20 * (special.digamma(v) - special.digamma(5)) for s, v in zip(logs, (2, 3), strict=True))
    t2, t3, t5 = special.polygamma(1, [2, 3, 5])
    hessian = -20 * np.array([[t2 - t5, -t5], [-t5, t3 - t5]])
    outputs = [density, *tg.grad(total, [a, b]), tg.array(tg.hessian(total, [a, b]))]
    return [y, a, b], outputs, values, [stats.beta(2, 3).logpdf(values[0]), by_a, by_b, hessian]


@program
def the_gradient_through_a_loop_of_svd(draw):
    a, is_seen, penalty = tg.matrix("a"), tg.matrix("is_seen", dtype="bool"), tg.scalar("penalty")

    def step(_, x):
        u, s, vh = tg.linalg.svd(tg.where(is_seen, a, x), full_matrices=False)
        return (u * tg.maximum(s - penalty, 0)) @ vh

    left = tg.sum(tg.where(is_seen, 0, tg.fori_loop(0, 4, step, tg.zeros_like(a))) ** 2)
    values = draw.normal(size=(6, 5)), draw.uniform(size=(6, 5)) < 0.7, np.array(0.5)

    def by_numpy(penalty):
        x = np.zeros((6, 5))
        for _ in range(4):
            u, s, vh = np.linalg.svd(np.where(values[1], values[0], x), full_matrices=False)
            x = (u * np.maximum(s - penalty, 0)) @ vh
        return np.sum(np.where(values[1], 0, x) ** 2)

    needed = [by_numpy(values[2]), slopes(by_numpy, values[2], step=1e-4)]
    return [a, is_seen, penalty], [left, tg.grad(left, penalty)], values, needed


@program
def a_step_of_a_gaussian_mixture(draw):
    x, means, s, share = (
        tg.matrix("x"),
        tg.matrix("means"),
        tg.tensor("s", shape=(None, None, None)),
        tg.vector("share"),
    )
    factor = tg.linalg.cholesky(s)
    z = tg.linalg.solve_triangular(factor, tg.moveaxis(x[:, None] - means, 0, -1), lower=True)
    level = tg.log(share) - tg.sum(tg.log(tg.diagonal(factor, axis1=1, axis2=2)), axis=1)
    each = level[:, None] - 0.5 * tg.sum(z**2, axis=1) - 0.5 * x.shape[1] * np.log(2 * np.pi)
    total, belongs = tg.sum(tg.logsumexp(each, axis=0)), tg.softmax(each, axis=0)
    after = (belongs @ x) / tg.sum(belongs, axis=1)[:, None]
    values = draw.normal(size=(30, 2)), draw.normal(size=(3, 2)), definite(draw, 2, 3), np.array([0.2, 0.3, 0.5])

    def by_scipy(means):
        at = [stats.multivariate_normal(m, c).logpdf(values[0]) for m, c in zip(means, values[2], strict=True)]
        return np.log(values[3])[:, None] + at

    weights = special.softmax(by_scipy(values[1]), 0)
    by_means = slopes(lambda m: np.sum(special.logsumexp(by_scipy(m), 0)), values[1])
    needed = [
        np.sum(special.logsumexp(by_scipy(values[1]), 0)),
        weights @ values[0] / weights.sum(1)[:, None],
        by_means,
    ]
    return [x, means, s, share], [total, after, tg.grad(total, means)], values, needed


@program
def robust_errors_from_gradients_of_each(draw):
    x, y, w = tg.matrix("x"), tg.vector("y"), tg.vector("w")

    def loss(x, y):
        return tg.softplus(x @ w) - y * (x @ w)

    each = tg.vmap(lambda x, y: tg.grad(loss(x, y), w))(x, y)
    bread = tg.linalg.inv(tg.hessian(tg.sum(tg.vmap(loss)(x, y)), w))
    values = draw.normal(size=(30, 3)), (draw.uniform(size=30) < 0.5) * 1.0, draw.normal(size=3)
    xs, ys, at = values
    p = special.expit(xs @ at)
    scores, inverse = xs * (p - ys)[:, None], np.linalg.inv((xs.T * (p * (1 - p))) @ xs)
    return [x, y, w], [each, bread @ (each.T @ each) @ bread], values, [scores, inverse @ (scores.T @ scores) @ inverse]


@program
def a_tail_of_a_probit_regression(draw):
    x, y, b = tg.matrix("x"), tg.vector("y", dtype="bool"), tg.vector("b")
    density = tg.sum(tg.where(y, tg.log_ndtr(x @ b), tg.log_ndtr(-(x @ b))))
    values = draw.normal(size=(30, 2)), draw.uniform(size=30) < 0.5, np.array([5.0, -8.0])
    xs, sign = values[0], np.where(values[1], 1.0, -1.0)
    at = sign * (xs @ values[2])
    ratio = np.exp(stats.norm.logpdf(at) - special.log_ndtr(at))
    needed = [np.sum(special.log_ndtr(at)), xs.T @ (sign * ratio), -(xs.T * (ratio * (at + ratio))) @ xs]
    return [x, y, b], [density, tg.grad(density, b), tg.hessian(density, b)], values, needed


@pytest.mark.sampled(32)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_scipy_gives(name, backend):
    inputs, outputs, values, needed = PROGRAMS[name](np.random.default_rng(3))
    found = tg.function(inputs, outputs, backend=backend)(*values)
    for one, other in zip(found, needed, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.max(np.abs(other)))
