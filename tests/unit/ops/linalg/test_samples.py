"""Linear algebra of two hundred random matrices for each function and dtype, in batches.

Sizes are 0 to 8 and 17 to 24, conditions go to 10^12 (10^4 in single precision), magnitudes from 10^-20 to 10^20.
What is asked of a result is its residual in extended precision, in units of the precision times the sizes that
rounding errors are relative to: so the bounds hold of ill-conditioned matrices as well.
"""

from __future__ import annotations

import dataclasses
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tg
from tg import plugin

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLES = 200
MOST = 60.0  # units of precision times length
DTYPES = ("float64", "float32", "complex128")


def eager_backends():
    """The reference, and those that take any lengths without compiling again."""
    found = (plugin.registry().backend(s.name) for s in plugin.registry().backends() if s.is_available)
    return sorted((b.name for b in found if b.raises), key=lambda name: (name != "perform", name))


BACKENDS = tuple(eager_backends())


@dataclasses.dataclass(frozen=True)
class Problem:
    """A function of batches of matrices, what it is given, and how wrong what it gives is."""

    name: str
    build: Callable[..., Any]
    draw: Callable[..., Any]
    judge: Callable[..., Any]  # of exact operands and results: a list of (error, what it may be relative to)
    ranks: tuple[int, ...] = (3,)


# --- matrices --------------------------------------------------------------------------------------------------------


def exact(x):
    """In extended precision."""
    return x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)


def h(x):
    """The adjoint."""
    return x.conj().swapaxes(-1, -2)


def size(*arrays):
    """The product of the largest magnitudes of each matrix."""
    found = 1.0
    for x in arrays:
        found = found * np.max(abs(x), (-2, -1), initial=0)
    return found


def eye(x):
    return np.eye(x.shape[-1], dtype=x.dtype)


def normal(rng, dtype, *shape):
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else x


def eliminated(a):
    """The determinants and the inverses, by Gauss and Jordan with the largest pivots."""
    count, n, _ = a.shape
    x, at, found = np.concatenate([a, np.broadcast_to(eye(a), a.shape)], -1), np.arange(count), 1 + 0 * size(a)
    found = found.astype(a.dtype)
    for k in range(n):
        row = k + np.argmax(abs(x[:, k:, k]), -1)
        x[at, k], x[at, row] = x[at, row], x[at, k].copy()
        found = found * x[:, k, k] * np.where(row == k, 1, -1)
        x[:, k] /= x[:, k, k, None]
        rest = x[:, :, k].copy()
        rest[:, k] = 0
        x -= rest[..., None] * x[:, k, None, :]
    return found, x[:, :, n:]


def determinant(a):
    return eliminated(a)[0]


def inverse(a):
    return eliminated(a)[1]


def orthogonal(rng, dtype, b, m, n):
    return np.linalg.qr(normal(rng, dtype, b, m, n))[0]


def shape_of(rng):
    """A batch, and two lengths."""
    large = rng.random() < 0.15
    m, n = rng.integers(17, 25, 2) if large else rng.integers(0, 9, 2)
    return int(rng.integers(0, 9)), int(m), int(n)


def graded(rng, dtype, b, m, n, most=None, scaled=True):
    """Matrices of singular values that fall from 1 to the inverse of their condition."""
    few = min(m, n)
    depth = rng.uniform(0, 4 if dtype == "float32" else 12) if most is None else rng.uniform(0, most)
    values = 10.0 ** -(depth * np.linspace(0, 1, few))
    scale = 10.0 ** rng.uniform(-20, 20) if scaled else 1.0
    if dtype == "float32" and scaled:
        scale = scale**0.3
    u, v = orthogonal(rng, dtype, b, m, few), orthogonal(rng, dtype, b, n, few)
    return scale * (u * values) @ h(v)


def square(rng, dtype):
    b, _, n = shape_of(rng)
    return (graded(rng, dtype, b, n, n),)


def oblong(rng, dtype):
    return (graded(rng, dtype, *shape_of(rng)),)


def square_and_sides(rng, dtype):
    b, k, n = shape_of(rng)
    return graded(rng, dtype, b, n, n), normal(rng, dtype, b, n, min(k, 5))


def positive(rng, dtype):
    b, _, n = shape_of(rng)
    x = graded(rng, dtype, b, n, n, 2 if dtype == "float32" else 5)
    found = x @ h(x)
    return (found + 4 * n * np.finfo(dtype).eps * size(found)[:, None, None] * np.eye(n),)


