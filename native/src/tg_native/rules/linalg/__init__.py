"""Rules of linear algebra: by the LAPACK of the process, and by loops of their own where matrices are small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_native.rules.linalg import cholesky, lu, qr, registers, schur, spectral, triangular

if TYPE_CHECKING:
    from tg.plugin.records import Rule

RULES: Final[dict[object, Rule]] = {
    **cholesky.RULES,
    **lu.RULES,
    **qr.RULES,
    **registers.RULES,
    **schur.RULES,
    **spectral.RULES,
    **triangular.RULES,
}
