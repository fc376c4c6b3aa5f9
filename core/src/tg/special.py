"""`tg.special`: special functions under SciPy's names, each of which is in `tg` too.

`scipy.special.f(x)` becomes `tg.special.f(x)`, or `tg.f(x)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg.keywords import explain
from tg.ops.elementwise.exponential import logit, xlog1py, xlogy
from tg.ops.elementwise.exponential import sigmoid as expit
from tg.ops.elementwise.special.bessel import i0, i0e, i1, i1e, j0, j1
from tg.ops.elementwise.special.beta import beta, betaln, binom, poch
from tg.ops.elementwise.special.cylinder import iv, ive, jv, kv, kve
from tg.ops.elementwise.special.error import erf, erfc, erfcinv, erfcx, erfinv
from tg.ops.elementwise.special.gamma import digamma, factorial, gamma, gammaln, gammasgn, trigamma
from tg.ops.elementwise.special.hypergeometric import hyp2f1
from tg.ops.elementwise.special.incomplete import (
    betainc,
    betaincinv,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
)
from tg.ops.elementwise.special.normal import log_ndtr, ndtr, ndtri, ndtri_exp
from tg.ops.elementwise.special.owens import owens_t
from tg.ops.elementwise.special.students import stdtr, stdtrit
from tg.ops.elementwise.special.zeta import polygamma, zeta
from tg.ops.elementwise.trigonometric import sinc
from tg.ops.softmax import log_softmax, logsumexp, softmax
from tg.words import unknown_in

__all__ = [
    "beta",
    "betainc",
    "betaincinv",
    "betaln",
    "binom",
    "digamma",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "expit",
    "factorial",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "gammasgn",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
    "kv",
    "kve",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "ndtri_exp",
    "owens_t",
    "poch",
    "polygamma",
    "sinc",
    "softmax",
    "stdtr",
    "stdtrit",
    "trigamma",
    "xlog1py",
    "xlogy",
    "zeta",
]

explain(globals(), __all__)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
        raise AttributeError(text, name=name)
