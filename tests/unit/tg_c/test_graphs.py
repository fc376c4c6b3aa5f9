"""Whole graphs on the C backend: checks, inner graphs, lengths that depend on values, memory, source."""

import threading

import numpy as np
import pytest

import tg
from tg.errors import BoundsError, NoRuleError
from tg.graph.function_graph import freeze
from tg.types.tensor_type import TensorType
from tg_c.program import Unit


def vector(name, dtype="float64", n=None):
    return tg.Variable(TensorType(dtype, (n,)), name=name)


def test_lengths_that_differ_are_reported(agrees):
    x, y = vector("x"), vector("y")
    agrees([x, y], [x + y, tg.exp(x * y)], [np.ones(3), np.ones(3)])
    agrees([x, y], [x + y, tg.exp(x * y)], [np.ones(3), np.ones(4)])
    agrees([x, y], [tg.sum(x) + x[0], x @ y], [np.ones(3), np.ones(4)])


def test_the_first_check_that_fails_is_the_one_reported(agrees):
    x, y = vector("x"), vector("y")
    agrees([x, y], [tg.max(y), x[10], y[3]], [np.ones(3), np.ones(0)])
    agrees([x, y], [tg.max(y), x[10], y[3]], [np.ones(3), np.ones(2)])
    agrees([x, y], [tg.max(y), x[2], y[3]], [np.ones(3), np.ones(2)])


def test_reshaping_to_another_number_of_elements_is_reported(agrees):
    x, n = vector("x"), tg.scalar("n", dtype="int64")
    for size in (6, 5):
        agrees([x, n], [tg.reshape(x, (n, 2))], [np.arange(12.0), np.asarray(size)])


def test_lengths_that_depend_on_values(agrees):
    x, n = vector("x"), tg.scalar("n", dtype="int32")
    last = tg.cast(tg.sum(x), "int64")
    outputs = [tg.arange(n), tg.broadcast_to(tg.max(x), (2, n)), tg.arange(last), x[:last] * 2.0, tg.exp(x)]
    agrees([x, n], outputs, [np.array([1.0, 2.0, 0.5]), np.asarray(4, np.int32)])
    agrees([x, n], outputs[1:], [np.array([1.0, -1.0, 0.0]), np.asarray(0, np.int32)])


def test_a_negative_length_is_reported(agrees):
    n = tg.scalar("n", dtype="int64")
    for size in (3, 0, -3):
        agrees([n], [tg.sum(tg.broadcast_to(1.5, (n, n)))], [np.asarray(size)])
        agrees([n], [tg.broadcast_to(1.5, (n, n))], [np.asarray(size)])


def test_memory_that_is_not_there_is_an_error(compiled, frozen_of):
    n = tg.scalar("n", dtype="int64")
    run = compiled(frozen_of([n], [tg.sum(tg.exp(tg.cast(tg.arange(n), "float64"))[::2])])).run
    assert run([np.asarray(1)])[0][0] == 1
    with pytest.raises(MemoryError):
        run([np.asarray(2**61)])


def inner(x, y):
    return tg.sum(x) * y, tg.max(x), x[1:] - tg.max(y)


def test_inner_graphs(agrees):
    x, y = vector("x"), vector("y")
    outputs = [*tg.call(inner, x, y), *tg.call(inner, y, x)]
    agrees([x, y], outputs, [np.arange(3.0), np.arange(1.0, 5)])


@pytest.mark.parametrize("lengths", [(0, 3), (3, 0), (1, 1), (0, 0)])
def test_checks_of_inner_graphs_reach_the_caller(lengths, agrees):
    x, y = vector("x"), vector("y")
    agrees([x, y], [*tg.call(inner, x, y), y[0]], [np.arange(float(n)) for n in lengths])


def test_inner_graphs_nest_and_equal_ones_are_one_function(agrees, compiled, frozen_of):
    def outer(x):
        (a, _, c), (d, _, f) = tg.call(inner, x, x), tg.call(inner, x, x)
        return a + d, c * f

    x, y = vector("x"), vector("y")
    outputs = [v for z in (x, y, x * y) for v in tg.call(outer, z)]
    agrees([x, y], outputs, [np.arange(1.0, 4), np.arange(2.0, 5)])
    agrees([x, y], outputs, [np.arange(0.0), np.arange(0.0)])
    text = compiled(frozen_of([x, y], outputs)).source()
    assert "static i64 graph2(" in text
    assert "static i64 graph3(" not in text


def test_an_inner_graph_gives_lengths_that_only_it_knows(agrees):
    def head(x, n):
        return x[:n], tg.arange(n)

    x, n = vector("x"), tg.scalar("n", dtype="int64")
    a, b = tg.call(head, x, n)
    for size in (2, 0, 7):
        agrees([x, n], [a * 2, tg.sum(b), a, a[::-1]], [np.arange(5.0), np.asarray(size)])


def test_outputs_that_are_inputs_constants_and_views_are_copies(agrees):
    x = vector("x")
    c = tg.constant(np.arange(4.0))
    big = tg.constant(np.arange(4000.0))
    agrees([x], [x, x, c, big, x[::-1], tg.reshape(x, (2, -1)), tg.sum(x), tg.constant(2.5)], [np.arange(6.0)])


