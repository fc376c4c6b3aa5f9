"""The logarithm of the gamma function, digamma and trigamma.

For x >= 4 by Stirling's series with polynomials of 1/x^2 in the place of the divergent ones; below by recurrence from
an interval where a polynomial serves: for the logarithm [0.75, 2.5], where it is (t - 1) (t - 2) R(t), and for digamma
[1, 3], where it is (t - t0) R(t) with its zero t0. So they are right to the last digits beside these zeros too. For
x < 0, libm computes the logarithm, and digamma and trigamma follow from 1 - x, at most 6 units off: beside the zeros of
digamma there, units of the terms.

Source:
    NIST Digital Library of Mathematical Functions, 5.5.1, 5.5.4, 5.11.1, 5.11.2, 5.15.5, 5.15.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg_native.kernels.functions import copysign, fabs, fma, redone, rint, unless
from tg_native.kernels.lanes import select
from tg_native.kernels.mathematics.exponential import log
from tg_native.kernels.mathematics.kernel import Kernel, polynomial
from tg_native.kernels.mathematics.trigonometric import sin, tan

if TYPE_CHECKING:
    from tg_native.kernels.lanes import Lanes

CONSTANT: Final = 0.41893853320467274  # log(2 pi) / 2 - 1 / 2
ZERO: Final = 1.4616321449683622  # of digamma
ZERO_REST: Final = 9.549995429965697e-17
LOG_NEAR: Final = (
    0.4831289505409809, -0.14595989591430616, 0.06291140107456612, -0.031308487500996234,
    0.01679709863106338, -0.00942562244929768, 0.00544645784968765, -0.0032120740561835015,
    0.0019229160273954685, -0.0011644147622650958, 0.0007115237547324883, -0.00043799282476235363,
    0.00027126423392324347, -0.00016890478324208278, 0.0001056982578558409, -6.629297385266319e-05,
    4.147991037091481e-05, -2.6356444717462498e-05, 1.7537073857158296e-05, -1.103253440655042e-05,
    5.3054650781468205e-06, -3.072740071407118e-06, 4.3493652103846385e-06, -3.859689924630676e-06,
    3.9792136681026207e-07, 1.2459302473942887e-06, 1.2969567852873758e-07, -1.146014643111593e-06,
    6.915281079514107e-07, -1.3394089456621099e-07,
)  # fmt: skip
LOG_SERIES: Final = (
    0.08333333333333331, -0.002777777777757918, 0.000793650786476244, -0.0005952368994418683,
    0.0008416400760276712, -0.0019112430010546065, 0.006179404587993383, -0.023860893139885077,
    0.08236121030549906, -0.1616828411868063,
)  # fmt: skip
NEAR: Final = (
    0.7853075386041053, -0.2607389546830014, 0.10899991701762615, -0.049551032917669255,
    0.023447309597731718, -0.011338432553487137, 0.005552254171165627, -0.0027395728801625583,
    0.0013581421928626303, -0.000675313403117232, 0.0003364323560788711, -0.0001678149555305015,
    8.377976986571702e-05, -4.1847304899825434e-05, 2.0891339809974623e-05, -1.0437606369732588e-05,
    5.269627654435108e-06, -2.6417043490439035e-06, 1.2104082617509829e-06, -5.931691084695993e-07,
    4.6364937087418606e-07, -2.455075049249367e-07, -5.801693831231817e-08, 3.983214906091047e-08,
    1.1627427542314975e-07, -6.37656659379487e-08, -3.5984168337610505e-08, 1.9724167174192235e-08,
    1.0241481783821279e-08, -5.3596719649585516e-09,
)  # fmt: skip
SERIES: Final = (
    0.08333333333333234, -0.0083333333325248, 0.003968253740013798, -0.004166634522214873,
    0.007573122892986047, -0.020956333774088055, 0.07864321844811464, -0.332594996582907,
    1.191889690080066, -2.3493021785990007,
)  # fmt: skip
SECOND_SERIES: Final = (
    0.16666666666664898, -0.03333333331892377, 0.02380951972713883, -0.03333275591640139,
    0.07570998880831384, -0.25063023973309, 1.08036430880289, -5.019363260644462,
    19.019603298545817, -38.690847899917195,
)  # fmt: skip


def lgamma(x: Lanes) -> Lanes:
    """The logarithm of the size of the gamma function."""
    body, low, below = x.body, x < 4, x < 0.75
    some = body.anywhere(low)
    once, twice = x >= 2.5, x >= 3.5

    def argument() -> Lanes:
        p = select(once, x - 1, 1) * select(twice, x - 2, x.like(1))
        return select(low, select(below, x, p), x)

    p = body.replaced(some, x, argument)
    of_p, i = log(p), 1 / x
    y = fma(x - 0.5, of_p - 1, fma(i, polynomial(i * i, LOG_SERIES), CONSTANT))

    def near() -> Lanes:
        a = select(below, x, x - 1 - once.to(x.dtype) - twice.to(x.dtype))
        part = a * (a - 1) * polynomial(a - 0.5, LOG_NEAR)
        return select(low, part + select(below, -of_p, of_p), y)

    return redone("lgamma", x < 0, body.replaced(some, y, near), x)


def digamma(x: Lanes) -> Lanes:
    """The derivative of the logarithm of the gamma function."""
    body, left = x.body, x < 0
    a = select(left, 1 - x, x)
    low, below, above = a < 4, a < 1, a >= 3
    some, one = body.anywhere(low), a.like(1)
    shift = body.replaced(some, one, lambda: select(low, above.to(x.dtype) - below.to(x.dtype), one))
    divisor = body.replaced(some, a, lambda: select(above, select(low, a - 1, a), select(below, a, one)))
    i = shift / divisor
    y = log(a) - fma(i * i, polynomial(i * i, SERIES), i * 0.5)

    def near() -> Lanes:
        t = a - shift
        return select(low, fma((t - ZERO) - ZERO_REST, polynomial(t - 2, NEAR), i), y)

    found = body.replaced(some, y, near)

    def reflected() -> Lanes:
        r = x - rint(x)
        size = fabs(r)
        far = size > 0.25
        u = tan(np.pi * select(far, 0.5 - size, size))
        slope = np.pi * copysign(select(far, u, 1 / u), r)
        return select(r == 0, np.nan, found - slope)

    return unless(left, found, reflected)


def trigamma(x: Lanes) -> Lanes:
    """The second derivative of the logarithm of the gamma function."""
    left = x < 0
    a = select(left, 1 - x, x)
    low = a < 4
    i = 1 / select(low, a + 4, a)
    s = i * i
    y = fma(s, fma(i, polynomial(s, SECOND_SERIES), 0.5), i)

    def near() -> Lanes:
        b, c, d = ((a + k) * (a + k) for k in (1, 2, 3))
        return 1 / (a * a) + (y + (b * c + d * (b + c)) / (b * c * d))

    found = unless(low, y, near)

    def reflected() -> Lanes:
        u = np.pi / sin(np.pi * (x - rint(x)))
        return u * u - found

    return unless(left, found, reflected)


KERNELS: Final = {
    name: Kernel(write, error=4.0, dtypes=("float64",), only=name != "lgamma")
    for name, write in {"lgamma": lgamma, "digamma": digamma, "trigamma": trigamma}.items()
}
