"""An estimator of scikit-learn made of a density: scikit-learn's own checks, and an estimator of its own as oracle."""

from __future__ import annotations

import warnings

import estimators
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import tg

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, -2.0, 0.5] + 3 + RNG.normal(size=60)
PENALTY = 2.0


def normal(params, x, y):
    """Normal errors, and a normal prior of the slopes: what ridge regression takes for granted."""
    errors = tg.sum((y - estimators.linear(params, x)) ** 2)
    return -errors - PENALTY * tg.sum(params["slope"] ** 2)


def start(features):
    return {"slope": np.zeros(features), "offset": np.zeros(())}


@pytest.mark.parametrize("backend", ["perform", "c"])
def test_a_normal_density_gives_ridge_regression(backend):
    fitted = estimators.MapRegressor(normal, start=start, backend=backend).fit(X, Y)
    oracle = Ridge(alpha=PENALTY).fit(X, Y)
    np.testing.assert_allclose(fitted.predict(X), oracle.predict(X), atol=1e-4)
    np.testing.assert_allclose(fitted.params_["slope"] * Y.std(), oracle.coef_, atol=1e-4)


def test_a_pipeline_and_a_grid_search_take_it():
    pipeline = make_pipeline(StandardScaler(), estimators.MapRegressor(backend="perform"))
    search = GridSearchCV(pipeline, {"mapregressor__max_iter": [1, 100]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"mapregressor__max_iter": 100}
    assert abs(search.score(X, Y) - LinearRegression().fit(X, Y).score(X, Y)) < 0.02


@pytest.mark.long(minutes=1)
def test_scikit_learn_has_nothing_against_it():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of checks that are left out, and of fits of constants
        rows = check_estimator(estimators.MapRegressor(backend="perform"))
    assert len(rows) > 40
    assert {row["status"] for row in rows} <= {"passed", "skipped"}
