"""Limits of derivatives at a point, from mpmath: values of the program's own formula beside the point, and differences.

A program is evaluated with many digits over arrays of objects; nothing here knows a rule of differentiation. At
p + t d the first and second derivatives are differences with steps far below t, so that all of them lie on one side of
every kink; two sizes of t, each with its own number of digits, must agree, or the derivative grows between them.
"""

from __future__ import annotations

import ast
import functools
import math
import random
from typing import ClassVar, NamedTuple

import mpmath as mp
import numpy as np
from mpmath.libmp import NoConvergence

LEVELS = ((12, 100), (24, 130))  # t = 10**-k, decimal digits
CLOSER = ((24, 400), (48, 550))  # before a fault is told
STEP = 14  # of a difference, in decimal digits below t
SAME = mp.mpf("1e-5")  # two levels agree
GROWS = 1.2


class Limit(NamedTuple):
    """The derivative along a direction: `kind` is "limit", "grows" (with a sign) or "slow"."""

    kind: str
    value: float
    doubt: float


# --- the functions that programs name ---------------------------------------------------------------------------------


def real(value):
    """A number of mpmath; NaN in place of one that is not real."""
    if isinstance(value, mp.mpc):
        return value.real if value.imag == 0 else mp.nan
    return mp.mpf(value)


def elementwise(function, count=1):
    """A function of numbers, applied to arrays; NaN of NaN and outside the domain."""

    def guarded(*numbers):
        numbers = [mp.mpf(v) for v in numbers]
        if any(map(mp.isnan, numbers)):
            return mp.nan
        try:
            return real(function(*numbers))
        except (ZeroDivisionError, ValueError, OverflowError, NoConvergence):
            return mp.nan

    return np.frompyfunc(guarded, count, 1)


def quotient(a, b):
    if b == 0:
        return mp.nan if a == 0 else mp.sign(a) * mp.inf
    return a / b


def power(a, b):
    if b == mp.floor(b) and not mp.isinf(b):
        return quotient(mp.mpf(1), a ** int(-b)) if b < 0 else a ** int(b)
    if a == 0:
        return mp.mpf(0) if b > 0 else mp.inf
    return a**b


def log(a):
    return -mp.inf if a == 0 else mp.inf if a == mp.inf else mp.log(a) if a > 0 else mp.nan


def exponential(a):
    return mp.mpf(0) if a == -mp.inf else mp.exp(a)


def normal(a):
    """The normal distribution function, of many digits in both tails."""
    if mp.isinf(a):
        return mp.mpf(a > 0)
    return mp.erfc(-a / mp.sqrt(2)) / 2


def softplus(a):
    return a if a == mp.inf else log(1 + exponential(a))


def sigmoid(a):
    return exponential(a) / (1 + exponential(a)) if a < 0 else 1 / (1 + exponential(-a))


def logaddexp(a, b):
    return log(exponential(a) + exponential(b))


def xlogy(a, b):
    return mp.mpf(0) if a == 0 else a * log(b)


def arctan2(a, b):
    return mp.atan2(a, b) if (a, b) != (0, 0) else mp.mpf(0)


def whole(function):
    """A function of arrays, whose results are arrays or numbers."""

    @functools.wraps(function)
    def unwrapped(*operands, **options):
        result = function(*operands, **options)
        return result[()] if isinstance(result, np.ndarray) and result.ndim == 0 else result

    return unwrapped


def logsumexp(x, axis=None, keepdims=False):
    return LOG(np.sum(EXP(x), axis=axis, keepdims=keepdims))


def softmax(x, axis=-1):
    y = EXP(x)
    return DIVIDE(y, np.sum(y, axis=axis, keepdims=True))


def norm(x, ord=None, axis=None):
    if np.ndim(x) == 2 and axis is None and ord == "nuc":
        return np.sum(svdvals(x))
    if np.ndim(x) == 2 and axis is None and ord == 2:
        return np.max(svdvals(x))
    if ord in (1, np.inf):
        return (np.sum if ord == 1 else np.max)(ABS(x), axis=axis)
    if ord not in (None, 2):
        return POWER(np.sum(POWER(ABS(x), mp.mpf(ord)), axis=axis), 1 / mp.mpf(ord))
    return SQRT(np.sum(x * x, axis=axis))


def determinant(a):
    if len(a) == 1:
        return a[0, 0]
    minors = [np.delete(np.delete(a, 0, 0), k, 1) for k in range(len(a))]
    return sum((-1) ** k * a[0, k] * determinant(m) for k, m in enumerate(minors))


def inverse(a):
    n = len(a)
    without = lambda i, j: np.delete(np.delete(a, i, 0), j, 1)  # noqa: E731
    minors = [[determinant(without(i, j)) if n > 1 else mp.mpf(1) for i in range(n)] for j in range(n)]
    signs = np.array([[(-1) ** (i + j) for j in range(n)] for i in range(n)], object)
    return DIVIDE(signs * np.array(minors, object), determinant(a))


