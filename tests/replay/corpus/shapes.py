"""Movements of axes, broadcasting, joining, and lengths."""

import tg
from tests.replay.program import program

M = "float64[?, ?]"
PROGRAMS = (
    program("transposed twice", lambda x: x.T.T, x=M),
    program(
        "three axes turned round", lambda x: tg.transpose(tg.transpose(x, (1, 2, 0)), (1, 2, 0)), x="float64[?, ?, ?]"
    ),
    program("an axis added and removed", lambda x: tg.squeeze(tg.expand_dims(x, 1), 1)),
    program("axes added one by one", lambda x: tg.expand_dims(tg.expand_dims(x, 0), 2)),
    program("reshaped twice", lambda x: tg.reshape(tg.reshape(x, (-1,)), (2, -1)), x="float64[4, 6]"),
    program("flattened and back", lambda x: tg.reshape(tg.reshape(x, (-1,)), x.shape), x=M),
    program("a reshape that adds an axis", lambda x: tg.reshape(x, (1, x.shape[0]))),
    program("a transpose of a row", lambda x: x.T, x="float64[1, ?]"),
    program("a function of a transpose", lambda x: tg.exp(x.T).T, x=M),
    program("a sum of transposes", lambda x, y: (x.T + y.T).T, x=M, y=M),
    program("a function of a flat array", lambda x: tg.reshape(tg.exp(tg.reshape(x, (-1,))), x.shape), x=M),
    program("a function of what is repeated", lambda x: tg.exp(tg.broadcast_to(x, (3, *x.shape)))),
    program("repeated, then added", lambda x, y: tg.broadcast_to(x, y.shape) + y, y=M),
    program("repeated twice", lambda x: tg.broadcast_to(tg.broadcast_to(x, (2, *x.shape)), (3, 2, *x.shape))),
    program("an array of equal numbers", lambda x: x * tg.full(x.shape, 2.0) + tg.zeros_like(x)),
    program("an outer sum", lambda x, y: x[:, None] + y[None, :], grad=True),
    program("an outer sum reduced", lambda x, y: tg.sum(x[:, None] * y[None, :], axis=1)),
    program("halves of twice a number", lambda k: tg.equal(k * 2 // 2, k), k="int64[]"),
    program(
        "lengths stated one after the other",
        lambda x: -tg.specify_shape(tg.specify_shape(x, (3, None)), (None, 4)),
        x=M,
    ),
    program("one piece joined", lambda x: tg.concatenate([x])),
    program("joined pieces joined", lambda x, y: tg.concatenate([tg.concatenate([x, y]), x])),
    program("joined slices of one array", lambda x: tg.concatenate([x[:3], x[3:]])),
    program("a function of joined pieces", lambda x, y: tg.exp(tg.concatenate([x, y]))),
    program("joined, then cut", lambda x, y: tg.concatenate([x, y])[: x.shape[0]]),
    program("stacked, then indexed", lambda x, y: tg.stack([x, y])[1]),
    program("joined with its gradient", lambda x, y: tg.concatenate([x, 2 * y]) ** 2, grad=True),
    program("reversed twice", lambda x: tg.flip(tg.flip(x))),
    program("rolled and rolled back", lambda x: tg.roll(tg.roll(x, 2), -2), x="float64[8]"),
    program("padded, then cut", lambda x: tg.pad(x, 2)[2:-2], x="float64[5]"),
    program("the length of what is computed", lambda x, w: tg.exp(x @ w).shape[0] + tg.constant(0), x=M, w=M),
    program("lengths of joined pieces", lambda x, y: tg.concatenate([x, y]).shape[0] + tg.constant(0)),
    program("a mean by its length", lambda x: tg.sum(x) / x.shape[0]),
    program("two unknown lengths", lambda x, y: (x + y) * (x - y)),
    program("a named length", lambda x, y: (x + y) * tg.ones(tg.dim("n")), x="float64[n]", y="float64[n]"),
    program("a shape that is promised", lambda x, y: tg.specify_shape(x, (4,)) + y, y="float64[4]"),
    program("a grid", lambda x, y: tg.meshgrid(x, y)[0] + tg.meshgrid(x, y)[1]),
    program("positions of a known length", lambda x: x + tg.arange(4), x="float64[4]"),
    program("an identity matrix times a matrix", lambda x: tg.eye(3) * x, x="float64[3, 3]"),
    program("triangles of triangles", lambda x: tg.tril(tg.triu(x)), x=M),
    program("the diagonal of a diagonal matrix", lambda x: tg.diagonal(tg.diag(x))),
)
