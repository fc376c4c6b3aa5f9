"""Random variables as draws from keys: the same distributions as PyTensor's and PyMC's, not the same numbers."""

from __future__ import annotations

import math
import secrets
from typing import TYPE_CHECKING, Any

import tg
from tg import random
from tg_pytensor.registry import convert
from tg_pytensor.tensors import entries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_pytensor.conversion import Conversion

Lengths = Any  # of what is drawn without the axes of one draw, or None: those of the parameters


# --- distributions that tg lacks -------------------------------------------------------------------------------------


def clipped_beta(key: Any, a: Any, b: Any, **how: Any) -> Any:
    """Numbers of the beta distribution, inside of (0, 1)."""
    y = random.beta(key, a, b, **how)
    return tg.clip(y, tg.nextafter(tg.zeros_like(y), 1), tg.nextafter(tg.ones_like(y), 0))


def wald(key: Any, mean: Any, scale: Any, start: Any = None, **how: Any) -> Any:
    """Numbers of the inverse Gaussian distribution, from a start on."""
    y = random.wald(key, mean, scale, **how)
    return y if start is None else y + start


def truncated_normal(key: Any, mean: Any, sigma: Any, lower: Any, upper: Any, **how: Any) -> Any:
    """Normally distributed numbers between two bounds."""
    return random.truncnorm(key, (lower - mean) / sigma, (upper - mean) / sigma, mean, sigma, **how)


def skew_normal(key: Any, mean: Any, sigma: Any, alpha: Any, **how: Any) -> Any:
    """Numbers of the density 2 phi(z) Phi(alpha z) of z = (x - mean) / sigma.

    Source:
        N. Henze, A probabilistic representation of the skew-normal distribution, Scand. J. Statist. 13 (1986).
    """
    shape, dtype = spread(how.pop("shape"), mean, sigma, alpha), how["dtype"]
    first, second = (random.standard_normal(k, shape=shape, dtype=dtype) for k in random.split(key))
    return mean + sigma * (alpha * abs(first) + second) / tg.sqrt(1 + alpha * alpha)


def skew_t(key: Any, a: Any, b: Any, mean: Any, sigma: Any, **how: Any) -> Any:
    """Numbers of the skew t distribution of Jones and Faddy.

    Source:
        M. C. Jones and M. J. Faddy, A skew extension of the t-distribution, J. R. Statist. Soc. B 65 (2003).
    """
    how["shape"] = spread(how["shape"], a, b, mean, sigma)
    y = random.beta(key, a, b, **how)
    return mean + sigma * (2 * y - 1) * tg.sqrt(a + b) / (2 * tg.sqrt(y * (1 - y)))


def rice(key: Any, b: Any, sigma: Any, **how: Any) -> Any:
    """Lengths of vectors of two normal numbers, whose mean has the length b sigma."""
    shape, dtype = spread(how.pop("shape"), b, sigma), how["dtype"]
    first, second = (random.standard_normal(k, shape=shape, dtype=dtype) for k in random.split(key))
    return sigma * tg.hypot(b + first, second)


def moyal(key: Any, mean: Any, sigma: Any, **how: Any) -> Any:
    """Numbers whose exp(-(x - mean) / sigma) is the square of a normal number."""
    z = random.standard_normal(key, shape=spread(how["shape"], mean, sigma), dtype=how["dtype"])
    return mean - sigma * tg.log(z * z)


def stick_breaking(key: Any, alpha: Any, count: Any, **how: Any) -> Any:
    """Vectors of the pieces that are broken off of a stick, each a beta(1, alpha) of what is left, and the rest."""
    pieces = tg.max(count)
    shape = alpha.shape if how["shape"] is None else how["shape"]
    broken = random.beta(key, 1.0, alpha[..., None], shape=(*shape, pieces), dtype=how["dtype"])
    left = tg.cumprod(1 - broken, axis=-1)
    before = tg.concatenate([tg.ones_like(left[..., :1]), left[..., :-1]], axis=-1)
    return tg.concatenate([broken * before, left[..., -1:]], axis=-1)


