"""Distributions of vectors: along the last axis, before which parameters and values broadcast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.distributions.parameters import COUNT, MATRIX, POSITIVES, REALS, SIMPLEX, Parameter, misses
from tg.distributions.record import distribution
from tg.distributions.shapes import HALF_LOG_2_PI, shape_entropy
from tg.distributions.support import Support
from tg.ops.elementwise.arithmetic import square
from tg.ops.elementwise.exponential import log, xlogy
from tg.ops.elementwise.rounding import floor
from tg.ops.elementwise.special.gamma import gammaln
from tg.ops.linalg.cholesky import cholesky
from tg.ops.linalg.products import diagonal
from tg.ops.linalg.triangular import solve_triangular
from tg.ops.reduction import any as any_of
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import expand_dims

if TYPE_CHECKING:
    from tg.graph.nodes import Variable


def _total(v: Variable) -> Variable:
    return expand_dims(sum_of(v, -1), -1)


def _off_simplex(x: Variable, alpha: Variable) -> Variable:
    return any_of(x < 0, -1) | misses(x, 1)


def _log_simplex(x: Variable, alpha: Variable) -> Variable:
    return sum_of(xlogy(alpha - 1, x), -1) - sum_of(gammaln(alpha), -1) + gammaln(sum_of(alpha, -1))


def _dirichlet_entropy(alpha: Variable) -> Variable:
    count: Any = alpha.shape[-1]
    return sum_of(shape_entropy(alpha, 1), -1) - shape_entropy(sum_of(alpha, -1), count)


def _dirichlet_variance(alpha: Variable) -> Variable:
    total = _total(alpha)
    mean = alpha / total
    return mean * ((total - alpha) / total) / (total + 1)


dirichlet: Final = distribution(
    "dirichlet", "Probabilities, whose density is a product of x^(alpha - 1).", (Parameter("alpha", POSITIVES),),
    Support("vectors ≥ 0 whose sum is 1", beyond=_off_simplex, rank=1),
    _log_simplex,
    entropy=_dirichlet_entropy,
    mean=lambda alpha: alpha / _total(alpha),
    variance=_dirichlet_variance,
)  # fmt: skip


def _log_normal(x: Variable, mean: Variable, cov: Variable) -> Variable:
    factor = cholesky(cov, on_error="nan")
    z = solve_triangular(factor, expand_dims(x - mean, -1), lower=True, on_error="nan")[..., 0]
    return -0.5 * sum_of(square(z), -1) - _half_log_det(factor) - HALF_LOG_2_PI * cov.shape[-1]


def _half_log_det(factor: Variable) -> Variable:
    return sum_of(log(diagonal(factor)), -1)


multivariate_normal: Final = distribution(
    "multivariate_normal", "Normal vectors of a mean and a covariance, of which the lower triangle is read.",
    (Parameter("mean", REALS), Parameter("cov", MATRIX)),
    Support("vectors", rank=1, is_all=True),
    _log_normal,
    entropy=lambda mean, cov: _half_log_det(cholesky(cov, on_error="nan")) + (HALF_LOG_2_PI + 0.5) * cov.shape[-1],
    mean=lambda mean, cov: mean,
    variance=lambda mean, cov: diagonal(cov),
)  # fmt: skip


def _no_counts(x: Variable, n: Variable, pvals: Variable) -> Variable:
    wrong = any_of((x < 0) | (x > floor(x)), -1)
    total = sum_of(x, -1)
    return wrong | (total < n) | (total > n)


multinomial: Final = distribution(
    "multinomial", "How many of n are of each category, of which the vector pvals has the probabilities.",
    (Parameter("n", COUNT), Parameter("pvals", SIMPLEX)),
    Support("vectors of integers ≥ 0 whose sum is n", beyond=_no_counts, whole=True, rank=1),
    lambda x, n, pvals: gammaln(n + 1) + sum_of(xlogy(x, pvals) - gammaln(x + 1), -1),
    mean=lambda n, pvals: expand_dims(n, -1) * pvals,
    variance=lambda n, pvals: expand_dims(n, -1) * pvals * (1 - pvals),
)  # fmt: skip
