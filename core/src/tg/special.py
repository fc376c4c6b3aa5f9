"""`tg.special`: special functions under SciPy's names, each of which is in `tg` too.

`scipy.special.f(x)` becomes `tg.special.f(x)`, or `tg.f(x)`.
"""

from tg.ops.elementwise.exponential import logit, xlog1py, xlogy
from tg.ops.elementwise.exponential import sigmoid as expit
from tg.ops.elementwise.special.error import erf, erfc
from tg.ops.elementwise.special.gamma import digamma, gammaln, trigamma
from tg.ops.elementwise.trigonometric import sinc
from tg.ops.softmax import log_softmax, logsumexp, softmax

__all__ = [
    "digamma",
    "erf",
    "erfc",
    "expit",
    "gammaln",
    "log_softmax",
    "logit",
    "logsumexp",
    "sinc",
    "softmax",
    "trigamma",
    "xlog1py",
    "xlogy",
]
