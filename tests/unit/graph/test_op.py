import copy
import pickle
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tg
from tg.errors import InputError
from tg.graph.checks import Descriptor
from tg.graph.frozen import FrozenGraph
from tg.graph.op import Frozen, Op, exact_key
from tg.ops.reduction import Reduce
from tg.types.tensor_type import TensorType


class Scale(Op):
    factor: object
    axis: int = -1

    def infer(self, x):
        return (x,)


class Shift(Op):
    factor: object
    axis: int = -1


class WeightedScale(Scale):
    weight: float = 1.0


def nan_of(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


NAN, OTHER_NAN = nan_of(0x7FF8000000000000), nan_of(0x7FF8000000000001)

DIFFERENT = [
    (True, 1),
    (1, 1.0),
    (True, 1.0),
    (False, 0),
    (1.0, 1 + 0j),
    (-0.0, 0.0),
    (complex(0.0, -0.0), complex(0.0, 0.0)),
    (NAN, OTHER_NAN),
    (NAN, nan_of(0xFFF8000000000000)),
    ("1", 1),
    (None, False),
    ((), None),
    ((1,), (True,)),
    ((0.0,), (-0.0,)),
    ((1, (2, (3,))), (1, (2, (3.0,)))),
    ((1, 2), ((1,), 2)),
    (tg.add, tg.add.op),
    (tg.add, "add"),
    (Scale(1), Scale(1.0)),
]


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_fields_that_python_may_call_equal_make_different_ops(a, b):
    assert Scale(a) != Scale(b)
    assert Scale((a,)) != Scale((b,))
    assert len({Scale(a), Scale(b)}) == 2


@pytest.mark.parametrize("value", [v for pair in DIFFERENT for v in pair])
def test_equal_fields_make_equal_ops_of_equal_hash(value):
    assert Scale(value) == Scale(copy.deepcopy(value))
    assert hash(Scale(value)) == hash(Scale(copy.deepcopy(value)))


@given(st.floats(), st.floats())
def test_floats_are_compared_by_their_bits(a, b):
    assert (Scale(a) == Scale(b)) == (struct.pack("d", a) == struct.pack("d", b))


@given(st.recursive(st.booleans() | st.integers(0, 1) | st.sampled_from([0.0, 1.0, -0.0]), lambda v: st.tuples(v, v)))
def test_equality_is_that_of_the_exact_text(value):
    for other in (value, (value, value), (value,)):
        assert (Scale(value) == Scale(other)) == (repr(value) == repr(other))


def test_a_nan_equals_itself():
    assert Scale(NAN) == Scale(nan_of(0x7FF8000000000000))
    assert hash(Scale(NAN)) == hash(Scale(nan_of(0x7FF8000000000000)))


def test_ops_of_different_classes_differ_although_their_fields_are_equal():
    assert Scale(1) != Shift(1)
    assert Scale(1) != WeightedScale(1)
    assert Scale(1) != 1


def test_fields_are_given_by_place_or_name_and_have_defaults():
    assert Scale(2) == Scale(factor=2) == Scale(2, -1) == Scale(2, axis=-1)
    assert Scale(2, -2).axis == -2


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ((), {}, "Scale: found fields axis, needed factor, axis"),
        ((1, 2, 3), {}, "Scale: found 3 fields, needed 2"),
        ((1,), {"axes": 2}, "Scale: found fields axis, factor, axes, needed factor, axis"),
        ((1, 2), {"axis": 2}, "Scale: found axis by place and by name, needed it once"),
    ],
)
def test_fields_that_are_missing_or_too_many_are_refused(args, kwargs, said):
    with pytest.raises(InputError, match=said):
        Scale(*args, **kwargs)


def test_a_subclass_adds_its_fields_after_those_of_its_base():
    assert WeightedScale.fields == ("factor", "axis", "weight")
    assert WeightedScale(1).weight == 1.0
    assert Scale.fields == ("factor", "axis")


def test_ops_are_immutable_and_have_no_dictionary():
    op = Scale(1)
    with pytest.raises(AttributeError, match=r"Scale\.factor cannot be set"):
        op.factor = 2
    assert not hasattr(op, "__dict__")


def test_ops_print_as_the_call_that_makes_them():
    assert repr(Scale((1, "a"), -2)) == "Scale(factor=(1, 'a'), axis=-2)"
    assert repr(Reduce(tg.add, (-1,))) == "Reduce(fn=add, axes=(-1,), total=False)"


def test_copies_are_the_op_itself():
    op = Scale((1, 2.0))
    assert copy.copy(op) is op
    assert copy.deepcopy(op) is op


def test_ops_make_the_round_trip_through_pickle():
    op = Reduce(tg.add, (-1, -2), total=True)
    found = pickle.loads(pickle.dumps(op))
    assert found == op
    assert hash(found) == hash(op)


def test_an_op_with_an_inner_graph_is_equal_by_the_structure_of_the_graph():
    x = TensorType("float64", (3,))
    a, b = (FrozenGraph(1, [x], [], [], [0], names={0: name}) for name in "ab")
    assert Scale(a) == Scale(b)
    assert Scale(a) != Scale(FrozenGraph(1, [x.with_shape((4,))], [], [], [0]))


def test_class_variables_and_properties_are_not_fields():
    assert "has_expansion" not in Op.fields
    assert Op.fields == ()
    assert Reduce.fields == ("fn", "axes", "total")


def test_an_elementwise_function_has_one_op_which_is_filed_under_the_function():
    assert tg.add.op.rule_key is tg.add
    assert Reduce(tg.add, (-1,)).rule_key is Reduce
    assert tg.add.op.name == "add"


def test_the_key_of_nested_tuples_is_hashable_and_exact():
    assert exact_key((1, (2.0, None))) == exact_key((1, (2.0, None)))
    assert exact_key((1, (2.0, None))) != exact_key((1, (2, None)))


def test_the_line_of_a_descriptor_takes_no_part_in_equality():
    loc = tg.vector("x").loc
    plain = Descriptor("ShapeError", "text {0}", "hint")
    placed = plain.at(loc)
    assert placed == plain
    assert hash(placed) == hash(plain)
    assert placed.at(None) is placed
    assert "test_op.py" in str(placed.build([3]))
    assert "test_op.py" not in str(plain.build([3]))


def test_a_descriptor_builds_the_error_it_describes():
    error = Descriptor("BoundsError", "index {0} of {1}", "look").build([5, 3])
    assert isinstance(error, tg.BoundsError)
    assert str(error) == "index 5 of 3\n  hint: look"


def test_a_descriptor_of_a_call_builds_the_error_of_the_inner_check():
    inner = (Descriptor("BoundsError", "first {0}"), Descriptor("DomainError", "second {0}"))
    outer = Descriptor("TgError", "", None, inner)
    assert str(outer.build([2, 7])) == "second 7"
    assert isinstance(outer.build([2, 7]), tg.DomainError)


def test_any_value_with_fields_may_be_frozen():
    class Pair(Frozen):
        a: int
        b: int = 2

    assert Pair(1) == Pair(1, 2)
    assert Pair(1) != Pair(1, 3)
