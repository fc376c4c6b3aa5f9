"""Drawn programs: letters of kinks and tails put into one another, at the points where they are hard."""

from __future__ import annotations

import ast
import random

from tests.enumerate.derivatives import catalog
from tests.enumerate.derivatives.judge import Program

KINKS = (
    "abs(V)",
    "relu(V)",
    "sqrt(V)",
    "sqrt(abs(V))",
    "sqrt(V ** 2)",
    "V ** 2",
    "V ** 3",
    "V ** 1.5",
    "abs(V) ** 1.5",
    "square(V)",
    "cbrt(V)",
    "clip(V, -1.0, 1.0)",
    "maximum(V, 0.0)",
    "minimum(V, 1.0)",
    "where(V > 0, V, 0.0)",
    "where(V > 0, V ** 2, -V)",
    "where(V > 0, log(V), V)",
    "where(V > 0, sqrt(V), 0.0)",
    "where(V <= 0, exp(V), 1 + V)",
    "log(V)",
    "log(abs(V))",
    "xlogy(V, V)",
    "1 / V",
    "hypot(V, 0.0)",
    "power(abs(V), 0.5)",
    "arcsin(V)",
    "arccos(V)",
    "arctanh(V)",
    "arccosh(1 + V)",
)
TAILS = (
    "exp(V)",
    "exp(-V)",
    "expm1(V)",
    "log1p(V)",
    "log(1 + exp(V))",
    "log1p(exp(V))",
    "1 / (1 + exp(-V))",
    "tanh(V)",
    "sigmoid(V)",
    "softplus(V)",
    "log_sigmoid(V)",
    "log_ndtr(V)",
    "ndtr(V)",
    "erf(V)",
    "erfc(V)",
    "logaddexp(V, 0.0)",
    "logaddexp(V, -V)",
    "arctan(V)",
    "arcsinh(V)",
    "sin(V)",
    "cos(V)",
    "cosh(V)",
    "sinc(V)",
    "log1mexp(-abs(V))",
    "V * sigmoid(V)",
    "sqrt(1 + V ** 2)",
    "exp(-V ** 2)",
    "1 / (1 + V ** 2)",
)
PLAIN = ("2.0 * V", "-V", "V + 1.0", "V - 1.0", "0.5 * V", "V * V")
PAIRS = (
    "U + V",
    "U - V",
    "U * V",
    "U * V",
    "U / V",
    "maximum(U, V)",
    "minimum(U, V)",
    "hypot(U, V)",
    "logaddexp(U, V)",
    "arctan2(U, V)",
    "xlogy(U, V)",
    "power(abs(U), V)",
    "sqrt(U ** 2 + V ** 2)",
    "where(U > V, U, V)",
    "where(U > 0, U, V)",
    "where(U > 0, V / U, V)",
    "where(V > 0, U * log(V), U)",
)
TO_SCALARS = (
    "sum(V)",
    "max(V)",
    "min(V)",
    "prod(V)",
    "norm(V)",
    "norm(V) ** 2",
    "sqrt(sum(V ** 2))",
    "sqrt(sum(square(V))) ** 3",
    "logsumexp(V)",
    "log(sum(exp(V)))",
    "sum(V * constant([1.0, -2.0, 0.5][:N]))",
    "dot(V, V)",
    "take(V, 0)",
    "take(V, 1)",
    "sum(abs(V))",
    "norm(V, 3)",
    "take(scan(lambda c, v: (B, None), 0.5, V), 0)",
)
TO_VECTORS = (
    "cumsum(V)",
    "cumprod(V)",
    "sort(V)",
    "softmax(V)",
    "log_softmax(V)",
    "flip(V)",
    "(V - max(V))",
    "(V / norm(V))",
    "(V / sum(V))",
    "(V - sum(V))",
    "exp(V - logsumexp(V))",
    "map(lambda v: M, V)",
    "take(scan(lambda c, v: (B, c), 0.5, V), 1)",
)
STEPS = (
    "c + v",
    "c * v",
    "maximum(c, v)",
    "logaddexp(c, v)",
    "hypot(c, v)",
    "sqrt(c ** 2 + v ** 2)",
    "c * tanh(v) + v",
    "where(v > 0, c + sqrt(v), c)",
    "where(v > 0, c * log(v), c * v)",
    "cond(v > 0, lambda: c + log(v), lambda: c * v)",
    "cond(v > 0, lambda: c / v, lambda: c + v ** 2)",
    "c + xlogy(v, v)",
    "c + abs(v) ** 2",
    "c + norm(stack([v, c]))",
    "relu(c - v)",
)
SMOOTH = ("sin(V)", "V ** 2", "exp(V)", "tanh(V)", "2.0 * V", "1.0 + 0.0 * V", "V ** 3", "arctan(V)")

NUMBERS = (0.0, 0.0, 1.0, -1.0, 0.5, 2.0, -3.0)
FAR = (0.0, 1.0, -1.0, 20.0, -20.0, 40.0, -40.0, 5.0)


