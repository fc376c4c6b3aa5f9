"""`tg.explain` and `f.why`: every replacement is told where the node stands, with its rule, class, reason and line."""

from __future__ import annotations

import html.parser
import pickle
import time

import numpy as np
import pytest

import tg
from tg.graph.text.printer import to_text
from tg.plugin.registry import registry
from tg.rewrite.journal import Journal
from tg.rewrite.phases import DIFFERENTIATE


def story(explanation, part):
    (one,) = [s for s in explanation.nodes if part in s.was]
    return one


def test_a_node_tells_its_line_its_rule_and_the_reason():
    x = tg.vector("x")
    y = tg.log(1 + x)
    one = story(tg.explain(y, backend="perform"), "log(")
    assert one.loc.source == "y = tg.log(1 + x)"
    (step,) = one.steps
    assert (step.phase, step.name, step.kind) == ("stabilize", "log_of_one_plus", "reassociates")
    assert step.why == next(r.why for r in registry().rewrites(None).rules if r.name == "log_of_one_plus")
    assert step.old == "log(add(x, 1.0))"
    assert step.new == "log1p(x)"
    assert one.became.startswith("becomes ")
    assert "log1p(x)" in one.became


def test_what_stays_says_so():
    x, y = tg.vector("x"), tg.vector("y")
    one = story(tg.explain([x, y], tg.sin(x) * y, backend="perform"), "sin(")
    assert one.steps == ()
    assert one.became.startswith("stays, as ")
    assert not one.is_changed


def test_folding_is_told():
    x = tg.scalar("x")
    one = story(tg.explain(x * tg.exp(tg.constant(0.0)), backend="perform"), "exp(")
    assert one.became == "computed when compiling: 1.0"
    assert one.steps[0].name == "fold_constants"


def test_what_is_not_needed_names_what_stopped_reading_it():
    x = tg.matrix("x")
    y = tg.exp(x)
    f = tg.function([x], tg.where(tg.constant(True), x, tg.sin(y)), backend="perform")
    (rule,) = f.explain().counts
    for v in (y, tg.sin(y)):
        last = f.why(v).splitlines()[-1]
        assert last.strip().startswith(f"not needed: {rule} (canonicalize) replaced where(") or v is not y


def test_a_chain_of_replacements_is_told_in_order():
    x = tg.vector("x")
    y = tg.log(1 + tg.exp(x)) * 1
    f = tg.function([x], y, backend="perform")
    names = [s.name for s in story(f.explain(), "multiply(").steps]
    assert "multiply_by_one" in names
    text = f.why(y)
    assert "multiply_by_one (exact)" in text
    assert "y = tg.log(1 + tg.exp(x)) * 1" in text
    assert "softplus" in f.why(y.apply.inputs[0])


def test_nodes_that_rules_made_are_followed():
    x = tg.vector("x")
    f = tg.function([x], tg.log(1 + tg.exp(x)) + tg.log(1 - tg.sigmoid(x)), backend="perform")
    told = {step.name for one in f.explain().nodes for step in one.steps}
    fired = {rule for origin in f.graph.origins.values() for rule in origin.rules}
    assert fired <= told


def test_every_replacement_is_told_once(monkeypatch):
    journals = []

    class Recorded(Journal):
        def __init__(self, **options):
            super().__init__(**options)
            journals.append(self)

    monkeypatch.setattr("tg.functions.explanation.Journal", Recorded)
    x, w = tg.matrix("x"), tg.matrix("w")
    cost = tg.sum(tg.log_softmax(tg.tanh(x @ w) * 1, axis=1) ** 2) + tg.mean((x * 2 + 0) / 2)
    explanation = tg.explain([x, w], [cost, *tg.grad(cost, [x, w])], backend="perform")
    steps = [*explanation.rest, *(s for one in explanation.nodes for s in one.steps)]
    assert sum(explanation.counts.values()) == len(steps)
    before = [s for s in steps if s.phase == DIFFERENTIATE]  # before gradients were taken: told of each node it made
    assert len(steps) - len(before) == len(list(journals[0].entries))


def test_inner_graphs_are_told():
    x = tg.vector("x")
    y = tg.call(lambda v: tg.log(1 + v), x)
    explanation = tg.explain(y, backend="perform")
    steps = [inner for step in story(explanation, "Call(").steps for inner in step.inner]
    assert "log_of_one_plus" in [s.name for s in steps]
    assert "log_of_one_plus" in explanation.counts
    assert "log1p(x)" in str(explanation)


def test_lowerings_are_told():
    x = tg.vector("x")
    explanation = tg.explain(tg.exp(x) * x + 1, backend="c")
    assert "lowering: fuse_loops (exact)" in str(explanation)
    assert explanation.counts["fuse_loops"] == 1


