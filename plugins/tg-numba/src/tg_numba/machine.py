"""What nests in Python call that Python has no words for: pointers, parts of complex numbers, choosing."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from tg_numba.native import Word

shift = Word("shift")  # the pointer some elements further on
real = Word("real")
imag = Word("imag")
lesser = Word("lesser")  # of two numbers, without branching

SCOPE: Final = MappingProxyType({word.__name__: word for word in (shift, real, imag, lesser)})
"""What all nests can use."""
