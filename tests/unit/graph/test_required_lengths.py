"""Lengths that are known by checks only: the checks come first, and what repeats shows in its type that it does."""

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph, freeze
from tg.graph.interpret import interpret
from tg.graph.traversal import inputs_of
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rules.catalog import PASSES, RULES

x, y = tg.vector("x"), tg.vector("y")
k = tg.scalar("k", dtype="int64")
column = tg.matrix("column", shape=(None, 1))
GIVEN = {
    id(x): np.array([2.0, -1.0, -3.0]),
    id(y): np.array([1.0, 2.0, 3.0]),
    id(k): np.array(1),
    id(column): np.arange(4.0)[:, None],
}
X, Y, C = GIVEN[id(x)], GIVEN[id(y)], GIVEN[id(column)]


def programs(outputs):
    """The inputs that outputs read, and their program as it is, rewritten, and rewritten to ops without expansions."""
    inputs = list(inputs_of(outputs))
    core = Rewrites(RULES, PASSES)
    better = rewrite(FunctionGraph.of(inputs, outputs), [core], supported=lambda op, types: True)
    plain = rewrite(FunctionGraph.of(inputs, outputs), [core], supported=lambda op, types: not type(op).has_expansion)
    assert not any(type(node.op).has_expansion for node in plain.nodes)
    return inputs, (freeze(inputs, outputs), better, plain)


def given(inputs, **changed):
    return [changed.get(v.name, GIVEN[id(v)]) for v in inputs]


ONES = {"sliced": lambda: x[:k], "masked": lambda: x[x > 0]}


@pytest.mark.parametrize("one", ONES.values(), ids=ONES)
@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (lambda w: [column @ w], [C @ X[:1]]),
        (lambda w: [tg.concatenate([w, w, w, w]) + column @ w], [X[[0] * 4] + C @ X[:1]]),
        (lambda w: [tg.squeeze(w, 0), w * y], [X[0], X[:1] * Y]),
        (lambda w: [w + w, tg.squeeze(w, 0), (w + w) * y], [X[:1] * 2, X[0], X[0] * 2 * Y]),
        (lambda w: [tg.squeeze(w, 0), tg.where(y > 2, y, w)], [X[0], [2.0, 2.0, 3.0]]),
        (lambda w: [tg.squeeze(w, 0), tg.broadcast_to(w, (2, 5))], [X[0], np.full((2, 5), X[0])]),
        (lambda w: [tg.squeeze(w, 0), tg.sum(w[:, None] * y, axis=0)], [X[0], X[0] * Y]),
        (lambda w: [tg.grad(tg.sum(column @ w * tg.squeeze(w, 0)), x)], [[2 * X[0] * C.sum(), 0.0, 0.0]]),
        (lambda w: [tg.broadcast_to(w, (1,))], [X[:1]]),
    ],
)  # fmt: skip
def test_a_length_that_a_check_shows_to_be_1_is_repeated_as_numpy_does(one, program, expected):
    inputs, both = programs(program(one()))
    for frozen in both:
        found = interpret(frozen, given(inputs))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, strict=True)
        assert [t.static for t in frozen.symbolic] == list(frozen.types)


@pytest.mark.parametrize("program", [lambda w: column @ w, lambda w: tg.broadcast_to(w, (1,))])
def test_where_such_a_length_is_not_1_the_check_says_so(program):
    inputs, both = programs([program(x[:k])])
    for frozen in both:
        with pytest.raises(tg.ShapeError, match=r"differ: .*\b2\b"):
            interpret(frozen, given(inputs, k=np.array(2)))


def test_a_check_that_always_fails_comes_before_what_it_protects():
    outputs = [x + y, tg.concatenate([tg.pad(x, 1)] * 2) + y]
    inputs, both = programs(outputs)
    for frozen in both:
        with pytest.raises(tg.ShapeError, match="lengths differ: 10 and 3"):
            interpret(frozen, given(inputs))
        with pytest.raises(tg.ShapeError, match="lengths differ: 3 and 2"):
            interpret(frozen, given(inputs, y=np.ones(2)))


def test_the_reference_backend_too_ends_before_what_an_impossible_check_protects():
    f = tg.function([x, y], [x + y, tg.concatenate([tg.pad(x, 1)] * 2) + y], backend="perform")
    with pytest.raises(tg.ShapeError, match="lengths differ: 10 and 3"):
        f(X, Y)


@pytest.mark.parametrize("depth", range(6))
def test_a_check_inside_calls_inside_calls_says_what_it_found(depth):
    v, i = tg.vector("v"), tg.scalar("i", dtype="int64")

    def program(v, i):
        return tg.sum(v[tg.stack([i, i])]) + tg.max(v)

    def inside(fn):
        return lambda *operands: tg.call(fn, *operands) + tg.min(operands[0])

    outer = program
    for _ in range(depth):
        outer = inside(outer)
    inputs, both = programs([outer(v, i)])
    for frozen in both:
        with pytest.raises(tg.BoundsError, match="index 7 is out of bounds for an axis of length 3"):
            interpret(frozen, [{"v": np.ones(3), "i": np.array(7)}[u.name] for u in inputs])
        with pytest.raises(tg.TgError):
            interpret(frozen, [{"v": np.ones(0), "i": np.array(0)}[u.name] for u in inputs])


def test_an_input_whose_length_can_only_be_1_is_refused_whatever_else_reads_it():
    z = tg.tensor("z", shape=(1, None, 1))
    product = tg.matmul(z, tg.transpose(z)) * 0.0
    outputs = [product, tg.sum(tg.concatenate([z[None], product[None]], -1), keepdims=True)]
    _, both = programs(outputs)
    for frozen in both:
        with pytest.raises(tg.ShapeError, match="differ: 1 and 2"):
            interpret(frozen, [np.ones((1, 2, 1))])
