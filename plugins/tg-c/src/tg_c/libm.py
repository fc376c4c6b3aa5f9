"""The functions that templates may use by name: those of libm, and some beside them that `tg_native` has."""

from __future__ import annotations

from typing import Final

UNARY: Final = (
    "acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor lgamma log log10 log1p "
    "log2 rint round sin sinh sqrt tan tanh tgamma trunc"
)
BINARY: Final = "atan2 copysign fmod hypot nextafter pow"
COMPLEX: Final = "cacos cacosh casin casinh catan catanh ccos ccosh cexp clog csin csinh csqrt ctan ctanh"
OWN: Final = dict.fromkeys(("digamma", "erfcinv", "erfcx", "erfinv", "i0e", "i1e", "ndtri", "trigamma"), 1)
"""The real functions that libm does not have, with the number of their arguments."""
ARITIES: Final = {**dict.fromkeys(UNARY.split(), 1), **dict.fromkeys(BINARY.split(), 2), **OWN}
"""All real functions, with the number of their arguments."""
COMPLEX_ARITIES: Final = {**dict.fromkeys(COMPLEX.split(), 1), "cpow": 2}
"""The complex ones."""
