"""Rules and passes that are declared above a function: their names, reasons and operands."""

import subprocess
import sys

import pytest

import tg
from tg.errors import RewriteError
from tg.graph.nodes import Variable
from tg.ops.elementwise.arithmetic import negative
from tg.ops.reduction import Reduce
from tg.rewrite.phases import CANONICALIZE, EXACT, SPECIALIZE
from tg.rewrite.rule import pass_of, rule_of, rule_of_node


def test_a_function_of_an_op_and_its_operands_is_a_rule():
    @rule_of(negative, kind=EXACT, below=(negative,), example=lambda x: negative(negative(x)))
    def _there_and_back(op, x):
        """-(-x) as x.

        Two changes of sign are none, whatever
        stands below them.
        """
        assert op is negative.op
        return x.inputs[0]

    x = tg.vector("x")
    y = negative(negative(x))
    (replacement,) = _there_and_back.for_kinds([negative])(y.apply, (y,))
    assert replacement is x
    assert _there_and_back.for_kinds([None]) is None
    assert (_there_and_back.name, _there_and_back.phase, _there_and_back.kind) == (
        "there_and_back",
        CANONICALIZE,
        EXACT,
    )
    assert _there_and_back.why == "Two changes of sign are none, whatever stands below them."


def test_a_function_of_a_node_and_its_results_is_a_rule():
    @rule_of_node(Reduce, phase=SPECIALIZE, kind=EXACT)
    def _as_it_is(node, outputs):
        """Nothing changes."""
        assert type(node.op) is Reduce
        return outputs[0]

    y = tg.sum(tg.vector("x"))
    assert _as_it_is.for_kinds([None])(y.apply, (y,)) == (y,)
    assert (_as_it_is.name, _as_it_is.phase, _as_it_is.why) == ("as_it_is", SPECIALIZE, "Nothing changes.")


def test_a_function_of_a_view_is_a_pass():
    x = Variable(tg.vector("x").type)

    @pass_of(Reduce, kind=EXACT)
    def _nothing(view):
        """Nothing changes."""
        return {id(view): x}

    assert (_nothing.name, _nothing.keys, _nothing.why) == ("nothing", (Reduce,), "Nothing changes.")
    assert _nothing.run(x) == {id(x): x}


def test_a_rule_without_a_reason_is_refused():
    with pytest.raises(RewriteError, match="rule silent: why: found no text, needed a reason"):

        @rule_of(negative, kind=EXACT)
        def _silent(op, x):
            return x


def test_rules_are_there_where_python_keeps_no_docstrings():
    code = "from tg.rules.catalog import RULES; print([one.why for one in RULES if one.name == 'round_whole'])"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['round_whole']"
