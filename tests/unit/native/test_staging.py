"""Where the stages of a loop find what they read, told from the loop and its operands as a backend has them."""

import tg
from tg.graph.function_graph import freeze
from tg.ops.indexing import Gather, WrapIndex
from tg_native.fusion.fused import fuse
from tg_native.fusion.fusion import Choices
from tg_native.fusion.loop import Loop
from tg_native.loops.staging import Staging, bounded_by, split
from tg_native.plan.values import Array, Scalar, row_major

WHOLE = Choices(gathers=True, ends=lambda node, graph: True, columns=lambda node, graph: True, rows=True)


def staging(inputs, outputs):
    """The one loop of a program, over arrays whose lengths are known."""
    frozen = fuse(freeze(inputs, outputs), WHOLE)
    (node,) = (node for node in frozen.nodes if isinstance(node.op, Loop))
    operands = []
    for number in node.inputs:
        t = frozen.types[number]
        array = Array(t.dtype, f"p{number}", t.shape, row_major(t.shape))
        operands.append(array if t.ndim else Scalar(t.dtype, f"s{number}"))
    return Staging(node.op, operands)


def softmax(x):
    e = tg.exp(x - tg.max(x, axis=-1, keepdims=True))
    return e / tg.sum(e, axis=-1, keepdims=True)


def test_numbers_and_rows_that_later_stages_read():
    x = tg.tensor("x", "float64", (3, 5))
    found = staging([x], [softmax(x)])
    kinds = [(found.is_scalar(j), found.is_row(j), found.is_total(j)) for j in range(len(found.results))]
    most, row, total, quotient = (True, False, False), (False, True, False), (True, False, False), (False, False, False)
    assert sorted(kinds) == sorted([most, row, total, quotient])
    assert found.space == [3, 5]
    assert all(found.is_inner(s) for s in range(len(found.op.stages)))


def test_a_row_lies_where_a_result_is_going_to_be_unless_later_stages_read_other_memory():
    x = tg.tensor("x", "float64", (3, 5))
    e = tg.exp(x - tg.max(x, axis=-1, keepdims=True))
    found = staging([x], [softmax(x)])
    ((row, host),) = found.hosts().items()
    assert found.is_row(row)
    assert found.results[host][1].stored
    assert staging([x], [x * e / tg.sum(e, axis=-1, keepdims=True)]).hosts() == {}
    narrow = tg.cast(softmax(x), "float32")
    assert staging([x], [narrow]).hosts() == {}


def test_totals_and_what_runs_once_a_row():
    x = tg.tensor("x", "float64", (3, 5))
    m = tg.sum(x, axis=-1, keepdims=True)
    r = tg.exp(m)
    found = staging([x], [x * r, tg.sum(x * x)])
    inner = [found.is_inner(s) for s in range(len(found.op.stages))]
    assert True in inner
    assert False in inner  # the exponential of a row's sum
    totals = [j for j, _ in enumerate(found.results) if found.is_total(j)]
    assert len(totals) == 1
    s = found.results[totals[0]][0]
    assert totals[0] in dict(found.numbered(s))


def test_columns_are_no_numbers_of_a_row():
    x = tg.tensor("x", "float64", (3, 5))
    found = staging([x], [tg.sum(x * x, axis=0), tg.sum(x * x)])
    kinds = {(found.is_column(j), found.is_scalar(j), found.is_total(j)) for j in range(len(found.results))}
    assert kinds == {(True, False, False), (False, True, True)}


def test_positions_are_bounded_by_all_arrays_that_they_are_used_for():
    a, i = tg.vector("a"), tg.vector("i", dtype="int64")
    frozen = fuse(freeze([a, i], [a[i] * tg.exp(a[i])]), WHOLE)
    (node,) = (node for node in frozen.nodes if isinstance(node.op, Loop) and _gathers(node.op))
    program = node.op.stages[0].program
    tables = {k: [f"n{k}"] for k, t in enumerate(program.input_types) if t.ndim}
    wrapped = next(n.outputs[0] for n in program.nodes if isinstance(n.op, WrapIndex))
    found = bounded_by(program.nodes, tables, [((wrapped,), ["m"])])
    assert found[wrapped][-1] == "m"
    assert set(found[wrapped]) == {"m", *(text for texts in tables.values() for text in texts)}


def _gathers(loop):
    return any(isinstance(n.op, Gather) for stage in loop.stages for n in stage.program.nodes)


def test_steps_that_a_row_shares_are_told_from_the_others():
    x, s = tg.vector("x"), tg.scalar("s")
    frozen = freeze([x, s], [x * tg.exp(s) + tg.exp(s) * s])
    varying = {0}
    early, late = split(frozen.nodes, varying)
    assert {n.op.name for n in early} >= {"exp"}
    assert all(varying.isdisjoint(n.inputs) for n in early)
    assert {n.outputs[0] for n in late} | {0} == varying
