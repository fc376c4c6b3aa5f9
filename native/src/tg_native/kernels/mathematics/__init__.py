"""Mathematics on lanes: what the platform's vector library does not have, or has more slowly.

NaN, infinities and zeros are those of libm, with its signs; every other result is at most 4 units in the last place
off. What is subnormal, huge or otherwise odd is found by one mask, and computed by libm.
"""

from __future__ import annotations

from typing import Final

from tg_native.kernels.mathematics import (
    arithmetic,
    bessel,
    error,
    exponential,
    gamma,
    hyperbolic,
    normal,
    power,
    roots,
    trigonometric,
)

KERNELS: Final = {
    **arithmetic.KERNELS,
    **bessel.KERNELS,
    **error.KERNELS,
    **exponential.KERNELS,
    **gamma.KERNELS,
    **hyperbolic.KERNELS,
    **normal.KERNELS,
    **power.KERNELS,
    **roots.KERNELS,
    **trigonometric.KERNELS,
}
"""By the name of libm, or of the function itself where libm has none."""
