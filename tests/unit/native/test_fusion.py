"""Fusion with reductions, gathers, scatters and rows: which loops are made, and that they compute the same."""

import numpy as np
import pytest

import tg
from tg.graph.function_graph import freeze
from tg.graph.interpret import interpret
from tg.ops.elementwise.arithmetic import add
from tg.ops.indexing import Scatter, wrap_index
from tg.ops.reduction import Reduce
from tg_native.fusion.fused import fuse
from tg_native.fusion.fusion import Choices, every
from tg_native.fusion.loop import Loop

WHOLE = Choices(gathers=True, ends=lambda node, graph: True, rows=True)


def fused(inputs, outputs, choices=WHOLE, lengths=(5, 7)):
    """The fused graph, after a look at whether it computes the same; unknown lengths by the place of the axis."""
    frozen = freeze(inputs, outputs)
    found = fuse(frozen, choices)
    rng = np.random.default_rng(0)
    arrays = []
    for v in inputs:
        shape = [n if n is not None else lengths[k - v.type.ndim] for k, n in enumerate(v.type.shape)]
        integer = v.dtype.startswith("int")
        arrays.append((rng.integers(0, 3, shape) if integer else rng.normal(size=shape)).astype(v.dtype))
    for a, b in zip(interpret(frozen, arrays), interpret(found, arrays), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-13)
    for number, t in enumerate(found.types):
        assert t.ndim == len(found.symbolic[number].shape)
    return found


def loops(frozen):
    return [node.op for node in frozen.nodes if isinstance(node.op, Loop)]


def names(frozen):
    return [node.op.name for node in frozen.nodes]


def results(loop):
    return [r for stage in loop.stages for r in stage.results]


def test_a_log_density_and_its_gradient_are_one_pass():
    mu, x = tg.scalar("mu"), tg.vector("x")
    z = x - mu
    found = fused([mu, x], [tg.sum(z * z), tg.sum(z)])
    assert len(loops(found)) == 1
    (loop,) = loops(found)
    assert [(r.fn, r.axes) for r in results(loop)] == [(add, (-1,)), (add, (-1,))]
    assert "Reduce" not in names(found)


def test_sums_of_the_same_array_are_one_loop():
    x = tg.vector("x")
    found = fused([x], [tg.sum(x), tg.sum(tg.abs(x)), tg.max(tg.concatenate([x, tg.constant([0.0])]))])
    assert len(loops(found)) == 1


def test_what_a_reduction_gives_is_read_by_another_loop():
    x = tg.vector("x")
    e = tg.exp(x)
    found = fused([x], [e / tg.sum(e)])
    assert [len(loop.stages) for loop in loops(found)] == [1]
    assert names(found)[-1] != "Loop"


def test_gathers_and_scatters_stay_in_the_loop():
    a, x, i = tg.vector("a"), tg.vector("x"), tg.vector("i", dtype="int64")
    z = (x - a[i]) * 2.0
    j = wrap_index(i, a.shape[0])
    found = fused([a, x, i], [tg.sum(z * z), Scatter((-1,), add)(a, z, j)])
    assert not {"Gather", "Scatter", "WrapIndex"} & set(names(found))
    assert any(r.into is not None for loop in loops(found) for r in results(loop))


def test_what_is_scattered_early_waits_for_the_loop_that_reads_its_places():
    a, x, i = tg.vector("a"), tg.vector("x"), tg.vector("i", dtype="int64")
    j, b = wrap_index(i, a.shape[0]), tg.exp(a)
    places = Scatter((-1,), add)(tg.zeros_like(a), tg.ones_like(x), j)
    z = (x - tg.take(b, j, mode="clip")) * 2.0
    found = fused([a, x, i], [places * tg.sum(z * z)])
    programs = [[n.op.name for stage in loop.stages for n in stage.program.nodes] for loop in loops(found)]
    assert [names for names in programs if "Gather" in names] == [names for names in programs if "WrapIndex" in names]
    assert "WrapIndex" not in names(found)


