import numpy as np
import pytest

import tg
from tg.errors import BoundsError, DomainError, RewriteError, ShapeError
from tg.graph import loc as locs
from tg.graph.checks import Check, Descriptor
from tg.graph.function_graph import FunctionGraph, freeze
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant
from tg.graph.op import Op
from tg.ops.control import Call
from tg.types.tensor_type import TensorType


def ops_of(graph):
    return [node.op.name for node in graph.nodes]


def replacing(old, new, rule="rule"):
    """A transform: applications of an elementwise function become what `new` makes of their operands."""

    def transform(node, outputs):
        return (rule, (new(*node.inputs),)) if node.op.rule_key is old else None

    return transform


# --- importing --------------------------------------------------------------------------------------------------------


def test_equal_nodes_of_a_user_become_one():
    x = tg.vector("x")
    assert ops_of(freeze([x], [tg.exp(x) + tg.exp(x)])) == ["exp", "add"]


def test_equal_constants_become_one_and_others_stay_apart():
    x = tg.vector("x")
    assert len(freeze([x], [(x + 1.0) * 1.0]).constants) == 1
    assert len(freeze([x], [(x + 0.0) * -0.0]).constants) == 2


def test_nodes_that_differ_in_the_type_of_a_field_stay_apart():
    class Tagged(Op):
        tag: object

        def infer(self, x):
            return (x,)

    x = tg.vector("x")
    assert len(freeze([x], [Tagged(1)(x), Tagged(True)(x), Tagged(1.0)(x), Tagged(1)(x)]).nodes) == 3


def test_what_is_not_needed_is_not_imported():
    x = tg.vector("x")
    tg.exp(x)
    assert freeze([x], [x]).nodes == ()


def test_the_users_nodes_stay_as_they_were():
    x = tg.vector("x")
    y = tg.exp(x)
    before = (y.apply, y.apply.inputs, y.lengths)
    graph = FunctionGraph.of([x], [y])
    assert (y.apply, y.apply.inputs, y.lengths) == before
    assert graph.inputs[0] is not x


def test_an_input_that_is_not_listed_is_an_error_that_shows_its_line():
    x, y = tg.vector("x"), tg.vector("y")
    with pytest.raises(RewriteError, match="neither an input nor computed") as caught:
        freeze([x], [x + y])
    assert "test_function_graph.py" in str(caught.value)


def test_a_computed_variable_may_be_an_input_and_then_cuts_the_graph():
    x = tg.vector("x")
    y = tg.exp(x)
    assert ops_of(freeze([y], [tg.sin(y)])) == ["sin"]


def test_names_go_into_a_side_table_and_the_identity_that_gave_them_is_gone():
    x = tg.vector("x")
    graph = freeze([x], [tg.sin(tg.named(tg.exp(x), "rate"))])
    assert ops_of(graph) == ["exp", "sin"]
    assert graph.names == {0: "x", 1: "rate"}


def test_a_named_input_keeps_its_own_name():
    x = tg.vector("x")
    graph = freeze([x], [tg.exp(tg.named(x, "other"))])
    assert graph.names == {0: "x"}


def test_the_first_name_of_equal_nodes_stays():
    x = tg.vector("x")
    graph = freeze([x], [tg.named(tg.exp(x), "a") + tg.named(tg.exp(x), "b")])
    assert graph.names[1] == "a"


# --- specialising -----------------------------------------------------------------------------------------------------


def test_unknown_lengths_of_one_specialise_every_type():
    x, y = tg.matrix("x"), tg.matrix("y")
    graph = FunctionGraph.of([x, y], [x + y], ones=[(1, 0)]).freeze()
    assert graph.input_types[1].shape == (1, None)
    assert len(graph.checks) == 1  # the second axes must agree, the first broadcast


def test_two_unknown_lengths_that_meet_are_checked_once():
    x, y = tg.vector("x"), tg.vector("y")
    graph = freeze([x, y], [x + y, x * y, tg.exp(x) - y])
    assert len(graph.checks) == 1
    with pytest.raises(ShapeError, match="add: axis -1: lengths differ: 2 and 3"):
        interpret(graph, [np.zeros(2), np.zeros(3)])


def test_lengths_that_are_equal_by_construction_need_no_check():
    x = tg.matrix("x")
    assert freeze([x], [x + tg.exp(x), x.T + x.T, tg.reshape(x, (-1,)) + tg.reshape(tg.exp(x), (-1,))]).checks == ()
    assert freeze([x], [x.T.reshape((-1,)) + x.reshape((-1,))]).checks == ()


