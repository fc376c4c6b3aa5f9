"""The least and the greatest value of a dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from tg.types.dtypes import dtype_name, numpy_dtype


def least(dtype: Any) -> Any:
    """The value that is below all others: -inf of floats."""
    return _bound(dtype, -np.inf, "min", 0)


def most(dtype: Any) -> Any:
    """The value that is above all others: inf of floats."""
    return _bound(dtype, np.inf, "max", 1)


def _bound(dtype: Any, of_floats: float, of_integers: str, of_bools: int) -> Any:
    kind = numpy_dtype(dtype_name(dtype))
    if kind.kind == "b":
        return bool(of_bools)
    return int(getattr(np.iinfo(kind), of_integers)) if kind.kind in "iu" else of_floats
