"""Arrays with names of axes: xarray's results, errors by name, structures, gradients."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import xarray as xr

import tg
from tg.errors import InputError, ShapeError

DRAWS = np.random.default_rng(0)
A = xr.DataArray(DRAWS.normal(size=(4, 3)), dims=("obs", "group"))
B = xr.DataArray(DRAWS.normal(size=(3, 2)), dims=("group", "chain"))
C = xr.DataArray(DRAWS.normal(size=4), dims="obs")
D = xr.DataArray(DRAWS.normal(size=(2, 3, 4)), dims=("chain", "group", "obs"))
PLACES = xr.DataArray([2, 0, 1, 1], dims="obs")
TABLE = xr.DataArray([[0, 1], [2, 0]], dims=("row", "column"))
BACKENDS = [one.name for one in tg.backends() if one.is_available]
array: Any = tg.dims.Array


def own(x: xr.DataArray) -> Any:
    """An array of xarray as an expression."""
    values = tg.as_variable(x.values)
    return tg.dims.Array(values, x.dims)


def compare(f: Any, *arrays: xr.DataArray, rtol: float = 1e-13) -> None:
    """A function of arrays gives the same values, names and order of names as of xarray's."""
    wanted = f(*arrays)
    result = tg.function([], f(*map(own, arrays)), backend="perform")()
    assert result.dims == wanted.dims
    assert result.values.dtype == wanted.dtype
    np.testing.assert_allclose(result.values, wanted.values, rtol=rtol, atol=1e-15)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b, c, d: a + b,
        lambda a, b, c, d: c - a * 2.0,
        lambda a, b, c, d: d / (b + 3.0),
        lambda a, b, c, d: 1.0 - d * c + a,
        lambda a, b, c, d: (a > c) & ~(a <= 0.0) | (b == b),
        lambda a, b, c, d: abs(-a) ** 2 // 0.3 % c,
        lambda a, b, c, d: 2.0**b,
    ],
)
def test_operators_align_by_name_as_xarray_does(f: Any) -> None:
    compare(f, A, B, C, D)


@pytest.mark.parametrize("dim", [None, ..., "obs", ["group", "obs"], ("chain",), []])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "std", "max", "min", "median"])
def test_reductions_are_those_of_xarray(name: str, dim: Any) -> None:
    compare(lambda d: getattr(d, name)(dim), D, rtol=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda d: d.var("obs", ddof=1),
        lambda d: (d > 0.0).any("group"),
        lambda d: (d > -1.0).all(("chain", "obs")),
        lambda d: d.argmax("group"),
        lambda d: d.argmin("obs"),
        lambda d: d.cumsum("group"),
        lambda d: d.cumprod("obs"),
        lambda d: d.diff("obs", 2),
        lambda d: d.roll(obs=1, group=-1),
        lambda d: d.transpose("obs", ..., "chain"),
        lambda d: d.transpose(),
        lambda d: d.T.rename(obs="row"),
        lambda d: d.rename({"chain": "group", "group": "chain"}),
        lambda d: d.expand_dims("draw"),
        lambda d: d.expand_dims(draw=2, other=3),
        lambda d: d.isel(chain=[0]).squeeze("chain"),
        lambda d: d.broadcast_like(d.isel(chain=0).expand_dims(draw=2)),
        lambda d: d.where(d > 0.0),
        lambda d: d.where(d > 0.0, 2.0),
        lambda d: d.clip(max=0.5),
        lambda d: d.astype("float32"),
        lambda d: d[1, :, 1:3] + d[{"group": 0, "obs": slice(1, 3)}],
    ],
)
def test_methods_are_those_of_xarray(f: Any) -> None:
    compare(f, D)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b, c, d: a @ b,
        lambda a, b, c, d: c @ a,
        lambda a, b, c, d: d.dot(a),
        lambda a, b, c, d: d.dot(a, dim="group"),
        lambda a, b, c, d: d.dot(b, dim=...),
        lambda a, b, c, d: c @ c,
    ],
)
def test_products_sum_over_the_names_that_xarray_sums_over(f: Any) -> None:
    compare(f, A, B, C, D, rtol=1e-12)


