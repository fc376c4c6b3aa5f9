"""Mistakes that users make, each a line that a type checker is to find, and that raises where it is run."""

from __future__ import annotations

from typing import Final

HEAD: Final = """\
import numpy as np
import tg

x, m, s = tg.vector("x"), tg.matrix("m"), tg.scalar("s")
w = tg.shared(np.zeros(3), "w")
loss = tg.sum(x**2)
f = tg.function([x], loss, backend="perform")
both = tg.function([x], [loss, x], backend="perform")
layer = tg.nn.Dense(3, 2)
key = tg.random.key(0)


@tg.jit(backend="perform")
def norm(a, p=2):
    return tg.sum(a**p)


"""

MISTAKES: Final = (
    # names that tg or an object does not have
    'tg.vectr("x")',
    "tg.unwrapped(x)",
    "tg.nn.Densse(3, 2)",
    "tg.linalg.solv(m, x)",
    "tg.random.norml(key)",
    "tg.special.erff(x)",
    "tg.optimize.adm(loss, {}, 0.1)",
    "x.summ()",
    "x.view(-1)",
    "x.at[0].sett(1.0)",
    "x.at.set(1.0)",
    "w.set_valu(np.ones(3))",
    "w.value",
    "f.sourc()",
    "tg.config.bakend",
    # keywords
    'tg.vector("x", shapes=(3,))',
    "tg.sum(x, axs=0)",
    "tg.exp(x, out=x)",
    'tg.function([x], x, bakend="c")',
    'tg.jit(tg.exp, outputt="native")',
    "tg.value_and_grad(loss, x, disconected='zero')",
    "tg.config(bakend='c')",
    "x.sum(axs=0)",
    "x.reshape(order='C', shp=2)",
    "tg.nn.Dense(3, 2, biass=True)",
    "tg.random.normal(key, size=(3,))",
    "tg.scan(lambda c, v: (c + v, c), 0.0, x, revers=True)",
    "tg.nn.softmax(x, dim=0)",
    "tg.linalg.cholesky(m, uppr=True)",
    # how many arguments
    "tg.exp(x, 2)",
    "tg.maximum(x)",
    "tg.special.betainc(x, x)",
    "tg.nn.relu(x, 0)",
    "tg.grad(loss)",
    "tg.scan(x)",
    "norm()",
    "norm(x, 2, 3)",
    "tg.nn.mse_loss(x)",
    "w.set_value()",
    # values of options
    'tg.function([x], x, mode="fast")',
    'tg.function([x], x, on_unused_input="off")',
    'tg.function([x], x, output="torch")',
    'tg.function([x], x, compile="later")',
    'tg.grad(loss, x, disconnected="zeros")',
    'tg.jit(tg.exp, mode="fast")(1.0)',
    'tg.config(mode="fast")',
    'tg.config(dtype="float")',
    'tg.nn.mse_loss(x, x, reduction="avg")',
    'tg.pad(x, 1, mode="zeros")',
    'x.at[0].set(1.0, mode="drop")',
    'tg.take(x, 0, mode="cut")',
    'tg.linalg.qr(m, mode="full")',
    'tg.searchsorted(x, s, side="both")',
    'tg.jacobian(x, x, direction="backward")',
    'tg.nn.gelu(x, approximate="erf")',
    # values that there are not
    "x[0] = 1.0",
    "float(x)",
    "int(s)",
    "range(s)",
    "not x",
    "tg.config.backend = 'c'",
    # functions where arrays are wanted, and other types
    "tg.grad(lambda a: a, x)",
    'tg.exp("x")',
    'tg.function([x], x)("x").call',
    "tg.grad(loss, [x, w]).shape",
    "tg.grad(loss, x).append(1)",
    "v, g, h = tg.value_and_grad(loss, x)",
    "tg.scan(lambda c: (c, c), 0.0, x)",
    "tg.cond(s > 0, lambda v: v, lambda: s, s)",
    "tg.vmap(tg.exp)(m, m)",
    "both(np.ones(3)).shape",
)

OPERANDS: Final = (  # what is no array, no shape, no key and no number for each axis
    'tg.nn.conv2d(tg.ones((1, 3, 8, 8)), tg.ones((4, 3, 3, 3)), stride="2")',
    'tg.nn.conv2d(tg.ones((1, 3, 8, 8)), tg.ones((4, 3, 3, 3)), padding="all")',
    'tg.nn.max_pool2d(tg.ones((1, 3, 8, 8)), "3")',
    "tg.random.normal(0, shape=(3,))",
    'tg.random.uniform(key, shape="3")',
    'tg.zeros("3")',
    'tg.ones((2, "3"))',
    'tg.reshape(x, {"C": 1})',
    'tg.linalg.solve(m, "b")',
    'tg.linalg.cholesky("m")',
    'tg.mean(x, axis="rows")',
    'tg.cumsum("x")',
    "tg.softmax({1: 2})",
    'tg.nn.embedding(x, "table")',
    'tg.fft.fft("x")',
    'tg.sort("x")',
    'tg.eye("3")',
    'tg.nn.cross_entropy(m, "labels")',
)
