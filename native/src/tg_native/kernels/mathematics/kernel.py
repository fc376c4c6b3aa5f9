"""Kernels of mathematics, and the polynomials that they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tg_native.kernels.dtypes import FORMATS, item_size
from tg_native.kernels.functions import fma

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_native.kernels.body import Machine
    from tg_native.kernels.lanes import Lanes

SPLIT: Final = 9  # the coefficients beyond which a polynomial is the sum of two, which are computed at once
NARROW: Final = 32  # bytes of vectors without the instructions of AVX-512
SPLIT_BY_TABLE: Final = 3  # in a kernel by table, whose few steps wait for one another

Data = dict[str, float]


class Kernel(NamedTuple):
    """A function of lanes of one float dtype.

    Args:
        write: writes it, of its operands.
        error: the largest, in units in the last place.
        dtypes: those that it computes in; float32 is widened where it is not among them.
        preferred: the dtypes in which it is faster than a library's function where it is written in place, and as fast
            where it is called.
        narrow: further ones in which it is so in vectors of up to 32 bytes, as `benchmarks/mathematics.py` shows.
        only: libm has no such function.
        together: it is long, so that vectors that go abreast are computed by one call.
    """

    write: Callable[..., Lanes]
    error: float
    dtypes: tuple[str, ...] = tuple(FORMATS)
    preferred: tuple[str, ...] = ()
    narrow: tuple[str, ...] = ()
    only: bool = False
    together: bool = False

    def is_preferred(self, dtype: str, machine: Machine) -> bool:
        """Whether it is taken where a library has the function too."""
        return dtype in self.preferred or (machine.vector_bytes <= NARROW and dtype in self.narrow)

    def on(self, name: str, operands: Sequence[Lanes], *, inline: bool) -> Lanes:
        """The value, in place or by a call of a function that the unit has once."""
        return operands[0].body.shared(name, self.written, operands, inline=inline, together=self.together)

    def written(self, *operands: Lanes) -> Lanes:
        """The value, in place."""
        x = operands[0]
        if x.dtype in self.dtypes:
            return self.write(*operands)
        return x.body.in_vectors(self._widened, x.body.machine.vector_bytes // item_size("float64"), *operands)

    def _widened(self, *operands: Lanes) -> Lanes:
        return self.write(*(x.to("float64") for x in operands)).to(operands[0].dtype)


def polynomial(t: Lanes, coefficients: Sequence[float], split: int = SPLIT) -> Lanes:
    """A polynomial from the constant term on: a long one as even and odd terms, computed at once."""
    if len(coefficients) > split:
        square = t * t
        even, odd = (polynomial(square, coefficients[k::2], split) for k in (0, 1))
        return fma(odd, t, even)
    total = t.like(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = fma(total, t, c)
    return total
