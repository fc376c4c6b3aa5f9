"""Calls of Fourier transforms in a loop: each transforms all rows of a matrix, as the loops of `numpy.fft` do."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tg.types.lengths import Length
    from tg_native.kernels.index import Index, Pointer
    from tg_native.loops.kernel import Kernel


class Transforms(abc.ABC):
    """Functions for a real dtype."""

    dtype: str

    def room(self, points: int | Length, *, is_real: bool) -> int | Length:
        """The count of numbers of the dtype that a transform needs memory for: 0 where it takes its own."""
        return 0

    def begin(self, kernel: Kernel, points: Index, memory: Pointer, *, is_real: bool) -> None:
        """Write into the memory what transforms of so many points share; called where there is some."""
        raise NotImplementedError

    @abc.abstractmethod
    def call(
        self,
        kernel: Kernel,
        name: str,
        places: tuple[Pointer, Pointer, Pointer],
        counts: Pointer,
        steps: Pointer,
        memory: Pointer | None,
    ) -> None:
        """Call a loop.

        Args:
            places: of the first element, of the factor, and of the first result.
            counts: three lengths: rows, elements of a row, results of a row.
            steps: five distances in bytes: of rows, of the factor (0), of rows of results, of elements, of results.
            memory: that `begin` has written to, where there is some.
        """
