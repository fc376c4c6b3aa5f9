"""Slices, gathers and updates: only what is read is computed."""

import tg
from tests.replay.program import program

M = "float64[?, ?]"
PROGRAMS = (
    program("a slice of a slice", lambda x: x[2:][1:5]),
    program("a slice of a slice of a known length", lambda x: x[1:9][::2][1:], x="float64[12]"),
    program("a whole slice", lambda x: x[:][0:]),
    program("reversed slices", lambda x: x[::-1][::-1]),
    program("a slice of a function", lambda x: tg.exp(x * 2 + 1)[:3]),
    program("an element of a function", lambda x: (x * 2 + 1)[3]),
    program("an element of a sum of vectors", lambda x, y: (x + y)[0] * (x - y)[-1]),
    program("a row of a reduction", lambda x: tg.sum(x, axis=1)[0], x=M),
    program("a row of a product", lambda x, y: (x @ y)[0], x=M, y=M),
    program("an element of a product", lambda x, y: (x @ y)[0, 1], x=M, y=M),
    program("a slice of joined pieces", lambda x, y: tg.concatenate([x, y])[:2], x="float64[3]", y="float64[4]"),
    program("a slice of a transpose", lambda x: x.T[1], x=M),
    program("a slice of what is repeated", lambda x: tg.broadcast_to(x, (5, *x.shape))[2]),
    program("a slice of positions", lambda x: tg.arange(x.shape[0])[2:4]),
    program("a slice of a running sum", lambda x: tg.cumsum(x)[:3]),
    program("a slice of a softmax by rows", lambda x: tg.softmax(x, axis=1)[0], x=M),
    program("what is written is read", lambda x, y: x.at[2:5].set(y)[2:5], x="float64[8]", y="float64[3]"),
    program("what is not written is read", lambda x, y: x.at[2:5].set(y)[5:], x="float64[8]", y="float64[3]"),
    program("written twice", lambda x, y, z: x.at[1].set(y).at[1].set(z), y="float64[]", z="float64[]"),
    program("added twice", lambda x, i, y, z: x.at[i].add(y).at[i].add(z), i="int64[?]"),
    program("written as a whole", lambda x, y: x.at[:].set(y)),
    program("zeros written", lambda x: tg.zeros_like(x).at[2:].add(x[2:])),
    program("a gather of constant positions", lambda x: x[tg.constant([0, 2, 4])], x="float64[6]"),
    program("a gather of positions in a row", lambda x: x[tg.arange(x.shape[0])]),
    program("a gather of a gather", lambda x, i, j: x[i][j], i="int64[?]", j="int64[?]"),
    program("a diagonal by positions", lambda x: x[tg.arange(3), tg.arange(3)], x="float64[3, 3]"),
    program("a diagonal of a sum", lambda x, y: tg.diagonal(x + y), x=M, y=M),
    program("a mask", lambda x: x[x > 0] * 2),
    program("a mask reduced", lambda x: tg.sum(x[x > 0])),
    program("differences of neighbours", lambda x: x[1:] - x[:-1], grad=True),
    program("a product of three elements", lambda x: x[0] * x[1] * x[2], grad=True),
    program("two gathers", lambda x, i, j: x[i] + x[j], i="int64[?]", j="int64[?]", wrt=("x",)),
    program("a window", lambda x, k: x[k : k + 3], k="int64[]", wrt=("x",)),
    program("rows of a table", lambda x, i: x[i], x=M, i="int64[?]", wrt=("x",)),
    program("an element set, with its gradient", lambda x, y: tg.sum(x.at[0].set(y) ** 2), y="float64[]", grad=True),
    program("parameters unpacked", lambda p: tg.exp(p[0]) * p[1] + p[2:5].sum(), p="float64[8]", grad=True),
)
