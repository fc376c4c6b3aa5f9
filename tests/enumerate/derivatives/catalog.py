"""Programs of kinks and tails, by family, each with its hard points."""

from __future__ import annotations

import itertools
import re

from tests.enumerate.derivatives.judge import Program

INF = float("inf")
S, X, XZ, W, A2, A3 = (
    (("s", ()),),
    (("x", (3,)),),
    (("x", (2,)), ("z", (2,))),
    (("w", (2,)), ("p", (2,))),
    (("A", (2, 2)),),
    (("A", (3, 3)),),
)
SX = (("s", ()), ("x", (2,)))
V2 = (("x", (2,)),)

SCALARS = tuple((v,) for v in (0.0, 1.0, -1.0, 0.5, 1e-20, -1e-20, 8.0, -8.0, 20.0, -20.0, 40.0, -40.0, 300.0, -300.0))
SMALL = tuple((v,) for v in (0.0, 1.0, -1.0, 0.5, 2.0))
VECTORS = (
    (0.0, 0.0, 0.0),
    (1.0, 1.0, 1.0),
    (0.0, 1.0, -1.0),
    (0.0, 0.0, 2.0),
    (3.0, -2.0, 3.0),
    (-1.0, -1.0, 0.5),
    (4.0, 0.0, -4.0),
)
FAR = ((40.0, 0.0, -40.0), (-300.0, 0.0, 300.0), (20.0, 20.0, 0.0))
PAIRS = ((0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (-2.0, 0.0), (-1.0, 1.0))
EQUAL = ((1.0, 2.0, 1.0, 2.0), (0.0, 0.0, 0.0, 0.0), (1.0, 2.0, 1.0, 0.5), (0.0, 1.0, 0.0, -1.0))
WEIGHTS = (
    (0.0, 0.5, 0.25, -1.0),
    (0.0, 1.0, 0.0, 0.0),
    (0.5, 0.25, 1.0, -1.0),
    (0.0, 0.5, 8.0, -8.0),
)
SQUARES2 = (
    (0.0, 0.0, 0.0, 0.0),
    (1.0, 2.0, 2.0, 4.0),
    (1.0, 0.0, 0.0, 0.0),
    (2.0, 0.0, 0.0, 2.0),
    (1.0, 2.0, 3.0, 4.0),
)
SQUARES3 = (
    (0.0,) * 9,
    (1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 0.0, 1.0, 1.0),
    (1.0, 2.0, 0.5, 2.0, 4.0, 1.0, 0.5, 1.0, 0.25),
    (2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0),
)
SYM = "((A + transpose(A)) / 2)"

RADII = {
    "sqrt(sum((x - z) ** 2))": "root",
    "norm(x - z)": "norm",
    "hypot(take(x, 0) - take(z, 0), take(x, 1) - take(z, 1))": "hypot",
    "sqrt(sum(square(x - z)))": "square",
    "sqrt(dot(x - z, x - z))": "dot",
    "norm(abs(x - z))": "abs",
}
KERNELS = (
    "(1 + 5**0.5 * R + 5 / 3 * R**2) * exp(-(5**0.5) * R)",
    "(1 + 3**0.5 * R) * exp(-(3**0.5) * R)",
    "exp(-R)",
    "exp(-0.5 * R**2)",
    "R**2",
    "R**3",
    "R**4",
    "1 / (1 + R**2)",
    "(1 + R**2 / 4) ** -2.0",
    "sqrt(1 + R**2)",
    "cos(R)",
    "tanh(R) ** 2",
    "R * sin(R)",
    "log1p(R**2)",
    "where(R > 0, sin(R) / where(R > 0, R, 1.0), 1.0)",
    "R",
)

UNTAKEN = (
    "1 / sqrt(x)",
    "log(sqrt(x))",
    "sqrt(x) * sin(x)",
    "x * log(x)",
    "log(x)",
    "sqrt(x)",
    "x ** 0.5",
    "x ** 1.5",
    "1 / x",
    "exp(-1 / x)",
    "sqrt(x) / x",
    "log(x) / x",
    "arccosh(1 + x)",
    "arctanh(1 - x)",
    "sqrt(x ** 3)",
    "log1p(x - 1)",
    "xlogy(x, x)",
)

TAILS = (
    "tanh(s)",
    "sigmoid(s)",
    "softplus(s)",
    "log(1 + exp(s))",
    "log1p(exp(s))",
    "log_sigmoid(s)",
    "log(sigmoid(s))",
    "log(1 - sigmoid(s))",
    "-log(1 + exp(-s))",
    "exp(s) / (1 + exp(s))",
    "1 / (1 + exp(-s))",
    "logaddexp(s, -s)",
    "logaddexp(0, s)",
    "logsumexp(stack([s, 0 * s, -s]))",
    "take(softmax(stack([s, 0 * s])), 0)",
    "take(log_softmax(stack([s, 0 * s])), 0)",
    "take(log_softmax(stack([s, 0 * s])), 1)",
    "log_ndtr(s)",
    "ndtr(s)",
    "log(ndtr(s))",
    "log(1 - ndtr(s))",
    "erf(s)",
    "erfc(s)",
    "exp(-(s**2) / 2) / ndtr(-s)",
    "1 / cosh(s)",
    "1 / cosh(s) ** 2",
    "1 - tanh(s) ** 2",
    "tanh(s) ** 2",
    "log(cosh(s))",
    "arctan(s)",
    "arcsinh(s)",
    "sqrt(1 + s**2)",
    "log(s + sqrt(1 + s**2))",
    "exp2(s)",
    "expm1(s)",
    "sinh(s)",
    "s * sigmoid(s)",
    "s * tanh(softplus(s))",
    "0.5 * s * (1 + erf(s / 2**0.5))",
    "log(exp(s) + exp(-s))",
    "log(exp(2 * s) - exp(s) + 1)",
    "softplus(s) - s",
    "log1mexp(-abs(s) - 1)",
    "log1mexp(-softplus(s))",
    "log(1 - exp(-softplus(s)))",
    "sigmoid(s) * (1 - sigmoid(s))",
    "log(sigmoid(s) * (1 - sigmoid(s)))",
    "log(tanh(s / 2) / 2 + 0.5)",
    "exp(log_sigmoid(s))",
    "exp(-exp(-s))",
    "log(1 - exp(-exp(s)))",
    "sigmoid(s) ** 2",
    "softplus(s) ** 2",
    "log(softplus(s))",
    "arctan2(s, 1.0)",
    "hypot(s, 1.0)",
    "gammaln(1 + softplus(s))",
)

KINKS = (
    "abs(s)",
    "abs(s) ** 2",
    "abs(s) ** 3",
    "abs(s) * s",
    "relu(s)",
    "relu(s) ** 2",
    "relu(s) ** 3",
    "maximum(s, 0) ** 2",
    "maximum(s, 0.0) * s",
    "sqrt(s ** 2)",
    "sqrt(s ** 4)",
    "sqrt(s) ** 2",
    "sqrt(abs(s)) ** 4",
    "sqrt(abs(s))",
    "abs(s) ** 1.5",
    "abs(s) ** 0.5",
    "s ** 1.5",
    "s ** 2.5",
    "s ** 2.0",
    "power(s, 3.0)",
    "s ** -1.0",
    "log(abs(s))",
    "s * log(s)",
    "s**2 * log(s)",
    "xlogy(s, s)",
    "xlogy(s ** 2, s)",
    "xlog1py(s, s)",
    "s * log(abs(s))",
    "sinc(s)",
    "clip(s, 0.0, 1.0)",
    "clip(s, -1.0, 1.0) ** 2",
    "minimum(s, 1.0)",
    "maximum(minimum(s, 1.0), -1.0)",
    "where(s > 0, s, 0.0)",
    "where(s > 0, s**2, 0.0)",
    "where(s > 0, s, 0.01 * s)",
    "where(s > 0, s, exp(s) - 1)",
    "where(abs(s) < 1, 0.5 * s**2, abs(s) - 0.5)",
    "cbrt(s)",
    "cbrt(s) ** 3",
    "cbrt(s ** 3)",
    "exp(-abs(s))",
    "(1 + abs(s)) * exp(-abs(s))",
    "cos(abs(s))",
    "cos(sqrt(abs(s)))",
    "hypot(s, 0.0)",
    "hypot(s, s)",
    "arctan2(s, s)",
    "arctan2(s, 0.0)",
    "arcsin(s)",
    "arccos(s)",
    "arcsin(s) ** 2",
    "arccos(s) ** 2",
    "arctanh(s)",
    "sqrt(1 - s ** 2)",
    "sqrt(1 - s ** 2) ** 2",
    "arccosh(s)",
    "sign(s) * s",
    "sign(s) * s ** 2",
    "s / sqrt(1 + s ** 2)",
    "s / abs(s)",
    "s ** 2 / abs(s)",
    "power(abs(s), s)",
    "power(2.0, s)",
    "power(s, 0.0)",
    "power(s, 1.0)",
    "prod(stack([s, s]))",
    "prod(stack([s, 0 * s, s]))",
    "softplus(abs(s))",
    "log1p(abs(s)) * abs(s)",
    "maximum(s, -s)",
    "maximum(s, s)",
    "maximum(s, s ** 2)",
    "logaddexp(s, s)",
    "floor(s) + s",
    "erf(abs(s))",
    "erf(sqrt(abs(s)))",
    "log1mexp(-abs(s))",
    "log(1 - exp(-abs(s)))",
    "exp(-1 / abs(s))",
    "exp(-1 / s ** 2)",
    "gammaln(1 + abs(s))",
)

GUARDS = (  # of equality, which the user wrote
    "where(s == 0, 1.0, sin(s) / where(s == 0, 1.0, s))",
    "where(s == 0, 0.0, s * log(abs(where(s == 0, 1.0, s))))",
    "where(s == 0, 1.0, expm1(s) / where(s == 0, 1.0, s))",
    "where(abs(s) < 1e-3, 1 - s**2 / 6, sin(s) / where(abs(s) < 1e-3, 1.0, s))",
)
TIES = (  # shares of ties, multiplied
    "max(x) ** 2",
    "max(x) * min(x)",
    "take(sort(x), 1) ** 2",
    "sum(sort(x) ** 2)",
    "sum(sort(x ** 2) * constant([1.0, 2.0, 4.0]))",
    "sum(maximum(x, flip(x)) ** 2)",
    "minimum(sum(x) ** 2, sum(x) ** 3)",
    "sum(relu(x) - relu(-x))",
    "sum(clip(x, 0.0, 1.0) + clip(x, -1.0, 0.0))",
    "sum(abs(x) - 2 * relu(x))",
)
SATURATED = (
    "logsumexp(x)",
    "sum(softmax(x) * constant([1.0, 2.0, 3.0]))",
    "take(softmax(x), 0)",
    "take(log_softmax(x), 2)",
    "take(log_softmax(x), 0)",
    "take(exp(x) / sum(exp(x)), 0)",
    "log(take(softmax(x), 1))",
    "log(sum(exp(x)))",
    "logaddexp(take(x, 0), take(x, 1))",
    "sum(log_sigmoid(x))",
    "sum(softplus(x))",
    "sum(tanh(x))",
)
QUOTIENTS = ("tanh(abs(s)) / abs(s)", "expm1(s) / s", "log1p(s) / s", "sin(s) / s", "arccosh(1 + s ** 2)", "1 - cos(s)")

ORDERS = (
    "max(x)",
    "min(x)",
    "max(abs(x))",
    "sum(sort(x) * constant([1.0, 2.0, 4.0]))",
    "take(sort(x), 1)",
    "max(x) - min(x)",
    "sum(clip(x, -1.0, 1.0) ** 2)",
    "sum(maximum(x, flip(x)))",
    "sum(relu(x) * x)",
    "logsumexp(x)",
    "logsumexp(x) ** 2",
    "sum(softmax(x) * x)",
    "sum(softmax(x) ** 2)",
    "sum(log_softmax(x) * softmax(x))",
    "sum(log_softmax(x) ** 2)",
    "take(softmax(x), 0)",
    "take(log_softmax(x), 2)",
    "logsumexp(x) - max(x)",
    "logsumexp(x - max(x)) + max(x)",
    "max(x) + log(sum(exp(x - max(x))))",
    "take(exp(x) / sum(exp(x)), 0)",
    "log(take(softmax(x), 1))",
    "sum(exp(x - logsumexp(x)) * x)",
    "norm(x, 1)",
    "norm(x, 3)",
    "norm(x, inf)",
    "norm(x)",
    "norm(x) ** 2",
    "norm(x) ** 3",
    "norm(x) ** 4",
    "norm(x) * sum(x)",
    "norm(x, 4) ** 4",
    "norm(x, 3) ** 3",
    "sqrt(sum(x * x))",
    "sqrt(sum(x * x)) ** 2",
    "sqrt(sum(x**2) + 0.0)",
    "exp(-norm(x))",
    "(1 + norm(x)) * exp(-norm(x))",
    "softplus(norm(x)) * norm(x)",
    "take(x, 0) / norm(x)",
    "sum(x) ** 2 / norm(x)",
    "tanh(norm(x)) / norm(x)",
    "norm(x - flip(x)) ** 2",
    "sum(abs(x) ** 1.5)",
    "sum(sqrt(abs(x)) ** 4)",
    "norm(relu(x)) ** 2",
    "norm(softmax(x))",
    "norm(x * 0.0)",
)

PRODUCTS = (
    "prod(x)",
    "prod(x) ** 2",
    "prod(x ** 2)",
    "prod(abs(x))",
    "sum(cumprod(x))",
    "sum(cumprod(x) * constant([1.0, -2.0, 3.0]))",
    "sum(cumprod(x) ** 2)",
    "take(cumprod(x), 2)",
    "sum(cumprod(flip(x)))",
    "prod(cumsum(x))",
    "sum(cumprod(cumsum(x)))",
    "exp(sum(log(x)))",
    "prod(sqrt(x))",
    "prod(sqrt(x ** 2))",
    "take(x, 0) ** 2 * take(x, 1) / 2",
    "take(x, 0) ** take(x, 1)",
    "power(abs(take(x, 0)), 2.0) * take(x, 1) ** 2",
    "sum(xlogy(x, x))",
    "sum(xlogy(x, flip(x)))",
    "prod(1 - x)",
    "prod(sigmoid(x))",
    "log(prod(exp(x)))",
    "sum(prod(reshape(concatenate([x, x]), (2, 3)), axis=0))",
    "prod(relu(x))",
    "sum(cumprod(tanh(x)))",
)

MIXTURES = (
    "logsumexp(log(w) + p)",
    "log(sum(w * exp(p)))",
    "sum(softmax(log(w) + p) * p)",
    "sum(w * log(w))",
    "sum(xlogy(w, w))",
    "sum(xlogy(w, exp(p)))",
    "sum(where(w > 0, w * log(where(w > 0, w, 1.0)), 0.0))",
    "take(softmax(log(w) + p), 1)",
    "take(softmax(log(w) + p), 0)",
    "log(take(softmax(log(w) + p), 1))",
    "logsumexp(log(w)) ** 2",
    "logsumexp(p + log(w / sum(w)))",
    "log(sum(w * ndtr(p)))",
    "logsumexp(log(w) + log_ndtr(p))",
    "log(sum(w)) + sum(w * p)",
    "sum(sqrt(w) * p) ** 2",
    "sum(sqrt(w * p ** 2))",
    "sum(w ** 2 / (1 + p ** 2))",
    "sum(power(w, 1.5))",
    "prod(w ** 2.0) * sum(p)",
    "logaddexp(log(take(w, 0)) + take(p, 0), log(take(w, 1)) + take(p, 1))",
    "logaddexp(log(take(w, 0)), log(take(w, 1)))",
    "logsumexp(log(w) + where(w > 0, p, -inf))",
)

INFINITIES = (
    ("log_ndtr(inf - s) + s ** 2", SMALL),
    ("log_ndtr(take(constant([-inf, 0.0, inf]), 2) - s)", SMALL),
    ("log_ndtr(take(constant([-inf, 0.0, inf]), 1) - s)", SMALL),
    ("ndtr(take(constant([-inf, 0.0, inf]), 0) - s)", SMALL),
    ("sum(ndtr(constant([-inf, 0.0, inf]) - s) * constant([1.0, 2.0, 3.0]))", SMALL),
    ("logsumexp(stack([s, -inf * 1.0]))", SMALL),
    ("logsumexp(s + constant([-inf, 0.0, 1.0]))", SMALL),
    ("logsumexp(s * constant([1.0, 2.0, 3.0]) + constant([-inf, 0.0, 1.0]))", SMALL),
    ("sum(softmax(s * constant([1.0, 2.0, 3.0]) + constant([-inf, 0.0, 1.0])) * constant([1.0, 2.0, 4.0]))", SMALL),
    ("take(softmax(s * constant([1.0, 2.0, 3.0]) + constant([-inf, 0.0, 1.0])), 1)", SMALL),
    ("take(log_softmax(s * constant([1.0, 2.0, 3.0]) + constant([-inf, 0.0, 1.0])), 1)", SMALL),
    ("logaddexp(s, -inf)", SMALL),
    ("logaddexp(-inf, s ** 2)", SMALL),
    ("maximum(s, -inf) ** 2", SMALL),
    ("minimum(s, inf) ** 2", SMALL),
    ("sigmoid(inf - s)", SMALL),
    ("tanh(s - inf)", SMALL),
    ("exp(s - inf)", SMALL),
    ("sum(exp(s * constant([1.0, 2.0, 3.0]) + constant([-inf, 0.0, -inf])))", SMALL),
    ("softplus(s - inf)", SMALL),
    ("erf(inf + s)", SMALL),
    ("arctan(inf - s)", SMALL),
    ("1 / (inf - s)", SMALL),
    ("s / inf", SMALL),
    ("clip(s, -inf, 1.0) ** 2", SMALL),
    ("where(s > 5, inf, s ** 2)", SMALL),
    ("log(exp(s) + exp(-inf))", SMALL),
)
ORDINAL = (
    "sum(log_ndtr(constant([0.0, 1.0, inf]) - x)"
    " + log1mexp(log_ndtr(constant([-inf, 0.0, 1.0]) - x) - log_ndtr(constant([0.0, 1.0, inf]) - x)))"
)
INFINITE_VECTORS = (
    (ORDINAL, X, ((0.0, 0.5, 1.0), (-1.0, 0.0, 2.0))),
    ("sum(log(ndtr(constant([0.0, 1.0, inf]) - x) - ndtr(constant([-inf, 0.0, 1.0]) - x)))", X, ((0.0, 0.5, 1.0),)),
    (
        "sum(log(sigmoid(constant([0.0, 1.0, inf]) - x) - sigmoid(constant([-inf, 0.0, 1.0]) - x)))",
        X,
        ((0.0, 0.5, 1.0),),
    ),
    ("logsumexp(x + constant([0.0, -inf, 1.0]))", X, VECTORS),
    ("sum(softmax(x + constant([0.0, -inf, 1.0])) * x)", X, VECTORS),
    ("sum(where(constant([0.0, 1.0, 0.0]) > 0, -inf, x)) * 0.0 + sum(x ** 2)", X, ()),
    ("logsumexp(where(constant([0.0, 1.0, 0.0]) > 0, -inf, x))", X, VECTORS),
    ("sum(softmax(where(constant([0.0, 1.0, 0.0]) > 0, -inf, x)) * x)", X, VECTORS),
    ("sum(softmax(where(x > 0, x, -inf)) * x)", X, ((0.5, 1.0, -1.0), (1.0, -2.0, 3.0))),
    ("logsumexp(where(x > 0, x, -inf))", X, ((0.5, 1.0, -1.0), (1.0, -2.0, 3.0))),
    ("max(where(x > 0, x, -inf)) ** 2", X, ((0.5, 1.0, -1.0), (1.0, -2.0, 3.0))),
)
RUN_TIME = (  # the last input is infinite when the program is called
    ("logsumexp(x)", X, ((0.0, 1.0, -INF), (1.0, 1.0, -INF))),
    ("sum(softmax(x) * constant([1.0, 2.0, 3.0]))", X, ((0.0, 1.0, -INF),)),
    ("log_ndtr(take(x, 1) - take(x, 0))", V2, ((0.0, INF), (1.0, INF))),
    ("ndtr(take(x, 1) - take(x, 0))", V2, ((0.0, INF), (1.0, -INF))),
    ("logaddexp(take(x, 0), take(x, 1))", V2, ((0.0, -INF), (1.0, -INF))),
    ("sigmoid(take(x, 1)) * take(x, 0)", V2, ((2.0, INF), (2.0, -INF))),
    ("tanh(take(x, 1)) * take(x, 0)", V2, ((2.0, INF), (2.0, -INF))),
    ("exp(take(x, 1)) * take(x, 0) ** 2", V2, ((2.0, -INF), (0.0, -INF))),
    ("max(x) ** 2", X, ((0.0, 1.0, -INF),)),
    ("sum(clip(x, -1.0, 1.0) ** 2)", X, ((0.5, 0.25, -INF),)),
    ("take(log_softmax(x), 0)", X, ((0.0, 1.0, -INF),)),
)

LOOPS = (
    "take(scan(lambda c, v: (c * tanh(v) + v, None), 1.0, x), 0)",
    "take(scan(lambda c, v: (sqrt(c ** 2 + v ** 2), None), 0.0, x), 0)",
    "take(scan(lambda c, v: (hypot(c, v), None), 0.0, x), 0) ** 2",
    "take(scan(lambda c, v: (maximum(c, v), None), -1.0, x), 0)",
    "take(scan(lambda c, v: (logaddexp(c, v), None), -inf, x), 0)",
    "take(scan(lambda c, v: (c * v, None), 1.0, x), 0)",
    "take(scan(lambda c, v: (where(v > 0, c + sqrt(v), c), None), 0.0, x), 0)",
    "take(scan(lambda c, v: (where(v > 0, c * log(v), c * v), None), 1.0, x), 0)",
    "take(scan(lambda c, v: (cond(v > 0, lambda: c + sqrt(v), lambda: c * v), None), 1.0, x), 0)",
    "take(scan(lambda c, v: (c + relu(v) ** 2, None), 0.0, x), 0)",
    "take(scan(lambda c, v: (c + abs(v) ** 2, None), 0.0, x), 0)",
    "take(scan(lambda c, v: (c + norm(stack([v, c])) ** 2, None), 0.0, x), 0)",
    "sum(take(scan(lambda c, v: (c * v, c * v), 1.0, x), 1))",
    "sum(take(scan(lambda c, v: (logaddexp(c, v), c), 0.0, x), 1) ** 2)",
    "take(scan(lambda c, v: (c + xlogy(v, v), None), 0.0, x), 0)",
    "sum(map(lambda v: where(v > 0, 1 / sqrt(v), v ** 2), x))",
    "sum(map(lambda v: where(v > 0, sqrt(v) * sin(v), 0.0), x))",
    "sum(map(lambda v: abs(v) ** 2, x))",
    "sum(map(lambda v: sqrt(v * v) ** 2, x))",
    "sum(map(lambda v: cond(v > 0, lambda: log(v), lambda: v ** 2), x))",
    "sum(map(lambda v: norm(stack([v, 2 * v])) ** 2, x))",
    "sum(map(lambda v: log(1 + exp(v)), x))",
    "sum(map(lambda v: prod(stack([v, v, 1 + v])), x))",
    "sum(map(lambda v: logsumexp(stack([v, -v, 0 * v])), x))",
    "sum(map(lambda v: exp(-sqrt(v ** 2 + sum(x ** 2))), x))",
    "cond(take(x, 0) > 0, lambda: sum(sqrt(x)), lambda: sum(x ** 2))",
    "cond(take(x, 0) > 0, lambda: log(take(x, 0)), lambda: norm(x) ** 2)",
    "cond(take(x, 0) > 0, lambda v: 1 / sqrt(v), lambda v: v ** 2, take(x, 0)) + sum(x)",
    "take(scan(lambda c, v: (c + cond(v > 0, lambda: 1 / v, lambda: 0.0 * v), None), 0.0, x), 0)",
)
LEAKING_LOOPS = {k for k in range(len(LOOPS)) if k in (6, 7, 8, 15, 16, 19, 25, 26, 27, 28)}

MATRICES = (
    "det(A)",
    "det(A) ** 2",
    "det(A) * trace(A)",
    "det(matmul(A, A))",
    "det(matmul(transpose(A), A))",
    "det(eye(N) + A)",
    "log(det(eye(N) + matmul(transpose(A), A)))",
    "take(slogdet(eye(N) + matmul(transpose(A), A)), 1)",
    "norm(A)",
    "norm(A) ** 2",
    "sum(inv(eye(N) + matmul(transpose(A), A)))",
    "sum(cholesky(eye(N) + matmul(transpose(A), A)))",
)
SPECTRAL = (
    "sum(eigvalsh(SYM) ** 2)",
    "sum(exp(eigvalsh(SYM)))",
    "max(eigvalsh(SYM))",
    "prod(eigvalsh(SYM))",
    "sum(svdvals(A) ** 2)",
    "norm(A, 'nuc')",
    "norm(A, 2) ** 2",
    "(lambda wv: sum(C * matmul(take(wv, 1) * exp(take(wv, 0)), transpose(take(wv, 1)))))(eigh(SYM))",
    "(lambda wv: sum(C * matmul(take(wv, 1) * take(wv, 0) ** 2, transpose(take(wv, 1)))))(eigh(SYM))",
    "(lambda wv: sum(C * matmul(take(wv, 1) * tanh(take(wv, 0)), transpose(take(wv, 1)))))(eigh(SYM))",
    "(lambda wv: sum(C * matmul(take(wv, 1) * take(wv, 0), transpose(take(wv, 1)))))(eigh(SYM))",
    "(lambda wv: sum(C * matmul(take(wv, 1) / (1 + take(wv, 0) ** 2), transpose(take(wv, 1)))))(eigh(SYM))",
    "(lambda usv: sum(C * matmul(take(usv, 0) * take(usv, 1), take(usv, 2))))(svd(A))",
    "(lambda usv: sum(C * matmul(take(usv, 0), take(usv, 2))))(svd(A))",
    "(lambda wv: take(take(wv, 1), (0, 0)) ** 2)(eigh(SYM))",
    "sum(C * expm(A))",
)
EXPONENTIAL = SPECTRAL[7].replace("SYM", SYM).replace("C", "constant([[1.0, 2.0], [0.5, -1.0]])")


def product(families, texts, **options):
    for text in texts:
        yield Program(families, text, **options)


def matrix_programs():
    for n, inputs, points in ((2, A2, SQUARES2), (3, A3, SQUARES3)):
        weight = f"constant({[[1.0, 2.0, -1.0][:n], [0.5, -1.0, 3.0][:n], [2.0, 0.25, 1.0][:n]][:n]!r})"
        for family, texts in (("determinants", MATRICES), ("spectral", SPECTRAL)):
            for text in texts:
                yield Program(
                    family, text.replace("N", str(n)).replace("SYM", SYM).replace("C", weight), inputs, points
                )


def untaken():
    for text in UNTAKEN:
        spots = ((-1.0, -2.0, 3.0), (-1.0, 0.5, -0.5), (-3.0, -1.0, -1.0))
        yield Program("untaken", f"sum(where(x > 0, {text}, 0.0))", X, spots, True)
        yield Program("untaken", f"sum(where(x > 0, {text}, x ** 2))", X, spots, True)
        yield Program("untaken", f"sum(where(x <= 0, x ** 3, {text}) ** 2)", X, spots, True)
        yield Program("untaken", f"sum(exp(x) * where(x > 0, {text}, 1.0))", X, spots, True)
        yield Program("untaken", f"sum(where(x > 0, where(x > 0.25, {text}, 2.0 * x), sin(x)))", X, spots, True)
        scalar = re.sub(r"\bx\b", "s", text)
        yield Program("untaken", f"cond(s > 0, lambda: {scalar}, lambda: s ** 2)", S, ((-1.0,), (-2.0,), (0.5,)), True)


def kernels():
    for kernel, radius in itertools.product(KERNELS, RADII):
        yield Program("kernels", kernel.replace("R", f"({radius})"), XZ, EQUAL)


def fixed():
    """Every program that is written down here."""
    yield from untaken()
    for text in TAILS:
        yield Program("tails", text, S, SCALARS)
    for text in KINKS:
        yield Program("kinks", text, S, tuple(p for p in SCALARS if abs(p[0]) != 1e-20))
    for text in QUOTIENTS:
        yield Program("kinks", text, S, SMALL)
    for text in GUARDS:
        yield Program("guards", text, S, SMALL)
    for text in TIES:
        yield Program("ties", text, X, VECTORS)
    for text in SATURATED:
        yield Program("tails", text, X, FAR)
    for text in ORDERS:
        yield Program("orders", text, X, VECTORS)
    for text in PRODUCTS:
        yield Program("products", text, X, VECTORS)
    for text in MIXTURES:
        yield Program("mixtures", text, W, WEIGHTS)
    for text, points in INFINITIES:
        yield Program("infinities", text, S, points)
    for text, inputs, points in INFINITE_VECTORS:
        yield Program("infinities", text, inputs, points)
    for text, inputs, points in RUN_TIME:
        yield Program("infinite inputs", text, inputs, points)
    for k, text in enumerate(LOOPS):
        yield Program(
            "loops",
            text,
            X,
            ((-1.0, -2.0, 3.0), (-1.0, 0.5, -0.5), *(() if k in LEAKING_LOOPS else VECTORS)),
            k in LEAKING_LOOPS,
        )
    yield from matrix_programs()
    yield from kernels()
