import gc
import weakref

import numpy as np
import pytest

import tg
from tg.errors import InputError, ShapeError
from tg.graph.nodes import Constant, Variable, as_size_variable, size_value
from tg.graph.traversal import ancestors, inputs_of, sorted_applies
from tg.types.lengths import Length
from tg.types.tensor_type import TensorType

DEEP = 200_000


def chain(x, length):
    op = tg.negative.op
    for _ in range(length):
        x = op(x)
    return x


def test_a_variable_does_not_live_longer_than_its_users():
    x = tg.vector("x")
    y = tg.exp(x)
    gone = weakref.ref(y)
    gc.disable()
    try:
        del y
        assert gone() is None  # no cycle that only the collector would find
    finally:
        gc.enable()


def test_equal_applications_of_a_user_stay_two_nodes():
    x = tg.vector("x")
    a, b = tg.exp(x), tg.exp(x)
    assert a is not b
    assert a.apply is not b.apply


def test_variables_hash_by_identity_although_comparing_builds_a_graph():
    x, y = tg.vector("x"), tg.vector("y")
    assert len({x, y}) == 2
    assert isinstance(x == y, Variable)


def test_a_constant_owns_what_it_holds_and_cannot_be_written():
    given = np.arange(3.0)
    c = tg.constant(given)
    given[0] = 7
    assert c.data[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        c.data[0] = 1


def test_constants_are_equal_by_dtype_shape_and_bytes():
    def key(array):
        return Constant(np.array(array)).key

    assert key([1.0]) == key([1.0])
    assert key([0.0]) != key([-0.0])
    assert key([1.0]) != key([1])
    assert key([[1.0]]) != key([1.0])
    assert key([np.nan]) == key([np.nan])
    assert key(np.arange(6).reshape(2, 3).T) == key(np.ascontiguousarray(np.arange(6).reshape(2, 3).T))


def test_the_type_has_known_lengths_and_the_shape_lengths_that_behave_as_ints():
    x = tg.tensor("x", shape=(None, 3))
    assert x.type == TensorType("float64", (None, 3))
    assert x.shape[1] == 3
    assert isinstance(x.shape[0], Length)
    assert x.shape[0] == x.shape[0]
    assert tg.exp(x).shape[0] == x.shape[0]
    assert (tg.concatenate([x, x]).shape[0] - 2 * x.shape[0]) == 0


def test_an_op_applied_to_what_is_not_a_variable_is_refused():
    with pytest.raises(InputError, match=r"exp: found 3\.0, needed a variable"):
        tg.exp.op(3.0)


def test_an_error_of_a_type_rule_lists_the_operands_with_their_lines():
    a, b = tg.tensor("a", shape=(3,)), tg.tensor("b", shape=(4,))
    with pytest.raises(ShapeError) as caught:
        a + b
    notes = "\n".join(caught.value.__notes__)
    assert "operand 0  a  float64[3]   created at test_nodes.py:" in notes
    assert "operand 1  b  float64[4]" in notes
    assert "a + b" in notes


@pytest.mark.parametrize("text", ["n", "n + 1", "2 * n - m", "n * m * n", "n // 2", "n % m", "7 - n"])
def test_a_length_becomes_a_scalar_of_its_value(text):
    x = tg.matrix("x")
    n, m = x.shape
    size = as_size_variable(eval(text, {"n": n, "m": m}))
    assert size.type == TensorType("int64")
    assert int(size.eval({x: np.zeros((5, 3))})) == eval(text, {"n": 5, "m": 3})


@pytest.mark.parametrize("text", ["n", "n + 1", "2 * n - m", "n * m * n", "n // 2", "n % m"])
def test_the_size_of_the_scalar_of_a_length_is_that_length(text):
    n, m = tg.matrix("x").shape
    length = eval(text, {"n": n, "m": m})
    assert size_value(as_size_variable(length)) == length


@pytest.mark.parametrize("v", [tg.vector("x", dtype="int64"), tg.scalar("x"), tg.scalar("x", dtype="bool")])
def test_a_size_is_an_integer_scalar(v):
    with pytest.raises(ShapeError, match="needed an integer scalar"):
        size_value(v)


def test_a_constant_size_is_its_number():
    assert size_value(tg.constant(3)) == 3
    assert as_size_variable(3).type == TensorType("int64")


def test_an_op_with_several_results_gives_a_variable_for_each():
    x = tg.vector("x")
    a, b = tg.call(lambda v: (tg.exp(v), tg.sum(v)), x)
    assert a.apply is b.apply
    assert (a.index, b.index) == (0, 1)


# --- depth ------------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_chain_of_200_000_nodes_is_built_walked_and_freed_without_recursion():
    x = tg.scalar("x")
    y = chain(x, DEEP)
    assert len(sorted_applies([y])) == DEEP
    assert len(inputs_of([y])) == 1
    gone = weakref.ref(y.apply.inputs[0])
    del y
    gc.collect()
    assert gone() is None


# --- traversal --------------------------------------------------------------------------------------------------------


def test_operands_come_before_their_users_and_every_apply_once():
    x = tg.vector("x")
    a = tg.exp(x)
    b = a + a
    c = b * a
    order = [node for node, _ in sorted_applies([c, a])]
    assert [id(n) for n in order] == [id(v.apply) for v in (a, b, c)]


def test_known_variables_are_leaves():
    x = tg.vector("x")
    a = tg.exp(x)
    b = tg.sin(a)
    assert len(sorted_applies([b], boundary=[a])) == 1


def test_used_results_are_listed_at_their_place():
    x = tg.vector("x")
    _, second = tg.call(lambda v: (tg.exp(v), tg.sum(v)), x)
    ((_, results),) = sorted_applies([second])
    assert results[0] is None
    assert results[1] is second


def test_a_graph_with_exponentially_many_paths_is_walked_in_linear_time():
    y = tg.scalar("x")
    for _ in range(200):
        y = y + y
    assert len(sorted_applies([y])) == 200
    assert len(ancestors([y])) == 1


def test_leaves_are_met_in_order_and_constants_are_no_inputs():
    x, y = tg.vector("x"), tg.vector("y")
    z = (y + 2.0) * x
    assert [id(v) for v in inputs_of([z, x])] == [id(y), id(x)]
    assert len(ancestors([z])) == 3
