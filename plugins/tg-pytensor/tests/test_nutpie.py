"""`tg_pytensor.sample`: posteriors that are known exactly, and traces with the names and axes that PyMC gives them."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytest
from models28 import MODELS

import tg
import tg_pytensor

arviz = pytest.importorskip("arviz")
pytest.importorskip("nutpie")

OBSERVED = np.array([0.3, -1.2, 2.1, 0.8])


def conjugate():
    with pm.Model(coords={"place": ["a", "b", "c", "d"]}) as model:
        mean = pm.Normal("mean", 0, 1)
        rate = pm.Gamma("rate", 3, 2)
        pm.Deterministic("double", 2 * rate)
        pm.Normal("other", np.arange(4.0), 1, dims="place")
        pm.Normal("y", mean, 1, observed=OBSERVED)
        pm.Poisson("counts", rate, observed=[2, 1, 4])
    return model


@pytest.mark.parametrize("backend", ["c", pytest.param("numba", marks=pytest.mark.long)])
def test_draws_are_of_the_posterior(backend):
    trace = tg_pytensor.sample(
        conjugate(), draws=1500, tune=500, chains=4, cores=2, random_seed=3, backend=backend, progress_bar=False
    )
    table = arviz.summary(trace, round_to="none")
    exact = {  # normal with a normal prior, gamma with counts of Poisson's
        "mean": (OBSERVED.sum() / 5, 5**-0.5),
        "rate": (10 / 5, 10**0.5 / 5),
        "double": (4.0, 2 * 10**0.5 / 5),
        "other[c]": (2.0, 1.0),
    }
    for name, (mean, sd) in exact.items():
        row = table.loc[name]
        assert abs(row["mean"] - mean) < 5 * row["mcse_mean"]
        assert abs(row["sd"] - sd) < 5 * row["mcse_sd"]
        assert row["r_hat"] < 1.02
    np.testing.assert_allclose(trace.posterior["double"], 2 * trace.posterior["rate"])
    assert trace.posterior["other"].dims == ("chain", "draw", "place")
    assert list(trace.posterior["place"].values) == ["a", "b", "c", "d"]
    assert not trace.sample_stats["diverging"].all()


def test_a_trace_has_the_variables_that_pymc_gives_it():
    with MODELS["eight_schools"]() as model:
        ours = tg_pytensor.sample(draws=10, tune=50, chains=2, random_seed=1, progress_bar=False)
        theirs = pm.sample(
            10, tune=10, chains=2, cores=1, random_seed=1, progressbar=False, compute_convergence_checks=False
        )
    assert ours.posterior.sizes == theirs.posterior.sizes
    for name, draws in theirs.posterior.data_vars.items():
        assert ours.posterior[name].dims == draws.dims
    assert set(ours.posterior.data_vars) == set(theirs.posterior.data_vars)
    again = tg_pytensor.sample(model, draws=10, tune=50, chains=2, random_seed=1, progress_bar=False)
    assert ours.posterior.equals(again.posterior)


def test_parameters_that_are_integers_are_refused():
    with pm.Model() as model:
        pm.Poisson("n", 3)
        pm.Normal("x", 0, 1)
    with pytest.raises(tg.InputError, match="found parameters that are integers, n, needed floats alone"):
        tg_pytensor.sample(model, progress_bar=False)
