"""Arrays that compute at once, through any backend, by small programs that are kept: `tg.eager("c")`.

`border` is the way between a backend's arrays and NumPy's, `arguments` the key of a call, `programs` the kept
programs, `namespace` and `functions` the functions, `array` and `operators` the arrays, `inspection` dtypes and limits.

The module can be called: `tg.eager("c")` is the namespace of arrays of a backend, for users.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tg.eager.namespace import Namespace


class _Module(ModuleType):
    """A module that can be called."""

    def __call__(self, backend: Any = None, /, **options: Any) -> Namespace:
        """The namespace of arrays that a backend computes at once: see `tg.eager.namespace.eager`."""
        from tg.eager.namespace import eager

        return eager(backend, **options)


sys.modules[__name__].__class__ = _Module
