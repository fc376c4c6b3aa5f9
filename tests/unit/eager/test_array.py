"""Arrays that compute at once: operators, items, conversions, and what other libraries see of them."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

import tg
from tg.errors import DtypeError, ShapeError

NUMBERS = np.array([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]])
BINARY = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
)  # fmt: skip
BITWISE = (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift)
IN_PLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod)


def same(found, wanted):
    value = np.asarray(found)
    assert value.dtype == wanted.dtype
    assert value.shape == wanted.shape
    np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
def test_operators_of_arrays_and_numbers_are_those_of_numpy(xp, op):
    x = xp.asarray(NUMBERS)
    same(op(x, xp.asarray(NUMBERS[::-1].copy())), op(NUMBERS, NUMBERS[::-1]))
    same(op(x, 2.0), op(NUMBERS, 2.0))
    same(op(3, x), op(3, NUMBERS))


@pytest.mark.parametrize("op", BITWISE, ids=lambda op: op.__name__)
def test_bitwise_operators_are_those_of_numpy(reference, op):
    a, b = np.array([5, 6, 7], np.int16), np.array([1, 2, 3], np.int16)
    same(op(reference.asarray(a), reference.asarray(b)), op(a, b))
    same(op(reference.asarray(a), 2), op(a, 2))
    same(op(9, reference.asarray(b)), op(9, b))


def test_unary_operators_and_powers_are_those_of_numpy(xp):
    x = xp.asarray(NUMBERS)
    for op in (operator.neg, operator.pos, abs):
        same(op(x), op(NUMBERS))
    same(~xp.asarray(NUMBERS > 1), ~(NUMBERS > 1))
    for exponent in (2, 3, -1, 2.0):
        same(x**exponent, NUMBERS**exponent)
    same(x @ x.T, NUMBERS @ NUMBERS.T)
    same(x.mT, NUMBERS.T)


@pytest.mark.parametrize("op", IN_PLACE, ids=lambda op: op.__name__)
def test_an_operator_in_place_gives_the_same_object_a_new_value(reference, op):
    data = NUMBERS.copy()
    x = kept = reference.asarray(data)
    value = kept.native
    x = op(x, 2.0)
    assert x is kept
    same(x, op(NUMBERS.copy(), 2.0))
    np.testing.assert_array_equal(value, NUMBERS)  # what others may hold
    np.testing.assert_array_equal(data, NUMBERS)


def test_an_operator_in_place_keeps_dtype_and_shape(reference):
    x = reference.asarray([1, 2])
    with pytest.raises(tg.DtypeError, match="in place"):
        x += 1.5
    with pytest.raises(tg.ShapeError, match="in place"):
        x += reference.ones((2, 2), dtype="int64")
    np.testing.assert_array_equal(x, [1, 2])


KEYS = (1, -1, slice(1, None), slice(None, None, -1), (0, 2), (slice(None), 1), (..., 0), None, (0, None, slice(0, 2)))


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_items_are_those_of_numpy(xp, key):
    x = xp.asarray(NUMBERS)
    same(x[key], NUMBERS[key])
    wanted = NUMBERS.copy()
    wanted[key] = 7
    x[key] = 7
    same(x, wanted)


def test_items_by_arrays_and_masks_are_those_of_numpy(xp):
    x = xp.asarray(NUMBERS)
    same(x[x > 0], NUMBERS[NUMBERS > 0])
    same(x[xp.asarray([1, 0, 1])], NUMBERS[[1, 0, 1]])
    x[x > 1] = -1.0
    same(x, np.where(NUMBERS > 1, -1.0, NUMBERS))


def test_an_index_out_of_range_is_an_index_error(xp):
    with pytest.raises(IndexError):
        xp.asarray(NUMBERS)[2]


@pytest.mark.parametrize("value", [128, -129, 2**70, [1, 300]])
def test_an_integer_that_the_dtype_cannot_hold_is_not_assigned(xp, value):
    x, like = xp.asarray(np.ones(2, "int8")), np.ones(2, "int8")
    with pytest.raises(OverflowError):
        like[:] = value
    with pytest.raises(OverflowError, match=r"needed an integer in \[-128, 127\] for int8"):
        x[:] = value
    np.testing.assert_array_equal(np.asarray(x), like)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda xp: xp.ones((2, 3)) + xp.ones((3, 2)),
        lambda xp: xp.matmul(xp.ones((2, 3)), xp.ones((2, 3))),
        lambda xp: xp.reshape(xp.ones(6), (4, 2)),
        lambda xp: xp.sum(xp.ones(3), axis=4),
        lambda xp: xp.concat([xp.ones(3), xp.ones((2, 2))]),
        lambda xp: operator.setitem(xp.ones(2), slice(None), [1.0, 2.0, 3.0]),
    ],
)
def test_an_error_of_shapes_has_the_line_of_the_user(xp, wrong):
    with pytest.raises(ShapeError) as raised:
        wrong(xp)
    assert any("  at  test_array.py:" in f"  {note}" for note in raised.value.__notes__)


def test_numbers_of_arrays_without_axes(reference):
    xp = reference
    assert bool(xp.asarray(True)) is True
    assert int(xp.asarray(3)) == 3
    assert float(xp.asarray(2.5)) == 2.5
    assert complex(xp.asarray(1 + 2j)) == 1 + 2j
    assert [10, 20, 30][xp.asarray(1)] == 20
    with pytest.raises(TypeError):
        float(xp.asarray(1j))
    with pytest.raises(TypeError):
        operator.index(xp.asarray(1.0))
    with pytest.raises(ValueError, match="without axes"):
        bool(xp.ones(2))


def test_texts_are_those_of_numpy(xp):
    x = xp.asarray(NUMBERS)
    assert repr(x) == repr(NUMBERS)
    assert str(x) == str(NUMBERS)
    assert f"{x[0, 0]:.2f}" == "1.50"


def test_a_copy_and_a_pickle_have_the_value(xp):
    x = xp.asarray(NUMBERS)
    for again in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert again.__array_namespace__() is xp
        again[0, 0] = 9
        same(x, NUMBERS)


def test_other_libraries_read_it_and_it_reads_theirs(xp):
    x = xp.asarray(NUMBERS)
    np.testing.assert_array_equal(np.from_dlpack(x), NUMBERS)
    np.testing.assert_array_equal(np.asarray(x, dtype="float32"), NUMBERS.astype("float32"))
    same(xp.from_dlpack(NUMBERS), NUMBERS)
    assert x.__dlpack_device__() == (1, 0)


def test_native_arrays_are_kept_as_they_are(xp):
    native = (xp.asarray(NUMBERS) + 1).native
    assert xp.asarray(native).native is native
    assert type((xp.asarray(native) * 2).native) is type(native)


def test_arrays_of_two_namespaces_do_not_meet(reference, tmp_path):
    other = tg.eager("perform", background=False)
    with pytest.raises(tg.InputError, match="one of its own"):
        reference.ones(2) + other.ones(2)
    same(reference.asarray(other.ones(2)), np.ones(2))


def test_a_device_is_the_one_of_the_namespace(reference):
    x = reference.ones(2, device="cpu")
    assert x.to_device(x.device) is x
    with pytest.raises(tg.InputError, match="gpu"):
        x.to_device("gpu:0")
    with pytest.raises(tg.InputError, match="gpu"):
        reference.ones(2, device="gpu:0")


@pytest.mark.parametrize("items", [3j, [3j, 4.0]])
def test_complex_items_of_real_arrays_are_refused(items):
    xp = tg.eager("perform")
    x = xp.asarray([1.0, 2.0, 5.0])
    with pytest.raises(DtypeError, match=r"assignment: found complex128, needed items for float64(.|\n)*hint: xp.real"):
        x[:2] = items if type(items) is complex else xp.asarray(items)
    same(x, np.array([1.0, 2.0, 5.0]))
    z = xp.asarray([1j, 2.0])
    z[0] = 3.0
    same(z, np.array([3.0 + 0j, 2.0]))
