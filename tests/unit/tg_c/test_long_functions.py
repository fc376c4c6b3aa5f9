"""Functions of thousands of calls, which compilers take as they stand."""

import numpy as np

import tg
from tg_c.function import LONG

AS_IT_STANDS = "static TG_AS_IT_STANDS i64 graph0"


def layers(count):
    x, weights = tg.tensor("x", shape=(4, 8)), [tg.tensor(f"w{k}", shape=(8, 8)) for k in range(count)]
    y = x
    for w in weights:
        y = y + tg.tanh(y @ w)
    return [x, *weights], [y, *tg.grad(tg.sum(y**2), weights)]


def test_a_function_of_many_calls_is_compiled_as_it_stands():
    inputs, outputs = layers(150)
    run = tg.function(inputs, outputs, backend="c")
    source = run.source(full=True)
    assert AS_IT_STANDS in source
    assert len(source[source.index(AS_IT_STANDS) :].split("\n}", 1)[0].splitlines()) > LONG
    rng = np.random.default_rng(0)
    values = [rng.normal(size=v.type.shape) / 20 for v in inputs]
    for found, wanted in zip(run(*values), tg.function(inputs, outputs, backend="perform")(*values), strict=True):
        assert np.allclose(found, wanted, rtol=1e-11, atol=1e-13)


def test_a_short_function_is_optimised():
    inputs, outputs = layers(3)
    assert "TG_AS_IT_STANDS" not in tg.function(inputs, outputs, backend="c").source(full=True)


def test_a_long_function_of_scalars_is_optimised():
    x = y = tg.scalar("x")
    for k in range(2 * LONG):
        y = tg.tanh(y + k % 7) if k % 2 else y * 1.01
    run = tg.function([x], y, backend="c")
    assert "TG_AS_IT_STANDS" not in run.source(full=True)
