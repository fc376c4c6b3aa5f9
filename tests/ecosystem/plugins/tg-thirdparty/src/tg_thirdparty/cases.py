"""What a backend's sum of cubes must be."""

import numpy as np

from tg.plugin.case import Case, any_dtype
from tg_thirdparty.cubes import cube_sum

CASES = (
    Case(
        cube_sum,
        [any_dtype("n", "m")],
        family="cubes",
        dtypes=("float32", "float64"),
        oracle=lambda x: np.sum(x.astype(np.result_type(x, np.float64)) ** 3),
        condition=lambda x: np.sum(np.abs(x) ** 3),
        gradient=True,
        analytic=True,
    ),
    Case(
        cube_sum, [any_dtype("n")], family="cubes", name="of integers", dtypes=("int64",), oracle=lambda x: np.sum(x**3)
    ),
)
