import io

import numpy as np
import pytest

import tg
from tg.errors import InputError, OptionError
from tg.functions.show import known_ops, parse, to_text
from tg.functions.show import print as show
from tg.graph.function_graph import freeze
from tg.graph.text.printer import to_text as graph_text
from tg.graph.text.tree import to_tree


class Compiled:
    def __init__(self, graph):
        self.graph = graph


def test_an_expression_is_printed_as_the_graph_of_its_leaves_with_the_users_lines(capsys):
    x, y = tg.vector("x"), tg.scalar("y")
    assert show(tg.exp(y) * x) is None
    printed = capsys.readouterr().out
    assert "graph(%0 y: float64[], %1 x: float64[?]) {" in printed
    assert "# test_text_show.py:" in printed
    assert parse(printed) == freeze([y, x], [tg.exp(y) * x])


def test_a_list_of_expressions_is_one_program():
    x = tg.vector("x")
    assert to_text([x, tg.exp(x)]).endswith("return %0, %1\n}\n")
    assert to_text(tg.constant(2.0)).endswith("  %0 = const float64[] 2.0\n  return %0\n}\n")


def test_a_function_is_printed_as_its_graph():
    x = tg.vector("x")
    graph = freeze([x], [tg.exp(x)])
    assert to_text(Compiled(graph)) == to_text(graph) == graph_text(graph, provenance=True)


def test_printing_goes_to_the_file_that_is_given(capsys):
    file = io.StringIO()
    x = tg.vector("x")
    show(x, file=file)
    assert file.getvalue() == to_text(x)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("value", [3.0, "x", None, [1], {"a": 1}])
def test_what_has_no_graph_is_refused(value):
    with pytest.raises(InputError, match="print: found"):
        show(value)


def test_a_style_that_does_not_exist_is_refused():
    with pytest.raises(OptionError, match="found style 'html', needed 'text' or 'tree'"):
        show(tg.vector("x"), style="html")


def test_every_op_of_core_is_known_to_the_parser():
    ops = known_ops()
    assert ops["exp"] is tg.exp
    assert {"MatMul", "Reduce", "Call", "gate", "add"} <= ops.keys()


# --- trees ------------------------------------------------------------------------------------------------------------


def test_a_tree_shows_outputs_over_operands_and_shared_values_once():
    x = tg.vector("x")
    a = tg.exp(x)
    y = a * tg.sin(a)
    assert to_text([y, a], style="tree", provenance=False) == (
        """%3 = multiply : float64[?]
├─ %1 = exp : float64[?]
│  └─ %0 x : float64[?]
└─ %2 = sin : float64[?]
   └─ %1 = exp : float64[?]  (above)
%1 = exp : float64[?]  (above)
"""
    )


def test_a_tree_ends_at_its_depth():
    x = y = tg.scalar("x")
    for _ in range(20_000):
        y = tg.sin(y)
    graph = freeze([x], [y])
    assert to_tree(graph, depth=2) == "%20000 = sin : float64[]\n└─ %19999 = sin : float64[]  …\n"
    assert len(to_tree(graph).splitlines()) == 16


def test_a_tree_without_a_depth_is_whole():
    y = tg.scalar("x")
    for _ in range(50):
        y = tg.sin(y)
    assert len(to_text(y, style="tree", depth=None).splitlines()) == 51


def test_a_tree_shows_constants_lines_and_the_graphs_inside():
    x = tg.vector("x")
    _, total = tg.call(lambda v: (tg.exp(v), tg.sum(v)), x * 2.0 + tg.constant(np.zeros(100)))
    tree = to_text(total, style="tree")
    assert tree.startswith("@g0(%0: float64[100])\n")
    assert "= Call{graph=@g0}.1 : float64[]" in tree
    assert " = 2.0 : float64[]\n" in tree
    assert ' = data "' in tree
    assert "  # test_text_show.py:" in tree
