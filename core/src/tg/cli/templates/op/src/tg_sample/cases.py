"""What every backend must compute: each case has an oracle that does not use tg."""

import numpy as np

from tg.backend import Case, any_dtype
from tg_sample.sample import leaky_sum, squash


def summed(x):
    """The leaky sum of 0.9 as a product with a matrix."""
    n = x.shape[-1]
    distance = np.subtract.outer(np.arange(n), np.arange(n))
    return x @ np.where(distance >= 0, 0.9 ** np.maximum(distance, 0), 0).T


CASES = (
    Case(
        squash,
        [any_dtype("n", "m")],
        family="sample",
        dtypes=("float32", "float64"),
        oracle=lambda x: x / (1 + np.abs(x)),
        gradient=True,
    ),
    Case(
        leaky_sum,
        [any_dtype("n", "m")],
        family="sample",
        dtypes=("float32", "float64"),
        oracle=summed,
        condition=lambda x: summed(np.abs(x)),
        accuracy=16,
        gradient=True,
        analytic=True,
    ),
)