def test_products_of_several() -> None:
    wanted = xr.dot(A, B, C)
    result = tg.function([], tg.dims.dot(own(A), own(B), own(C)), backend="perform")()
    assert result.dims == wanted.dims
    np.testing.assert_allclose(result.values, wanted.values, rtol=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda d, i, t: d.isel(obs=1),
        lambda d, i, t: d.isel(obs=slice(None, None, 2), chain=-1),
        lambda d, i, t: d.isel(obs=[3, 0], group=[0, 0, 2]),
        lambda d, i, t: d.isel(group=i),
        lambda d, i, t: d.isel(group=i.rename(obs="row")),
        lambda d, i, t: d.isel(group=t),
        lambda d, i, t: d.isel(chain=0, group=t),
        lambda d, i, t: d.isel(group=t, obs=t),
        lambda d, i, t: d.isel(group=i.rename(obs="group")),
        lambda d, i, t: d.isel({"obs": i.isel(obs=0)}),
    ],
)
def test_positions_are_those_of_xarray(f: Any) -> None:
    compare(f, D, PLACES, TABLE)


def test_positions_of_axes_that_stand_apart_agree_up_to_the_order() -> None:
    wanted = D.isel(chain=TABLE.clip(max=1), obs=TABLE)
    result = own(D).isel(chain=own(TABLE.clip(max=1)), obs=own(TABLE)).transpose(*wanted.dims)
    np.testing.assert_array_equal(result.values.eval(), wanted.values)


def test_functions_of_elements_take_numbers_and_arrays_of_xarray() -> None:
    wanted = np.exp(A) + np.maximum(A, C)
    result = tg.dims.exp(A) + tg.dims.maximum(own(A), C)
    np.testing.assert_allclose(result.values.eval(), wanted.transpose(*result.dims), rtol=1e-14)
    np.testing.assert_array_equal(tg.dims.where(own(A) > 0, A, 0.0).values.eval(), xr.where(A > 0, A, 0.0))
    quotient, rest = tg.dims.apply(tg.divmod, own(A), 0.3)
    np.testing.assert_allclose((quotient * 0.3 + rest).values.eval(), A.values, rtol=1e-14)


def test_stacking_and_unstacking() -> None:
    stacked = own(D).stack(cell=("group", "chain"))
    np.testing.assert_array_equal(stacked.values.eval(), D.stack(cell=("group", "chain")).values)
    back = stacked.unstack(cell={"group": 3, "chain": 2})
    np.testing.assert_array_equal(back.transpose(*D.dims).values.eval(), D.values)


def test_joins_are_those_of_xarray() -> None:
    for dim in ("obs", "draw"):
        result = tg.dims.concat([own(A), own(A.T)], dim)
        wanted = xr.concat([A, A.T], dim)
        assert result.dims == wanted.dims
        np.testing.assert_array_equal(result.values.eval(), wanted.values)


def test_softmax_and_logsumexp_go_along_a_name() -> None:
    shares = own(D).softmax("group")
    wanted = np.exp(D) / np.exp(D).sum("group")
    np.testing.assert_allclose(shares.values.eval(), wanted.values, rtol=1e-13)
    np.testing.assert_allclose(own(D).log_softmax("group").values.eval(), np.log(wanted.values), rtol=1e-12)
    total = own(D).logsumexp(("obs", "chain"))
    np.testing.assert_allclose(total.values.eval(), np.log(np.exp(D).sum(("obs", "chain"))), rtol=1e-13)


def test_functions_take_and_give_them_and_arrays_of_xarray_in_any_order() -> None:
    a = tg.dims.tensor("a", dims=("obs", "group"))
    b = tg.dims.tensor("b", dims=("group",))
    f = tg.function([a, b], {"y": a * b, "slope": tg.grad((a @ b).sum().values, a)}, backend="perform")
    for value in (A, A.T, A.values, tg.dims.from_xarray(A), tg.dims.from_xarray(A.T)):
        result = f(value, np.arange(3.0))
        np.testing.assert_array_equal(result["y"].to_xarray(), A * xr.DataArray(np.arange(3.0), dims="group"))
        assert result["slope"].dims == ("obs", "group")
        np.testing.assert_array_equal(result["slope"].values, np.broadcast_to(np.arange(3.0), (4, 3)))
    with pytest.raises(InputError, match="argument 0: dims: found 'obs', 'grp', needed 'obs', 'group'"):
        f(A.rename(group="grp"), np.arange(3.0))
    with pytest.raises(ShapeError, match="dim group: found 3"):
        f(A, np.arange(2.0))


def test_compiled_functions_pickle_and_compile_themselves() -> None:
    a = tg.dims.tensor("a", dims=("obs", "group"))
    f = pickle.loads(pickle.dumps(tg.function([a], a.mean("obs"), backend="perform")))
    np.testing.assert_allclose(f(A).values, A.mean("obs"), rtol=1e-14)
    step = tg.jit(lambda x: x.mean("obs"), backend="perform")
    np.testing.assert_allclose(step(tg.dims.from_xarray(A)).values, A.mean("obs"), rtol=1e-14)
    turned = step(tg.dims.from_xarray(A.T))  # another structure: a program of its own
    np.testing.assert_allclose(turned.values, A.mean("obs"), rtol=1e-14)


