"""The numbers that functions are computed with where loops are written out: coefficients, and constants in two parts.

An exponential is 2^n e^r, and r + r^2 E(r) is e^r - 1. With whole n, |r| <= log(2) / 2. Where a machine looks up the
powers of 2^(1/16), n is a multiple of 1/16 and |r| <= log(2) / 32, for which a shorter polynomial, `NEAR`, serves, or
`NEAR_LESS_1` where the result is e^x - 1. All have the least relative error on their intervals: that of `E`, 0.07 of a
unit in the last place, is no more than another term would take off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

PER_LN2: Final = 1.4426950408889634
LN2: Final[Mapping[str, Mapping[str, float]]] = {
    "f64": {"LN2_HIGH": 0.693147180559663, "LN2_LOW": 2.8235290563031577e-13, "LN2": 0.6931471805599453},
    "f32": {"LN2_HIGH": 0.693145751953125, "LN2_LOW": 1.4286068203094173e-06, "LN2": 0.6931471805599453},
}
E: Final[Mapping[str, tuple[float, ...]]] = {
    "f64": (
        0.5, 0.16666666666666244, 0.04166666666660196, 0.008333333333611396, 0.0013888888927520672,
        0.00019841269241028996, 2.480150784913316e-05, 2.7557831370683247e-06, 2.762549447512913e-07,
        2.4920697538597882e-08,
    ),
    "f32": (0.5, 0.166665181517601, 0.041666850447654724, 0.00836889073252678, 0.0013899194309487939),
}  # fmt: skip
NEAR: Final[Mapping[str, tuple[float, ...]]] = {
    "f64": (0.5, 0.16666666664417862, 0.041666666659655606, 0.00833347192344322, 0.0013889129005256802),
    "f32": (0.5000161896019242, 0.16667057742902644),
}
NEAR_LESS_1: Final[Mapping[str, tuple[float, ...]]] = {
    "f64": (
        0.5000000000000003, 0.16666666666666677, 0.041666666661891116, 0.008333333332413746, 0.0013889092504782827,
        0.0001984155434329517,
    ),
}  # fmt: skip
EXP_RANGE: Final[Mapping[str, tuple[float, float]]] = {"f64": (-746.0, 710.0), "f32": (-104.5, 89.0)}
"""Below the first number e^x is 0, and so is half of its nearest power of 2; above the second it is infinite."""

POWERS: Final = (
    1.0, 1.0442737824274138, 1.0905077326652577, 1.1387886347566916, 1.189207115002721, 1.241857812073484,
    1.2968395546510096, 1.3542555469368927, 1.4142135623730951, 1.4768261459394993, 1.5422108254079407,
    1.6104903319492543, 1.681792830507429, 1.7562521603732995, 1.8340080864093424, 1.9152065613971474,
)  # fmt: skip
"""2^(k/16) for k = 0 to 15, to be rounded to the format."""

POWERS_REST: Final = (
    0.0, 8.189317638195515e-17, -2.7939114859515733e-17, 7.826573258636076e-17, 3.3484623336251524e-17,
    3.750854201303127e-17, 1.9572585293112036e-17, 5.68648095791174e-17, -6.835808657661922e-17,
    -2.3591094770850053e-17, 5.1548301170786783e-17, 1.5341410053603723e-17, 4.875160526227062e-17,
    1.685487290628973e-17, 1.790126907604513e-17, -5.545065618639427e-17,
)  # fmt: skip
"""By what part of itself each of them, in float64, is too small."""

TANH_IS_1: Final[Mapping[str, float]] = {"f64": 22.0, "f32": 11.0}
"""From which number on tanh is 1."""
