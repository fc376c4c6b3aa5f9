"""Cases of `ops/nn/attention`: masks, rows in which no key takes part, grouped heads, leading axes, halves."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import DtypeError, ShapeError
from tg.ops.nn.attention import FAMILY
from tg.plugin.case import Case, any_dtype, b1, f64, fixed
from tg_conformance.cases.family import HALVES, of_family, rounded_once

INF: Final = float("inf")
attention: Final = tg.nn.scaled_dot_product_attention
SEEN: Final = [[True, False, True], [False, False, False], [True, True, False], [False, True, False]]
BIAS: Final = [[0.5, -INF, 1.0], [-INF, -INF, -INF], [0.0, -2.0, -INF], [-INF, 3.0, -INF]]


def weighted(
    q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: Any = None, groups: int = 1
) -> Any:
    """By the formula, with the heads of keys and values repeated."""
    k, v = (np.repeat(x, groups, axis=-3) if groups > 1 else x for x in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (scale if scale is not None else 1 / np.sqrt(q.shape[-1]))
    if mask is not None:
        scores = np.where(mask, scores, -INF) if mask.dtype == bool else scores + mask
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -INF)
    top = np.max(scores, -1, keepdims=True, initial=-INF)
    powers = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = np.sum(powers, -1, keepdims=True)
    return powers / np.where(total == 0, 1, total) @ v


def _terms(q: Any, k: Any, v: Any, *rest: Any) -> Any:
    """Scores of up to 9 d are off by as many units, and each weight by as many times itself."""
    return 32 * q.shape[-1] + 8 * k.shape[-2]


def _masked(name: str, *mask: Any, **options: Any) -> Case:
    """Queries and keys of fixed numbers, since the mask is."""
    return Case(
        lambda q, k, v, *m: attention(q, k, v, *m, **options),
        [f64(2, 4, 5), f64(2, 3, 5), f64(2, 3, 2), *mask],
        name=name,
        gradient=True,
        layouts=("C", "transposed"),
        condition=_terms,
        oracle=lambda q, k, v, *m: weighted(q, k, v, *m, **options),
    )


def _gradients(q: Any, k: Any, v: Any, m: Any) -> tuple[Any, ...]:
    """By the derivative of the softmax, of a cotangent of ones."""
    scale = 1 / np.sqrt(q.shape[-1])
    shares = weighted(q, k, np.eye(len(k), dtype=v.dtype), m)
    slopes = np.sum(v, -1)
    scores = shares * (slopes - (shares @ slopes)[:, None])
    return scores @ k * scale, scores.T @ q * scale, shares.T @ np.ones((len(q), v.shape[1])), scores


def _alone(mask: Any, *, is_causal: bool = False) -> Any:
    """A mask of numbers for both: what is no key of a query is -inf."""
    if mask.dtype == bool:
        mask = np.where(mask, 0.0, -INF)
    return np.where(np.tri(*mask.shape[-2:]) > 0, mask, -INF) if is_causal else mask


def _of_cotangents(q: Any, k: Any, v: Any, dy: Any, mask: Any, groups: int = 1) -> tuple[Any, ...]:
    """The cotangents of q, k and v for that of the result, by the weights and the slopes of their scores."""
    k, v = (np.repeat(x, groups, axis=-3) if groups > 1 else x for x in (k, v))
    scale, s = 1 / np.sqrt(q.shape[-1]), k.shape[-2]
    shares = weighted(q, k, np.broadcast_to(np.eye(s, dtype=q.dtype), (*k.shape[:-2], s, s)), mask)
    slopes = dy @ np.swapaxes(v, -1, -2)
    slopes = shares * (slopes - np.sum(slopes * shares, -1, keepdims=True))
    cotangents = slopes @ k * scale, np.swapaxes(slopes, -1, -2) @ q * scale, np.swapaxes(shares, -1, -2) @ dy
    if groups == 1:
        return cotangents
    dq, *rest = cotangents
    return dq, *(np.sum(x.reshape(*x.shape[:-3], -1, groups, *x.shape[-2:]), -3) for x in rest)


def _pulled(name: str, inputs: Any, *, groups: int = 1, is_causal: bool = False, **options: Any) -> Case:
    """The cotangents of more queries and keys than a block has: of the sum of y dy."""

    def found(q: Any, k: Any, v: Any, dy: Any, mask: Any = None) -> Any:
        y = attention(q, k, v, mask, is_causal=is_causal, enable_gqa=groups > 1)
        return tg.grad(tg.sum(y * dy), [q, k, v])

    def want(q: Any, k: Any, v: Any, dy: Any, mask: Any = None) -> Any:
        full_mask = np.zeros((q.shape[-2], k.shape[-2])) if mask is None else mask
        return _of_cotangents(q, k, v, dy, _alone(full_mask, is_causal=is_causal), groups)

    return Case(
        found,
        inputs,
        name=name,
        layouts=("C", "transposed"),
        condition=lambda q, k, v, *rest: (_terms(q, k, v) * 4, _terms(k, q, v) * 4, _terms(k, q, v) * 4),
        oracle=want,
        **options,
    )


FIRST: Final = np.arange(9)[:, None] == 0
WRITTEN: Final = (
    Case(
        attention,
        [any_dtype(2, "n", 4), any_dtype(2, "m", 4), any_dtype(2, "m", "k")],
        name="attention",
        dtypes=("float32", "float64"),
        gradient=True,
        condition=_terms,
        oracle=weighted,
    ),
    Case(
        lambda q, k, v: (attention(q, k, v, is_causal=True), attention(k, q, q, is_causal=True, scale=0.3)),
        [f64(2, 5, "k"), f64(2, 3, "k"), f64(2, 3, 2)],
        name="causal attention",
        layouts=("C",),
        condition=lambda q, k, v: (_terms(q, k, v), _terms(k, q, q)),
        oracle=lambda q, k, v: (weighted(q, k, v, is_causal=True), weighted(k, q, q, is_causal=True, scale=0.3)),
    ),
    _masked("attention with a mask", fixed(SEEN, "bool")),
    _masked("attention with a bias", fixed(BIAS, differentiate=False)),
    _masked("causal attention with a mask", fixed(SEEN, "bool"), is_causal=True),
    Case(
        lambda q, k, v, m: tg.grad(tg.sum(attention(q, k, v, m)), [q, k, v, m]),
        [f64(4, 5), f64(3, 5), f64(3, 2), fixed(BIAS)],
        name="gradient where no key takes part",
        layouts=("C",),
        condition=lambda q, k, v, m: (100, 100, 100, 100),
        oracle=_gradients,
    ),
    Case(
        lambda q, k, v: tg.grad(tg.sum(tg.where(FIRST, attention(1 / q, k, v) ** 2, 0.0)), [q, k, v]),
        [f64(2, 9, 4), f64(2, 10, 4), f64(2, 10, 4)],
        name="gradient of the first query alone",
        layouts=("C",),
        condition=lambda q, k, v: (100, 100, 100),
    ),
    Case(
        lambda q, k, v, m: attention(q, k, v, m, enable_gqa=True),
        [f64(2, 6, "n", 4), f64(2, 3, "m", 4), f64(2, 3, "m", 5), b1(2, 1, "n", "m")],
        name="attention of grouped heads",
        layouts=("C", "transposed"),
        gradient=True,
        condition=_terms,
        oracle=lambda q, k, v, m: weighted(q, k, v, m, groups=2),
    ),
    Case(
        lambda q, k, v, m: attention(q, k, v, m, is_causal=True, enable_gqa=True),
        [f64(4, 3, 4), f64(2, 3, 4), f64(2, 3, 5), f64(4, 3, 3)],
        name="attention of grouped heads with a bias of each",
        layouts=("C",),
        condition=_terms,
        oracle=lambda q, k, v, m: weighted(q, k, v, m, groups=2, is_causal=True),
    ),
    Case(
        attention,
        [f64(3, 1, 2, 4), f64(2, 5, 4), f64(5, 3), b1(2, 1, 5)],
        name="attention with leading axes that broadcast",
        layouts=("C",),
        condition=_terms,
        oracle=weighted,
    ),
    Case(
        attention,
        [f64(2, 1, 5), f64(2, 300, 5), f64(2, 300, 3), b1(300)],
        name="attention of one query",
        condition=_terms,
        oracle=weighted,
    ),
    Case(
        lambda q, k, v: attention(q, k, v, is_causal=True),
        [f64(2, 150, 9), f64(2, 270, 9), f64(2, 270, 20)],
        name="attention of blocks of keys",
        dtypes=("float32", "float64"),
        condition=_terms,
        oracle=lambda q, k, v: weighted(q, k, v, is_causal=True),
    ),
    _pulled("gradient of attention", [f64(2, 5, 4), f64(2, 7, 4), f64(2, 7, 3), f64(2, 5, 3)]),
    _pulled(
        "gradient of causal attention of blocks",
        [f64(150, 9), f64(270, 9), f64(270, 20), f64(150, 20)],
        is_causal=True,
    ),
    _pulled(
        "gradient of attention of grouped heads",
        [f64(4, 30, 6), f64(2, 140, 6), f64(2, 140, 6), f64(4, 30, 6), b1(4, 30, 140)],
        groups=2,
        is_causal=True,
    ),
    Case(
        tg.vmap(lambda q, k, v: tg.grad(tg.sum(attention(q, k, v)), [q, k, v]), in_axes=(0, None, 0)),
        [f64("n", 3, 4), f64(5, 4), f64("n", 5, 2)],
        name="gradient of attention in a batch",
        layouts=("C",),
        condition=lambda q, k, v: (_terms(q, k, v) * 4, _terms(k, q, v) * 4, _terms(k, q, v) * 4),
        oracle=lambda q, k, v: _of_cotangents(
            q, np.broadcast_to(k, (len(q), *k.shape)), v, np.ones((*q.shape[:2], v.shape[2])), np.zeros((3, 5))
        ),
    ),
    Case(
        tg.vmap(attention, in_axes=(0, None, 0)),
        [f64("n", 3, 4), f64(5, 4), f64("n", 5, 2)],
        name="attention in a batch",
        layouts=("C",),
        condition=_terms,
        oracle=weighted,
    ),
    Case(
        lambda q, k, v: (attention(q, k[:0], v[:0]), attention(q[:0], k, v), attention(q[:, :0], k[:, :0], v)),
        [f64(2, 4), f64(3, 4), f64(3, 5)],
        name="attention of nothing",
        layouts=("C",),
        oracle=lambda q, k, v: (np.zeros((2, 5)), np.zeros((0, 5)), np.broadcast_to(np.mean(v, 0), (2, 5))),
    ),
    Case(
        attention,
        [fixed([[300.0, 1.0]]), fixed([[300.0, 0.0], [299.0, 0.0]]), fixed([[1.0], [2.0]])],
        name="attention of large scores",
        oracle=lambda q, k, v: np.array([[1.0]]),
    ),
    Case(
        lambda q, k, v: attention(q, k, v, is_causal=True, scale=3.0),
        [any_dtype(20, 8), any_dtype(20, 8), any_dtype(20, 4)],
        name="attention of halves",
        dtypes=HALVES,
        layouts=("C",),
        static=(False,),
        accuracy=2,
        oracle=rounded_once(lambda q, k, v: (weighted(q, k, v, is_causal=True, scale=3.0),)),
    ),
    Case(
        attention,
        [f64(2, 4, static=True), f64(3, 5, static=True), f64(3, 2, static=True)],
        name="keys of another length",
        raises=ShapeError,
    ),
    Case(attention, [f64(2, 4), f64(3, 4), f64(2, 4)], name="fewer values than keys", raises=ShapeError),
    Case(
        lambda q: attention(q, q, q + 1j),
        [f64(2, 4)],
        name="attention of complex numbers",
        raises=DtypeError,
    ),
)


CASES: Final = of_family(FAMILY.path, WRITTEN)
