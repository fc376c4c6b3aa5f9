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
from tg.hints import all_hinted
from tg.ops.catalog import NAMES
from tg.variables.applied import member

__all__ = ["Array", "apply", "concat", "dot", "from_xarray", "tensor", "vmap", "where"]

all_hinted(globals(), __all__)


def __getattr__(name: str) -> Any:
    return member(globals(), name, NAMES, apply, dir(tg))


def __dir__() -> list[str]:
    return sorted(__all__)
