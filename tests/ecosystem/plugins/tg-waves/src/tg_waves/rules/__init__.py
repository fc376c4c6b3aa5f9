"""The rules, a file for each backend."""

from tg_native import Elementwise, fabs

SOFTSIGN = Elementwise(floating=lambda x: x / (fabs(x) + 1))
"""The kernel, which serves both."""