def matrix_normal(key: Any, mean: Any, rows: Any, columns: Any, **how: Any) -> Any:
    """Normally distributed matrices of a mean, and of roots of the covariances of rows and of columns."""
    shape = tg.broadcast_shapes(mean.shape[:-2], rows.shape[:-2], columns.shape[:-2])
    shape = shape if how["shape"] is None else how["shape"]
    z = random.standard_normal(key, shape=(*shape, rows.shape[-2], columns.shape[-2]), dtype=how["dtype"])
    return mean + rows @ z @ tg.matrix_transpose(columns)


def interpolated(key: Any, x: Any, density: Any, below: Any, **how: Any) -> Any:
    """Numbers of a density that is linear between points x, with the chance `below` of being less than each."""
    x, density, below = (v[(0,) * (v.type.ndim - 1)] for v in (x, density, below))
    u = random.uniform(key, shape=() if how["shape"] is None else how["shape"], dtype=how["dtype"])
    k = tg.clip(tg.searchsorted(below, u) - 1, 0, x.shape[0] - 2)
    slope = (density[k + 1] - density[k]) / (x[k + 1] - x[k])
    # the root of slope d^2 / 2 + density d = u - below, in the form that no small slope harms
    rest = u - below[k]
    return x[k] + 2 * rest / (density[k] + tg.sqrt(tg.maximum(density[k] ** 2 + 2 * slope * rest, 0.0)))


def spread(shape: Lengths, *parameters: Any) -> Any:
    """The shape of what is drawn: that given, or the one that the parameters have together."""
    return tg.broadcast_shapes(*(p.shape for p in parameters)) if shape is None else shape


# --- PyTensor's ------------------------------------------------------------------------------------------------------

NUMBERS: dict[str, Callable[..., Any]] = {
    "UniformRV": random.uniform, "TriangularRV": random.triangular, "BetaRV": random.beta, "NormalRV": random.normal,
    "HalfNormalRV": random.halfnormal, "LogNormalRV": random.lognormal, "GammaRV": random.gamma,
    "ParetoRV": random.pareto, "GumbelRV": random.gumbel, "ExponentialRV": random.exponential,
    "WeibullRV": random.weibull, "LogisticRV": random.logistic, "VonMisesRV": random.vonmises,
    "DirichletRV": random.dirichlet, "CauchyRV": random.cauchy, "HalfCauchyRV": random.halfcauchy,
    "InvGammaRV": random.invgamma, "WaldRV": wald, "TruncExponentialRV": random.truncexpon, "StudentTRV": random.t,
    "LaplaceRV": random.laplace, "BetaClippedRV": clipped_beta, "TruncatedNormalRV": truncated_normal,
    "SkewNormalRV": skew_normal, "SkewStudentTRV": skew_t, "RiceRV": rice, "MoyalRV": moyal,
    "StickBreakingWeightsRV": stick_breaking, "MatrixNormalRV": matrix_normal, "InterpolatedRV": interpolated,
    "GenGammaRV": lambda key, a, c, scale, **how: random.gengamma(key, a / c, c, scale, **how),
}  # fmt: skip
COUNTS: dict[str, Callable[..., Any]] = {
    "PoissonRV": random.poisson, "GeometricRV": random.geometric, "HyperGeometricRV": random.hypergeometric,
    "BernoulliRV": random.bernoulli, "BinomialRV": random.binomial, "NegBinomialRV": random.nbinom,
    "BetaBinomialRV": random.betabinom, "MultinomialRV": random.multinomial, "CategoricalRV": random.categorical,
    "IntegersRV": random.integers,
    "DiscreteUniformRV": lambda key, low, high, shape: random.integers(key, low, high + 1, shape=shape),
}  # fmt: skip