def positive_and_sides(rng, dtype):
    (a,) = positive(rng, dtype)
    return a, normal(rng, dtype, *a.shape[:-1], 2)


def hermitian(rng, dtype):
    (x,) = square(rng, dtype)
    return (x + h(x),)


def triangle_and_sides(rng, dtype):
    b, k, n = shape_of(rng)
    return np.tril(normal(rng, dtype, b, n, n)) + 2 * np.eye(n), normal(rng, dtype, b, n, min(k, 5))


def calm(rng, dtype, most=6.0):
    """Matrices of norms up to a number."""
    b, _, n = shape_of(rng)
    x = normal(rng, dtype, b, n, n)
    norms = np.max(np.sum(abs(x), -2), -1, initial=1e-300)[..., None, None]
    return (x / norms * most * 10.0 ** rng.uniform(-6, 0, (b, 1, 1)),)


def near_identity(rng, dtype):
    """Matrices with eigenvalues right of 0."""
    (x,) = calm(rng, dtype, 1.0)
    turn = graded(rng, dtype, *x.shape, 1, scaled=False) + 2 * np.eye(x.shape[-1])
    kept = 10.0 ** rng.uniform(-2, 2, (x.shape[0], 1, x.shape[-1]))
    return (np.linalg.solve(turn, (x * 0.3 + np.eye(x.shape[-1])) * kept @ turn),)


def three(rng, dtype):
    b, m, n = shape_of(rng)
    a, c = (normal(rng, dtype, b, k, k) for k in (m, n))
    return a, c, normal(rng, dtype, b, m, n)


def control(rng, dtype):
    b, m, n = shape_of(rng)
    n, m = min(n, 6), max(1, min(m, 3))
    if dtype in ("float32", "complex64"):
        m = max(m, n)  # a state that one input hardly moves has a cost of 1e5: see the errors of solve_continuous_are
    a, given = normal(rng, dtype, b, n, n) / max(1, n) ** 0.5, normal(rng, dtype, b, n, m)
    q, r = (normal(rng, dtype, b, k, k) for k in (n, m))
    return a, given, q @ h(q) + np.eye(n) / 4, r @ h(r) + np.eye(m) / 4


def band(rng, dtype):
    b, k, n = shape_of(rng)
    ab = normal(rng, dtype, b, 4, n)
    ab[:, 1] *= 10.0 ** rng.uniform(-3, 3)
    return ab, normal(rng, dtype, b, n, min(k, 4))


def positive_band(rng, dtype):
    ab, sides = band(rng, dtype)
    ab = ab[:, :3] / np.maximum(1, abs(ab[:, :3]))
    ab[:, 0] = 4 + abs(ab[:, 0])
    return ab, sides


def whole(ab, below, above):
    """The matrices of a band."""
    b, _, n = ab.shape
    found = np.zeros((b, n, n), ab.dtype)
    for i in range(n):
        for j in range(max(0, i - below), min(n, i + above + 1)):
            found[:, i, j] = ab[:, above + i - j, j]
    return found


# --- what is asked of results ----------------------------------------------------------------------------------------


def of_solution(a, b, x):
    return [(size(a @ x - b), size(a, x) + size(b))]


def of_inverse(a, x):
    return [(np.minimum(size(a @ x - eye(a)), size(x @ a - eye(a))), size(a, x))]


def conditions(a):
    return size(a, inverse(a)) * max(1, a.shape[-1])


def of_determinant(a, y):
    wanted = determinant(a)
    return [(abs(y - wanted), conditions(a) * abs(wanted))]


def of_sign_and_log(a, sign, log):
    wanted = determinant(a)
    return [(abs(sign * np.exp(log) - wanted), (conditions(a) + abs(log)) * abs(wanted))]


def of_lu(a, order, lower, upper):
    made = np.take_along_axis(lower @ upper, order.astype(int)[..., None], -2)
    return [(size(made - a), size(a) * 2.0 ** min(4, a.shape[-1])), (size(np.tril(lower, -1)), np.float64(1e16))]


def of_qr(a, q, r):
    return [(size(q @ r - a), size(a)), (size(h(q) @ q - eye(r[..., : q.shape[-1]] if r.size else h(q) @ q)), 1.0)]


def of_svd(a, u, s, v):
    one = np.eye(s.shape[-1])
    falls = np.max(np.diff(s), -1, initial=0)
    return [
        (size((u * s[..., None, :]) @ v - a), size(a)),
        (size(h(u) @ u - one), 1.0),
        (size(v @ h(v) - one), 1.0),
        (falls, 0.0),
    ]


