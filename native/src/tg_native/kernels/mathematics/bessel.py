"""The modified Bessel functions I0 and I1, scaled by e^-|x|.

Up to |x| = 8 a polynomial of x^2 times e^-|x|, beyond one of 1 / |x| - 1 / 16 over the root of |x|; both have the least
relative error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_native.kernels.functions import copysign, fabs, sqrt, unless
from tg_native.kernels.lanes import select
from tg_native.kernels.mathematics.exponential import exp
from tg_native.kernels.mathematics.kernel import Kernel, polynomial

if TYPE_CHECKING:
    from tg_native.kernels.lanes import Lanes

END: Final = 8.0
NEAR_0: Final = (
    1.0, 0.25, 0.015624999999999977, 0.0004340277777777948, 6.781684027771371e-06,
    6.781684027918286e-08, 4.709502795111003e-10, 2.4028075678299263e-12, 9.385965797594732e-15,
    2.8969089282211817e-17, 7.242073372708185e-20, 1.4967804560540279e-22, 2.590147059760982e-25,
    3.933811167828161e-28, 4.1977095832683946e-31, 8.570763092273953e-34,
)  # fmt: skip
FAR_0: Final = (
    0.4021765094450081, 0.053768831738685526, 0.03487131504388624, 0.045641866413585926,
    0.09724543971011095, 0.3118043714221008, 1.488483844814169, 10.556574652909575,
    92.61924447696074, 518.940963727601, -7522.455006650904, -235667.7286630907,
    -1424404.4867386892, 33862426.028975464, 475720372.30940515, -3975226921.3357425,
    -85329021773.32227, 429399683940.17395, 10550884409021.139, -39710894870834.59,
    -820917510475025.0, 2597659191849300.5, 2.986773871548077e+16, -8.432622079659408e+16,
)  # fmt: skip
NEAR_1: Final = (
    0.5, 0.0625, 0.0026041666666666652, 5.4253472222223114e-05, 6.781684027774715e-07,
    5.651403356543503e-09, 3.363930568527278e-11, 1.5017547255719738e-13, 5.214425664797451e-16,
    1.4484536542209702e-18, 3.2918726877808666e-21, 6.236193442392629e-24, 9.967124095249658e-27,
    1.400703646546221e-29, 1.4202965427647965e-32, 2.6314044187201103e-35,
)  # fmt: skip
FAR_1: Final = (
    0.38939845902587233, -0.1559932350917716, -0.056124355541007344, -0.061597889337708094,
    -0.12025267634176544, -0.3653087260430606, -1.677908922536586, -11.577485798582014,
    -100.46287423233146, -579.0057061094755, 7512.259172738609, 246740.4737209139,
    1580760.0759774118, -34315991.17558651, -506281978.6168893, 3905191764.999063,
    89674402896.54916, -411738030547.58466, -11025494957710.941, 37690716347640.5,
    855426948415164.6, -2472027455409764.5, -3.1075728746136884e+16, 8.105776042465147e+16,
)  # fmt: skip


def _beyond(a: Lanes, near: Lanes, coefficients: tuple[float, ...]) -> Lanes:
    return unless(a > END, near, lambda: polynomial(1 / a - 0.0625, coefficients) / sqrt(a))


def i0e(x: Lanes) -> Lanes:
    """e^-|x| I0(x)."""
    a = fabs(x)
    b = select(a > END, END, a)
    return _beyond(a, exp(-b) * polynomial(b * b, NEAR_0), FAR_0)


def i1e(x: Lanes) -> Lanes:
    """e^-|x| I1(x)."""
    a = fabs(x)
    b = select(a > END, END, a)
    return copysign(_beyond(a, b * exp(-b) * polynomial(b * b, NEAR_1), FAR_1), x)


KERNELS: Final = {
    "i0e": Kernel(i0e, error=4.0, dtypes=("float64",), only=True),
    "i1e": Kernel(i1e, error=4.0, dtypes=("float64",), only=True),
}
