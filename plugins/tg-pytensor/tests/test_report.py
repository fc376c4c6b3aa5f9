"""Reports: what converts, what does not and why, and where the user made it."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.ifelse import ifelse
from pytensor.typed_list import TypedListType

import tg
import tg_pytensor


class Doubled(Op):
    """Twice a vector: an op that tg has no rule for."""

    def make_node(self, x):
        x = pt.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = 2 * inputs[0]


class Gathered(Op):
    """A list of a vector: an op without a rule, whose result no array can stand for."""

    def make_node(self, x):
        return Apply(self, [x], [TypedListType(x.type)()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = [inputs[0]]


def doubled(x):
    return Doubled()(x) + 1  # the line that is shown


HERE = f"{inspect.getsourcefile(doubled).rpartition('/')[2]}:{inspect.getsourcelines(doubled)[1] + 1} in doubled"


def left(report):
    return [(entry.op, entry.reason.splitlines()[0]) for entry in report.left]


def test_a_graph_that_converts_has_all_its_nodes_counted():
    x, m = pt.vector("x"), pt.matrix("m")
    found = tg_pytensor.report([x, m], [pt.exp(m @ x).sum(), pt.linalg.cholesky(m)])
    assert found.left == ()
    assert found.converted == len(found.entries) > 3
    assert {"Exp", "Cholesky"} < set(found.counts)
    assert f"{found.converted} of {found.converted} nodes convert" in str(found)


def test_everything_that_does_not_convert_is_told_with_its_place():
    x = pt.vector("x")
    found = tg_pytensor.report(doubled(pt.sin(doubled(x))))
    assert left(found) == [("Doubled", "tg_pytensor has no rule for Doubled")] * 2
    assert [entry.place.partition(": ")[0] for entry in found.left] == [HERE] * 2
    assert found.counts["Doubled"] == (2, 0)
    assert found.counts["Sin"] == (1, 1)
    assert str(found).count(HERE.partition(" in ")[0]) == 2  # tables have 80 columns: what follows is in other lines
    assert "# the line that is shown" in found._repr_html_()


def test_the_reason_of_a_rule_that_refuses_is_told():
    x = pt.matrix("x")
    found = tg_pytensor.report(pt.linalg.schur(x, sort="lhp")[0] + 1)
    assert [(op, reason.partition(" with ")[0]) for op, reason in left(found)] == [
        ("Schur", "tg_pytensor has no rule for Schur")
    ]


def test_what_is_made_of_no_array_is_told_and_not_why_it_fails():
    x = pt.vector("x")
    found = tg_pytensor.report(Gathered()(x)[0] + 1)
    assert left(found) == [
        ("Gathered", "tg_pytensor has no rule for Gathered"), ("GetItem", "an operand does not convert")
    ]  # fmt: skip
    assert found.counts["Add"] == (1, 1)


def test_graphs_inside_of_loops_and_branches_are_looked_into_once():
    x = pt.vector("x")
    last = pytensor.scan(lambda p: doubled(pt.exp(-p)), outputs_info=[x], n_steps=3, return_updates=False)[-1]
    found = tg_pytensor.report(ifelse(x[0] > 0, last, doubled(x)))
    assert left(found) == [("Doubled", "tg_pytensor has no rule for Doubled")] * 2
    assert found.counts["Exp"] == found.counts["Scan"] == (1, 1)


def test_of_a_function_the_report_says_what_pytensor_runs():
    x = pt.vector("x")
    f = pytensor.function([x], doubled(pt.exp(x)) + pt.exp(x), mode="TG_PERFORM")
    found = tg_pytensor.report(f)
    assert found.backends == ("perform", "perform")
    assert left(found) == [("Doubled", "no rule for Doubled")]
    assert found.left[0].place.startswith(HERE)
    assert "2 regions on perform" in repr(found)
    for other in (pytensor.function([x], x + 1, mode="FAST_COMPILE"), 3, [x, "y"]):
        with pytest.raises(tg.InputError, match="report: found"):
            tg_pytensor.report(other)


def test_of_a_model_the_report_says_what_each_node_is_for():
    with pm.Model() as model:
        x = pm.Normal("x", shape=3)
        pm.Deterministic("d", doubled(x))
        scale = pm.HalfNormal("scale")
        pm.CAR("w", np.zeros(2), np.eye(2)[::-1], 0.5, 1.0)
        pm.Normal("y", pm.math.exp(x), scale, observed=np.ones(3))
    found = tg_pytensor.report(model)
    assert {(entry.op, entry.part) for entry in found.left} == {
        ("Doubled", "value of d"), ("Doubled", "draw of d"), ("CARRV", "draw of w")
    }  # fmt: skip
    assert {entry.part for entry in found.entries} > {"density of y", "density of scale", "value of scale", "draw of y"}
    # PyMC made these nodes; the user's line is that of the variable
    (place,) = {entry.place for entry in found.entries if entry.part == "density of scale"}
    assert 'pm.HalfNormal("scale")' in place
    assert "test_report.py" in place
    assert "density" in str(found)


def test_places_in_the_standard_library_are_not_the_users():
    x = pt.vector("x")
    (entry,) = tg_pytensor.report(functools.singledispatch(Doubled())(x)).left
    assert entry.place.startswith("test_report.py")
    assert "singledispatch" in entry.place


def test_errors_name_pytensors_node_and_the_users_line():
    x = pt.vector("x")
    with pytest.raises(tg.NoRuleError, match="Doubled") as caught:
        tg_pytensor.from_pytensor([x], [doubled(x)])
    assert HERE in str(caught.value)
    assert "of PyTensor's Doubled(x)" in "\n".join(caught.value.__notes__)


def test_errors_of_tg_name_pytensors_node_and_the_users_line():
    x, k = pt.vector("x"), pt.lscalar("k")
    try:
        joined = pt.join(k, x, x)
    except TypeError:
        pytest.skip("from 3.3 on PyTensor itself refuses axes that are no constants")
    with pytest.raises(tg.InputError, match="axis") as caught:
        tg_pytensor.from_pytensor([x, k], [joined])
    notes = "\n".join(caught.value.__notes__)
    assert "of PyTensor's Join(k, x, x)" in notes
    assert "test_report.py" in notes
