"""Casts of vectors: every dtype to every other, of hostile numbers."""

import numpy as np
import pytest

import tg
from tests.unit.native_backends.lanes import HALVES, REAL, hostile
from tg.ops.elementwise.cast import Cast, convert
from tg.types.tensor_type import TensorType

EVERY = (*REAL, *HALVES)


def same(found, right, note=""):
    """Equal, and NaN where NaN is; NumPy's own comparison knows no NaN of bfloat16."""
    assert found.dtype == right.dtype
    if found.dtype.name == "bfloat16":
        found, right = found.astype(np.float32), right.astype(np.float32)
    np.testing.assert_array_equal(found, right, err_msg=note, strict=True)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("source", EVERY)
def test_every_conversion(source, compiled, frozen_of):
    x = tg.Variable(TensorType(source, (None,)), name="x")
    executable = compiled(frozen_of([x], [Cast(target)(x) for target in EVERY]))
    for n in (1, 67, 500):
        a = hostile(source, (n,), n)
        found, _ = executable.run([a])
        for target, y in zip(EVERY, found, strict=True):
            with np.errstate(all="ignore"):
                same(y, convert(a, target), f"{source} to {target}")
