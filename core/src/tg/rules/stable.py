"""Stable forms: the rules by which a cost is brought to the form of which derivatives are taken.

They are the rules that recognise a function written out: a derivative of the formula as written overflows, cancels or
is infinite where that of the function is not, and no rule on the derivative can repair that at every order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.rewrite.phases import STABILIZE
from tg.rules import norm, softmax
from tg.rules.elementwise.arithmetic import powers
from tg.rules.elementwise.comparison import choice
from tg.rules.elementwise.exponential import logarithms, sigmoids
from tg.rules.elementwise.special import bessel, gamma
from tg.rules.elementwise.special.error import tails
from tg.rules.linalg import spectral
from tg.rules.linalg.solving import determinants

if TYPE_CHECKING:
    from tg.rewrite.rule import Rule

WRITTEN_OUT: Final = (*logarithms.RULES, *sigmoids.RULES, *softmax.RULES)
IN_PIECES: Final = (
    "log1mexp_from_log",
    "log1mexp_from_log1p",
    "log_of_expm1",
    "log_of_cosh",
)  # derivatives have forms without
POWERS: Final = (
    "power_two",
    "power_of_power",
    "root_of_power",
    "power_of_root",
    "square_of_root_of_known",
    "cube_of_cube_root",
    "cube_root_of_cube",
)  # of which the inner one has an infinite slope at 0, or one of 0 beside it
SHIFTED: Final = (
    "mean_weighted_by_softmax",
    "softmax_of_shifted",
    "logsumexp_of_shifted",
    "logsumexp_shifted_back",
)  # by their largest element, of whose derivative nothing is left
QUOTIENTS: Final = ("scaled_tail", "density_over_tail", "slope_of_quantile")  # of tails and densities
LOGARITHMS: Final = (*tails.RULES, *gamma.RULES, *bessel.RULES, *determinants.RULES)  # of functions that underflow

STABLE: Final[tuple[Rule, ...]] = (
    *softmax.FORMS,
    *logarithms.FORMS,
    *sigmoids.OF_DERIVATIVES,
    *(one for one in powers.RULES if one.name in POWERS),
    *norm.FORMS,
    *(one for one in softmax.RULES if one.name in SHIFTED),
    *(one for one in choice.RULES if one.name == "where_same"),  # of pieces that are one stable form
    *spectral.FORMS,
    *(one for one in WRITTEN_OUT if one.phase == STABILIZE and one.name not in IN_PIECES),
    *(one for one in LOGARITHMS if one.phase == STABILIZE and (one.name.startswith(("log", *QUOTIENTS)))),
)