def of_eigh(a, w, v):
    return [(size(a @ v - v * w[..., None, :]), size(a)), (size(h(v) @ v - eye(a)), 1.0)]


def of_eig(a, w, v):
    return [(size(a @ v - v * w[..., None, :]), size(a)), (size(np.sum(abs(v) ** 2, -2)[..., None] - 1), 1.0)]


def of_schur(a, form, v):
    return [(size(v @ form @ h(v) - a), size(a)), (size(h(v) @ v - eye(a)), 1.0)]


def of_pinv(a, p):
    """With what a limit leaves out of a."""
    left_out = max(a.shape[-2:]) * size(a)
    lost = size(a, p) * left_out
    return [(size(a @ p @ a - a), lost), (size(p @ a @ p - p), size(p, a, p) * max(a.shape[-2:]))]


def series(a):
    """The exponential, of a / 2^10."""
    a = a / 2**10
    term = found = np.broadcast_to(eye(a), a.shape)
    for k in range(1, 18):
        term = term @ a / k
        found = found + term
    for _ in range(10):
        found = found @ found
    return found


def of_expm(a, y):
    norm = np.max(np.sum(abs(a), -2), -1, initial=0)
    return [(size(y - series(a)), (1 + norm) * np.exp(norm))]


def of_sqrtm(a, y):
    return [(size(y @ y - a), size(y, y) * max(1, a.shape[-1]))]


def of_logm(a, y):
    norm = np.max(np.sum(abs(y), -2), -1, initial=0)
    return [(size(series(y) - a), (1 + norm) * np.exp(norm) * max(1, a.shape[-1]))]


def of_sylvester(a, b, q, x):
    return [(size(a @ x + x @ b - q), (size(a) + size(b)) * size(x) * sum(q.shape[-2:]))]


def of_lyapunov(a, q, x):
    return [(size(a @ x @ h(a) - x + q), (1 + size(a, a)) * size(x) * max(1, a.shape[-1]) ** 2)]


def of_discrete(a, b, q, r, x):
    xa = h(b) @ x @ a
    gain = inverse(r + h(b) @ x @ b) @ xa
    rest = h(a) @ x @ a - x - h(xa) @ gain + q
    terms = size(a, x, a) + size(x) + size(xa, gain) + size(q) + size(gain, r, gain)
    moved = x @ (a - b @ gain)  # where one input hardly moves a state, of large terms little is left in b* x a
    given = abs(b) @ abs(inverse(r)) @ abs(h(b))
    terms = terms + size(abs(h(moved)) @ given @ abs(moved)) / max(1, a.shape[-1])
    return [(size(rest), terms * conditions(r) * max(1, a.shape[-1]))]


def of_continuous(a, b, q, r, x):
    gain = inverse(r) @ h(b) @ x
    rest = h(a) @ x + x @ a - x @ b @ gain + q
    return [(size(rest), (size(a, x) + size(x, b, gain) + size(q)) * conditions(r) * max(1, a.shape[-1]))]