def test_inner_graphs_are_specialised_too():
    x = tg.tensor("x", shape=(3,))
    v = tg.vector("v")
    inner = Call(freeze([v], [tg.exp(v)]))
    (node,) = freeze([x], [inner(x)]).nodes
    assert node.op.graph.input_types == (TensorType("float64", (3,)),)
    assert node.op.graph.output_types == (TensorType("float64", (3,)),)


def test_lengths_found_different_while_importing_are_an_error_that_shows_the_operands():
    x = tg.vector("x")
    inner = Call(freeze([v := tg.vector("v")], [v + tg.constant(np.zeros(3))]))
    with pytest.raises(ShapeError):
        freeze([x], [inner(x) + tg.constant(np.zeros(4))])


# --- checks -----------------------------------------------------------------------------------------------------------


def test_checks_are_explicit_with_the_users_line():
    x = tg.vector("x")
    y = tg.max(x)
    (check,) = freeze([x], [y]).checks
    assert check.descriptor.error == "DomainError"
    assert check.descriptor.loc.code.co_name == "test_checks_are_explicit_with_the_users_line"


def test_a_check_that_is_a_constant_is_dropped_where_it_holds():
    class Sure(Op):
        holds: bool

        def infer(self, x):
            return (x,)

        def checks(self, inputs, outputs):
            return (Check(tg.constant(self.holds), (), Descriptor("DomainError", "no")),)

    x = tg.vector("x")
    assert freeze([x], [Sure(True)(x)]).checks == ()
    assert len(freeze([x], [Sure(False)(x)]).checks) == 1


@pytest.mark.parametrize("mode", ["off", "default"])
def test_what_shapes_alone_decide_is_checked_before_values(mode):
    x, i, y = tg.vector("x"), tg.vector("i", "int64"), tg.vector("y")
    f = tg.function([x, i, y], [x[i], x * y], backend="perform", mode=mode)
    assert [c.descriptor.error for c in f.graph.checks] == ["ShapeError", "BoundsError"]
    with pytest.raises(ShapeError, match="3 and 2"):  # NumPy, whose line with x[i] comes first, has IndexError
        f(np.ones(3), np.array([7]), np.ones(2))
    with pytest.raises(BoundsError, match="index 7"):
        f(np.ones(3), np.array([7]), np.ones(3))


def test_a_length_that_a_value_decides_is_checked_in_its_place():
    x, i, y, n = tg.vector("x"), tg.vector("i", "int64"), tg.vector("y"), tg.scalar("n", "int64")
    graph = freeze([x, i, y, n], [x[i], x[x > 0] * y, y[:n] + x])
    kinds = [c.descriptor.error for c in graph.checks]
    assert kinds[0] == "BoundsError"
    assert set(kinds[1:]) == {"ShapeError"}


@pytest.mark.parametrize("mode", ["off", "default"])
@pytest.mark.parametrize("backend", ["perform", "c"])
def test_of_two_lengths_that_should_be_equal_that_is_told_which_is_at_fault(backend, mode):
    x, i, y, k = tg.vector("x"), tg.vector("i", "int64"), tg.vector("y"), tg.scalar("k", "int64")
    v = x[:k]
    f = tg.function([x, i, y, k], [x[i], v * y, tg.squeeze(v, 0)], backend=backend, mode=mode)
    at = np.ones(3), np.array([7])
    with pytest.raises(ShapeError, match="multiply: axis -1: lengths differ: 1 and 3"):
        f(*at, np.ones(3), 1)
    with pytest.raises(ShapeError, match="squeeze: axis -1: lengths differ: 3 and 1"):
        f(*at, np.ones(3), 3)
    with pytest.raises(BoundsError, match="index 7"):
        f(*at, np.ones(1), 1)
    np.testing.assert_array_equal(f(np.full(3, 2.0), np.array([0]), np.full(1, 3.0), 1)[1], [6.0])


