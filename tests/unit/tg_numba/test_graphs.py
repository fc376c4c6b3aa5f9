"""Whole graphs on the Numba backend: what is particular to its text and its compiler."""

import numpy as np

import tg
from tg.types.tensor_type import TensorType


def vector(name, dtype="float64", n=None):
    return tg.Variable(TensorType(dtype, (n,)), name=name)


def inner(x, y):
    return tg.sum(x) * y, tg.max(x), x[1:] - tg.max(y)


def test_inner_graphs_nest_and_equal_ones_are_one_function(agrees, compiled, frozen_of):
    def outer(x):
        (a, _, c), (d, _, f) = tg.call(inner, x, x), tg.call(inner, x, x)
        return a + d, c * f

    x, y = vector("x"), vector("y")
    outputs = [v for z in (x, y, x * y) for v in tg.call(outer, z)]
    agrees([x, y], outputs, [np.arange(1.0, 4), np.arange(2.0, 5)])
    agrees([x, y], outputs, [np.arange(0.0), np.arange(0.0)])
    text = compiled(frozen_of([x, y], outputs)).source()
    assert "define internal i64 @graph2(" in text
    assert "@graph3(" not in text


def test_temporaries_are_reused(compiled, frozen_of):
    x = vector("x")
    y = x
    for _ in range(30):
        y = tg.transpose(tg.exp(y))[::-1]
    assert compiled(frozen_of([x], [y])).source().count("= call ptr @tg.take(ptr %arena") <= 2


def test_a_name_may_be_a_word_of_python(agrees):
    names = ("lambda", "code", "status", "data", "exp", "loop0", "t1", "_e1", "größe", "2x", "a b", "i64", "")
    inputs = [tg.Variable(TensorType("float64", (None,)), name=n) for n in names]
    agrees(inputs, [sum(map(tg.exp, inputs))], [np.ones(3)] * len(names))


def test_equal_loops_are_compiled_once(compiled, frozen_of):
    from tg_numba import engine

    x, y = vector("x"), vector("y")
    kept = compiled(frozen_of([x], [tg.sort(tg.tanh(x)[::-1])]))
    before = {*engine._known}
    again = compiled(frozen_of([x, y], [tg.sort(tg.tanh(y)[::-1]), tg.sort(tg.tanh(x)[::-1])]))
    assert not {*engine._known} - before
    assert kept.source().count("define void @loop") == again.source().count("define void @loop")


def test_numbas_configuration_stays_as_it_is(compiled, frozen_of):
    import numba

    before = {name: value for name, value in vars(numba.config).items() if name.isupper()}
    x = vector("x")
    compiled(frozen_of([x], [tg.sum(tg.exp(x))])).run([np.ones(3)])
    assert {name: value for name, value in vars(numba.config).items() if name.isupper()} == before


def test_memory_of_a_call_is_given_back_when_a_check_fails(compiled, frozen_of):
    import resource

    x, k = vector("x"), tg.scalar("k", dtype="int64")
    run = compiled(frozen_of([x, k], [tg.exp(x)[::-1][k] + tg.sum(tg.exp(x)[::-1])])).run
    a, outside = np.ones(100_000), np.asarray(10**6)
    run([a, outside])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(300):
        assert run([a, outside])[1]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # of 234 MB that were taken
