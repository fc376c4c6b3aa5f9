"""Executors of other libraries, and their arrays in blocks; each is skipped where the library is not installed."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tg

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def squares() -> tg.Function:
    x = tg.vector("x")
    return tg.function([x], [x * x, tg.sum(x)], backend="perform", name="squares")


def _are_right(results: Iterator[Any], count: int) -> bool:
    parts = list(results)
    right = [np.array_equal(y, np.arange(3.0) ** 2 * k**2) and total == 3 * k for k, (y, total) in enumerate(parts)]
    return len(parts) == count and all(right)


def _elements(count: int) -> list[np.ndarray[Any, Any]]:
    return [np.arange(3.0) * k for k in range(count)]


def test_a_client_of_dask_in_this_process(squares: tg.Function) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        assert _are_right(tg.map_over(squares, _elements(50), executor=client), 50)
        results = tg.map_over(squares, [np.ones(3), np.ones(3), np.ones((2, 2))], executor=client, chunk=2)
        with pytest.raises(tg.ShapeError) as caught:
            list(results)
    assert caught.value.__notes__[-1] == "map_over: element 2"


@pytest.mark.long
def test_dask_goes_on_when_a_worker_dies(squares: tg.Function) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        assert len(set(client.run(os.getpid).values())) == 2
        results = tg.map_over(squares, _elements(200), executor=client, chunk=2)
        first = next(results)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        rest = list(results)
    assert np.array_equal(first[0], np.zeros(3))
    assert [float(total) for _, total in rest] == [3.0 * k for k in range(1, 200)]


def test_joblib_in_threads(squares: tg.Function) -> None:
    joblib = pytest.importorskip("joblib")
    parallel = joblib.Parallel(n_jobs=2, backend="threading")
    assert _are_right(tg.map_over(squares, _elements(50), executor=parallel), 50)
    generated = joblib.Parallel(n_jobs=2, backend="threading", return_as="generator")
    assert _are_right(tg.map_over(squares, _elements(50), executor=generated, chunk=3), 50)


@pytest.mark.long
def test_joblib_in_processes(squares: tg.Function) -> None:
    pytest.importorskip("joblib")
    assert _are_right(tg.map_over(squares, _elements(50), executor="joblib"), 50)


@pytest.mark.long
def test_ray(squares: tg.Function) -> None:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        assert _are_right(tg.map_over(squares, _elements(50), executor="ray"), 50)
        with pytest.raises(tg.ShapeError) as caught:
            list(tg.map_over(squares, [np.ones(3), np.ones((2, 2))], executor=ray))
        assert caught.value.__notes__[-1] == "map_over: element 1"
    finally:
        ray.shutdown()


def test_blocks_of_dask_arrays(squares: tg.Function) -> None:
    da = pytest.importorskip("dask.array")
    m = tg.matrix("m")
    shifted = tg.function([m], tg.exp(m) - 1, name="shifted")
    rows = tg.function([m], tg.max(m, axis=1))  # has no value of the empty arrays by which Dask asks for dtypes
    values = np.random.default_rng(0).normal(size=(8, 6))
    array = da.from_array(values, chunks=(4, 3))
    mapped = da.map_blocks(shifted, array)
    assert mapped.name.startswith("shifted-")
    assert mapped.dtype == np.float64
    assert np.allclose(mapped.compute(), np.expm1(values), rtol=1e-15)
    assert mapped.name == da.map_blocks(tg.function([m], tg.exp(m) - 1, name="shifted"), array).name
    assert mapped.name != da.map_blocks(tg.function([m], tg.exp(m) - 2, name="shifted"), array).name
    whole = array.rechunk((4, 6))
    assert np.array_equal(whole.map_blocks(rows, drop_axis=1).compute(), values.max(1))
    assert np.array_equal(da.apply_gufunc(rows, "(i)->()", whole, output_dtypes=float).compute(), values.max(1))
    half = tg.matrix("half", "float32")
    assert array.astype("float32").map_blocks(tg.function([half], half * 2)).dtype == np.float32


def test_blocks_of_xarray() -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("dask")
    m, v = tg.matrix("m"), tg.vector("v")
    rows, row = tg.function([m], tg.sum(m * m, axis=1)), tg.function([v], tg.sum(v * v))
    values = np.random.default_rng(0).normal(size=(8, 6))
    array = xarray.DataArray(values, dims=("time", "place")).chunk({"time": 4})
    options = {"input_core_dims": [["place"]], "dask": "parallelized", "output_dtypes": [float]}
    for f, each in ((rows, False), (row, True)):
        result = xarray.apply_ufunc(f, array, vectorize=each, **options)
        assert result.chunks == ((4, 4),)
        assert np.allclose(result.compute().values, (values**2).sum(1), rtol=1e-15)