@pytest.mark.parametrize("mode", ["off", "default"])
@pytest.mark.parametrize("backend", ["perform", "c"])
def test_where_a_length_stands_for_one_that_values_decide_both_that_need_it_are_named(backend, mode):
    """Whether w has one element, and w * y fails, or three, and squeeze does, is not known when y's length is asked."""
    x, y, z = tg.vector("x"), tg.vector("y"), tg.vector("z")
    w = x[x > 0]
    f = tg.function([x, y], [w * y, tg.squeeze(w, 0)], backend=backend, mode=mode)
    for first in ([1.0, -1.0], [1.0, 1.0, 1.0]):
        with pytest.raises(ShapeError, match=r"^multiply: axis -1 and squeeze: axis -1: lengths differ: 3 and 1"):
            f(np.array(first), np.ones(3))
    np.testing.assert_array_equal(f(np.array([2.0, -1.0]), np.array([3.0]))[0], [6.0])
    f = tg.function([x, y, z], [w * y, w + z], backend=backend, mode=mode)
    with pytest.raises(ShapeError, match=r"^multiply: axis -1 and add: axis -1: lengths differ: 3 and 2"):
        f(np.ones(2), np.ones(3), np.ones(2))
    with pytest.raises(ShapeError, match=r"^multiply: axis -1: lengths differ: 2 and 3"):
        f(np.ones(2), np.ones(3), np.ones(3))


def test_a_length_that_is_an_operands_own_names_that_op_alone():
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], [x[x > 0] * y, tg.squeeze(y, 0)], backend="perform")
    with pytest.raises(ShapeError, match=r"^squeeze: axis -1: lengths differ: 3 and 1"):
        f(np.ones(1), np.ones(3))


@pytest.mark.parametrize("backend", ["perform", "c"])
def test_an_index_is_compared_with_a_length_after_what_shapes_decide(backend):
    x, y, k = tg.vector("x"), tg.vector("y"), tg.scalar("k", "int64")
    f = tg.function([x, y, k], [x[k], x * y], backend=backend)
    with pytest.raises(ShapeError, match="3 and 2"):
        f(np.ones(3), np.ones(2), 7)
    with pytest.raises(BoundsError, match="index 7"):
        f(np.ones(3), np.ones(3), 7)


def test_a_step_of_0_is_told_before_the_lengths_that_follow_from_it():
    x, y, step = tg.vector("x"), tg.vector("y"), tg.scalar("step", "int64")
    f = tg.function([x, y, step], [x[::step] * y, tg.squeeze(y, 0)], backend="perform")
    with pytest.raises(DomainError, match="found 0"):
        f(np.ones(3), np.ones(3), 0)
    with pytest.raises(ShapeError, match="multiply"):
        f(np.ones(3), np.ones(3), 2)


def test_a_later_check_that_a_length_is_1_is_made_before_what_relies_on_it():
    x = tg.matrix("x")
    flat = tg.reshape(x, (-1,))
    column = flat[tg.nonzero(flat > 0)[0]][:, None]
    outputs = [column[None] >= x[:, :, None] / column[:, :, None], tg.specify_shape(column, (1, 1))]
    f = tg.function([x], outputs, backend="perform")
    with pytest.raises(ShapeError, match="lengths differ: 3 and "):
        f(np.array([[0.0, -0.5, 20.0], [2.5, 0.1, 0.5], [1.3, 3.0, 0.7]]))


def test_the_checks_of_an_inner_graph_become_one_on_its_status():
    x = tg.vector("x")
    graph = freeze([x], [tg.call(lambda v: tg.max(v) + tg.min(v), x)])
    (check,) = graph.checks
    assert {d.error for d in check.descriptor.inner} == {"DomainError"}
    with pytest.raises(tg.DomainError):
        interpret(graph, [np.zeros(0)])


# --- thawing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [
        lambda x: [tg.sum(tg.exp(x))],
        lambda x: [tg.max(x), x[2], tg.named(x * 2.0, "twice")],
        lambda x: [tg.call(tg.max, x) + x],
        lambda x: [x, tg.constant(2.0)],
    ],
)
def test_thawing_and_freezing_changes_nothing(program):
    x = tg.vector("x")
    graph = freeze([x], program(x))
    found = FunctionGraph.thaw(graph).freeze()
    assert found == graph
    assert found.names == graph.names
    assert found.types == graph.types
    assert {k: [str(loc) for loc in o.locs] for k, o in found.origins.items()} == {
        k: [str(loc) for loc in o.locs] for k, o in graph.origins.items()
    }


# --- rewriting --------------------------------------------------------------------------------------------------------


def test_a_sweep_replaces_every_match_and_counts_it():
    x = tg.vector("x")
    graph = FunctionGraph.of([x], [tg.exp(tg.sin(x)) + tg.sin(tg.exp(x))])
    graph.rewrite(replacing(tg.sin, tg.cos.op, "sin_to_cos"))
    assert sorted(ops_of(graph.freeze())) == ["add", "cos", "cos", "exp", "exp"]
    assert graph.fired == {"sin_to_cos": 2}


