"""The derivatives of elementwise records against mpmath, to second order, in every mode of rewriting."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from tests.derivatives.oracle import DTYPES, FEW, MODES, VALUES, bound, errors, kept
from tests.derivatives.truth import BITS, LEFT_OUT, TRUTH, by_differences
from tg.ops.catalog import ELEMENTWISE


def test_every_record_with_a_derivative_is_held_or_left_out_with_a_reason():
    differentiable = {fn.name for fn in ELEMENTWISE.values() if fn.d is not None and any(fn.d)}
    assert differentiable == TRUTH.keys() | LEFT_OUT.keys()
    assert {path.stem for path in VALUES.glob("*.npz")} == TRUTH.keys()


@pytest.mark.parametrize("name", ["tanh", "arctan2", "power", "logaddexp", "erfcx", "xlogy"])
def test_closed_forms_of_the_oracle_are_what_differences_give(name):
    functions = {
        "tanh": mp.tanh,
        "arctan2": mp.atan2,
        "power": mp.power,
        "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
        "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
        "xlogy": lambda x, y: x * mp.log(y),
    }
    point = (mpf("0.7"), mpf("1.3"))[: ELEMENTWISE[name].arity]
    with mp.workprec(BITS):
        for closed, by_steps in zip(TRUTH[name].partials(*point), by_differences(functions[name])(*point), strict=True):
            assert abs(closed - by_steps) < mpf(2) ** -150


def held(name, dtype, mode, count=None):
    x, first, second = errors(name, dtype, mode, "perform", count)
    allowed = bound(name, x)[0]
    for order, table in (("first", first), ("second", second)):
        over = table > allowed
        if over.any():
            partial, place = np.argwhere(over)[0]
            point = tuple(map(float, x[:, place]))
            pytest.fail(
                f"{name} of {dtype}: {order} derivative {partial} at {point}: {table[partial, place]:.3g} units"
            )


def quick_first():
    """The records; those that are loops, of which each takes seconds, are long."""
    loops = [name for name in TRUTH if ELEMENTWISE[name].cost > 500]
    return [pytest.param(name, marks=pytest.mark.long if name in loops else ()) for name in TRUTH]


@pytest.mark.parametrize("name", quick_first())
def test_derivatives_at_a_few_points(name):
    for dtype in DTYPES:
        held(name, dtype, "default", FEW)


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TRUTH)
def test_derivatives_at_all_points(name, dtype, mode):
    held(name, dtype, mode)


@pytest.mark.parametrize("name", ["exp", "hypot", "gammainc"])
def test_points_and_values_are_kept_for_both_dtypes(name):
    for dtype in DTYPES:
        x, want = kept(name, dtype)
        assert x.dtype == want.dtype == dtype
        assert x.shape[1] == want.shape[1] >= 0.9 * TRUTH[name].count
