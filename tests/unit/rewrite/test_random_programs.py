"""Random programs and their gradients mean the same after rewriting, and rewriting comes to an end."""

import random

import numpy as np
import pytest

import tg
from tg.errors import TgError
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rewrite.rules.catalog import RULES

CORE = Rewrites(RULES)
UNARY = (
    lambda x: -x, tg.exp, lambda x: tg.log(tg.absolute(x) + 0.5), lambda x: tg.log(1 + tg.exp(x)), tg.square,
    lambda x: tg.sqrt(tg.square(x) + 1), tg.sigmoid, tg.tanh, tg.absolute, lambda x: x * 2, lambda x: x / 4,
    lambda x: x * -0.5, lambda x: 1 - x, lambda x: x - 0.0, lambda x: x + 0, lambda x: x**2,
    lambda x: tg.square(x) ** 0.5,
    lambda x: tg.sum(x, axis=0, keepdims=True), lambda x: tg.sum(x, axis=1, keepdims=True), lambda x: x.T.T,
    lambda x: tg.max(x, axis=1, keepdims=True), lambda x: tg.softmax(x * 0.1, axis=1), tg.transpose,
    lambda x: tg.broadcast_to(x, (4, 4)), lambda x: tg.reshape(x, (-1,))[0],
    lambda x: tg.logsumexp(x, axis=0, keepdims=True),
    lambda x: tg.expand_dims(tg.squeeze(x[:1], 0), 0), lambda x: 1 / (1 + tg.exp(-x)), lambda x: x[::-1],
)  # fmt: skip
BINARY = (
    tg.add, tg.subtract, tg.multiply, lambda x, y: x / (tg.square(y) + 1), tg.maximum,
    lambda x, y: tg.where(x > y, x, y),
    lambda x, y: tg.where(tg.logical_not(x < y), x, -y), lambda x, y: -x * -y, lambda x, y: x - (-y), tg.logaddexp,
    lambda x, y: tg.broadcast_to(x, (4, 4)) @ tg.broadcast_to(y, (4, 4)) * 0.1,
)  # fmt: skip


def program(seed, shape):
    """A random scalar of two matrices."""
    chance = random.Random(seed)
    inputs = [tg.tensor("x", shape=shape), tg.tensor("y", shape=shape)]
    values = [*inputs, tg.constant(np.ones((4, 4))), tg.constant(0.0), tg.constant(1.5)]
    for _ in range(chance.randrange(2, 14)):
        x, y = chance.choice(values[-6:]), chance.choice(values)
        fn = chance.choice(BINARY) if chance.random() < 0.4 else chance.choice(UNARY)
        try:
            values.append(fn(x, y) if fn in BINARY else fn(x))
        except TgError:
            continue
    return inputs, tg.sum(tg.tanh(values[-1])) + tg.sum(values[-2] * 0.01)


@pytest.mark.parametrize("mode", ["default", "strict"])
@pytest.mark.parametrize("shape", [(4, 4), (None, None)])
@pytest.mark.parametrize("block", range(6))
def test_a_random_program_keeps_its_meaning(block, shape, mode):
    for seed in range(25 * block, 25 * block + 25):
        inputs, cost = program(seed, shape)
        outputs = [cost, *tg.grad(cost, inputs, disconnected="zero")]
        plain = FunctionGraph.of(inputs, outputs).freeze()
        found = rewrite(FunctionGraph.of(inputs, outputs), [CORE], supported=lambda op, types: seed % 2 == 0, mode=mode)  # noqa: B023
        arrays = [np.random.default_rng(seed + k).normal(size=(4, 4)) for k in range(2)]
        with np.errstate(all="ignore"):
            old, new = interpret(plain, arrays), interpret(found, arrays)
        for a, b in zip(old, new, strict=True):
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            if np.isfinite(a).all():
                np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-7, err_msg=f"seed {seed}")
