"""Rewrites for JAX: to what XLA computes in one step, or without a copy. It fuses loops and plans buffers itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg import negative, sigmoid, softplus
from tg.backend import BACKEND, EXACT, REASSOCIATES, MatMul, Pass, Reduce, Rewrites, Transpose, convolution, node_rule
from tg_jax.decays import of_nonpositive
from tg_jax.extrema import pairs
from tg_jax.kernels import with_channels_behind
from tg_jax.products import SWAPPED, product_of

if TYPE_CHECKING:
    from tg.backend import Variable


def _convolved(x: Variable, w: Variable) -> Variable:
    op = convolution.Convolution((1,), (1,), (1,), (0,), (1,))
    return op(x[None, None, :1, :1], w[None, :1, None, :1])  # type: ignore[no-any-return]


REWRITES: Final = Rewrites(
    rules=(
        node_rule(
            "product_of_transposed",
            keys=(MatMul,),
            below=(Transpose,),
            apply=product_of,
            phase=BACKEND,
            kind=REASSOCIATES,
            why="XLA's product takes matrices either way round, but writes a transposed one to memory before it.",
            example=lambda x, y: MatMul()(SWAPPED(x), y),
        ),
        node_rule(
            "kernel_with_channels_behind",
            keys=(convolution.Convolution,),
            apply=with_channels_behind,
            phase=BACKEND,
            kind=EXACT,
            why="XLA has kernels with channels behind: one that is fixed is laid out once.",
            example=_convolved,
        ),
        node_rule(
            "decay_of_nonpositive",
            keys=(softplus, sigmoid),
            below=(negative,),
            apply=of_nonpositive,
            phase=BACKEND,
            kind=EXACT,
            why="What is not positive has no other branch, and its exponential is shared.",
            example=lambda x: softplus(-abs(x)),
        ),
    ),
    passes=(
        Pass(
            "extrema_of_integers",
            phase=BACKEND,
            kind=EXACT,
            why="Index checks want the least and the largest, which one pass over the indices gives.",
            run=pairs,
            keys=(Reduce,),
        ),
    ),
)
