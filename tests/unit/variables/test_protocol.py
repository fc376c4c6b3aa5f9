"""The Python and NumPy protocols of variables."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tg

if TYPE_CHECKING:
    from types import ModuleType

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip


@pytest.mark.parametrize("op", BINARY, ids=lambda o: o.__name__)
def test_operators_agree_with_numpy_on_both_sides(op) -> None:  # type: ignore[no-untyped-def]
    x = tg.vector("x")
    value = np.array([-1.5, 0.25, 2.0, 3.0])
    other = np.array([2.0, 0.5, -1.0, 3.0])
    np.testing.assert_array_equal(op(x, other).eval({x: value}), op(value, other))
    np.testing.assert_array_equal(op(other, x).eval({x: np.abs(value)}), op(other, np.abs(value)))
    np.testing.assert_array_equal(op(3.0, x).eval({x: np.abs(value)}), op(3.0, np.abs(value)))


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor], ids=lambda o: o.__name__)
def test_bitwise_operators_agree_with_numpy(op) -> None:  # type: ignore[no-untyped-def]
    x = tg.vector("x", dtype="int32")
    value = np.array([1, 2, -4, 7], np.int32)
    np.testing.assert_array_equal(op(x, 5).eval({x: value}), op(value, 5))
    np.testing.assert_array_equal((~x).eval({x: value}), ~value)


def test_numpy_functions_build_graphs() -> None:
    x = tg.vector("x")
    value = np.array([0.5, 1.0, 2.0])
    for build in (np.exp, np.log1p, np.tanh, lambda v: np.ones(3) - v, lambda v: np.maximum(v, 1.0), np.sum, np.mean):
        found = build(x)
        assert isinstance(found, tg.Variable)
        np.testing.assert_allclose(found.eval({x: value}), build(value), rtol=1e-15)
    assert isinstance(np.concatenate([x, np.ones(2)]), tg.Variable)


@pytest.mark.parametrize("options", [{}, {"axis": 0}])
def test_cross_products_of_variables_are_those_of_arrays(options: dict[str, int]) -> None:
    m, value = tg.matrix("m"), np.arange(9.0).reshape(3, 3) ** 2
    for build in (lambda v: np.cross(v, value.T, **options), lambda v: np.cross([1.0, 2.0, -1.0], v)):
        np.testing.assert_array_equal(build(m).eval({m: value}), build(value))


@pytest.mark.parametrize("shape", [(None,), (None, 3), (2,)])
def test_a_function_of_scipy_that_needs_values_tells_where_its_counterpart_is(shape: tuple[int | None, ...]) -> None:
    special = pytest.importorskip("scipy.special")
    with pytest.raises(tg.errors.SymbolicError, match=r"tg\.special"):
        special.logsumexp(tg.tensor("x", "float64", shape))


def test_a_numpy_function_without_counterpart_is_refused_by_name() -> None:
    x = tg.vector("x")
    with pytest.raises(tg.InputError, match=r"np\.isnat"):
        np.isnat(x)
    with pytest.raises(tg.InputError, match=r"np\.busday_count"):
        np.busday_count(x, x)


def test_functions_that_write_are_refused_and_their_counterparts_named() -> None:
    x = tg.vector("x")
    for write in (lambda: np.put(x, 0, 1.0), lambda: np.putmask(x, x > 0, 1.0), lambda: np.copyto(x, 1.0)):
        with pytest.raises(tg.InputError, match=r"variables are immutable\n  hint: tg\.\w+ gives a new variable"):
            write()


def test_newer_names_go_through_the_protocol_as_well() -> None:
    x, value = tg.vector("x"), np.array([0.5, 1.0, 4.0])
    builds = (np.gradient, np.unwrap, np.spacing, np.nancumsum, np.sort_complex, np.iscomplexobj)
    for build in (*builds, lambda v: np.apply_along_axis(np.cumsum, 0, v), lambda v: np.polymul(v, v)):
        y = build(x)
        np.testing.assert_array_equal(y.eval({x: value}) if isinstance(y, tg.Variable) else y, build(value))


@pytest.mark.parametrize("module", [np.fft, np.linalg])
def test_every_function_of_a_submodule_of_numpy_has_its_counterpart(module: ModuleType) -> None:
    dispatched = [name for name in module.__all__ if hasattr(getattr(module, name), "_implementation")]
    assert len(dispatched) > 15
    refused = []
    for name in dispatched:
        try:
            getattr(module, name)(tg.matrix("x"))
        except (tg.TgError, TypeError) as error:
            refused += [name] if "no counterpart" in str(error) else []
    assert refused == []


def test_equality_builds_a_graph_and_identity_is_is() -> None:
    x = tg.vector("x")
    assert isinstance(x == x, tg.Variable)
    assert {x: 1}[x] == 1


def test_iteration_and_length_work_for_a_static_first_length() -> None:
    x = tg.tensor("x", shape=(2, None))
    assert len(x) == 2
    first, second = x
    np.testing.assert_array_equal((first - second).eval({x: np.array([[3.0, 4.0], [1.0, 1.0]])}), [2.0, 3.0])


INDICES = [
    0, -1, 2, slice(None), slice(1, 3), slice(-3, -1), slice(None, None, -1), slice(3, 0, -2), slice(10, 20),
    slice(-100, 100, 3), None, Ellipsis, (0, 1), (slice(None), 1), (Ellipsis, 0), (None, 0, None),
    (slice(1, 2), None, -1),
    [0, 2], [[0, 1], [2, 2]], ([0, 1], [1, 0]), ([0, 1], slice(None), [2, 3]), (slice(None), [0, 2, 2]),
    (slice(1, None), [0, 1], slice(None, None, -1)), (0, slice(None), [1, 2]), (slice(None), None, [0, 1]), ([], ),
    (slice(None), [0, 1], None, [1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize("static", [True, False])
def test_reading_at_an_index_agrees_with_numpy(index: object, static: bool) -> None:
    value = np.arange(60.0).reshape(3, 4, 5)
    x = tg.tensor("x", shape=value.shape if static else (None, None, None))
    key = tuple(np.array(k, int) if isinstance(k, list) else k for k in index) if isinstance(index, tuple) else index
    want = value[np.array(key, int) if isinstance(key, list) else key]
    y = x[index]
    got = y.eval({x: value})
    np.testing.assert_array_equal(got, want)
    assert got.shape == want.shape
    assert all(n in (None, m) for n, m in zip(y.type.shape, want.shape, strict=True))


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize("method", ["set", "add"])
def test_writing_at_an_index_agrees_with_numpy(index: object, method: str) -> None:
    if isinstance(index, tuple) and any(k is None for k in index) and any(isinstance(k, list) for k in index):
        pytest.skip("new axes among integer arrays are refused")
    value = np.arange(60.0).reshape(3, 4, 5)
    x = tg.tensor("x", shape=(None, None, None))
    key = tuple(np.array(k, int) if isinstance(k, list) else k for k in index) if isinstance(index, tuple) else index
    key = np.array(key, int) if isinstance(key, list) else key
    want, new = value.copy(), np.random.default_rng(0).normal(size=value[key].shape)
    if method == "set":
        want[key] = new
    else:
        np.add.at(want, key, new)
    got = getattr(x.at[index], method)(new).eval({x: value})
    np.testing.assert_array_equal(got, want)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("start", [-7, -4, -1, 0, 2, 4, 9])
@pytest.mark.parametrize("stop", [-6, -1, 0, 3, 4, 8])
@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_slices_with_run_time_bounds_agree_with_numpy(start: int, stop: int, step: int) -> None:
    x, a, b = tg.vector("x"), tg.scalar("a", dtype="int64"), tg.scalar("b", dtype="int64")
    value = np.arange(5.0)
    got = x[a:b:step].eval({x: value, a: start, b: stop})
    np.testing.assert_array_equal(got, value[start:stop:step])


def test_a_window_of_static_width_has_a_static_length() -> None:
    x, k = tg.tensor("x", shape=(100,)), tg.scalar("k", dtype="int64")
    f = tg.function([x, k], x[k * 10 : (k + 1) * 10], backend="perform")
    assert f(np.arange(100.0), 3).tolist() == list(range(30, 40))
    assert f(np.arange(100.0), 9).tolist() == list(range(90, 100))
    assert f(np.arange(100.0), 12).tolist() == []


def test_a_length_behaves_as_an_int_in_shapes_and_arithmetic() -> None:
    x = tg.matrix("x")
    n, m = x.shape
    value = np.arange(6.0).reshape(2, 3)
    assert (x.reshape((n * m,)) * n).eval({x: value}).tolist() == (value.ravel() * 2).tolist()
    assert x.reshape((-1, n)).eval({x: value}).shape == (3, 2)
    assert tg.full((n + 1,), 1.5).eval({x: value}).shape == (3,)
    assert tg.arange(n, 2 * n + m).eval({x: value}).tolist() == [2, 3, 4, 5, 6]
    with pytest.raises(tg.LengthError, match="until the program runs"):
        range(n)


def test_assignment_names_the_alternative() -> None:
    x = tg.vector("x")
    with pytest.raises(tg.InputError, match=r"x\.at\[index\]\.set"):
        x[0] = 1.0


class OldArray:
    """An array of a library whose `__array__` takes no `copy`, as tensors of PyTorch are."""

    def __array__(self, dtype: object = None) -> np.ndarray:
        return np.array([1.0, 2.0], dtype)

    def __add__(self, other: object) -> object:
        return NotImplemented


def test_arrays_whose_protocol_knows_no_copies_are_constants_without_a_warning() -> None:
    x = tg.vector("x")
    for sum_ in (x + OldArray(), OldArray() + x):
        np.testing.assert_array_equal(sum_.eval({x: [1.0, 1.0]}), [2.0, 3.0])
    assert tg.constant(OldArray(), "float32").dtype == "float32"


def test_pandas_leaves_arithmetic_with_variables_to_them() -> None:
    of_a_frame = 4000
    assert tg.vector("x").__pandas_priority__ > of_a_frame
    pandas = pytest.importorskip("pandas")
    x = tg.vector("x")
    for value in (pandas.Series([1.0, 2.0]), pandas.Index([1.0, 2.0])):
        np.testing.assert_array_equal((value + x).eval({x: [1.0, 1.0]}), [2.0, 3.0])


def test_an_array_of_xarray_may_hold_a_variable_and_shows_it() -> None:
    xarray = pytest.importorskip("xarray")
    found = xarray.DataArray([1.0, 2.0]) + tg.vector("x")
    assert isinstance(found.data, tg.Variable)
    assert repr(found).startswith("<xarray.DataArray (dim_0: 2)> Size: 16B")


def test_the_number_of_bytes_is_a_length() -> None:
    x = tg.matrix("x", "float32", shape=(2, 3))
    assert x.nbytes == 24
    y = tg.vector("y")
    assert tg.as_variable(y.nbytes).eval({y: [1.0, 2.0]}) == 16
