"""Estimators of scikit-learn from a density: maximum a posteriori by SciPy, the gradient by tg.

A density is a function of parameters and data that gives the logarithm of their joint density; a location is one that
gives what is to be predicted. `MapRegressor` is what scikit-learn calls an estimator: pipelines, grid searches and
cross-validation take it.

    python examples/estimators.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

import tg

if TYPE_CHECKING:
    from collections.abc import Callable


def linear(params: dict[str, Any], x: Any) -> Any:
    """A linear predictor."""
    return x @ params["slope"] + params["offset"]


def student(params: dict[str, Any], x: Any, y: Any) -> Any:
    """Student's t errors with 4 degrees of freedom around the linear predictor, and a wide normal prior of slopes."""
    scale = tg.exp(params["log_scale"])
    residual = (y - linear(params, x)) / scale
    errors = -2.5 * tg.sum(tg.log1p(residual**2 / 4)) - y.shape[0] * params["log_scale"]
    return errors - 0.5 * tg.sum((params["slope"] / 100) ** 2) - 0.5 * (params["log_scale"] / 10) ** 2


def start(features: int) -> dict[str, Any]:
    """Parameters to begin at."""
    return {"slope": np.zeros(features), "offset": np.zeros(()), "log_scale": np.zeros(())}


class MapRegressor(RegressorMixin, BaseEstimator):
    """The parameters at which a density of parameters and data is largest.

    Args:
        density: a function of parameters, x (n, features) and y (n,) that gives a logarithm.
        location: a function of parameters and x that gives predictions (n,).
        start: a function of the number of features that gives a nesting of arrays.
        backend: of tg, which compiles the density and its gradient.
        max_iter: the largest number of steps.
    """

    def __init__(
        self,
        density: Callable[..., Any] = student,
        location: Callable[..., Any] = linear,
        start: Callable[[int], Any] = start,
        backend: str | None = None,
        max_iter: int = 500,
    ) -> None:
        self.density = density
        self.location = location
        self.start = start
        self.backend = backend
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> MapRegressor:
        """Find the parameters, `params_`; `log_density_` is the logarithm there, `n_iter_` the number of steps."""
        x, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._centre, self._spread = y.mean(), y.std() or 1.0  # the density has y in units of its spread
        scaled = (y - self._centre) / self._spread
        leaves, structure = tg.tree.flatten(self.start(x.shape[1]))
        shapes = [np.shape(leaf) for leaf in leaves]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]

        def parts(flat: Any) -> Any:
            pieces = np.split(flat, ends)
            return structure(iter([piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]))

        inputs = structure(iter([tg.tensor(None, "float64", shape=shape) for shape in shapes]))
        value = -self.density(inputs, tg.constant(x), tg.constant(scaled))
        cost = tg.function([inputs], [value, *tg.tree.leaves(tg.grad(value, inputs))], backend=self.backend)

        def cost_and_slope(flat: Any) -> tuple[float, Any]:
            first, *slopes = cost(parts(flat))
            return float(first), np.concatenate([np.ravel(slope) for slope in slopes])

        begin = np.concatenate([np.ravel(np.asarray(leaf, dtype=np.float64)) for leaf in leaves])
        result = minimize(cost_and_slope, begin, jac=True, method="L-BFGS-B", options={"maxiter": self.max_iter})
        self.params_ = parts(result.x)
        self.log_density_ = -float(result.fun)
        self.n_iter_ = int(result.nit)
        return self

    def predict(self, X: Any) -> Any:
        """The predictions (n,) at the parameters."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        return self._centre + self._spread * np.asarray(self.location(self.params_, x))


def main() -> None:
    """Fit lines to data with outliers, chosen by cross-validation beside least squares."""
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import cross_val_score

    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = x @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=200)
    y[::10] += 20 * rng.normal(size=20)
    for estimator in (LinearRegression(), MapRegressor()):
        score = cross_val_score(estimator, x, y, scoring="neg_median_absolute_error").mean()
        print(f"{type(estimator).__name__:<18} median error {-score:.3f}")


if __name__ == "__main__":
    main()