def slogdet(a):
    d = determinant(a)
    return mp.sign(d), log(abs(d))


def eigh(a):
    """Eigenvalues, ascending, and vectors of the matrix with this lower triangle: Jacobi's rotations."""
    n = len(a)
    a = np.array([[a[max(i, j), min(i, j)] for j in range(n)] for i in range(n)], object)
    v = np.array([[mp.mpf(i == j) for j in range(n)] for i in range(n)], object)
    small = mp.mpf(10) ** (-2 * mp.mp.dps)
    for _ in range(60):
        if sum(a[i, j] ** 2 for i in range(n) for j in range(i)) <= small * small:
            break
        for i in range(n):
            for j in range(i):
                if a[i, j] == 0:
                    continue
                theta = (a[i, i] - a[j, j]) / (2 * a[i, j])
                t = (1 if theta >= 0 else -1) / (abs(theta) + mp.sqrt(theta**2 + 1))
                c = 1 / mp.sqrt(t * t + 1)
                s = t * c
                turn = np.array([[mp.mpf(p == q) for q in range(n)] for p in range(n)], object)
                turn[j, j] = turn[i, i] = c
                turn[j, i], turn[i, j] = s, -s
                a = turn.T @ a @ turn
                v = v @ turn
    w = np.diagonal(a).copy()
    order = sorted(range(n), key=lambda k: w[k])
    return w[order], v[:, order]


def svd(a):
    """Left vectors, singular values, descending, and right vectors of a square matrix."""
    w, v = eigh(a.T @ a)
    s = SQRT(np.array([max(value, mp.mpf(0)) for value in w[::-1]], object))
    v = v[:, ::-1]
    return DIVIDE(a @ v, s), s, v.T


def svdvals(a):
    return svd(a)[1]


def cholesky(a):
    n = len(a)
    low = np.array([[mp.mpf(0)] * n for _ in range(n)], object)
    for i in range(n):
        for j in range(i + 1):
            rest = a[i, j] - sum(low[i, k] * low[j, k] for k in range(j))
            low[i, j] = SQRT(rest) if i == j else DIVIDE(rest, low[j, j])
    return low


def expm(a):
    """Scaling, the series, squaring."""
    n, halvings = len(a), 12
    b = a / mp.mpf(2) ** halvings
    result = term = np.array([[mp.mpf(i == j) for j in range(n)] for i in range(n)], object)
    for k in range(1, 200):
        term = term @ b / mp.mpf(k)
        result = result + term
        if max(abs(v) for v in term.ravel()) < mp.mpf(10) ** -mp.mp.dps:
            break
    for _ in range(halvings):
        result = result @ result
    return result


def scan(f, init, xs):
    carry, results = init, []
    for x in xs if not isinstance(xs, tuple) else zip(*xs, strict=True):
        carry, y = f(carry, x)
        results.append(y)
    return carry, (np.array(results, object) if results and results[0] is not None else None)


def mapped(f, xs):
    return np.array([f(x) for x in xs], object)


def cond(pred, then, otherwise, *operands):
    return then(*operands) if pred else otherwise(*operands)


def while_steps(f, init, count):
    value = init
    for _ in range(count):
        value = f(value)
    return value


def stack(values):
    return np.array(list(values), object)


ABS, EXP, LOG = elementwise(abs), elementwise(exponential), elementwise(log)
SQRT = elementwise(lambda a: mp.sqrt(a) if a >= 0 else mp.nan)
DIVIDE, POWER = elementwise(quotient, 2), elementwise(power, 2)

