"""Calls of the loops of `numpy.fft` in a loop: each transforms all rows of a matrix."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tg_native.kernels.index import Pointer
    from tg_native.loops.kernel import Kernel


class Transforms(abc.ABC):
    """Functions for a real dtype."""

    dtype: str

    @abc.abstractmethod
    def call(
        self, kernel: Kernel, name: str, places: tuple[Pointer, Pointer, Pointer], counts: Pointer, steps: Pointer
    ) -> None:
        """Call a loop.

        Args:
            places: of the first element, of the factor, and of the first result.
            counts: three lengths: rows, elements of a row, results of a row.
            steps: five distances in bytes: of rows, of the factor (0), of rows of results, of elements, of results.
        """