def test_a_saved_function_has_arrays(tmp_path: Any) -> None:
    a = tg.dims.tensor("a", dims=("obs", "group"))
    path = tmp_path / "mean.tg"
    tg.save(tg.function([a], a.mean("obs"), backend="perform"), path, example=[A])
    loaded = tg.load(path, backend="perform")
    np.testing.assert_allclose(loaded({"values": A.values})["values"], A.mean("obs"), rtol=1e-14)


def test_mapping_over_a_name() -> None:
    def f(x: Any, w: Any) -> Any:
        return {"dot": x @ w, "own": x, "one": 1.0}

    result = tg.function([], tg.dims.vmap(f, "chain")(own(D), own(A)), backend="perform")()
    assert (result["dot"].dims, result["own"].dims) == (("chain",), D.dims)
    np.testing.assert_allclose(result["dot"].values, xr.dot(D, A, dim=("group", "obs")), rtol=1e-12)
    np.testing.assert_array_equal(result["one"], [1.0, 1.0])
    with pytest.raises(InputError, match="found no argument with 'chan', needed one of 'chain', 'group', 'obs'"):
        tg.dims.vmap(f, "chan")(own(D), own(A))


def regression(y: Any, x: Any, group: Any, a: Any, b: Any) -> Any:
    """The log-density of a regression with an intercept for each group."""
    mu = a.isel(group=group) + x @ b
    of_y = tg.dims.apply(tg.distributions.normal.logpdf, y, mu, 0.5).sum()
    return (of_y + tg.dims.apply(tg.distributions.normal.logpdf, a, 0.0, 2.0).sum()).values


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_regression_with_intercepts_of_groups(backend: str) -> None:
    y, x = tg.dims.tensor("y", dims="obs"), tg.dims.tensor("x", dims=("obs", "feature"))
    group = tg.dims.tensor("group", dims="obs", dtype="int64")
    a, b = tg.dims.tensor("a", dims="group"), tg.dims.tensor("b", dims="feature")
    density = regression(y, x, group, a, b)
    f = tg.function([y, x, group, a, b], [density, *tg.grad(density, [a, b])], backend=backend)
    places = PLACES.values
    x_at, a_at, b_at = DRAWS.normal(size=(4, 2)), DRAWS.normal(size=3), DRAWS.normal(size=2)
    value, slope_a, slope_b = f(C, x_at, places, a_at, b_at)
    rest = (C.values - a_at[places] - x_at @ b_at) / 0.25
    wanted = (
        -0.125 * (rest**2).sum() - 4 * np.log(0.5) - (a_at**2).sum() / 8 - 3 * np.log(2.0) - 3.5 * np.log(2 * np.pi)
    )
    tolerance = 1e-5 if value.dtype == "float32" else 1e-11
    np.testing.assert_allclose(value, wanted, rtol=tolerance)
    by_group = [rest[places == k].sum() - a_at[k] / 4 for k in range(3)]
    assert (slope_a.dims, slope_b.dims) == (("group",), ("feature",))
    np.testing.assert_allclose(slope_a.values, by_group, rtol=tolerance)
    np.testing.assert_allclose(slope_b.values, x_at.T @ rest, rtol=tolerance)


