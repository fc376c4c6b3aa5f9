"""Draws by vectors of parameters: vectors that are normal or of counts, and numbers of categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import InputError, OptionError, message
from tg.ops.arranging import broadcast_shapes
from tg.ops.contraction import matmul
from tg.ops.cumulative import cumsum
from tg.ops.elementwise.arithmetic import maximum, sqrt
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, isnan, where
from tg.ops.elementwise.draws import binomial_draw
from tg.ops.elementwise.exponential import log
from tg.ops.elementwise.rounding import trunc
from tg.ops.family import Family
from tg.ops.indexing import flip
from tg.ops.iteration import scan
from tg.ops.linalg.cholesky import cholesky
from tg.ops.linalg.spectral import eigh, svd
from tg.ops.random.continuous import standard_gumbel_of, standard_normal_of, unit
from tg.ops.random.counts import NO_COUNT, as_counts
from tg.ops.random.keys import own_bits
from tg.ops.random.own import WIDE
from tg.ops.random.parameters import (
    agreed_shape,
    counting_dtype,
    floating_dtype,
    need_vectors,
    packed_key,
    parameters,
    shape_by_name,
)
from tg.ops.reduction import any as any_of
from tg.ops.reduction import argmax
from tg.ops.shape import broadcast_to, matrix_transpose, moveaxis
from tg.variables.conversion import weakly_cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable
    from tg.types.choices import CovarianceRoot
    from tg.variables.like import KeyLike, ShapeLike, TensorLike


@shape_by_name
def multivariate_normal(
    key: KeyLike,
    mean: TensorLike,
    cov: Any,
    *,
    shape: ShapeLike | None = None,
    dtype: object = None,
    method: CovarianceRoot = "cholesky",
) -> Variable:
    """Normally distributed vectors of a mean and a covariance matrix.

    Args:
        cov: positive definite for "cholesky", whose derivative costs least; else positive semidefinite.
        shape: how many vectors; what mean and cov broadcast to unless given.
        method: the root of cov that normal numbers are multiplied with: "cholesky", or the symmetric one by "eigh" or
            "svd".
    Shapes:
        mean (..., k), cov (..., k, k) -> (*shape, k)
    Dtypes:
        as `uniform`.
    Raises:
        DtypeError, InputError, ShapeError: as `uniform`.
        LinAlgError: cov is not positive definite, for "cholesky".
        OptionError: another method.
    Source:
        numpy.random.Generator.multivariate_normal; jax.random.multivariate_normal for "cholesky".
    """
    if method not in ROOTS:
        raise OptionError(message(f"multivariate_normal: method: found {method!r}, needed one of {', '.join(ROOTS)}"))
    arguments = parameters("multivariate_normal", mean=mean, cov=cov)
    wanted = floating_dtype("multivariate_normal", dtype, arguments)
    at, covariance = (weakly_cast(v, wanted) for v in arguments)
    need_vectors("multivariate_normal: mean", at)
    root = ROOTS[method](covariance)
    common = broadcast_shapes(at.shape[:-1], root.shape[:-2])
    lengths = (*agreed_shape("multivariate_normal", common, shape), at.shape[-1])
    z = cast_variable(standard_normal_of(unit(packed_key("multivariate_normal", key), lengths, wanted)), wanted)
    if root.type.ndim == 2:
        return at + matmul(z, matrix_transpose(root))
    return at + matmul(root, z[..., None])[..., 0]


def _by_eigh(cov: Variable) -> Variable:
    """The symmetric root, in which signs of vectors, that backends choose, do not count."""
    values, vectors = eigh(cov)
    return matmul(vectors * sqrt(maximum(values, 0))[..., None, :], matrix_transpose(vectors))


def _by_svd(cov: Variable) -> Variable:
    left, values, right = svd(cov, full_matrices=False)
    return matmul(left * sqrt(values)[..., None, :], right)


ROOTS: Final[dict[str, Callable[[Variable], Variable]]] = {"cholesky": cholesky, "eigh": _by_eigh, "svd": _by_svd}


@shape_by_name
def categorical(
    key: KeyLike,
    p: TensorLike | None = None,
    *,
    logits: TensorLike | None = None,
    shape: ShapeLike | None = None,
    dtype: object = "int64",
) -> Variable:
    """Numbers of categories, from 0 on, each as likely as its p; -1 where a p is below 0 or NaN.

    Args:
        p: probabilities along the last axis; they count relative to their sum.
        logits: their logarithms, in place of p.
        shape: that of the draw; that of the parameters without the last axis unless given.
    Shapes:
        p (..., k) -> shape
    Raises:
        DtypeError: dtype is no signed integer; a key of another one than uint32.
        InputError: neither p nor logits is given, or both are.
        ShapeError: as `uniform`; p is a scalar.
    Source:
        jax.random.categorical, whose parameter is logits: the largest of Gumbel distributed numbers about them.
    """
    if (p is None) == (logits is None):
        raise InputError(message("categorical: found both or neither of p and logits, needed one"))
    (argument,) = parameters("categorical", **({"logits": logits} if p is None else {"p": p}))
    wanted = counting_dtype("categorical", dtype)
    floating = floating_dtype("categorical", None, [argument])
    weights = need_vectors("categorical: p", weakly_cast(argument, floating))
    logs = weights if p is None else log(weights)
    lengths = (*agreed_shape("categorical", logs.shape[:-1], shape), logs.shape[-1])
    u = unit(packed_key("categorical", key), lengths, floating)
    scores = logs + cast_variable(standard_gumbel_of(u), floating)
    category = where(any_of(isnan(logs), -1), NO_COUNT, argmax(scores, -1))
    return cast_variable(category, wanted)


@shape_by_name
def multinomial(
    key: KeyLike, n: TensorLike, pvals: Any, *, shape: ShapeLike | None = None, dtype: object = "int64"
) -> Variable:
    """Counts of each category in n trials, as likely as its pvals; all -1 where there is no such distribution.

    Args:
        pvals: probabilities along the last axis; they count relative to their sum.
        shape: how many vectors; what n and pvals without the last axis broadcast to unless given.
    Shapes:
        n (...), pvals (..., k) -> (*shape, k)
    Raises:
        DtypeError: dtype is no signed integer; a key of another one than uint32.
        InputError, ShapeError: as `uniform`; pvals is a scalar.
    Source:
        numpy.random.Generator.multinomial: of those that are left, each category takes a binomial number.
    """
    wanted = counting_dtype("multinomial", dtype)
    trials, weights = (weakly_cast(v, WIDE) for v in parameters("multinomial", n=n, pvals=pvals))
    need_vectors("multinomial: pvals", weights)
    batch = agreed_shape("multinomial", broadcast_shapes(trials.shape, weights.shape[:-1]), shape)
    lengths = (*batch, weights.shape[-1])
    bits = own_bits(packed_key("multinomial", key), lengths)
    left = flip(cumsum(flip(weights, -1), -1), -1)  # of this category and those after it
    share = broadcast_to(where(weights > 0, weights / left, weights), lengths)

    def category(rest: Variable, slices: tuple[Variable, Variable]) -> tuple[Variable, Variable]:
        count = binomial_draw(rest, *slices)
        return rest - count, count

    per_category = tuple(moveaxis(v, -1, 0) for v in (share, bits))
    lost, counts = scan(category, broadcast_to(trunc(trials), batch), per_category)
    return as_counts(where(equal(lost, 0)[..., None], moveaxis(counts, 0, -1), np.nan), wanted)


FAMILY = Family(
    "random/vectors",
    functions=(multivariate_normal, categorical, multinomial),
    module="random",
)
