"""Distinct entries along an axis: NumPy's results, and JAX's of a stated size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tg
from tg.errors import ShapeError

DRAWS = np.random.default_rng(0)
ARRAYS = [
    DRAWS.integers(0, 2, (7, 3)),
    DRAWS.integers(0, 2, (3, 5)).astype("float32"),
    DRAWS.integers(0, 2, (2, 4, 2)) > 0,
    np.array([[np.nan, 1.0], [np.nan, 1.0], [0.0, 1.0]]),
    np.array([[0.0], [-0.0]]),
    np.zeros((0, 2)),
    np.zeros((2, 0, 3)),
]
PLACES = [(x, axis) for x in ARRAYS for axis in (None, *range(-1, x.ndim))]


@pytest.mark.parametrize(("x", "axis"), PLACES)
def test_distinct_entries_are_those_of_numpy(x: Any, axis: int | None) -> None:
    wanted = np.unique(x, True, True, True, axis)
    results = tg.function([], list(tg.unique(x, True, True, True, axis)), backend="perform")()
    for result, expected in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(result, expected)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)


def test_nans_count_as_one_unless_they_shall_not() -> None:
    x = np.array([[2.0, np.nan], [np.nan, 2.0]])
    own: Any = [
        *tg.unique(x, True, True, True, equal_nan=False),
        tg.unique(x, equal_nan=False, axis=0),
        tg.unique(x, sorted=False),
        tg.unique_values(x),
        *(part for f in (tg.unique_counts, tg.unique_inverse, tg.unique_all) for part in f(x)),
    ]
    wanted = [
        *np.unique(x, True, True, True, equal_nan=False),
        np.unique(x, equal_nan=False, axis=0),
        np.unique(x),
        np.sort(np.unique_values(x)),
        *(part for f in (np.unique_counts, np.unique_inverse, np.unique_all) for part in f(x)),
    ]
    for result, expected in zip(tg.function([], own, backend="perform")(), wanted, strict=True):
        np.testing.assert_array_equal(result, expected)
    f = tg.function([], tg.unique(x, equal_nan=False, return_counts=True, size=4, fill_value=0.0), backend="perform")
    np.testing.assert_array_equal(f(), [[2.0, np.nan, np.nan, 0.0], [2, 1, 1, 0]])


@pytest.mark.parametrize("size", [2, 5, 9])
def test_a_stated_size_of_entries_is_that_of_jax(size: int) -> None:
    jnp = pytest.importorskip("jax.numpy")
    x = tg.matrix("x", "int64", shape=(None, 3))
    options: dict[str, Any] = {"axis": 0, "size": size, "fill_value": -5}
    f = tg.function([x], list(tg.unique(x, False, True, True, **options)), backend="perform")
    wanted = jnp.unique(jnp.asarray(ARRAYS[0]), False, True, True, **options)
    for k, (result, expected) in enumerate(zip(f(ARRAYS[0]), wanted, strict=True)):
        if k != 1:  # beyond the size JAX's inverse says the last, tg's the entry itself
            np.testing.assert_array_equal(result, expected)
    assert f(ARRAYS[0])[1].tolist() == np.unique(ARRAYS[0], return_inverse=True, axis=0)[1].tolist()


def test_lengths_behind_the_axis_are_known() -> None:
    with pytest.raises(ShapeError, match=r"unique: axis: found .*, needed known lengths behind the axis"):
        tg.unique(tg.matrix("m"), axis=0)
