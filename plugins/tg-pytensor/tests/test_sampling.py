"""`pm.sample` in tg's modes: the draws of PyTensor's own modes, on one core and two, in a trace that ArviZ takes."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pymc as pm
import pytensor
import pytest
from models28 import MODELS

import tg_pytensor

DRAWS = 20
PEER = "FAST_COMPILE"  # PyTensor's Python implementations


def sampled(name, mode, *, tune=0, cores=1, chains=1):
    """The trace of a model whose density is computed in a mode; what keeps the draws is PyTensor's in Python."""
    others = pytensor.config.change_flags(mode=PEER)
    with MODELS[name](), warnings.catch_warnings(), contextlib.nullcontext() if mode is None else others:
        warnings.simplefilter("ignore")  # that so few draws are no sample
        return pm.sample(
            DRAWS,
            tune=tune,
            chains=chains,
            cores=cores,
            random_seed=17,
            progressbar=False,
            nuts={"max_treedepth": 5},
            compute_convergence_checks=False,
            compile_kwargs={"mode": mode},
        )


def same(found, wanted):
    """Make sure that two traces have the same draws of every variable, and of what is said of them."""
    assert set(found.posterior.data_vars) == set(wanted.posterior.data_vars)
    for name, draws in wanted.posterior.data_vars.items():
        np.testing.assert_allclose(found.posterior[name], draws, rtol=1e-6, atol=1e-6, err_msg=name)
    np.testing.assert_array_equal(found.sample_stats["n_steps"], wanted.sample_stats["n_steps"])
    np.testing.assert_allclose(found.sample_stats["lp"], wanted.sample_stats["lp"], rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "tune"),
    # the first steps of tuning go far, and of a last digit they make another path in models of many parameters
    [("eight_schools", 0), ("eight_schools", 30), ("radon", 0), ("normal_mixture", 0)],
)
def test_draws_are_those_of_pytensor(name, tune):
    same(sampled(name, "TG", tune=tune), sampled(name, PEER, tune=tune))


@pytest.mark.long
@pytest.mark.parametrize("mode", ["TG_C", "TG_NUMBA"])
def test_chains_on_two_cores_are_those_of_one(mode):
    together = sampled("eight_schools", mode, tune=20, cores=2, chains=3)
    same(together, sampled("eight_schools", mode, tune=20, chains=3))
    same(together, sampled("eight_schools", PEER, tune=20, chains=3))


@pytest.mark.long
def test_all_that_a_sampler_compiles_may_run_on_tg():
    with pytensor.config.change_flags(mode=tg_pytensor.mode()):
        found = sampled("eight_schools", None)
    same(found, sampled("eight_schools", PEER))


@pytest.mark.long
def test_arviz_takes_the_result():
    arviz = pytest.importorskip("arviz")
    trace = sampled("eight_schools", "TG", tune=200, chains=2)
    table = arviz.summary(trace, var_names=["mu", "tau", "theta"])
    assert len(table) == 10
    assert np.isfinite(table["ess_bulk"]).all()
    assert set(trace.observed_data.data_vars) == {"y"}
