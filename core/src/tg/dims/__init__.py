"""`tg.dims`: arrays whose axes have names.

x = tg.dims.tensor("x", dims=("obs", "feature"))
b = tg.dims.tensor("b", dims=("feature",))
y = x @ b + a.isel(group=group)
"""

from __future__ import annotations

from typing import Any

import tg
from tg.dims.arrays import Array, apply, dot
from tg.dims.making import concat, from_xarray, tensor, vmap, where
from tg.ops.catalog import NAMES
from tg.variables.applied import elementwise
from tg.words import unknown_in

__all__ = ["Array", "apply", "concat", "dot", "from_xarray", "tensor", "vmap", "where"]


def __getattr__(name: str) -> Any:
    if (value := elementwise(name, NAMES, apply, __name__)) is not None:
        globals()[name] = value
        return value
    text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
    raise AttributeError(text, name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
