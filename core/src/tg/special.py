"""`tg.special`: special functions under SciPy's names, each of which is in `tg` too.

`scipy.special.f(x)` becomes `tg.special.f(x)`, or `tg.f(x)`.
"""

from tg.ops.elementwise.exponential import logit, xlog1py, xlogy
from tg.ops.elementwise.exponential import sigmoid as expit
from tg.ops.elementwise.special.bessel import i0, i0e, i1, i1e
from tg.ops.elementwise.special.beta import beta, betaln, binom, poch
from tg.ops.elementwise.special.error import erf, erfc, erfcinv, erfcx, erfinv
from tg.ops.elementwise.special.gamma import digamma, factorial, gamma, gammaln, gammasgn, trigamma
from tg.ops.elementwise.special.normal import log_ndtr, ndtr, ndtri, ndtri_exp
from tg.ops.elementwise.special.zeta import polygamma, zeta
from tg.ops.elementwise.trigonometric import sinc
from tg.ops.softmax import log_softmax, logsumexp, softmax

__all__ = [
    "beta",
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
    "gammaln",
    "gammasgn",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "ndtri_exp",
    "poch",
    "polygamma",
    "sinc",
    "softmax",
    "trigamma",
    "xlog1py",
    "xlogy",
    "zeta",
]
