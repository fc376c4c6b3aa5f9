"""The driver: phases, modes, folding, expansion, inner graphs and the checks that go with them."""

import gc

import numpy as np
import pytest

import tg
from tg.errors import DomainError, OptionError, RewriteError
from tg.graph.frozen import FrozenGraph
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.graph.op import Op
from tg.ops.indexing import WrapIndex
from tg.ops.loops import Scan
from tg.ops.softmax import LogSumExp, Softmax
from tg.rewrite.driver import rewrite
from tg.rewrite.phases import MODES
from tg.rewrite.rule import Lowering, Pass, node_rule, rule
from tg.rules.catalog import RULES
from tg.types.tensor_type import TensorType


class Plugin:
    """Rules and passes of one plugin."""

    def __init__(self, rules=(), passes=()):
        self.rules, self.passes = tuple(rules), tuple(passes)


CORE = Plugin(RULES)
ABOUT = {"phase": "canonicalize", "kind": "exact", "why": "A test."}
LATE = {**ABOUT, "phase": "specialize"}


def everything(op, types):
    return True


def nothing(op, types):
    return False


def run(inputs, outputs, plugins=(CORE,), supported=everything, **options):
    return rewrite(FunctionGraph.of(inputs, outputs), plugins, supported=supported, **options)


def plain(inputs, outputs):
    return FunctionGraph.of(inputs, outputs).freeze()


def ops(frozen):
    return [node.op.name for node in frozen.nodes]


def test_without_rules_only_constants_are_folded():
    x = tg.vector("x")
    found = run([x], [x * (tg.constant(2.0) + tg.constant(3.0))], plugins=())
    assert found == plain([x], [x * 5.0])


def test_an_unused_node_is_gone():
    x = tg.vector("x")
    found = run([x], [tg.where(True, x, tg.exp(x))])
    assert found == plain([x], [x])


def test_a_large_result_is_not_folded():
    x = tg.vector("x")
    big = tg.broadcast_to(tg.constant(1.5), (1000, 1000))
    output = tg.sum(big, axis=0) + tg.sum(x)
    assert run([x], [output], plugins=()) == plain([x], [output])


