"""Other people's code on a backend of tg: principal components and ridge regression, as scikit-learn has them.

scikit-learn computes with whatever namespace its arrays come from (https://data-apis.org/array-api). `tg.eager` is such
a namespace for each backend, so its estimators run on C, Numba, JAX, PyTorch or MLX with not a line of them changed,
and so do functions of SciPy.

    python examples/at_once.py c

The data ship with scikit-learn: 1,797 handwritten digits of 64 pixels, and the course of diabetes in 442 patients.
"""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy and scikit-learn look at it when they are imported

import sys
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.datasets import load_diabetes, load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

import tg

COMPONENTS = 10


class Result(NamedTuple):
    """What estimators gave, in arrays of the namespace that they were given."""

    variances: Any  # (COMPONENTS,): shares of the variance
    reduced: Any  # (1797, COMPONENTS)
    predicted: Any  # (442,)
    score: float  # R² of the regression


def run(xp: Any) -> Result:
    """Reduce the digits, and explain the disease, with the arrays of a namespace."""
    images = xp.asarray(load_digits().data)
    patients, course = (xp.asarray(part) for part in load_diabetes(return_X_y=True))
    with config_context(array_api_dispatch=True):
        reduction = PCA(COMPONENTS, svd_solver="covariance_eigh").fit(images)
        regression = Ridge(alpha=0.1, solver="svd").fit(patients, course)
        return Result(
            reduction.explained_variance_ratio_,
            reduction.transform(images),
            regression.predict(patients),
            float(regression.score(patients, course)),
        )


def main(backend: str) -> None:
    """Print what came out, beside the same with NumPy's arrays."""
    ours, theirs = run(tg.eager(backend)), run(np)
    apart = max(float(np.max(np.abs(np.asarray(a) - b))) for a, b in zip(ours, theirs, strict=True))
    print(f"{type(ours.reduced).__name__} of tg.eager({backend!r})")
    print(f"{COMPONENTS} of 64 components keep {float(sum(ours.variances)):.1%} of the variance of the digits")
    print(f"ridge explains {ours.score:.1%} of the course")
    print(f"NumPy's arrays give the same to {apart:.0e}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "c")
