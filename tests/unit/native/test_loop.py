"""Loops: what they compute, and which graphs the fusion makes them of."""

import time

import numpy as np
import pytest

import tg
from tg import plugin
from tg.graph.function_graph import freeze
from tg.graph.interpret import interpret
from tg.link.timed import text_of
from tg.plugin.coverage import coverage
from tg.types.tensor_type import TensorType
from tg_native.fusion.fused import fuse
from tg_native.fusion.fusion import ELEMENTWISE, MAX_STEPS, Choices, every
from tg_native.fusion.loop import Loop


def fused(inputs, outputs, choices=ELEMENTWISE):
    """The fused graph, after a look at whether it computes the same."""
    frozen = freeze(inputs, outputs)
    found = fuse(frozen, choices)
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=[4 if n is None else n for n in v.type.shape]).astype(v.dtype) for v in inputs]
    for a, b in zip(interpret(frozen, arrays), interpret(found, arrays), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
    for number, t in enumerate(found.types):
        assert t.ndim == len(found.symbolic[number].shape)
    return found


def loops(frozen):
    return [node.op for node in frozen.nodes if isinstance(node.op, Loop)]


def names(frozen):
    return [node.op.name for node in frozen.nodes]


def steps(loop):
    return [node.op.name for node in loop.stages[0].program.nodes]


def test_a_chain_is_one_loop_and_only_its_end_is_stored():
    x = tg.vector("x")
    found = fused([x], [tg.exp(tg.sin(x) * 2.0) + 1.0])
    assert names(found) == ["Loop"]
    (loop,) = loops(found)
    assert steps(loop) == ["sin", "multiply", "exp", "add"]
    assert len(found.nodes[0].outputs) == 1
    assert loop.extents == (None,)
    assert loop.outer == 0


def test_a_single_op_stays_unless_it_is_wanted():
    x = tg.vector("x")
    frozen = freeze([x], [tg.exp(x)])
    assert fuse(frozen) is frozen
    assert names(fuse(frozen, Choices(worthwhile=lambda nodes: True))) == ["Loop"]


def test_what_others_read_is_stored_too():
    x = tg.vector("x")
    e = tg.exp(x)
    found = fused([x], [tg.sum(e), e * e + 1.0])
    assert sorted(names(found)) == ["Loop", "Reduce"]
    (node,) = (n for n in found.nodes if isinstance(n.op, Loop))
    assert len(node.outputs) == 2


def test_shared_operands_join_and_others_do_not():
    x, y = tg.vector("x"), tg.vector("y")
    assert names(fused([x], [tg.sin(x), tg.cos(x)])) == ["Loop"]
    assert sorted(names(fused([x, y], [tg.sin(x), tg.cos(y)]))) == ["cos", "sin"]


def test_no_loop_depends_on_itself_through_other_ops():
    x = tg.vector("x")
    e = tg.exp(x)
    p = e / tg.sum(e)
    found = fused([x], [p * 2.0 + e])
    assert names(found).index("Reduce") < len(found.nodes) - 1
    assert len(loops(found)) == 1
    assert names(found)[0] == "exp"


def test_a_producer_moves_to_its_only_readers():
    x = tg.vector("x")
    shifted = tg.exp(x) * 2.0  # read only where the sum is known
    found = fused([x], [shifted + tg.sum(tg.sin(x))])
    assert names(found) == ["sin", "Reduce", "Loop"]
    assert steps(loops(found)[0]) == ["exp", "multiply", "add"]


def test_loops_of_different_shapes_stay_apart():
    x, m = tg.vector("x"), tg.matrix("m")
    found = fused([x, m], [tg.exp(x) * 2.0 + m * 3.0])
    assert [steps(loop) for loop in loops(found)] == [["exp", "multiply"], ["multiply", "add"]]


def test_scalars_are_operands_and_constants_are_inside():
    x, s = tg.vector("x"), tg.scalar("s")
    found = fused([x, s], [(x - tg.exp(s)) * 2.0 + tg.constant([1.0])])
    (loop,) = loops(found)
    program = loop.stages[0].program
    assert program.arity == 2
    assert len(program.constants) == 2
    assert all(t.ndim == 0 for t in program.types)


def test_the_space_keeps_its_rank_where_all_arrays_are_constants():
    s = tg.scalar("s")
    fused([s], [tg.exp(tg.constant([[1.0]]) * s) + s])


def test_checks_count_as_readers():
    x = tg.vector("x")
    i = tg.cast(x * 0.0, "int64")
    found = fused([x], [x[i] * 2.0 + 1.0])
    assert found.checks
    assert len(found.checks) == len(freeze([x], [x[i]]).checks)


def test_several_dtypes_in_one_loop():
    x = tg.vector("x", dtype="float32")
    found = fused([x], [tg.where(x > 0, tg.cast(x, "float64") * 2.0, 1.0), tg.cast(x * 100.0, "int8")])
    assert names(found) == ["Loop"]


def test_names_and_lines_are_kept():
    x = tg.vector("x")
    found = fused([x], [tg.named(tg.exp(x) * 2.0, "energy")])
    assert "energy" in found.names.values()
    assert found.origins[0].locs
    assert found.origins[0].rules[-1] == "fuse_loops"
    assert "x" in loops(found)[0].stages[0].program.names.values()


def chain(n):
    x = tg.vector("x")
    y = x
    for _ in range(n):
        y = tg.sin(y) + 1.0
    frozen = freeze([x], [y])
    assert frozen.symbolic  # computed once, by whoever is first
    return frozen


def seconds(frozen):
    def once():
        start = time.process_time()
        fuse(frozen)
        return time.process_time() - start

    return min(once() for _ in range(3))


@pytest.mark.long
def test_long_chains_become_several_loops_in_linear_time():
    assert max(len(steps(loop)) for loop in loops(fuse(chain(500)))) <= MAX_STEPS
    assert seconds(chain(8000)) < 24 * max(seconds(chain(1000)), 0.01)


def test_a_loop_infers_the_broadcast_shape():
    x = tg.vector("x")
    (loop,) = loops(fused([x], [tg.exp(x) + 1.0, x * 2.0]))
    assert loop.infer(TensorType("float64", (5,))) == (TensorType("float64", (5,)),) * 2
    assert loop.infer(TensorType("float64", (None,))) == (TensorType("float64", (None,)),) * 2


def test_equal_loops_are_equal():
    made = []
    for name in ("x", "z"):
        x = tg.vector(name)
        made.append(loops(fuse(freeze([x], [tg.exp(x) + 1.0])))[0])
    assert made[0] == made[1]
    assert hash(made[0]) == hash(made[1])


def test_a_loop_says_what_it_does_to_elements_and_other_ops_do_nothing_to_them():
    x, m = tg.vector("x"), tg.matrix("m")
    found = fused([x, m], [tg.sum(tg.exp(x) * 2.0), m @ x], Choices(ends=every, columns=every))
    told = {node.op.name: (node.op.element_steps, len(node.op.element_programs)) for node in found.nodes}
    assert told.pop("Loop") == (("exp", "multiply", "add"), 1)
    assert set(told.values()) == {((), 0)}
    assert {text_of(node.op) for node in found.nodes} >= {"loop of exp, multiply, add"}


def test_texts_know_loops_and_no_table_of_what_backends_compute_does():
    x = tg.vector("x")
    found = fused([x], [tg.exp(x) * 2.0 + x])
    assert tg.parse(tg.to_text(found)) == found
    (family,) = (f for f in plugin.registry().families() if Loop in f.ops)
    assert family.is_lowered
    assert "Loop" not in {row.op for row in coverage(plugin.registry(), ["perform"])}