def test_errors_say_the_name_and_the_nearest() -> None:
    a = own(A)
    for call, text in (
        (lambda: a.sum("grp"), "dims: sum: found 'grp', needed one of 'obs', 'group'\n  hint: 'group' is one"),
        (lambda: a.isel(row=0), "dims: isel: found 'row', needed one of 'obs', 'group'"),
        (lambda: a.sum(("obs", "obs")), "dims: sum: found 'obs' twice, needed names that differ"),
        (lambda: a.transpose("group"), "dims: transpose: found 'group', needed all of 'obs', 'group'"),
        (lambda: a.rename(obs="group"), "dims: Array: found 'group' twice, needed names that differ"),
        (lambda: a + np.ones(3), "dims: add: found float64[3] without names, needed them"),
        (lambda: a.sum().sum("obs"), "dims: sum: found 'obs', needed no name: it has no axes"),
        (lambda: a[None], "dims: found the index None, needed one for each name"),
        (lambda: a.expand_dims("obs"), "dims: expand_dims: found 'obs' twice"),
        (lambda: tg.exp(a), "hint: x.values is a variable"),
        (lambda: a.to_xarray(), "dims: to_xarray: found Array"),
        (lambda: tg.dims.concat([a, own(B)], "obs"), "dims: concat: found 'group', 'chain', needed 'obs', 'group'"),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert text in str(caught.value)
    with pytest.raises(ShapeError, match="dims: add: found 'group' of length 3 and of 1, needed one length"):
        a + own(B.isel(group=[0]))
    with pytest.raises(ShapeError, match="dims: Array: found 2 axes and the names 'obs', needed as many"):
        tg.dims.Array(A.values, "obs")
    with pytest.raises(AttributeError, match="has no attribute 'frobnicate'"):
        _ = tg.dims.frobnicate


def test_lengths_that_calls_give_agree_or_raise() -> None:
    a, b = (tg.dims.tensor(name, dims=("obs",), shape=(None,)) for name in "ab")
    f = tg.function([a, b], a + b, backend="perform")
    assert f([1.0, 2.0], [3.0, 4.0]).values.tolist() == [4.0, 6.0]
    with pytest.raises(ShapeError):
        f([1.0, 2.0], [3.0])


def test_rows_are_one_leaf_and_arguments() -> None:
    x = tg.dims.Array([[1.0, 2.0], [3.0, 4.0]], ("row", "column"))
    assert len(tg.tree.leaves(x)) == 1
    a = tg.dims.tensor("a", dims=("row", "column"))
    squares = tg.function([a], (a * a).sum("row"), backend="perform")
    assert squares(x).values.tolist() == squares([[1.0, 2.0], [3.0, 4.0]]).values.tolist() == [10.0, 20.0]


@pytest.mark.parametrize("places", [PLACES, TABLE, xr.DataArray([2, 0], dims="chain"), xr.Variable("chain", [2, 0])])
def test_positions_of_xarray_have_their_names(places: Any) -> None:
    wanted = D.isel(group=places)
    result = tg.function([], own(D).isel(group=places), backend="perform")()
    assert result.dims == wanted.dims
    np.testing.assert_array_equal(result.values, wanted.values)


def test_conditions_index_the_axis_that_they_name() -> None:
    compare(lambda d, c: d.isel(obs=c > 0.0, chain=[1]), D, C)
    x = own(A)
    with pytest.raises(InputError, match=r"isel: 'obs': found a condition with the names 'obs', 'group'"):
        _ = x[x > 0.0]


def test_limits_of_clip_are_aligned() -> None:
    compare(lambda d, b: d.clip(b), D, B)
    compare(lambda d, a, b: d.clip(max=a, min=b), D, A, B)
    compare(lambda d, c: d.clip(c - 1.0, 0.5), D, C)


def test_vmap_takes_arrays_of_xarray() -> None:
    result = tg.function([], tg.dims.vmap(lambda d, a: (d * a).sum("group"), "obs")(D, A), backend="perform")()
    wanted = (D * A).sum("group").transpose("obs", "chain")
    assert result.dims == wanted.dims
    np.testing.assert_allclose(result.values, wanted.values, rtol=1e-13)


@pytest.mark.parametrize(
    ("mistake", "text"),
    [
        (lambda x: array(x.values, None), "found None, needed names in an order"),
        (lambda x: array(x.values, {"obs", "group"}), "needed names in an order"),
        (lambda x: x.stack(cell=3), "stack: found 3, needed one of 'obs', 'group'"),
        (lambda x: x.unstack(obs=["a", "b"]), "unstack: obs: found .'a', 'b'., needed lengths by name"),
        (lambda x: 1 if x > 0.0 else 0, r"if, and, or, not, while, in: found Array(.|\n)*hint: x.values is a variable"),
        (
            lambda x: tg.scan(lambda c, row: (c + row, c), 0.0, x),
            r"found 1 axes and the names(.|\n)*hint: tg.dims.vmap",
        ),
    ],
)
def test_mistakes_with_names_say_what_was_given(mistake: Any, text: str) -> None:
    with pytest.raises((InputError, ShapeError), match=text):
        mistake(own(A))


def test_arguments_that_are_no_arrays_are_refused() -> None:
    a = tg.dims.tensor("a", dims=("obs", "group"))
    f = tg.function([a], a * 2.0, backend="perform")
    for value in ([[1.0, 2.0], [1.0]], xr.Dataset({"a": A})):
        with pytest.raises(InputError, match="argument 0: found"):
            f(value)
    np.testing.assert_array_equal(f(A).values, 2.0 * A.values)