PROBLEMS = (
    Problem("solve", tg.linalg.solve, square_and_sides, of_solution, (3, 3)),
    Problem(
        "solve transposed",
        lambda a, b: tg.linalg.solve(a, b, transposed=True),
        square_and_sides,
        lambda a, b, x: of_solution(a.swapaxes(-1, -2), b, x),
        (3, 3),
    ),
    Problem(
        "solve pos",
        lambda a, b: tg.linalg.solve(a, b, assume_a="pos"),
        positive_and_sides,
        of_solution,
        (3, 3),
    ),
    Problem(
        "solve_triangular",
        lambda a, b: tg.linalg.solve_triangular(a, b, lower=True),
        triangle_and_sides,
        of_solution,
        (3, 3),
    ),
    Problem(
        "solve_banded",
        lambda ab, b: (tg.linalg.solve_banded((2, 1), ab, b), tg.linalg.solve_banded((1, 1), ab[:, :3], b)),
        band,
        lambda ab, b, x, y: [*of_solution(whole(ab, 2, 1), b, x), *of_solution(whole(ab[:, :3], 1, 1), b, y)],
        (3, 3),
    ),
    Problem(
        "solveh_banded",
        lambda ab, b: tg.linalg.solveh_banded(tg.specify_shape(ab, (None, 3, None)), b, lower=True),
        positive_band,
        lambda ab, b, x: of_solution((t := whole(ab, 2, 0)) + h(np.tril(t, -1)), b, x),
        (3, 3),
    ),
    Problem("inv", tg.linalg.inv, square, of_inverse),
    Problem("det", tg.linalg.det, lambda rng, dtype: calm(rng, dtype, 8.0), of_determinant),
    Problem(
        "slogdet", lambda a: tuple(tg.linalg.slogdet(a)), lambda rng, dtype: calm(rng, dtype, 8.0), of_sign_and_log
    ),
    Problem("cholesky", tg.linalg.cholesky, positive, lambda a, y: [(size(y @ h(y) - a), size(a))]),
    Problem("lu", lambda a: tg.linalg.lu(a, p_indices=True), oblong, of_lu),
    Problem("qr", lambda a: tuple(tg.linalg.qr(a)), oblong, of_qr),
    Problem("svd", lambda a: tuple(tg.linalg.svd(a, full_matrices=False)), oblong, of_svd),
    Problem(
        "svdvals",
        tg.linalg.svdvals,
        oblong,
        lambda a, s: [(np.max(abs(s - np.linalg.svd(_double(a), compute_uv=False)), -1, initial=0), size(a) * 2)],
    ),
    Problem("eigh", lambda a: tuple(tg.linalg.eigh(a)), hermitian, of_eigh),
    Problem(
        "eigvalsh",
        tg.linalg.eigvalsh,
        hermitian,
        lambda a, w: [(np.max(abs(w - np.linalg.eigvalsh(_double(a))), -1, initial=0), size(a) * 2)],
    ),
    Problem("eig", lambda a: tuple(tg.linalg.eig(a)), square, of_eig),
    Problem("schur", tg.linalg.schur, square, of_schur),
    Problem("pinv", tg.linalg.pinv, oblong, of_pinv),
    Problem("expm", tg.linalg.expm, calm, of_expm),
    Problem("sqrtm", tg.linalg.sqrtm, near_identity, of_sqrtm),
    Problem("logm", tg.linalg.logm, near_identity, of_logm),
    Problem(
        "matrix_power",
        lambda a: tg.linalg.matrix_power(a, 5),
        calm,
        lambda a, y: [(size(y - a @ a @ a @ a @ a), size(abs(a) @ abs(a) @ abs(a) @ abs(a) @ abs(a)))],
    ),
    Problem("solve_sylvester", tg.linalg.solve_sylvester, three, of_sylvester, (3, 3, 3)),
    Problem(
        "solve_discrete_lyapunov",
        tg.linalg.solve_discrete_lyapunov,
        lambda rng, dtype: (x := square_and_sides(rng, dtype)[0], x)[:1] * 2,
        of_lyapunov,
        (3, 3),
    ),
    Problem("solve_discrete_are", tg.linalg.solve_discrete_are, control, of_discrete, (3,) * 4),
    Problem("solve_continuous_are", tg.linalg.solve_continuous_are, control, of_continuous, (3,) * 4),
)


def _double(a):
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


@pytest.mark.sampled(60)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_residuals_of_random_matrices_are_rounding(problem, backend, dtype):
    given = [tg.tensor(f"x{k}", dtype, shape=(None,) * rank) for k, rank in enumerate(problem.ranks)]
    made = problem.build(*given)
    f = tg.function(given, list(made) if isinstance(made, tuple) else [made], backend=backend)
    rng = np.random.default_rng(zlib.crc32(f"{problem.name} {dtype}".encode()))
    eps = np.finfo(dtype).eps
    worst, at, seen = 0.0, None, 0
    while seen < SAMPLES:
        arrays = [x.astype(dtype) for x in problem.draw(rng, dtype)]
        seen += len(arrays[0])
        found = f(*arrays)
        length = max(1, *(max(x.shape[-2:]) for x in arrays))
        with np.errstate(all="ignore"):
            for error, scale in problem.judge(*map(exact, arrays), *map(exact, found)):
                assert not np.isnan(error).any(), ([x.shape for x in arrays], arrays)
                allowed = eps * length * np.asarray(scale) + np.finfo(dtype).tiny
                ratio = np.max(np.asarray(error) / allowed, initial=0)
                if ratio > worst:
                    worst, at = float(ratio), arrays
    assert worst < MOST, (worst, [x.shape for x in at], at)


# --- second derivatives ----------------------------------------------------------------------------------------------


def well(rng, n):
    """A matrix without singular or eigenvalues that are close."""
    return rng.standard_normal((n, n)) / 4 + np.diag(2.0 + np.arange(n))


