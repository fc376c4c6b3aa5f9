"""Arrays made of nothing but numbers and lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops import creation
from tg_native.plan.values import Array, row_major

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.graphs.site import Site
    from tg_native.plan.values import Value


def arange(op: creation.Arange, site: Site) -> Value:
    """0, 1, ..."""
    if site.number(0) in site.function.counts:
        (t,) = site.types
        return Array(t.dtype, "", t.shape, row_major(t.shape), counts=True)
    y = site.allocate(0)
    kernel = site.kernel()
    place = kernel.write(y)
    with kernel.body.loop(0, kernel.length(y.shape[0])) as at:
        kernel.body.store(at.value, place.moved(at))
    site.run(kernel)
    return y


RULES: Final[dict[object, Rule]] = {creation.Arange: arange}