def test_ends_are_the_backend_s_choice():
    x = tg.vector("x")
    only_sums = Choices(ends=lambda node, graph: isinstance(node.op, Reduce))
    found = fused([x], [tg.sum(tg.exp(x) * x)], only_sums)
    assert names(found)[0] == "Loop"
    assert names(fused([x], [tg.sum(tg.exp(x) * x)], Choices())) == ["Loop", "Reduce"]


def test_a_loop_that_a_check_needs_does_no_more():
    a, x, i = tg.vector("a"), tg.vector("x"), tg.vector("i", dtype="int64")
    found = fused([a, x, i], [a[i] * x + 1.0, tg.cast(i, "float64") * x])
    assert found.checks
    ends = [{r.fn.name for r in results(loop) if r.fn} for loop in loops(found)]
    assert sorted(ends, key=len) == [set(), {"minimum", "maximum"}]


def guarded(inputs, outputs):
    return fused(inputs, outputs, WHOLE._replace(guards=every))


def test_guards_of_indices_are_reduced_in_the_loop_that_they_guard():
    a, x, i = tg.vector("a"), tg.vector("x"), tg.vector("i", dtype="int64")
    found = guarded([a, x, i], [tg.sum((x * a[i]) ** 2)])
    (loop,) = loops(found)
    assert {r.fn.name for r in results(loop)} == {"minimum", "maximum", "add"}


def test_checks_that_need_no_loop_come_before_those_that_do():
    a, x, i = tg.vector("a"), tg.vector("x"), tg.vector("i", dtype="int64")
    found = guarded([a, x, i], [tg.sum((x * a[i]) ** 2)])
    assert [c.descriptor.error for c in found.checks] == ["ShapeError", "BoundsError"]


def test_what_is_scattered_into_a_new_array_is_before_its_guards():
    x, i = tg.vector("x"), tg.vector("i", dtype="int64")
    into = Scatter((-1,), add)(tg.zeros(7), x * 2.0, wrap_index(i, 7))
    assert len(loops(guarded([x, i], [into]))) == 1


def test_nothing_is_stored_or_put_into_an_operand_before_its_guards():
    a, x, i = tg.vector("a"), tg.vector("x"), tg.vector("i", dtype="int64")
    into = Scatter((-1,), add)(a, x * 2.0, wrap_index(i, a.shape[0]))
    for outputs in ([a[i] * x], [tg.sum(a[i] * x), a[i] * x], [into]):
        assert len(loops(guarded([a, x, i], outputs))) == 2


def softmax(x):
    e = tg.exp(x - tg.max(x, axis=-1, keepdims=True))
    return e / tg.sum(e, axis=-1, keepdims=True)


def test_softmax_is_one_loop_of_three_stages():
    x = tg.tensor("x", "float64", (None, 7))
    found = fused([x], [softmax(x)])
    (loop,) = loops(found)
    assert (loop.outer, len(loop.stages)) == (1, 3)
    assert [r.stored for r in results(loop)] == [False, False, False, True]


def test_layer_norm_is_one_loop():
    x, g = tg.tensor("x", "float64", (None, None)), tg.vector("g")
    centred = x - tg.mean(x, axis=-1, keepdims=True)
    scale = tg.sqrt(tg.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)
    found = fused([x, g], [centred / scale * g])
    assert max(len(loop.stages) for loop in loops(found)) >= 4


def test_rows_of_another_axis_are_no_rows():
    x = tg.tensor("x", "float64", (4, 4))
    found = fused([x], [x * 2.0 - tg.sum(x * 2.0, axis=-1)[None, :]])
    assert all(len(loop.stages) == 1 for loop in loops(found))


def test_rows_through_another_op_stay_apart():
    x = tg.tensor("x", "float64", (5, 7))
    s = tg.sort(tg.sum(x * x, axis=-1))
    found = fused([x], [(x * x) / s[:, None]])
    assert all(len(loop.stages) == 1 for loop in loops(found))


def test_rows_that_need_one_another_through_a_loop_stay_apart():
    x, y, z = tg.matrix("x"), tg.matrix("y"), tg.matrix("z")
    total = tg.sum(tg.exp(x), -1, keepdims=True)
    shifted, scaled = tg.sin(y) + tg.cumsum(total, 0), y * tg.cumsum(tg.cos(z), -1)  # one loop: both read y
    found = fused([x, y, z], [tg.exp(x) / total + tg.cumsum(scaled, -1), shifted])
    assert [len(loop.stages) for loop in loops(found)] == [1, 1, 1]


