"""Calls of functions of LAPACK in a loop, and of those of BLAS that have no form for rows: by Fortran's interface."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_native.kernels.index import Index, Pointer
    from tg_native.loops.kernel import Kernel

SIGNATURES: Final = {
    "potrf": "fnpni",
    "getrf": "nnpnwi",
    "trsm": "ffffnn1pnpn",
    "gelqf": "nnpnppni",
    **dict.fromkeys(("orglq", "unglq"), "nnnpnppni"),
    "syevd": "ffnpnppnpni",
    "heevd": "ffnpnppnpnpni",
    **dict.fromkeys(("sgeev", "dgeev"), "ffnpnpppnpnpni"),
    **dict.fromkeys(("cgeev", "zgeev"), "ffnpnppnpnpnpi"),
    **dict.fromkeys(("sgees", "dgees"), "ff0npnnpppnpn0i"),
    **dict.fromkeys(("cgees", "zgees"), "ff0npnnppnpnp0i"),
    **dict.fromkeys(("sgesdd", "dgesdd"), "fnnpnppnpnpnpi"),
    **dict.fromkeys(("cgesdd", "zgesdd"), "fnnpnppnpnpnppi"),
}
"""What each takes, all by address: a flag (f), an integer (n), an array (p), the number 1 (1), an array of integers
(w), nothing (0), and where it writes `info` (i)."""


def signature(name: str) -> str:
    """Signature of a function, by its whole name."""
    return SIGNATURES.get(name) or SIGNATURES[name[1:]]


class Lapack(abc.ABC):
    """Functions for a dtype; integers of arrays are of 64 bits."""

    dtype: str

    @abc.abstractmethod
    def call(self, kernel: Kernel, name: str, arguments: Sequence[str | Index | Pointer]) -> Index:
        """Call a function with flags, integers and places in their order; its `info`, or 0."""