FUNCTIONS = {
    "abs": ABS,
    "exp": EXP,
    "log": LOG,
    "sqrt": SQRT,
    "divide": DIVIDE,
    "power": POWER,
    "square": lambda x: x * x,
    "reciprocal": lambda x: DIVIDE(mp.mpf(1), x),
    "log1p": elementwise(lambda a: log(1 + a)),
    "expm1": elementwise(lambda a: exponential(a) - 1),
    "log2": elementwise(lambda a: log(a) / mp.log(2)),
    "exp2": elementwise(lambda a: mp.mpf(2) ** a),
    "log1mexp": elementwise(lambda a: log(1 - exponential(a))),
    "sin": elementwise(mp.sin),
    "cos": elementwise(mp.cos),
    "tan": elementwise(mp.tan),
    "sinh": elementwise(mp.sinh),
    "cosh": elementwise(mp.cosh),
    "tanh": elementwise(mp.tanh),
    "arctan": elementwise(mp.atan),
    "arcsin": elementwise(lambda a: mp.asin(a) if abs(a) <= 1 else mp.nan),
    "arccos": elementwise(lambda a: mp.acos(a) if abs(a) <= 1 else mp.nan),
    "arctanh": elementwise(lambda a: mp.atanh(a) if abs(a) < 1 else mp.nan),
    "arcsinh": elementwise(mp.asinh),
    "arccosh": elementwise(lambda a: mp.acosh(a) if a >= 1 else mp.nan),
    "sinc": elementwise(lambda a: mp.sin(mp.pi * a) / (mp.pi * a) if a else 1),
    "cbrt": elementwise(lambda a: mp.sign(a) * mp.cbrt(abs(a))),
    "erf": elementwise(lambda a: mp.sign(a) if mp.isinf(a) else mp.erf(a)),
    "erfc": elementwise(lambda a: 1 - mp.sign(a) if mp.isinf(a) else mp.erfc(a)),
    "ndtr": elementwise(normal),
    "log_ndtr": elementwise(lambda a: log(normal(a))),
    "gammaln": elementwise(lambda a: mp.loggamma(a) if a > 0 else mp.log(abs(mp.gamma(a)))),
    "sigmoid": elementwise(sigmoid),
    "softplus": elementwise(softplus),
    "log_sigmoid": elementwise(lambda a: -softplus(-a)),
    "logit": elementwise(lambda a: log(a / (1 - a)) if 0 < a < 1 else mp.nan),
    "relu": elementwise(lambda a: max(a, mp.mpf(0))),
    "sign": elementwise(mp.sign),
    "floor": elementwise(mp.floor),
    "logaddexp": elementwise(logaddexp, 2),
    "xlogy": elementwise(xlogy, 2),
    "xlog1py": elementwise(lambda a, b: xlogy(a, 1 + b), 2),
    "arctan2": elementwise(arctan2, 2),
    "hypot": elementwise(lambda a, b: mp.sqrt(a * a + b * b), 2),
    "maximum": elementwise(max, 2),
    "minimum": elementwise(min, 2),
    "clip": elementwise(lambda a, low, high: min(max(a, low), high), 3),
    "where": whole(np.where),
    "sum": whole(np.sum),
    "max": whole(np.max),
    "min": whole(np.min),
    "prod": whole(np.prod),
    "mean": whole(np.mean),
    "cumsum": whole(np.cumsum),
    "cumprod": whole(np.cumprod),
    "sort": whole(np.sort),
    "flip": whole(np.flip),
    "transpose": whole(np.transpose),
    "reshape": whole(np.reshape),
    "concatenate": whole(np.concatenate),
    "expand_dims": whole(np.expand_dims),
    "matmul": whole(np.matmul),
    "dot": whole(np.dot),
    "trace": whole(np.trace),
    "diagonal": whole(np.diagonal),
    "stack": stack,
    "take": lambda x, k: x[k],
    "eye": lambda n: np.array([[mp.mpf(i == j) for j in range(n)] for i in range(n)], object),
    "logsumexp": logsumexp,
    "softmax": softmax,
    "log_softmax": lambda x, axis=-1: x - logsumexp(x, axis, True),
    "norm": norm,
    "det": determinant,
    "inv": inverse,
    "slogdet": slogdet,
    "eigh": eigh,
    "eigvalsh": lambda a: eigh(a)[0],
    "svd": svd,
    "svdvals": svdvals,
    "cholesky": cholesky,
    "expm": expm,
    "solve": lambda a, b: inverse(a) @ b,
    "scan": scan,
    "map": mapped,
    "cond": cond,
    "inf": mp.inf,
    "constant": lambda values: np.vectorize(mp.mpf, otypes=[object])(np.array(values, object)),
}


class Named(ast.NodeTransformer):
    """Quotients and powers by the functions above, which know what a division by 0 gives."""

    NAMES: ClassVar = {ast.Div: "divide", ast.Pow: "power"}

    def visit_BinOp(self, node):
        self.generic_visit(node)
        name = self.NAMES.get(type(node.op))
        if name is None:
            return node
        return ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], [])


@functools.lru_cache(maxsize=64)
def compiled(text):
    return compile(ast.fix_missing_locations(Named().visit(ast.parse(text, mode="eval"))), text, "eval")


def value_at(program, numbers):
    """The value of a program at the elements of its inputs, in order."""
    inputs, begin = {}, 0
    for name, shape in program.inputs:
        size = int(np.prod(shape, dtype=int))
        part = np.array([*numbers[begin : begin + size], None], object)[:-1].reshape(shape)
        inputs[name] = part[()] if part.ndim == 0 else part
        begin += size
    try:
        return real(eval(compiled(program.text), {"__builtins__": {}, **FUNCTIONS, **inputs}))
    except (ZeroDivisionError, ValueError, OverflowError, NoConvergence):
        return mp.nan


# --- limits -----------------------------------------------------------------------------------------------------------


