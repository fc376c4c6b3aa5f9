"""Less used functions give NumPy's results, dtypes and shapes: a table of calls, one for each way to call them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tg
from tests.unit.numpy_names.calls import CALLS
from tests.unit.numpy_names.values import VALUES, called, flat, of_constants, of_variables
from tg import plugin

ROWS = CALLS.strip().splitlines()
UNITS = 64  # in the last place: sums of a few terms, in any order
OTHERS = [one.name for one in plugin.registry().backends() if one.is_available and one.name != "perform"]


def compare(row: str, backend: str, *, exact_dtypes: bool = True) -> None:
    """What tg gives for a call beside what NumPy gives."""
    call = row.removeprefix("! ")
    wanted = flat(called(call, np, VALUES))
    results = (of_constants if row != call else of_variables)(call, backend)
    assert len(results) == len(wanted)
    for got, want in zip(map(np.asarray, results), map(as_array, wanted), strict=True):
        assert got.shape == want.shape
        assert got.dtype == want.dtype
        unit = UNITS * np.finfo(want.dtype).eps if want.dtype.kind in "fc" else 0
        np.testing.assert_allclose(got, want, rtol=unit, atol=unit)


def as_array(value: Any) -> Any:
    return np.asarray(value.name if isinstance(value, np.dtype) else value)


def test_the_table_is_long_enough() -> None:
    assert len(set(ROWS)) == len(ROWS) > 510


@pytest.mark.parametrize("row", ROWS)
def test_a_call_gives_what_numpy_gives(row: str) -> None:
    compare(row, "perform")


@pytest.mark.sampled(60)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("backend", OTHERS)
def test_a_call_gives_the_same_on_other_backends(backend: str, row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if any(gap.op == "subnormals" for gap in plugin.registry().gaps(backend)):
        monkeypatch.setitem(VALUES, "g", np.where(abs(VALUES["g"]) < np.finfo(float).tiny, 0.0, VALUES["g"]))
    try:
        compare(row, backend)
    except (tg.NoRuleError, tg.errors.DtypeError) as error:
        pytest.skip(str(error).splitlines()[0])
