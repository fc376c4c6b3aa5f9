"""Logarithms of sums of exponentials, each rewrite by itself, against NumPy computing what is written."""

import itertools

import numpy as np
import pytest

import tg
from tests.unit.rules.examine import One, admitted
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.rewrite.driver import rewrite
from tg.rules.catalog import RULES

BY_NAME = {one.name: one for one in RULES}
ROWS = ([1.0, 2.0], [np.inf, 1.0], [-np.inf, -np.inf], [-np.inf, 0.5], [np.nan, 1.0])
NUMBERS = (0.0, -0.0, 2.0, -2.0, np.inf, -np.inf, np.nan)


def by_itself(name, inputs, output, arrays):
    graph = FunctionGraph.of(inputs, [output])
    frozen = rewrite(graph, [One(admitted(BY_NAME[name]))], supported=lambda op, types: True)
    assert graph.fired.get(name)
    with np.errstate(all="ignore"):
        return interpret(frozen, arrays)[0]


@pytest.mark.parametrize("scale", [lambda total, c: total * c, lambda total, c: total / c])
@pytest.mark.parametrize("row", ROWS)
def test_the_log_of_a_multiple_is_nan_and_infinite_where_what_is_written_is(row, scale):
    x, c = tg.vector("x"), tg.scalar("c")
    output = tg.log(scale(tg.sum(tg.exp(x)), c))
    for number in map(np.array, NUMBERS):
        with np.errstate(all="ignore"):
            expected = np.log(scale(np.sum(np.exp(row)), number))
        found = by_itself("logsumexp_from_log_of_multiple", [x, c], output, [np.array(row), number])
        np.testing.assert_allclose(found, expected, rtol=1e-14, err_msg=str(number))


@pytest.mark.parametrize("scale", [lambda total, c: total * c, lambda total, c: total / c])
def test_the_log_of_a_multiple_by_a_constant_is_that_of_the_sum_and_of_the_constant(scale):
    x = tg.vector("x")
    for row, number in itertools.product(ROWS, (0.0, 2.0, np.inf)):
        with np.errstate(all="ignore"):
            expected = np.log(scale(np.sum(np.exp(row)), np.float64(number)))
        output = tg.log(scale(tg.sum(tg.exp(x)), number))
        found = by_itself("logsumexp_from_log_of_multiple", [x], output, [np.array(row)])
        np.testing.assert_allclose(found, expected, rtol=1e-14, err_msg=str((row, number)))


def test_the_logarithm_of_weights_of_a_simplex_is_that_of_a_softmax():
    """They are joined of what is given and of its negative sum, so that pieces have maxima of their own."""
    y = tg.tensor("y", shape=(3,))
    x = tg.concatenate([y, -tg.sum(y, keepdims=True)])
    e = tg.exp(x - tg.max(x))
    written, meant = (
        tg.function([y], [out], backend="perform").graph for out in (tg.log(e / tg.sum(e)), tg.log_softmax(x))
    )
    assert written == meant