def test_before_and_after_are_programs():
    x = tg.vector("x")
    f = tg.function([x], tg.log(1 + x), backend="perform")
    explanation = tg.explain(f)
    assert "log(" in explanation.before
    assert "log(" in explanation.after("canonicalize")
    assert "log1p(" in explanation.after("stabilize")
    assert explanation.graph_after() == f.graph
    assert tg.parse(explanation.after()) == f.graph
    with pytest.raises(tg.OptionError, match="found 'never', needed one of canonicalize"):
        explanation.after("never")


def test_modes_and_exclusions_are_those_of_the_function():
    x = tg.vector("x")
    f = tg.function([x], tg.log(1 + x), backend="perform", exclude="log_of_one_plus")
    assert "log_of_one_plus" not in f.explain().counts
    assert "without log_of_one_plus" in repr(f.explain())
    assert tg.explain(tg.log(1 + x), backend="perform", mode="off").counts == {}
    assert "log_of_one_plus" in tg.explain(tg.log(1 + x), backend="perform", mode="debug").counts


def test_an_expansion_says_why():
    x = tg.matrix("x")
    one = story(tg.explain(tg.softmax(x, axis=1), backend="c"), "Softmax")
    assert one.steps[0].name == "expand Softmax"
    assert "no rule" in one.steps[0].why


def test_why_of_inputs_constants_and_strangers():
    x, y, c = tg.vector("x"), tg.vector("y"), tg.constant(2.0)
    f = tg.function([x], tg.sin(x) * c, backend="perform")
    assert f.why(x) == "an input: stays, as x"
    assert f.why(c).startswith("a constant: ")
    assert f.why(y) == "not needed: no output is computed from it"
    with pytest.raises(tg.InputError, match="why: found 3, needed a variable"):
        f.why(3)


def test_results_of_one_op_are_each_known():
    x = tg.matrix("x")
    a, b = tg.call(lambda v: (tg.exp(v), tg.log(1 + v)), x)
    f = tg.function([x], [a, b], backend="perform")
    assert "log_of_one_plus" in f.why(b)


def test_what_cannot_be_explained_is_an_error():
    x = tg.vector("x")
    f = tg.function([x], x * 1, backend="perform")
    with pytest.raises(tg.InputError, match="options with a function"):
        tg.explain(f, mode="off")
    with pytest.raises(tg.InputError, match="needed one compiled function") as caught:
        tg.explain(tg.jit(tg.log))
    assert "lower" in str(caught.value)
    jitted = tg.jit(lambda v: tg.log(1 + v), backend="perform")
    assert "log_of_one_plus" in tg.explain(jitted.lower(np.ones(3))).counts


def test_it_is_shown_in_terminals_and_notebooks():
    x = tg.vector("x", shape=(3,))
    explanation = tg.explain(tg.log(1 + x) + tg.constant(np.arange(3.0)) * 1, backend="perform")
    text = str(explanation)
    assert "how often" in text
    assert max(map(len, text.splitlines())) < 300
    page = explanation._repr_html_()
    parser = html.parser.HTMLParser()
    parser.feed(page)
    assert page.count("<details") == page.count("</details>") == len(explanation.nodes)
    assert "http" not in page
    assert len(page) < 10_000


def test_shapes_checks_and_ones_are_explained_too():
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], (x + y) * 1, backend="perform")
    assert any("equal(" in s.was for s in f.explain().nodes)
    s = tg.shared(np.ones(1), shape=(None,))
    g = tg.function([x], x * s * 1, backend="perform")
    assert to_text(g.explain().graph_after()) == to_text(g.graph)


@pytest.mark.long
def test_ten_thousand_nodes_are_explained_in_seconds():
    x = tg.vector("x")
    v = x
    for k in range(2500):
        v = tg.sin(v * 1) + k % 7
    start = time.perf_counter()
    explanation = tg.explain(v, backend="perform")
    text = str(explanation)
    assert time.perf_counter() - start < 30
    assert len(text.splitlines()) > 5000


def test_an_explanation_survives_pickling_with_what_it_says_of_variables():
    x, z = tg.vector("x"), tg.vector("z")
    y = tg.log(1 + tg.exp(x))
    explanation = tg.function([x, z], y, on_unused_input="ignore").explain()
    loaded, *variables = pickle.loads(pickle.dumps((explanation, x, y, z)))
    assert str(loaded) == str(explanation)
    assert loaded.after("stabilize") == explanation.after("stabilize")
    assert [loaded.why(v) for v in variables] == [explanation.why(v) for v in (x, y, z)]
    assert "softplus" in loaded.why(variables[1])