class Writer:
    """Draws expressions."""

    def __init__(self, rng, names, length):
        self.rng, self.names, self.length = rng, names, length

    def put(self, letter, **parts):
        text = letter.replace("[:N]", f"[:{self.length}]")
        for name in "UVMB":
            if name in letter:
                part = parts.get(name) or (self.step() if name == "B" else self.chain("v", 2))
                text = "".join(f"({part})" if c == name and self.alone(text, k) else c for k, c in enumerate(text))
        return text

    @staticmethod
    def alone(text, k):
        beside = text[k - 1 : k] + text[k + 1 : k + 2]
        return not any(c.isalpha() or c == "_" for c in beside)

    def step(self):
        return self.rng.choice(STEPS)

    def letter(self):
        return self.rng.choice(self.rng.choice((KINKS, KINKS, TAILS, TAILS, PLAIN)))

    def chain(self, inner, most):
        for _ in range(self.rng.randint(1, most)):
            inner = self.put(self.letter(), V=inner)
        return inner

    def vector(self, depth):
        if depth == 0:
            return self.rng.choice(self.names)
        kind = self.rng.random()
        if kind < 0.4:
            return self.put(self.letter(), V=self.vector(depth - 1))
        if kind < 0.65:
            return self.put(self.rng.choice(PAIRS), U=self.vector(depth - 1), V=self.vector(self.rng.randrange(depth)))
        return self.put(self.rng.choice(TO_VECTORS), V=self.vector(depth - 1))

    def scalar(self, depth):
        kind = self.rng.random()
        if kind < 0.7 or depth == 0:
            return self.put(self.rng.choice(TO_SCALARS), V=self.vector(self.rng.randint(1, 2)))
        if kind < 0.85:
            return self.put(self.letter(), V=self.scalar(depth - 1))
        return self.put(self.rng.choice(PAIRS), U=self.scalar(depth - 1), V=self.scalar(0))


def points(rng, count, numbers, how_many):
    """Points of few different numbers, so that many elements are 0 or equal."""
    found = [(0.0,) * count, (rng.choice(numbers),) * count]
    while len(found) < how_many:
        few = rng.sample(numbers, 2)
        found.append(tuple(rng.choice(few) for _ in range(count)))
    return tuple(dict.fromkeys(found))


def chain(rng):
    text = Writer(rng, ["s"], 1).chain("s", 4)
    return Program("drawn chains", text, catalog.S, tuple((v,) for v in dict.fromkeys((*NUMBERS, *FAR))))


def two(rng):
    writer = Writer(rng, ["s"], 1)
    text = writer.put(rng.choice(PAIRS), U=writer.chain("s", 2), V=writer.chain("s", 2))
    return Program("drawn pairs", text, catalog.S, tuple((v,) for v in dict.fromkeys((*NUMBERS, *FAR[:5]))))


def vector(rng):
    writer = Writer(rng, ["x"], 3)
    return Program("drawn vectors", writer.scalar(1), catalog.X, points(rng, 3, NUMBERS, 5))


def distance(rng):
    writer = Writer(rng, ["x", "z"], 2)
    radius = rng.choice([*catalog.RADII] * 2 + ["sum(abs(x - z))", "max(abs(x - z))", "dot(x, z)", "norm(x) * norm(z)"])
    text = writer.chain("r", 3).replace("r)", "R)").replace("(r", "(R")
    text = text.replace("R", radius)
    found = [(*(a := tuple(rng.choice(NUMBERS) for _ in range(2))), *a), *points(rng, 4, NUMBERS, 2)]
    return Program("drawn distances", text, catalog.XZ, tuple(dict.fromkeys(found)))


def two_vectors(rng):
    writer = Writer(rng, ["x", "z"], 2)
    return Program("drawn two vectors", writer.scalar(1), catalog.XZ, points(rng, 4, NUMBERS, 3))


def weights(rng):
    writer = Writer(rng, ["p", "log(w)", "p + log(w)", "w"], 2)
    spots = ((0.0, 0.5, 1.0, -1.0), (0.0, 1.0, 0.0, 0.0), (0.25, 0.25, 0.5, 0.0))
    text = writer.put(
        rng.choice(
            (
                "logsumexp(V)",
                "sum(softmax(V) * p)",
                "log(sum(exp(V)))",
                "sum(xlogy(w, exp(V)))",
                "logsumexp(log(w) + V)",
                "log(sum(w * exp(V)))",
            )
        ),
        V=writer.vector(1),
    )
    return Program("drawn weights", text, catalog.W, spots)


def branch(rng):
    """A branch with its own singular points, which is not taken there: its NaN must not be seen."""
    writer = Writer(rng, ["x"], 3)
    bad = writer.put(rng.choice(KINKS), V=writer.chain("x", 2))
    good = writer.put(rng.choice(SMOOTH), V="x")
    around = writer.put(rng.choice(SMOOTH), V="W").replace("W", f"where(x > 0, {bad}, {good})")
    if rng.random() < 0.3:
        around = f"map(lambda x: cond(x > 0, lambda: {bad}, lambda: {good}), x)"
    spots = ((-1.0, -2.0, -0.5), (-1.0, -3.0, -1.0), (-0.25, -20.0, -1.0))
    return Program("drawn branches", f"sum({around})", catalog.X, spots, leaks=True)


def matrix(rng):
    writer = Writer(rng, ["w"], 2)
    function = writer.put(rng.choice((*TAILS, *KINKS[:8])), V="w")
    weight = "constant([[1.0, 2.0], [0.5, -1.0]])"
    shape = rng.choice(
        (
            f"(lambda w, v: sum({weight} * matmul(v * ({function}), transpose(v))))(*eigh(SYM))",
            f"sum((lambda w: {function})(eigvalsh(SYM)))",
            f"sum((lambda w: {function})(svdvals(A)))",
            f"(lambda w: {function})(det(A))",
            f"(lambda w: {function})(norm(A))",
            f"det((lambda w: {function})(A))",
        )
    )
    return Program("drawn matrices", shape.replace("SYM", catalog.SYM), catalog.A2, rng.sample(catalog.SQUARES2, 2))


KINDS = (chain, chain, two, vector, vector, vector, distance, two_vectors, weights, branch, matrix)


def drawn(seed):
    """The program of a seed."""
    rng = random.Random(seed)
    program = rng.choice(KINDS)(rng)
    return program._replace(text=ast.unparse(ast.parse(program.text, mode="eval")))


__all__ = ["drawn"]
