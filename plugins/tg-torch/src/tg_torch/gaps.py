"""Gaps of the PyTorch backend: none of all ops and dtypes, run as they are.

Compiled programs have no lengths that depend on values: `tg_torch.linker` refuses `Nonzero` there, for an option is no
property of a graph. Of a program with loops the steps are compiled, and Python runs the rest node by node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tg.backend import Gap

GAPS: Final[tuple[Gap, ...]] = ()
