"""Sums, extremes, means and running sums, of what is broadcast, moved, joined and scaled."""

import tg
from tests.replay.program import program

M = "float64[?, ?]"
PROGRAMS = (
    program("a sum of a sum", lambda x: tg.sum(tg.sum(x, axis=0)), x=M),
    program("a maximum of a maximum", lambda x: tg.max(tg.max(x, axis=1)), x=M),
    program("a sum of a transpose", lambda x: tg.sum(x.T, axis=0), x=M),
    program("a sum of a flat array", lambda x: tg.sum(tg.reshape(x, (-1,))), x=M),
    program("a sum of new axes", lambda x: tg.sum(x[None, :, None], axis=(0, 2))),
    program("a sum of what is repeated", lambda x: tg.sum(tg.broadcast_to(x, (7, *x.shape)), axis=0)),
    program("an extreme of what is repeated", lambda x: tg.max(tg.broadcast_to(x, (7, *x.shape)), axis=0)),
    program("a sum of negatives", lambda x: tg.sum(-x)),
    program("a sum of multiples", lambda x: tg.sum(2.5 * x)),
    program("a sum of quotients", lambda x: tg.sum(x / 3)),
    program("a sum with a factor by row", lambda x, a: tg.sum(x * a[:, None], axis=1), x=M),
    program("a sum of a difference", lambda x, y: tg.sum(x - y)),
    program("a maximum of negatives", lambda x: tg.max(-x)),
    program("the place of an extreme", lambda x: tg.argmax(2 * x) + tg.argmin(-x)),
    program("all and any", lambda c: tg.logical_not(tg.any(tg.logical_not(c))), c="bool[?, ?]"),
    program("any of a comparison", lambda x: tg.any(x != 0)),
    program("a count", lambda x: tg.sum(tg.cast(x > 0, "int64"))),
    program("a sum over an axis of length one", lambda x: tg.sum(x, axis=1), x="float64[?, 1]"),
    program("a sum of joined pieces", lambda x, y: tg.sum(tg.concatenate([x, y]))),
    program("a maximum of joined pieces", lambda x, y: tg.max(tg.concatenate([x, y]))),
    program("a sum of ones", lambda x: tg.sum(tg.ones_like(x))),
    program("a sum of positions", lambda x: tg.sum(tg.arange(x.shape[0]))),
    program("a product of exponentials", lambda x: tg.prod(tg.exp(x))),
    program("a mean", lambda x: tg.mean(x), grad=True),
    program("a mean of means", lambda x: tg.mean(tg.mean(x, axis=0)), x=M, grad=True),
    program("a variance by column", lambda x: tg.var(x, axis=0), x=M, grad=True),
    program("a masked sum", lambda x, c: tg.sum(tg.where(c, x, 0)), c="bool[?]", wrt=("x",)),
    program("a sum of squares", lambda x: tg.sum(x**2), grad=True),
    program("a maximum with its gradient", lambda x: tg.max(x), grad=True),
    program("a product with its gradient", lambda x: tg.prod(x), grad=True),
    program("a running sum", lambda x: tg.cumsum(2 * x), grad=True),
    program("a running sum of negatives", lambda x: tg.cumsum(-x)),
    program("the last of a running sum", lambda x: tg.cumsum(x)[-1]),
    program("sorted twice", lambda x: tg.sort(tg.sort(x))),
    program("the extremes of what is sorted", lambda x: tg.sort(x)[0] + tg.max(tg.sort(x))),
    program("a sum of a matrix by both axes", lambda x: tg.sum(x, axis=0) @ tg.ones(4), x="float64[?, 4]"),
)
