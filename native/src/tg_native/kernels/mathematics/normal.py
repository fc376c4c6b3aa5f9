"""The quantile of the normal distribution, and the inverses of erf and erfc, which it is but for factors.

They are those of `tg.ops.elementwise.special.error`, on lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg.ops.elementwise.special.error import ERF, FAR, FAR_MIDDLE, INNER, LN2, MIDDLE, TAIL, Quantile
from tg.ops.elementwise.special.normal import NORMAL
from tg_native.kernels.functions import copysign, fabs, fma, sqrt, unless
from tg_native.kernels.lanes import select
from tg_native.kernels.mathematics.exponential import log, log_as_term
from tg_native.kernels.mathematics.kernel import Kernel, polynomial

if TYPE_CHECKING:
    from tg_native.kernels.lanes import Lanes


def _quantile(numbers: Quantile, q: Lanes, tail: Lanes, *, halved: bool) -> Lanes:
    """The quantile at q = p - 1/2, with the smaller p of both tails, or at half of them, if twice both are given."""
    p = tail * 0.5 if halved else tail
    near = p >= TAIL
    factor = polynomial(-log_as_term(4 * p * (1 - p)), numbers.centre)
    centre = q * (factor * 0.5 if halved else factor)

    def in_tails() -> Lanes:
        s = LN2 - log(tail) if halved else -log(tail)
        root = sqrt(s)
        r = root + fma(-root, root, s) / (root + root)
        far = r > FAR
        size = r * polynomial((r - MIDDLE) / (r + MIDDLE), numbers.tail)

        def outermost() -> Lanes:
            return select(far, r * polynomial((r - FAR_MIDDLE) / (r + FAR_MIDDLE), numbers.far), size)

        size_of_all = q.body.replaced(q.body.anywhere(far & ~near), size, outermost) if numbers.far else size
        return copysign(select(tail == 0, np.inf, size_of_all), q)

    return unless(~near, centre, in_tails)


def ndtri(x: Lanes) -> Lanes:
    """The quantile of the normal distribution."""
    return _quantile(NORMAL, x - 0.5, select(x < 0.5, x, 1 - x), halved=False)


def erfinv(x: Lanes) -> Lanes:
    """The inverse of erf."""
    return _quantile(INNER, x, 1 - fabs(x), halved=True)


def erfcinv(x: Lanes) -> Lanes:
    """The inverse of erfc."""
    return _quantile(ERF, 1 - x, select(x < 1, x, 2 - x), halved=True)


KERNELS: Final = {
    name: Kernel(write, error=4.0, dtypes=("float64",), only=True, together=True)
    for name, write in {"ndtri": ndtri, "erfinv": erfinv, "erfcinv": erfcinv}.items()
}
