"""`Change`: a product with weights, and what takes its place."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tg.quantization.activations import Levels, of_integers
from tg.quantization.weights import packed_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.quantization.sites import Site
    from tg.quantization.weights import Packed


class Change(NamedTuple):
    """A product with weights, its packed weights, and the levels of the other factor, None for floats."""

    site: Site
    packed: Packed
    shape: tuple[int, ...]  # of the weights in the expression
    weight_error: float
    levels: Levels | None

    def result(self, operands: Sequence[Variable]) -> Variable:
        """The result for other operands, the weights among which are not read."""
        if self.levels is None or self.site.data is None:
            return self.site.with_weights(operands, self.packed, self.shape)
        return of_integers(self.site, operands, self.packed, self.shape, self.levels)


def changed(
    site: Site, form: str, kind: str | None, limits: tuple[float, float] | None, packs: dict[Any, Packed]
) -> Change:
    """The change of a site; weights that are equal are packed once.

    Args:
        limits: the least and the largest value of the other factor, if they are known.
        packs: those that were packed, by their values: to be added to.
    Raises:
        InputError: weights that are not finite.
    """
    rows = site.rows()
    key = (rows.dtype, rows.shape, hashlib.sha256(rows.data).digest())
    if key not in packs:
        packs[key] = packed_rows(rows, form, site.name)
    packed = packs[key]
    shape = tuple(site.shape_of(rows))
    levels = None if kind is None else Levels(kind, limits)
    return Change(site, packed, shape, _relative(packed.array, rows), levels)


def _relative(a: Any, b: Any) -> float:
    """The norm of the difference over that of b; 0 for zeros."""
    size = float(np.linalg.norm(b.astype(np.float64)))
    return float(np.linalg.norm(a.astype(np.float64) - b)) / size if size else 0.0
