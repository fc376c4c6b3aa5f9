"""Differentiation and batching of expressions: reverse sweeps over the user's graph, before any rewriting.

NumPy's function of this name is called as the module: `tg.gradient(x)` is `tg.ops.slopes.gradient`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Module(ModuleType):
    """A module that can be called."""

    def __call__(self, f: Any, /, *varargs: Any, **options: Any) -> Any:
        """The slopes of samples along axes: see `tg.ops.slopes.gradient`."""
        from tg.ops.slopes import gradient

        return gradient(f, *varargs, **options)


sys.modules[__name__].__class__ = _Module
