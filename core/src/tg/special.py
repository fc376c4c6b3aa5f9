"""`tg.special`: special functions under SciPy's names, each of which is in `tg` too.

`scipy.special.f(x)` becomes `tg.special.f(x)`, or `tg.f(x)`.
"""

from tg.ops.elementwise.exponential import logit, xlog1py, xlogy
from tg.ops.elementwise.exponential import sigmoid as expit
from tg.ops.elementwise.special.cylinder import iv, ive, j0, j1, jv, kv, kve
from tg.ops.elementwise.special.error import erf, erfc
from tg.ops.elementwise.special.gamma import digamma, gammaln, trigamma
from tg.ops.elementwise.special.hypergeometric import hyp2f1
from tg.ops.elementwise.special.incomplete import (
    betainc,
    betaincinv,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
)
from tg.ops.elementwise.special.owens import owens_t
from tg.ops.elementwise.trigonometric import sinc
from tg.ops.softmax import log_softmax, logsumexp, softmax

__all__ = [
    "betainc",
    "betaincinv",
    "digamma",
    "erf",
    "erfc",
    "expit",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "hyp2f1",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
    "kv",
    "kve",
    "log_softmax",
    "logit",
    "logsumexp",
    "owens_t",
    "sinc",
    "softmax",
    "trigamma",
    "xlog1py",
    "xlogy",
]