def drawn(draw: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a random variable, of a function of the op, a key, the lengths, and the parameters."""

    def rule(conversion: Conversion, node: Any) -> Any:
        key, size, *parameters = node.inputs
        after, now = random.split(conversion[key])
        shape = entries(conversion, size) if hasattr(size.type, "dtype") else None
        return after, draw(node, now, shape, *(conversion[p] for p in parameters))

    return rule


def number(function: Callable[..., Any]) -> Callable[..., Any]:
    """A draw of floating point numbers, in the dtype that the op declares."""

    def draw(node: Any, key: Any, shape: Lengths, *parameters: Any) -> Any:
        return function(key, *parameters, shape=shape, dtype=node.outputs[1].type.dtype)

    return drawn(draw)


def count(function: Callable[..., Any]) -> Callable[..., Any]:
    """A draw of integers or bools, in the function's own dtype."""
    return drawn(lambda node, key, shape, *parameters: function(key, *parameters, shape=shape))


convert.add({name: number(function) for name, function in NUMBERS.items()}, whole=True)
convert.add({name: count(function) for name, function in COUNTS.items()}, whole=True)


@convert.register("MvNormalRV", whole=True)
@drawn
def multivariate_normal(node: Any, key: Any, shape: Lengths, mean: Any, cov: Any) -> Any:
    """Normally distributed vectors."""
    method: Any = getattr(node.op, "method", "cholesky")
    dtype = node.outputs[1].type.dtype
    return random.multivariate_normal(key, mean, cov, shape=shape, dtype=dtype, method=method)


@convert.register("PermutationRV", whole=True)
@drawn
def permutation(node: Any, key: Any, shape: Lengths, x: Any) -> Any:
    """The elements of an array along its first axis in a random order, or those of `arange(x)`."""
    rank = node.op.ndims_params[0]
    batch = x.shape[: x.type.ndim - rank] if shape is None else shape
    if rank:
        return lanes(random.permutation, key, batch, (x, rank))
    return lanes(lambda k: random.permutation(k, tg.max(x)), key, batch)


@convert.register("ChoiceWithoutReplacement", whole=True)
@drawn
def choice(node: Any, key: Any, shape: Lengths, x: Any, *rest: Any) -> Any:
    """Elements of an array along its first axis, none of them twice, or of `arange(x)`."""
    *weights, size = rest
    rank = node.op.ndims_params[0]
    size = size[(0,) * (size.type.ndim - 1)]
    lengths = [size[k] for k in range(int(node.op.inputs_sig[-1][0]))]
    batch = spread(shape, *(y[(..., *(0,) * r)] for y, r in ((x, rank), *((w, 1) for w in weights))))

    def each(k: Any, y: Any, p: Any = None) -> Any:
        return random.choice(k, y, lengths, replace=False, p=p)

    return lanes(each, key, batch, (x, rank), *((w, 1) for w in weights))


def lanes(draw: Callable[..., Any], key: Any, batch: Sequence[Any], *operands: tuple[Any, int]) -> Any:
    """A draw for each of a batch, of operands of so many axes each, with keys of their own."""
    if not batch:
        return draw(key, *(x for x, _ in operands))
    count = math.prod(batch)
    flat = []
    for x, rank in operands:
        core = x.shape[x.type.ndim - rank :]
        flat.append(tg.reshape(tg.broadcast_to(x, (*batch, *core)), (count, *core)))
    draws = tg.vmap(draw)(random.split(key, count), *flat)
    return tg.reshape(draws, (*batch, *draws.shape[1:]))


# --- generators ------------------------------------------------------------------------------------------------------


@convert.register("DefaultGeneratorMakerOp")
def generator(op: Any, node: Any, seed: Any) -> Any:
    """The key of a seed; without one, one that is drawn when the graph is converted."""
    return random.key(secrets.randbits(63) if seed is None else tg.max(seed))
