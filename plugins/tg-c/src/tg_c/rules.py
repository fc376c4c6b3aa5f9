"""The rules of the C backend, `RuleProtocol("source", 1)`.

A rule for a function of single elements is called with the op and an `Element`, and returns a C expression. A rule for
another op is called with the op and a `Site`, and returns the value of each result: a `Scalar` or an `Array`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_c.printed import Printed
from tg_native import rules
from tg_native.kernels.elementwise import KERNELS

if TYPE_CHECKING:
    from tg.backend import Rule

RULES: Final[dict[object, Rule]] = {**{key: Printed(kernel) for key, kernel in KERNELS.items()}, **rules.RULES}