@pytest.mark.parametrize("seed", [*range(8), 262])
def test_loops_over_several_spaces_never_need_one_another(seed):
    rng = np.random.default_rng(seed)
    inputs = [tg.matrix("x"), tg.matrix("y"), tg.matrix("z")]
    whole, rows = [*inputs], [tg.sum(v, -1, keepdims=True) for v in inputs]
    for _ in range(40):
        a, b, r = whole[rng.integers(len(whole))], whole[rng.integers(len(whole))], rows[rng.integers(len(rows))]
        kind = rng.integers(6)
        if kind < 2:
            whole.append(tg.tanh(a + r) if kind else tg.sin(a) * b)
        elif kind == 2:
            whole.append(tg.cumsum(a, -1) / 8)
        elif kind == 3:
            rows.append(tg.cumsum(r, 0) / 8)
        else:
            rows.append(tg.max(a, -1, keepdims=True) if kind == 4 else tg.cos(r) + tg.mean(b, -1, keepdims=True))
    fused(inputs, [*whole[-3:], *rows[-3:]])


def test_axes_of_length_one_do_not_part_a_loop():
    x = tg.tensor("x", "float64", (None, 1))
    found = fused([x], [tg.exp(x)[:, 0] * 2.0, tg.sin(x)])
    assert len(loops(found)) == 1
    assert loops(found)[0].extents == (None,)


def test_other_reductions_than_of_rows_or_everything_stay_outside():
    x = tg.tensor("x", "float64", (3, 5, 7))
    y = tg.exp(x) * x
    found = fused([x], [tg.sum(y, axis=-1), tg.sum(y, axis=(-1, -2)), tg.sum(y, axis=0), tg.sum(y)])
    assert names(found).count("Reduce") == 2


def test_columns_that_a_loop_computes_are_reduced_in_it_where_the_backend_wants_that():
    x, choices = tg.tensor("x", "float64", (3, 5, 7)), WHOLE._replace(columns=lambda node, graph: True)
    y = tg.exp(x) * x
    found = fused([x], [tg.sum(y, axis=0), y * 2.0, tg.sum(y)], choices)
    (loop,) = loops(found)
    assert "Reduce" not in names(found)
    assert loop.outer == 1
    assert [r.axes for r in results(loop) if r.fn] == [(-3,), (-3, -2, -1)]
    found = fused([x], [tg.sum(y, axis=(0, 1)), tg.sum(y, axis=-1), tg.sum(y, axis=1)], choices)
    assert names(found).count("Reduce") == 1
    assert "Reduce" in names(fused([x], [tg.sum(x, axis=0), y], choices))


def test_what_reads_reduced_columns_is_another_loop():
    x, choices = tg.tensor("x", "float64", (5, 7)), WHOLE._replace(columns=lambda node, graph: True)
    y = tg.exp(x)
    found = fused([x], [(y - tg.mean(y, axis=0)) * 2.0, tg.sum(y, axis=-1)], choices)
    assert all(len(loop.stages) == 1 for loop in loops(found))
    assert len(loops(found)) >= 2


def test_scattered_values_keep_their_order():
    x, v, i = tg.vector("x"), tg.vector("v"), tg.vector("i", dtype="int64")
    found = fused([x, v, i], [Scatter((-1,))(x, v * 2.0, tg.clip(i, 0, 2))])
    assert any(r.into is not None and r.fn is None for loop in loops(found) for r in results(loop))


@pytest.mark.parametrize("n", [0, 1])
def test_loops_of_no_and_of_one_element(n):
    x = tg.vector("x")
    frozen = freeze([x], [tg.sum(tg.exp(x) * 2.0), tg.exp(x) + 1.0])
    found = fuse(frozen, WHOLE)
    for a, b in zip(interpret(frozen, [np.ones(n)]), interpret(found, [np.ones(n)]), strict=True):
        np.testing.assert_array_equal(a, b)
