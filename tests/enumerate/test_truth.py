"""The oracle of the enumeration by itself: at any operands of a dtype it gives a number or says that it knows none."""

import itertools

import numpy as np
import pytest
from mpmath import mpc, mpf

from tests.enumerate import truth
from tg.errors import TgError
from tg.ops.catalog import ELEMENTWISE, FAMILIES
from tg.types.tensor_type import TensorType

INF, NAN = np.inf, np.nan
FURTHER = [mpf((0, 1, 10**20, 1)), mpf((1, 3, -(10**20), 2)), mpf((0, 1, 2**70, 1))]  # than any dtype has numbers
VALUES = {
    "bool": [True, False],
    "int64": [0, 1, -3, 2**62],
    "float64": [*map(truth.exact, (0.0, -0.0, 1.0, -2.5, 1e-300, 1e300, INF, -INF, NAN)), *FURTHER],
    "complex128": [mpc(0), mpc(1, 2), mpc(-1.5), mpc(0, -1e300), truth.UNKNOWN],
}


UNKNOWN = {  # mpmath orders no complex numbers; its inverse functions of them choose other sides of their cuts
    "float64": {"nextafter"},
    "complex128": {
        *("maximum", "minimum", "clip", "less", "less_equal", "greater", "greater_equal", "rint"),
        *("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"),
    },
}


@pytest.mark.parametrize("dtype", VALUES)
def test_no_operands_are_too_much(dtype):
    """Where mpmath gives up, the number is unknown: an error would leave the whole program unjudged."""
    known, unknown = 0, set()
    for name, record in ELEMENTWISE.items():
        try:
            (result,) = record.op.infer(*[TensorType(dtype)] * record.arity)
        except TgError:  # it takes no such operands
            continue
        function = truth.guarded_scalar(name, dtype, result.dtype)
        if function is None:
            unknown.add(name)
            continue
        for operands in itertools.product(VALUES[dtype], repeat=record.arity):
            function(*operands)
        known += 1
    assert known > 10
    special = {fn.name for family in FAMILIES if "/special/" in family.path for fn in family.elementwise}
    expanded = {fn.name for fn in ELEMENTWISE.values() if fn.only_derives}  # no program that is judged has one
    assert unknown - {"where"} - special - expanded == UNKNOWN.get(dtype, set())


def test_sums_of_exponentials_are_those_of_numpy():
    function = truth.guarded_scalar("logaddexp", "float64", "float64")
    for x, y in [(0.0, 0.0), (1.0, -2.5), (1e-300, 3.0), (700.0, 710.0), (-INF, 2.0), (INF, 1.0)]:
        found = function(truth.exact(x), truth.exact(y))
        assert found is not truth.UNKNOWN
        assert float(found) == pytest.approx(np.logaddexp(x, y), rel=1e-15)
