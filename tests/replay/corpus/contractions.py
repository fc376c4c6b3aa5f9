"""Products of matrices and vectors."""

import tg
from tests.replay.program import program

M = "float64[?, ?]"
PROGRAMS = (
    program("a product of transposes", lambda x, y: (x.T @ y.T).T, x=M, y=M),
    program("a transposed product", lambda x, y: (x @ y).T, x=M, y=M),
    program("a multiple of a product", lambda x, y: (2 * x) @ (3 * y), x=M, y=M),
    program("negatives multiplied", lambda x, y: (-x) @ (-y), x=M, y=M),
    program("two matrices and a vector", lambda x, y, v: x @ y @ v, x=M, y=M),
    program(
        "a chain of known sizes",
        lambda a, b, c: a @ b @ c,
        a="float64[100, 2]",
        b="float64[2, 100]",
        c="float64[100, 2]",
    ),
    program("an outer product by matmul", lambda x, y: x[:, None] @ y[None, :]),
    program("a dot product", lambda x, y: tg.sum(x * y), grad=True),
    program("a product of matrices by a sum", lambda x, y: tg.sum(x[:, :, None] * y[None, :, :], axis=1), x=M, y=M),
    program("the diagonal of a product", lambda x, y: tg.diagonal(x @ y), x=M, y=M),
    program("the trace of a product", lambda x, y: tg.trace(x @ y), x=M, y=M, grad=True),
    program("the sum of a product", lambda x, y: tg.sum(x @ y), x=M, y=M),
    program("a row sum of a product", lambda x, y: tg.sum(x @ y, axis=1), x=M, y=M),
    program("an identity", lambda x: tg.eye(4) @ x, x="float64[4, ?]"),
    program("zeros", lambda x: tg.zeros((3, 4)) @ x, x="float64[4, ?]"),
    program("a diagonal matrix", lambda x, d: tg.diag(d) @ x, x=M),
    program("einsum of three", lambda x, y, v: tg.einsum("ij,jk,k->i", x, y, v), x=M, y=M),
    program("einsum of a trace", lambda x, y: tg.einsum("ij,ji->", x, y), x=M, y=M),
    program(
        "einsum by batch", lambda x, y: tg.einsum("bij,bjk->bik", x, y), x="float64[?, ?, ?]", y="float64[?, ?, ?]"
    ),
    program("tensordot", lambda x, y: tg.tensordot(x, y, 1), x="float64[?, ?, ?]", y=M),
    program("a batch times one matrix", lambda x, y: x @ y, x="float64[?, ?, ?]", y=M, grad=True),
    program("a layer", lambda x, w, b: tg.tanh(x @ w + b), x=M, w=M, wrt=("w", "b")),
    program("a quadratic form", lambda x, a: x @ a @ x, a=M, grad=True),
    program("least squares", lambda x, y, w: tg.sum((x @ w - y) ** 2), x=M, wrt=("w",)),
    program("a Gram matrix", lambda x: x.T @ x, x=M, grad=True),
)
