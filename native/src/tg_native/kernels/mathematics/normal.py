"""The quantile of the normal distribution, and the inverses of erf and erfc, which it is but for factors.

A quantile is got from q = p - 1/2 and from the smaller p of both tails, each of which a kernel hands over as it is
exact, so that results are right beside 0 and in both tails. It is q P(w) with w = -log(4 p (1 - p)); in the tails, with
r = sqrt(-log(p)), it is r C((r - a) / (r + a)), where r > 5 with another a and E. All polynomials have the least
relative error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tg_native.kernels.functions import copysign, fabs, fma, sqrt, unless
from tg_native.kernels.lanes import select
from tg_native.kernels.mathematics.exponential import log
from tg_native.kernels.mathematics.kernel import Kernel, polynomial

if TYPE_CHECKING:
    from tg_native.kernels.lanes import Lanes

TAIL: Final = 0.0005  # from which p on the centre's polynomial serves
MIDDLE: Final = 3.75
FAR: Final = 5.0
FAR_MIDDLE: Final = 11.75


class Quantile(NamedTuple):
    """The polynomials of a quantile: of the centre, of the tails, and of what is far out in these."""

    centre: tuple[float, ...]
    tail: tuple[float, ...]
    far: tuple[float, ...]


NORMAL: Final = Quantile(
    (
        2.5066282746310007, 0.6562337477384255, 0.032666472294282156, -0.006604664825356719,
        -0.000362161106492484, 0.00013183698499588038, 5.713588024662655e-06, -2.8642860094757566e-06,
        -1.0503752761046798e-07, 6.404481603026835e-08, 2.4303806200404445e-09, -1.6317052391027649e-09,
        2.624621181832856e-12, 2.9359244405539324e-11, -3.3265829393815506e-12, 2.3581905368054906e-12,
        -1.2245347634102415e-12, 3.251708658058587e-13, -5.3695992505676775e-14, 5.9650003140867346e-15,
        -4.528354321088601e-16, 2.2773416322334964e-17, -6.890633235972716e-19, 9.547252881734897e-21,
    ),
    (
        1.2808259912763102, 0.4405961166442606, -0.7027848369676828, 0.8598481920799398,
        -0.9760747549499096, 1.0627112644405474, -1.13192623977043, 1.1883031027463768,
        -1.236296955847843, 1.277687302040812, -1.3143781555588296, 1.34731714561162,
        -1.3717530256128743, 1.3860475254651217, -1.5576359829333186, 1.744412811282909,
    ),
    (
        1.3950340774347991, 0.06669069930821808, -0.11359695894823917, 0.1478680849352115,
        -0.17637185135127856, 0.20044197877262215, -0.22140008923866164, 0.23978676759515394,
        -0.25614796316161936, 0.2707758829649804, -0.2839684295911099, 0.29591102386769863,
        -0.30681137168309497, 0.3167943282975898, -0.3256599953096506, 0.33371169785006893,
        -0.3451875214372125, 0.3562082241532711, -0.3316016756226669, 0.3146161290864147,
        -0.5037067355309451, 0.6032742788886156, 0.07893750618695772, -0.292493253492954,
        -1.215077468545542, 1.4458249437381423,
    ),
)  # fmt: skip
ERF: Final = Quantile(
    (
        1.772453850905516, 0.4640273330693028, 0.02309868407672939, -0.004670203285474001,
        -0.0002560865742828588, 9.322282610177613e-05, 4.040116837145214e-06, -2.025356060558063e-06,
        -7.427274805243113e-08, 4.5286523714847656e-08, 1.7185386172949643e-09, -1.1537898394671819e-09,
        1.855887435719863e-12, 2.0760120809670064e-11, -2.352249354616172e-12, 1.6674925199051073e-12,
        -8.658768350060464e-13, 2.2993052425562354e-13, -3.7968800423306084e-14, 4.217892171870616e-15,
        -3.2020300480571545e-16, 1.610323711230746e-17, -4.872413487825711e-19, 6.750927254377554e-21,
    ),
    (
        0.9056807439514607, 0.31154850184361577, -0.49694392393493075, 0.6080044874107184,
        -0.6901890781700787, 0.7514503415292413, -0.800392719944661, 0.8402571820569777,
        -0.8741939610402955, 0.9034613555090028, -0.9294057068391153, 0.9526970900708794,
        -0.9699758665240272, 0.9800836043032214, -1.101414966152323, 1.233486128046834,
    ),
    (
        0.9864380561404656, 0.047157445722914, -0.08032517999446977, 0.10455852557875643,
        -0.12471373210091481, 0.14173388242457113, -0.15655350445596442, 0.16955484940533605,
        -0.18112396173870302, 0.1914674630263126, -0.2007960022067685, 0.20924069160470404,
        -0.21694840146226274, 0.22400741778066313, -0.2302763910446332, 0.23596980451105995,
        -0.2440844371892297, 0.25187725081319573, -0.23447779348560965, 0.222467198347666,
        -0.3561744484232702, 0.4265793335175646, 0.05581724591475285, -0.2068239629961836,
        -0.8591895176755368, 1.022352622125899,
    ),
)  # fmt: skip


def _quantile(numbers: Quantile, q: Lanes, p: Lanes) -> Lanes:
    """The quantile at q = p - 1/2, with the smaller p of both tails."""
    near = p >= TAIL
    size = -log(select(near, 4 * p * (1 - p), p))
    centre = q * polynomial(size, numbers.centre)

    def in_tails() -> Lanes:
        root = sqrt(size)
        r = root + fma(-root, root, size) / (root + root)
        far = r > FAR
        found = r * polynomial((r - MIDDLE) / (r + MIDDLE), numbers.tail)
        beyond = q.body.anywhere(far & ~near)

        def outermost() -> Lanes:
            return select(far, r * polynomial((r - FAR_MIDDLE) / (r + FAR_MIDDLE), numbers.far), found)

        size_of_all = q.body.replaced(beyond, found, outermost)
        return copysign(select(p == 0, np.inf, size_of_all), q)

    return unless(~near, centre, in_tails)


def ndtri(x: Lanes) -> Lanes:
    """The quantile of the normal distribution."""
    return _quantile(NORMAL, x - 0.5, select(x < 0.5, x, 1 - x))


def erfinv(x: Lanes) -> Lanes:
    """The inverse of erf."""
    return _quantile(ERF, x * 0.5, (1 - fabs(x)) * 0.5)


def erfcinv(x: Lanes) -> Lanes:
    """The inverse of erfc."""
    return _quantile(ERF, (1 - x) * 0.5, select(x < 1, x, 2 - x) * 0.5)


KERNELS: Final = {
    name: Kernel(write, error=4.0, dtypes=("float64",), only=True)
    for name, write in {"ndtri": ndtri, "erfinv": erfinv, "erfcinv": erfcinv}.items()
}