def test_a_sweep_visits_what_a_replacement_makes():
    x = tg.vector("x")
    graph = FunctionGraph.of([x], [tg.sin(x)])
    sin, cos = replacing(tg.sin, tg.cos.op), replacing(tg.cos, tg.exp.op)
    graph.rewrite(lambda node, outputs: sin(node, outputs) or cos(node, outputs))
    assert ops_of(graph.freeze()) == ["exp"]


def test_a_replacement_equal_to_a_node_at_hand_is_that_node():
    x = tg.vector("x")
    graph = FunctionGraph.of([x], [tg.cos(x), tg.sin(x)])
    graph.rewrite(replacing(tg.sin, tg.cos.op))
    frozen = graph.freeze()
    assert ops_of(frozen) == ["cos"]
    assert frozen.outputs == (1, 1)


def test_a_node_replaced_by_its_operand_disappears():
    x = tg.vector("x")
    graph = FunctionGraph.of([x], [tg.exp(tg.negative(tg.negative(x)))])

    def twice(node, outputs):
        inner = node.inputs[0].apply if node.op is tg.negative.op else None
        return ("twice", inner.inputs) if inner is not None and inner.op is tg.negative.op else None

    graph.rewrite(twice)
    assert ops_of(graph.freeze()) == ["exp"]


def test_rules_that_do_not_come_to_an_end_are_named():
    x = tg.vector("x")
    graph = FunctionGraph.of([x], [tg.sin(x)])
    with pytest.raises(RewriteError, match="do not come to an end") as caught:
        graph.rewrite(replacing(tg.sin, lambda v: tg.sin.op(tg.exp.op(v)), "growing"))
    assert "growing" in str(caught.value)


def test_rules_that_turn_two_ops_into_one_another_are_named():
    x = tg.vector("x")
    graph = FunctionGraph.of([x], [tg.sin(x)])
    there, back = replacing(tg.sin, tg.cos.op, "there"), replacing(tg.cos, tg.sin.op, "back")
    with pytest.raises(RewriteError, match="do not come to an end"):
        graph.rewrite(lambda node, outputs: there(node, outputs) or back(node, outputs))


@pytest.mark.parametrize("new", [tg.sum, lambda v: tg.cast(v, "float32")])
def test_a_replacement_of_another_dtype_or_rank_is_refused(new):
    x = tg.vector("x")
    graph = FunctionGraph.of([x], [tg.sin(x)])
    with pytest.raises(RewriteError, match=r"rewrite: rule replaced float64\[\?\] by"):
        graph.rewrite(replacing(tg.sin, new))


def test_replacements_inherit_the_lines_and_note_the_rule():
    x = tg.vector("x")
    y = tg.sin(x)
    graph = FunctionGraph.of([x], [tg.named(y, "wave")])
    graph.rewrite(replacing(tg.sin, tg.cos.op, "sin_to_cos"))
    frozen = graph.freeze()
    assert frozen.origins[0].rules == ("sin_to_cos",)
    assert [loc.source for loc in frozen.origins[0].locs] == ["y = tg.sin(x)"]
    assert frozen.names[1] == "wave"


def test_checks_are_rewritten_with_the_values_they_read():
    x = tg.vector("x")
    graph = FunctionGraph.of([x], [tg.max(x)])
    true = Constant(np.array(True))
    graph.rewrite(lambda node, outputs: ("known", (true,)) if node.op.name == "greater" else None)
    assert graph.freeze().checks == ()


@pytest.mark.long
def test_a_long_chain_is_imported_rewritten_and_frozen_without_recursion():
    x = y = tg.scalar("x")
    for _ in range(20_000):
        y = tg.sin.op(y)
    graph = FunctionGraph.of([x], [y])
    graph.rewrite(replacing(tg.sin, tg.cos.op))
    frozen = graph.freeze()
    assert ops_of(frozen) == ["cos"] * 20_000
    assert FunctionGraph.thaw(frozen).freeze() == frozen


def test_a_graph_made_inside_a_fixed_place_leaves_the_place_free():
    x = tg.vector("x")
    freeze([x], [tg.exp(x)])
    assert locs.here() is not None


def test_operands_that_may_change_places_make_one_node():
    x, y = tg.matrix("x"), tg.matrix("y")
    frozen = freeze([x, y], [x * y, y * x, x - y, y - x, tg.equal(x, y), tg.equal(y, x)])
    assert frozen.outputs[0] == frozen.outputs[1]
    assert frozen.outputs[2] != frozen.outputs[3]
    assert frozen.outputs[4] == frozen.outputs[5]
