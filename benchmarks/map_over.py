"""Ten thousand fits over executors, beside a plain loop and one program of all: `python benchmarks/map_over.py dask`.

Wall time, and the processor time of all processes together, which a busy machine does not change as much.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

FITS, ROWS, COLUMNS, WORKERS = 10_000, 500, 5, 2


def data() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(ROWS), rng.normal(size=(ROWS, COLUMNS - 1))])
    return design, rng.poisson(np.exp(0.3 * rng.normal(size=(FITS, COLUMNS)) @ design.T)).astype(float)


DESIGN, COUNTS = data()


def mode(y: Any) -> Any:
    """The mode of a Poisson regression with a normal prior."""

    def cost(b: Any) -> Any:
        return tg.sum(tg.exp(DESIGN @ b) - y * (DESIGN @ b)) + 0.5 * tg.sum(b**2)

    return tg.optimize.minimize(cost, np.zeros(COLUMNS), "Newton-CG").x


def dask_client() -> Any:
    from distributed import Client

    return Client(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None)


class _Ray:
    def __enter__(self) -> Any:
        import ray

        ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
        return ray

    def __exit__(self, *_: object) -> None:
        import ray

        ray.shutdown()


class _Joblib:
    def __enter__(self) -> Any:
        import joblib

        return joblib.Parallel(n_jobs=WORKERS)

    def __exit__(self, *_: object) -> None:
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown()


EXECUTORS: dict[str, Callable[[], Any]] = {
    "threads": lambda: ThreadPoolExecutor(WORKERS),
    "processes": lambda: ProcessPoolExecutor(WORKERS),
    "dask": dask_client,
    "joblib": _Joblib,
    "ray": _Ray,
}


def show(what: str, begin: float, used: float) -> None:
    print(
        f"{what:28} {time.perf_counter() - begin:7.2f} s, of processors {sum(os.times()[:4]) - used:7.2f} s", flush=True
    )


def main(names: list[str]) -> None:
    y, many = tg.vector("y", shape=(ROWS,)), tg.matrix("many", shape=(None, ROWS))
    fit = tg.function([y], mode(y), backend="c")
    begin, used = time.perf_counter(), sum(os.times()[:4])
    right = np.stack(list(tg.map_over(fit, COUNTS)))
    show("loop", begin, used)
    if not names or "vmap" in names:
        batch = tg.function([many], tg.vmap(mode)(many), backend="c")
        begin, used = time.perf_counter(), sum(os.times()[:4])
        assert np.allclose(batch(COUNTS), right)
        show("vmap", begin, used)
    for name in [*EXECUTORS] if not names else [n for n in names if n in EXECUTORS]:
        whole, spent = time.perf_counter(), sum(os.times()[:4])
        with EXECUTORS[name]() as executor:
            list(tg.map_over(fit, COUNTS[: 10 * WORKERS], executor=executor))
            show(f"{name}: start, 20 fits", whole, spent)
            begin, used = time.perf_counter(), sum(os.times()[:4])
            assert np.array_equal(np.stack(list(tg.map_over(fit, COUNTS, executor=executor))), right)
            show(f"{name}: 10,000 fits", begin, used)
        show(f"{name}: all", whole, spent)


if __name__ == "__main__":
    main(sys.argv[1:])