def directions(count):
    """At least 2 n + 4 directions: near both ends of each axis, and others; none lies in a kink by chance."""
    rng = random.Random(f"directions of {count}")
    tilted = lambda k, s: [s if j == k else rng.choice((-1, 1)) * rng.uniform(0.01, 0.03) for j in range(count)]  # noqa: E731
    axes = [tilted(k, s) for k in range(count) for s in (1.0, -1.0)]
    if count == 1:
        return [*axes, [0.37], [-0.37], [2.3], [-2.3]]
    whole = [[s * rng.uniform(0.5, 1) for _ in range(count)] for s in (1, -1)]
    return axes + whole + [[rng.choice((-1, 1)) * rng.uniform(0.1, 1) for _ in range(count)] for _ in range(4)]


def size_of(point):
    """The exponent of ten of the smallest element that is not 0, at most 0."""
    return min((math.floor(math.log10(abs(p))) for p in point if p and math.isfinite(p)), default=0)


MOST = 5  # inputs of which all pairs have a second derivative; of more, some
SOME = 8


@functools.cache
def pairs_of(count):
    """The pairs (i, j), j <= i, whose second derivatives are looked at."""
    pairs = [(i, j) for i in range(count) for j in range(i + 1)]
    return pairs if count <= MOST else sorted(random.Random(count).sample(pairs, SOME))


def differences(program, point, direction, level):
    """Value, first and second derivatives beside a point, and what rounding leaves in doubt of either."""
    small = min(size_of(point), 0)
    k, digits = level[0] - small, level[1] - 3 * small
    mp.mp.dps = digits
    t, tiny = mp.mpf(10) ** -k, mp.mpf(10) ** -STEP
    base, steps = [], []
    for p, d in zip(point, direction, strict=True):
        is_infinite = abs(p) == float("inf")
        base.append(mp.sign(p) * (1 + mp.mpf(d) / 8) / t if is_infinite else mp.mpf(p) + t * mp.mpf(d))
        steps.append(tiny / t if is_infinite else tiny * t)
    n = len(point)

    def at(*moved):
        numbers = list(base)
        for j in moved:
            numbers[j] = numbers[j] + steps[j]
        return value_at(program, numbers)

    value = at()
    if not mp.isfinite(value):
        return value, None, None, None
    once = [at(i) for i in range(n)]
    first = [(v - value) / h for v, h in zip(once, steps, strict=True)]
    second = {(i, j): (at(i, j) - once[i] - once[j] + value) / (steps[i] * steps[j]) for i, j in pairs_of(n)}
    noise = abs(value) * mp.mpf(10) ** (4 - digits)
    doubts = [noise / h for h in steps], {(i, j): noise / (steps[i] * steps[j]) for i, j in second}
    return value, first, second, doubts


def limit(near, nearer, doubt):
    """Of the derivative at two sizes of t."""
    if mp.isnan(near) or mp.isnan(nearer):
        return Limit("undefined", 0.0, 0.0)
    gap = abs(nearer - near)
    if gap <= SAME * max(abs(near), abs(nearer)) + doubt:
        return Limit("limit", float(nearer), float(doubt))
    if abs(nearer) > GROWS * abs(near) and abs(nearer) > 10:
        return Limit("grows", float(mp.sign(nearer)), 0.0)
    if abs(nearer) < mp.mpf("1e-3") * abs(near) and abs(nearer) < mp.mpf("1e-6"):
        return Limit("limit", 0.0, float(abs(nearer)) ** 2 + float(doubt))
    return Limit("slow", float(nearer), 0.0)


class Limits(NamedTuple):
    """Of each entry of the gradient and of the Hessian, the limits along all directions in which there are any."""

    value: float | None  # None where it has no limit
    exact: float | None  # at the point itself, if it is a number
    first: list[list[Limit]]
    second: dict[tuple[int, int], list[Limit]]


def limits_at(program, point, closer=False):
    """The limits at a point; inputs that are infinite are approached from large ones."""
    n = len(point)
    first = [[] for _ in range(n)]
    second = {pair: [] for pair in pairs_of(n)}
    values = []
    levels = CLOSER if closer else LEVELS
    for direction in directions(n):
        (_, a, aa, _), (value, b, bb, doubts) = (differences(program, point, direction, level) for level in levels)
        if a is None or b is None:
            continue
        values.append(value)
        for i in range(n):
            first[i].append(limit(a[i], b[i], doubts[0][i]))
        for pair, limits in second.items():
            limits.append(limit(aa[pair], bb[pair], doubts[1][pair]))
    is_one = values and max(values) - min(values) <= mp.mpf("1e-10") * max(map(abs, values)) + mp.mpf("1e-14")
    exact = value_at(program, [mp.mpf(p) for p in point])
    return Limits(float(values[0]) if is_one else None, float(exact) if mp.isfinite(exact) else None, first, second)
