"""Golden values: drawn within what is known of the inputs, or of an example; never with a NaN or an infinity."""

import numpy as np
import pytest

import tg
from tg.errors import DtypeError, InputError
from tg.exports.golden import golden, tolerance
from tg.graph.facts import fact_holds


def function(inputs, outputs, **options):
    return tg.function(inputs, outputs, backend="perform", name="f", **options)


def drawn(inputs, outputs, **options):
    return golden("save", function(inputs, outputs, **options)).inputs


def test_values_are_drawn_within_domains():
    x, y = tg.vector("x"), tg.matrix("y")
    values = drawn([x, y], [tg.log(x[:, None]), tg.arccosh(y)])
    assert (values["x"] > 0).all()
    assert (values["y"] > 1).all()


FACTS = (
    "positive", "negative", "nonzero", "whole", "symmetric", "positive_definite", "lower_triangular", "diagonal",
    "upper_triangular", "lower_hessenberg", "tridiagonal", "unit_diagonal", "nonzero_diagonal", "orthogonal",
)  # fmt: skip


@pytest.mark.parametrize("fact", FACTS)
def test_values_have_the_facts_that_are_assumed(fact):
    x = tg.matrix("x", shape=(4, 4))
    values = drawn([x], tg.sum(tg.assume(x, **{fact: True})))
    assert fact_holds(fact, values["x"])


def test_values_that_have_to_be_definite_are_tried_where_others_fail():
    n = tg.dim("n")
    x = tg.matrix("x", shape=(n, n))
    assert np.linalg.eigvalsh(drawn([x], tg.linalg.cholesky(x))["x"]).min() > 0
    y = tg.vector("y")
    assert (drawn([y], tg.log(1 - y) + tg.sqrt(y + 0.0))["y"] < 1).all()


def test_lengths_of_one_name_agree_and_those_of_shared_variables_too():
    n, m = tg.dim("n"), tg.dim("m")
    x, y = tg.matrix("x", shape=(n, m)), tg.vector("y", shape=(n + 1,))
    w = tg.shared(np.ones(5), "w", shape=(m,))
    values = drawn([x, y], [x * w, y])
    assert values["x"].shape == (3, 5)
    assert values["y"].shape == (4,)


def test_lengths_that_must_agree_without_names_do():
    x, y = tg.vector("x"), tg.vector("y")
    values = drawn([x, y], x * y)
    assert values["x"].shape == values["y"].shape == (3,)


def test_drawing_is_the_same_each_time():
    x = tg.vector("x")
    first, again = (drawn([x], tg.exp(x))["x"] for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_nothing_is_updated():
    x, total = tg.vector("x"), tg.shared(np.zeros(1 << 16), "total")
    f = tg.function([x], tg.sum(x), updates={total: total + tg.sum(x)}, backend="c")
    values = golden("save", f, [[1.0, 2.0]])
    assert values.state["total"][0] == 3.0
    assert not total.get_value().any()


def test_donated_inputs_keep_their_values():
    x = tg.vector("x")
    f = tg.function([x], x * 2, donate=[x], backend="c")
    values = golden("save", f, [np.arange(5.0)])
    assert values.inputs["x"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert values.outputs["output"].tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]


def test_a_result_that_is_not_finite_is_refused_with_the_inputs():
    x = tg.vector("x")
    f = function([x], {"y": x / 0.0})
    with pytest.raises(InputError) as caught:
        golden("save", f)
    assert str(caught.value) == (
        "save: f: found a NaN or an infinity in y, for values that were drawn, needed finite values\n"
        "  x  float64[?], drawn [3]\n"
        "  hint: save(…, example={'x': …}) gives values"
    )
    with pytest.raises(InputError, match="save: example: found a NaN or an infinity in y"):
        golden("save", f, [[1.0]])


def test_a_check_that_fails_for_all_that_is_drawn_is_told():
    x = tg.vector("x")
    f = function([x], tg.assert_(x, tg.all(x > 100), "above 100"))  # noqa: PT009
    with pytest.raises(InputError, match=r"found AssertionFailed: .*above 100"):
        golden("save", f)
    assert golden("save", f, [[101.0]]).outputs["output"].tolist() == [101.0]


def test_an_example_is_checked():
    x = tg.vector("x")
    f = function([x], x)
    with pytest.raises(InputError, match="example: no input is named 'X'"):
        golden("save", f, {"X": 1.0})
    with pytest.raises(InputError, match="example: x is missing"):
        golden("save", f, {})
    with pytest.raises(InputError, match="needed values by name or in a list"):
        golden("save", f, 3.0)
    with pytest.raises(DtypeError):
        golden("save", f, [[1j]])


def test_tolerances_follow_the_dtype():
    assert tolerance("int64") == tolerance("bool") == 0
    assert tolerance("float64") == tolerance("complex128") < 1e-10
    assert tolerance("float32") < 3e-5