ANALYTIC = {
    "inv": tg.linalg.inv,
    "det": tg.linalg.det,
    "slogdet": lambda a: tg.log(tg.linalg.det(a)),
    "solve": lambda a: tg.linalg.solve(a, a[0] + a[:, 0]),
    "solve_triangular": lambda a: tg.linalg.solve_triangular(a, a[0], lower=True),
    "solve_banded": lambda a: tg.linalg.solve(a, a[0], assume_a="tridiagonal"),
    "lu": lambda a: tg.linalg.lu(a, p_indices=True)[1] + tg.linalg.lu(a, p_indices=True)[2],
    "expm": lambda a: tg.linalg.expm(a / 2),
    "pinv": lambda a: tg.linalg.inv(a.T @ a) @ a.T,
    "matrix_power": lambda a: tg.linalg.matrix_power(a, 3),
}
OTHERS = {  # what conjugates, or goes by Schur forms, in which a complex step of 1e-100 is lost beside real roundings
    "logm": tg.linalg.logm,
    "sqrtm": tg.linalg.sqrtm,
    "sylvester": lambda a: tg.linalg.solve_sylvester(a, a.T, a @ a),
    "cholesky": lambda a: tg.linalg.cholesky(a @ a.T),
    "solveh_banded": lambda a: tg.linalg.solveh_banded(tg.stack([tg.diagonal(a) ** 2, a[0] / 4]), a[1], lower=True),
    "solve pos": lambda a: tg.linalg.solve(a @ a.T, a[0], assume_a="pos"),
    "qr": lambda a: tg.linalg.qr(a)[0] + tg.linalg.qr(a)[1],
    "eigh": lambda a: tg.linalg.eigh(a + a.T)[1] ** 2 + tg.linalg.eigh(a + a.T)[0],
    "eigvalsh": lambda a: tg.linalg.eigvalsh(a + a.T),
    "svd": lambda a: sum(x**2 for x in tg.linalg.svd(a, full_matrices=False)),
    "svdvals": tg.linalg.svdvals,
    "pinv": tg.linalg.pinv,
    "discrete riccati": lambda a: tg.linalg.solve_discrete_are(a / 3, a, a @ a.T, a.T @ a),
    "continuous riccati": lambda a: tg.linalg.solve_continuous_are(a / 3, a, a @ a.T, a.T @ a),
    "lyapunov": lambda a: tg.linalg.solve_discrete_lyapunov(a / 10, a),
}


def gradient_and_its_derivative(function, dtype, backend):
    """The gradient of a weighted sum, and its derivative in a direction."""
    a, weights, direction = (tg.matrix(name, dtype) for name in ("a", "weights", "direction"))
    y = function(a)
    cost = tg.real(tg.sum(y * tg.broadcast_to(weights[0, 0] + tg.arange(y.size).reshape(y.shape) % 5, y.shape)))
    gradient = tg.grad(cost, a)
    second = tg.grad(tg.real(tg.sum(gradient * direction)), a)
    return tg.function([a, weights, direction], [gradient, second], backend=backend, on_unused_input="ignore")


@pytest.mark.sampled(50)
@pytest.mark.parametrize("backend", BACKENDS[:2])
@pytest.mark.parametrize("name", [*ANALYTIC, *(f"{name} by differences" for name in OTHERS)])
def test_second_derivatives_are_those_of_differences(name, backend):
    analytic = name in ANALYTIC
    function = ANALYTIC[name] if analytic else OTHERS[name.removesuffix(" by differences")]
    f = gradient_and_its_derivative(function, "float64", backend)
    other = gradient_and_its_derivative(function, "complex128", backend) if analytic else f
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for n in (2, 3, 3, 4, 6):
        a, w, d = well(rng, n), rng.standard_normal((n, n)), rng.standard_normal((n, n))
        found = f(a, w, d)[1]
        if analytic:  # users get the conjugate of what is analytic
            wanted = -other(a + 1e-100j * d, w, d)[0].imag / 1e-100
            accuracy = 1e-9
        else:
            step = 1e-3
            first, second = (
                (other(a + k * step * d, w, d)[0] - other(a - k * step * d, w, d)[0]) / (2 * k * step) for k in (1, 2)
            )
            wanted, accuracy = (4 * first - second) / 3, 1e-6
        np.testing.assert_allclose(found, wanted, rtol=accuracy, atol=accuracy * max(1, abs(wanted).max()))
