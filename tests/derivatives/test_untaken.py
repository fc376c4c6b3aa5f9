"""The conformance cases in a branch that is not taken, of NaN: all their gradients are 0, of the second order too."""

import functools

import numpy as np
import pytest

import tg
from tg import plugin
from tg.types.dtypes import is_float
from tg_conformance.case import case_name, items
from tg_conformance.program import Program

ITEMS = {
    case_name(item.case): item
    for item in items(plugin.registry().backend("perform"), "quick")
    if item.kind == "grad" and item.dtype in ("float64", None) and item.layout == "C"
}


def total(variables):
    """The sum of all elements."""
    return functools.reduce(lambda a, b: a + b, [tg.sum(tg.cast(v, "float64")) for v in variables])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", ITEMS)
@pytest.mark.parametrize("order", [1, 2])
def test_what_is_not_taken_leaks_nothing(name, order):
    program = Program(ITEMS[name])
    y = tg.scalar("y")
    wrt = [program.inputs[k] for k in program.wrt]
    out = tg.where(y > 0, total(v for v in program.results if is_float(v.type.dtype)), y * y)
    for _ in range(order - 1):
        out = total(tg.grad(out, wrt, disconnected="zero"))
    gradients = tg.grad(out, wrt, disconnected="zero")
    f = tg.function([*program.inputs, y], gradients, backend="perform", on_unused_input="ignore")
    given = program.call(ITEMS[name], 0).plain[: len(program.inputs)]
    arrays = [np.full_like(a, np.nan) if k in program.wrt else a for k, a in enumerate(given)]
    with np.errstate(all="ignore"):
        for found in f(*arrays, -1.5):
            np.testing.assert_array_equal(found, np.zeros_like(found))
