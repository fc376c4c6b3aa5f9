"""The interface of a program: lengths of results in postfix, over the lengths of inputs or of what the plan finds."""

import pickle

import numpy as np
import pytest

import tg
from tg_native.calls.interface import interface_of

COMBINED = {"+": int.__add__, "*": int.__mul__, "//": int.__floordiv__, "%": int.__mod__, "min": min, "max": max}


def interface(inputs, outputs):
    return interface_of(tg.function(inputs, outputs, backend="c").graph)


def evaluated(steps, known):
    stack = []
    for what, operand in steps:
        if what in COMBINED:
            b, a = stack.pop(), stack.pop()
            stack.append(COMBINED[what](a, b))
        else:
            stack.append(operand if what == "constant" else known[operand])
    (found,) = stack
    return found


def test_lengths_follow_from_those_of_the_inputs():
    x, A = tg.vector("x"), tg.matrix("A")
    outputs = [x[:-1], tg.concatenate([x, x]), A.T, x[::3], A.reshape((-1,)), x[:2], tg.sum(x)]
    found = interface([x, A], outputs)
    f = tg.function([x, A], outputs, backend="perform")
    for n, m, k in ((7, 2, 5), (4, 3, 0), (1, 6, 2)):
        shapes = [tuple(evaluated(steps, [n, m, k]) for steps in o.shape) for o in found.outputs]
        assert shapes == [np.shape(y) for y in f(np.zeros(n), np.zeros((m, k)))]
    assert not found.has_plan
    assert found.planned == 0


def test_lengths_that_values_decide_are_found_by_the_plan():
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    found = interface([x, n], [x + 1, x[:n], tg.zeros((3, n))])
    assert [o.is_planned for o in found.outputs] == [False, True, True]
    assert [step.operand for o in found.outputs[1:] for (step,) in o.shape] == [1, 2, 3]
    assert found.planned == 4


def test_inputs_dtypes_and_checks():
    x, k = tg.vector("x"), tg.scalar("k", dtype="int64")
    assert interface([x], x + 1).has_checks is False
    found = interface([x, k], x[k])
    assert found.has_checks
    assert found.dtypes == [np.dtype("float64"), np.dtype("int64"), np.dtype("float64")]
    assert [t.shape for t in found.inputs] == [(None,), ()]


@pytest.mark.parametrize("extra", [0, 999])
def test_a_call_has_room_in_its_frame(extra):
    x = tg.vector("x")
    found = interface([x], x + 1)
    assert found.fits(extra)
    assert not found.fits(1000)


def test_it_is_pickled():
    x, A = tg.vector("x"), tg.matrix("A")
    found = interface([x, A], [x[:-1], A @ x])
    assert pickle.loads(pickle.dumps(found)) == found