def test_folding_is_quiet_and_declared():
    found = run([], [tg.log(tg.constant(-1.0)), tg.cast(tg.constant(np.nan), "int8"), tg.constant(7) // tg.constant(0)])
    assert found.nodes == ()
    values = interpret(found, [])
    assert np.isnan(values[0])
    assert values[1] == 0
    assert values[2] == 0


def test_what_fails_is_not_folded_and_fails_when_it_runs():
    empty = tg.constant(np.zeros(0))
    found = run([], [tg.max(empty)])
    assert ops(found).count("Reduce") == 1
    with pytest.raises(DomainError):
        interpret(found, [])


def test_a_check_that_cannot_fail_is_gone():
    i = tg.constant(np.array([0, 2]))
    x = tg.tensor("x", shape=(3,))
    n = tg.sum(tg.constant(np.array([1, 1, 1])))
    output = x[i] + tg.cast(WrapIndex("raise")(tg.constant(np.array(1)), n), "float64")
    assert len(plain([x], [output]).checks) == 1
    assert run([x], [output]).checks == ()


def test_equal_lengths_are_not_checked_twice():
    x, y = tg.vector("x"), tg.vector("y")
    found = run([x, y], [x + y, x * y, x - y])
    assert len(found.checks) == 1


@pytest.mark.parametrize("mode", MODES)
def test_an_op_without_a_rule_is_expanded_in_every_mode(mode):
    x = tg.matrix("x")
    found = run([x], [tg.softmax(x), tg.logsumexp(x, axis=0)], supported=nothing, mode=mode)
    assert not any(isinstance(n.op, Softmax | LogSumExp) for n in found.nodes)
    value = np.array([[1.0, 1000.0], [3.0, -4.0]])
    wanted = interpret(plain([x], [tg.softmax(x), tg.logsumexp(x, axis=0)]), [value])
    for a, b in zip(interpret(found, [value]), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=8 * np.finfo(b.dtype).eps)


def test_a_stable_form_is_expanded_without_coming_back():
    x = tg.matrix("x")
    found = run([x], [tg.log(tg.sum(tg.exp(x), axis=1))], supported=nothing)
    assert "LogSumExp" not in ops(found)
    assert np.isfinite(interpret(found, [np.array([[1000.0, 1000.0]])])[0]).all()


def test_support_is_asked_with_the_types_of_the_operands():
    asked = []
    x = tg.tensor("x", dtype="float32", shape=(2, 3))
    run([x], [tg.softmax(x)], supported=lambda op, types: bool(asked.append((op, types))) or True)
    assert asked == [(Softmax(-1), (TensorType("float32", (2, 3)),))]


class Twice(Op):
    """An op whose expansion has an expandable op, a check, and a value to fold."""

    has_expansion = True

    def infer(self, x):
        return (TensorType(x.dtype, x.shape),)

    def expansion(self, x):
        return tg.softmax(x) * (tg.constant(2.0) * 1.0) + tg.max(x)


def test_the_checks_of_an_expansion_become_explicit():
    x = tg.vector("x")
    graph = FunctionGraph.of([x], [Twice()(x)])
    assert graph.checks == []
    found = rewrite(graph, [CORE], supported=nothing)
    assert len(found.checks) == 1
    assert found.checks[0].descriptor.error == "DomainError"
    assert not any(type(n.op).has_expansion for n in found.nodes)
    with pytest.raises(DomainError):
        interpret(found, [np.zeros(0)])
    np.testing.assert_allclose(interpret(found, [np.zeros(2)])[0], [1.0, 1.0])


def test_an_inner_graph_is_rewritten_and_expanded():
    x = tg.matrix("x")
    found = run([x], [tg.call(lambda v: tg.log(tg.sum(tg.exp(v * 1), axis=0)), x)], supported=nothing)
    (call,) = (n.op for n in found.nodes)
    wanted = run([x], [tg.logsumexp(x, axis=0)], supported=nothing)
    assert call.graph == wanted


def test_equal_inner_graphs_are_rewritten_once():
    count = []

    def apply(node, outputs):
        count.append(node)

    seen = node_rule("seen", keys=(tg.exp,), apply=apply, **ABOUT)
    x, y = tg.vector("x"), tg.vector("y")
    run([x, y], [tg.call(tg.exp, x), tg.call(tg.exp, y)], plugins=[Plugin([seen])])
    of_two = len(count)
    count.clear()
    run([x], [tg.call(tg.exp, x)], plugins=[Plugin([seen])])
    assert of_two == len(count)


def test_checks_inside_are_counted_anew_and_reported_outside():
    x = tg.vector("x")
    inner = lambda v: tg.max(v) + tg.max(tg.constant(np.ones(2)) * tg.sum(v)) + Twice()(tg.sum(v) * tg.ones(3))[0]  # noqa: E731
    found = run([x], [tg.call(inner, x)], supported=nothing)
    assert len(found.checks) == 1
    (call,) = (n.op for n in found.nodes if n.op.name == "Call")
    assert found.checks[0].descriptor.inner == call.inner_descriptors
    with pytest.raises(DomainError):
        interpret(found, [np.zeros(0)])
    assert np.isfinite(interpret(found, [np.ones(2)])[0])


def test_a_call_whose_checks_all_hold_has_no_status():
    x = tg.vector("x")

    def inner(v):
        i = WrapIndex("raise")(tg.constant(np.array(1)), tg.sum(tg.constant(np.array([1, 1, 1]))))
        return tg.exp(v) + tg.cast(i, "float64")

    before = plain([x], [tg.call(inner, x)])
    assert len(before.checks) == 1
    found = run([x], [tg.call(inner, x)])
    assert found.checks == ()
    assert len(found.nodes[-1].outputs) == 1


def test_strict_mode_keeps_every_digit():
    x = tg.vector("x")
    formula = tg.log(x + 1.0) + tg.sum(-x)
    assert run([x], [formula], mode="strict") == plain([x], [formula])
    assert run([x], [formula * 1.0], mode="strict") == plain([x], [formula])


def test_mode_off_does_nothing():
    x = tg.vector("x")
    formula = tg.log(1.0 + x * 1.0) + tg.constant(2.0) * tg.constant(3.0)
    assert run([x], [formula], mode="off") == plain([x], [formula])


def test_an_unknown_mode_is_refused():
    with pytest.raises(OptionError, match="mode: found 'fast', needed one of default, strict, finite, off"):
        run([], [tg.constant(1.0)], mode="fast")


@pytest.mark.parametrize("name", ["log_of_one_plus", "reassociates"])
def test_a_rule_or_a_class_can_be_excluded(name):
    x = tg.vector("x")
    assert run([x], [tg.log(x + 1.0)], exclude=frozenset({name})) == plain([x], [tg.log(x + 1.0)])


def test_rules_of_several_plugins_work_together():
    mine = rule("sin_of_zero_times", match=tg.sin, replace=lambda x: x * 1, **LATE)
    x = tg.vector("x")
    assert run([x], [tg.sin(x)], plugins=[CORE, Plugin([mine])]) == plain([x], [x])


def test_a_cycle_of_rules_is_an_error_that_names_them():
    there = rule("there", match=tg.sin, replace=tg.cos, **ABOUT)
    back = rule("back", match=tg.cos, replace=tg.sin, **ABOUT)
    x = tg.vector("x")
    with pytest.raises(RewriteError, match=r"do not come to an end\n.*(there|back)"):
        run([x], [tg.sin(x)], plugins=[Plugin([there, back])])


def test_a_rule_that_grows_without_end_is_an_error_that_names_it():
    grow = rule("grow", match=tg.sin, replace=lambda x: tg.sin(x + 1.5), **ABOUT)
    x = tg.vector("x")
    with pytest.raises(RewriteError, match=r"grow"):
        run([x], [tg.sin(x)], plugins=[Plugin([grow])])


def test_a_rule_that_changes_the_dtype_is_an_error_that_names_it():
    bad = rule("bad", match=tg.sin, replace=lambda x: tg.cast(x, "float64"), **ABOUT)
    x = tg.vector("x", dtype="float32")
    with pytest.raises(RewriteError, match=r"bad replaced float32\[\?\] by float64\[\?\]"):
        run([x], [tg.sin(x)], plugins=[Plugin([bad])])


def test_a_pass_runs_once_after_its_phase_and_its_replacements_are_visited():
    seen = []

    def doubled(view):
        seen.append([node.op.name for node in view.applies])
        roots = [view.results(node)[0] for node in view.applies if node.op.name == "add"]
        assert [view.uses(v) for v in roots] == [1]
        return {id(v): v.apply.inputs[0] * 1 - v.apply.inputs[1] * 1 + 1 for v in roots}

    x, y = tg.tensor("x", shape=(4,)), tg.tensor("y", shape=(4,))
    passes = [Pass("doubled", run=doubled, **ABOUT)]
    graph = FunctionGraph.of([x, y], [tg.log(x + y * 1)])
    found = rewrite(graph, [CORE, Plugin(passes=passes)], supported=everything)
    assert seen[0] == ["add", "log"]
    assert ops(found) == ["subtract", "log1p"]
    assert graph.fired["doubled"] == 1
    assert "doubled" in found.origins[0].rules


def test_a_pass_may_replace_several_results_by_themselves():
    """They are what it makes, under other ids; and what was made earlier is replaced by the same."""

    def again(view):
        loops = [view.results(node) for node in view.applies if isinstance(node.op, Scan)]
        if not loops:
            return {}
        made = loops[1][0].apply.op(*loops[1][0].apply.inputs)
        return {id(loops[0][0]): made[0], **{id(a): b for a, b in zip(loops[1], made, strict=True)}}

    x = tg.vector("x")
    one, _ = tg.scan(lambda c, v: (c * 0.5 + v, c * v), 0.5, x)
    two, twos = tg.scan(lambda c, v: (c * 0.5 + v, c - v), 0.5, x)
    found = run([x], [one, two, twos + 1], [Plugin(passes=[Pass("same", run=again, **LATE)])])
    assert found == run([x], [two, two, twos + 1], [Plugin()])


def test_a_replacement_that_needs_what_it_replaces_is_an_error_that_names_the_pass():
    bad = Pass("bad", run=lambda view: {id(v): v + 1 for v in view.outputs}, **ABOUT)
    x = tg.vector("x")
    with pytest.raises(RewriteError, match="bad"):
        rewrite(FunctionGraph.of([x], [tg.exp(x)]), [Plugin(passes=[bad])], supported=everything)


def test_a_lowering_is_the_last_step_and_sees_inner_graphs():
    seen = []

    def look(frozen):
        seen.append(ops(frozen))
        return frozen

    x = tg.vector("x")
    about = {"kind": "exact", "why": "To be tested."}
    graph = FunctionGraph.of([x], [tg.log(1 + x * 1)])
    found = rewrite(graph, [CORE, Plugin(passes=[Lowering("look", run=look, **about)])], supported=everything)
    assert seen == [["log1p"]]
    assert ops(found) == ["log1p"]


def test_every_new_node_knows_the_rule_and_the_line_it_comes_from():
    x = tg.vector("x")
    found = run([x], [tg.log(tg.sigmoid(x))])
    for k in range(len(found.nodes)):
        assert "log_of_sigmoid" in found.origins[k].rules
        assert found.origins[k].locs


def test_a_name_stays_with_the_replacement():
    x = tg.vector("x")
    found = run([x], [tg.named(tg.log(1 + x), "mu") * 3])
    assert found.names[found.nodes[0].outputs[0]] == "mu"


def test_a_shape_is_known_without_the_value():
    x, w = tg.matrix("x"), tg.matrix("w")
    found = run([x, w], [tg.exp(x @ w).shape[0] + tg.constant(0)])
    assert ops(found) == ["AxisLength"]


@pytest.mark.parametrize("n", [500, *(pytest.param(n, marks=pytest.mark.long) for n in (1000, 2000))])
def test_the_work_is_linear(n):
    visits = []

    def apply(node, outputs):
        visits.append(node)

    seen = node_rule("seen", keys=tuple({k for r in RULES for k in r.keys}), apply=apply, **ABOUT)
    x = tg.vector("x")
    y, total = x, []
    for _k in range(n):
        y = tg.log(1 + tg.exp(-y * 2)) * 0.5 + y**2
        total.append(tg.sum(y))
    size = len(plain([x], total).nodes)
    run([x], total, plugins=[Plugin((*RULES, seen))])
    assert len(visits) <= 4 * size


@pytest.mark.long
def test_a_deep_graph_is_rewritten():
    x = tg.vector("x")
    y = x
    for _ in range(20_000):
        y = tg.sin(y * 1) + 0
    found = run([x], [y])
    assert len(found.nodes) == 20_000


@pytest.mark.long
def test_a_wide_graph_is_rewritten():
    x = [tg.scalar(f"x{k}") for k in range(2_000)]
    terms = [tg.log(1 + v * k) for v in x for k in range(2, 12)]
    found = run(x, terms)
    assert len(found.nodes) == 40_000


@pytest.mark.long
def test_a_chain_of_two_hundred_thousand_lives_and_dies():
    x = tg.scalar("x")
    y = x
    for _ in range(200_000):
        y = tg.sin(y)
    graph = FunctionGraph.of([x], [y])
    found = rewrite(graph, [CORE], supported=everything)
    assert len(found.nodes) == 200_000
    del y, graph, found
    gc.collect()


def test_lengths_that_a_check_makes_equal_count_as_equal():
    x, y = tg.vector("x"), tg.tensor("y", shape=(4,))
    found = run([x, y], [x + y, tg.broadcast_to(x, y.shape), tg.logsumexp(x)], supported=nothing)
    assert "BroadcastTo" in ops(found)  # it knows the length, x does not
    z = tg.vector("z")
    found = run([x, z], [x + z, tg.broadcast_to(z, x.shape) * 2])
    assert "BroadcastTo" not in ops(found)


def test_a_length_of_one_that_a_check_states_is_not_forgotten():
    y = tg.tensor("y", shape=(None, 4))
    output = tg.broadcast_to(tg.expand_dims(tg.squeeze(y[:1], 0), 0), (4, 4)) * 2
    found = run([y], [output])
    assert run([y], [output]) == FunctionGraph.thaw(found).freeze()
    assert interpret(found, [np.ones((3, 4))])[0].shape == (4, 4)


class Picked(Op):
    """The element of x at a position."""

    has_expansion = True

    def infer(self, x, i):
        return (TensorType(x.dtype, ()),)

    def expansion(self, x, i):
        return x[i]


def test_checks_of_an_expansion_come_before_checks_that_read_what_they_protect():
    x, y = tg.vector("x", dtype="int64"), tg.vector("y")
    i, n = tg.scalar("i", dtype="int64"), tg.scalar("n", dtype="int64")
    outputs = [tg.max(y), y[Picked()(x, i)], y[n]]
    found = run([x, y, i, n], outputs, supported=nothing)
    wanted = run([x, y, i, n], [tg.max(y), y[x[i]], y[n]], supported=nothing)
    assert found.checks == wanted.checks
    arrays = [np.array([5, 6, 7]), np.ones(2), np.array(9), np.array(9)]
    with pytest.raises(tg.BoundsError, match="index 9 is out of bounds for an axis of length 3"):
        interpret(found, arrays)


def test_a_lowering_that_puts_the_checks_of_an_inner_graph_in_another_order_is_refused():
    def turned(frozen):
        parts = (frozen.arity, frozen.types, frozen.constants, frozen.nodes, frozen.outputs, frozen.checks[::-1])
        return FrozenGraph(*parts, frozen.names, frozen.origins)

    x, i = tg.vector("x"), tg.scalar("i", dtype="int64")
    outputs = [tg.call(lambda v, k: tg.max(v) + v[k], x, i)]
    for given, refused in (({}, True), ({"inner": lambda frozen: frozen}, False)):
        one = Lowering("turned", run=turned, kind="exact", why="To be tested.", **given)
        if refused:
            with pytest.raises(RewriteError, match="turned has changed the checks of an inner graph"):
                run([x, i], outputs, [CORE, Plugin(passes=[one])])
        else:
            run([x, i], outputs, [CORE, Plugin(passes=[one])])