def test_large_constants_are_arguments_of_the_code(compiled, frozen_of):
    x = vector("x")
    texts = set()
    for k in range(2):
        data = np.arange(4000.0) + k
        made = compiled(frozen_of([x], [tg.sum(tg.constant(data) * tg.sum(x))]))
        texts.add(made.source().split("*/")[-1])
        (found,), _ = made.run([np.ones(2)])
        assert found == data.sum() * 2
    assert len(texts) == 1


def test_large_constants_of_inner_graphs(agrees):
    big = tg.constant(np.arange(3000.0))
    x = vector("x")
    agrees([x], [tg.call(lambda v: tg.sum(big * tg.sum(v)), x), tg.sum(big) * x], [np.arange(3.0)])


def test_constants_of_every_dtype_are_exact(agrees):
    values = [np.array([0.1, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e308]), np.array([0.1, 1e-45, 3e38], np.float32)]
    limits = map(np.iinfo, ("int8", "int64", "uint64", "int32", "uint8"))
    values += [np.array([limit.min, limit.max, 1], limit.dtype) for limit in limits]
    values.append(np.array([True, False]))
    scalars = [v.reshape(-1)[k].reshape(()) for v in values for k in range(v.size)]
    agrees([], [tg.constant(v.copy()) for v in (*values, *map(np.asarray, scalars))], [])


def test_temporaries_are_reused(compiled, frozen_of):
    x = vector("x")
    y = x
    for _ in range(30):
        y = tg.transpose(tg.exp(y))[::-1]
    assert compiled(frozen_of([x], [y])).source().count("tg_take(tg_times") <= 2


def test_a_long_chain(agrees):
    x = vector("x")
    y = x
    for _ in range(1000):
        y = y + 1.5
    agrees([x], [y], [np.arange(3.0)])


def test_eight_threads_share_a_function(compiled, frozen_of):
    x = vector("x")
    run = compiled(frozen_of([x], [tg.exp(x)[::-1] + tg.sum(x)])).run
    wrong = []

    def work(seed):
        a = np.random.default_rng(seed).normal(size=1000 + seed)
        wanted = np.exp(a)[::-1] + a.sum()
        for _ in range(100):
            (y,), _ = run([a])
            if not np.allclose(y, wanted):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_an_op_without_a_rule_is_named(compiled):
    x = vector("x")
    with pytest.raises(NoRuleError, match="Softmax"):
        compiled(freeze([x], [tg.softmax(x)]))


def test_the_source_shows_names_and_lines(compiled, frozen_of):
    x = vector("speed")
    text = compiled(frozen_of([x], [tg.named(tg.sum(x * 2.0), "energy") + 1.0])).source()
    assert "speed_0" in text
    assert "energy_" in text
    assert "test_graphs.py:" in text


def test_lines_are_no_part_of_what_is_compiled(frozen_of):
    from tg.link.linker import Request
    from tg_c import Options
    from tg_c.rules import RULES

    texts = set()
    for build in (lambda v: tg.sum(v * v), lambda v: tg.sum(
        v * v
    )):  # fmt: skip
        x = vector("x")
        texts.add(Unit(Request("c", Options(), RULES.get)).program(frozen_of([x], [build(x)])).text)
    assert len(texts) == 1


def test_a_name_may_be_a_word_of_c(agrees):
    names = ("double", "code", "status", "data", "exp", "loop0", "m1", "done", "größe", "2x", "a b", "i64", "")
    inputs = [tg.Variable(TensorType("float64", (None,)), name=n) for n in names]
    agrees(inputs, [sum(map(tg.exp, inputs))], [np.ones(3)] * len(names))


def test_a_function_on_the_backend():
    x = tg.vector("x")
    f = tg.function([x], [tg.softmax(x), tg.logsumexp(x), tg.grad(tg.sum(tg.exp(x) * tg.sin(x)), x)], backend="c")
    a = np.linspace(-2, 2, 7)
    p, s, g = f(a)
    np.testing.assert_allclose(p, np.exp(a) / np.exp(a).sum(), rtol=1e-14)
    np.testing.assert_allclose(s, np.log(np.exp(a).sum()), rtol=1e-14)
    np.testing.assert_allclose(g, np.exp(a) * (np.sin(a) + np.cos(a)), rtol=1e-14)
    k = tg.scalar("k", dtype="int64")
    g = tg.function([x, k], x[k], backend="c")
    with pytest.raises(BoundsError):
        g(a, 7)


@pytest.mark.parametrize("level", [0, 1, 3])
def test_the_level_of_optimisation_is_an_option(level, compiled, frozen_of):
    x = vector("x")
    (found,), _ = compiled(frozen_of([x], [tg.exp(x) + tg.sum(x)]), optimize=level).run([np.arange(3.0)])
    np.testing.assert_allclose(found, np.exp(np.arange(3.0)) + 3, rtol=1e-15)


def test_the_source_is_kept_on_request(compiled, frozen_of, tmp_path, monkeypatch):
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path))
    x = vector("mass")
    compiled(frozen_of([x], [x * 2.0]), keep_source=True)
    (kept,) = tmp_path.rglob("*.c")
    assert "mass_0" in kept.read_text(encoding="utf-8")
