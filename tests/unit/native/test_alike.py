"""Where long sequences of steps are cut, and which of the loops that they become are one but for numbers."""

import numpy as np
import pytest

import tg
from tg.graph.function_graph import freeze
from tg.graph.interpret import interpret
from tg_native.fusion.fused import fuse
from tg_native.fusion.fusion import MAX_STEPS, Choices
from tg_native.fusion.loop import Loop

WHOLE = Choices(gathers=True, ends=lambda node, graph: True, rows=True)


def fused(inputs, outputs):
    """The nodes that are loops, after a look at whether the same comes out bit by bit."""
    frozen = freeze(inputs, outputs)
    found = fuse(frozen, WHOLE)
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(5,) * v.type.ndim).astype(v.dtype) for v in inputs]
    for a, b in zip(interpret(frozen, arrays), interpret(found, arrays), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
    return [node for node in found.nodes if isinstance(node.op, Loop)], found


def steps(node):
    return sum(len(stage.program.nodes) for stage in node.op.stages)


def repeated(step, n, dtype="float64"):
    x = tg.vector("x", dtype)
    y = x
    for k in range(n):
        y = step(x, y, k)
    return x, y


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_many_steps_with_other_numbers_are_few_loops(dtype):
    kind = np.dtype(dtype).type
    x, y = repeated(lambda x, y, k: tg.sin(y) * kind(0.5) + x * kind(k + 2), 400, dtype)
    nodes, _ = fused([x], [y])
    assert len(nodes) > 8
    assert len({node.op for node in nodes}) <= 3  # the first one, the last one, and those between
    middle = nodes[len(nodes) // 2].op
    (stage,) = middle.stages
    assert [float(c.data) for c in stage.program.constants] == [0.5]  # the same in all of them
    assert all(t.dtype == dtype and not t.ndim for t in stage.program.input_types)


def test_a_group_ends_where_least_is_handed_on():
    """Of u, v and w nothing is left behind a step, of which there are no round number in a loop."""

    def step(x, y, k):
        u, v = tg.exp(y), tg.sin(y)
        w = u * v
        return tg.tanh(w + u) - v * (x + float(k + 2))

    x, y = repeated(step, 100)
    nodes, _ = fused([x], [y])
    assert all(len(node.outputs) == 1 for node in nodes)
    assert all(MAX_STEPS // 2 <= steps(node) <= MAX_STEPS for node in nodes[:-1])


def test_numbers_that_happen_to_be_equal_are_still_as_many_operands():
    x, y = repeated(lambda x, y, k: (tg.sin(y) + float(k % 5 + 2)) * float(k % 11 + 2), 400)
    nodes, found = fused([x], [y])
    assert len({node.op for node in nodes}) <= 3
    given = [[number for number in node.inputs if found.constant(number) is not None] for node in nodes]
    assert any(len(set(numbers)) < len(numbers) for numbers in given)


def test_divisors_bases_and_integers_stay_inside():
    x, y = repeated(lambda x, y, k: tg.maximum(tg.sin(y) / float(k + 2), x - tg.sin(x)), 300)
    nodes, found = fused([x], [y])
    assert all(found.constant(number) is None for node in nodes for number in node.inputs)
    n = tg.vector("n", "int64")
    m = n
    for k in range(300):
        m = (m * np.int64(k + 2)) % np.int64(1000)
    frozen = fuse(freeze([n], [m]), WHOLE)
    assert all(frozen.constant(number) is None for node in frozen.nodes for number in node.inputs)


def test_short_loops_are_written_as_they_are():
    x, z = tg.vector("x"), tg.vector("z")
    nodes, found = fused([x, z], [tg.sin(x) * 2.0 + 1.0, tg.sin(z) * 3.0 + 1.0])
    assert len(nodes) == 2
    assert all(found.constant(number) is None for node in nodes for number in node.inputs)
