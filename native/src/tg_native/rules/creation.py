"""Arrays made of nothing but numbers and lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops import creation
from tg_native.plan.values import Array, row_major

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.graphs.site import Site
    from tg_native.plan.values import Value


def arange(op: creation.Arange, site: Site) -> Value:
    """0, 1, ..."""
    if site.number(0) in site.function.counts:
        shape: Any = site.types[0].shape
        return Array("int64", "", shape, row_major(shape), counts=True)
    y = site.allocate(0)
    kernel = site.kernel()
    place = kernel.write(y)
    with kernel.body.loop(0, kernel.length(y.shape[0])) as at:
        kernel.body.store(at.value, place.moved(at))
    site.run(kernel)
    return y


RULES: Final[dict[object, Rule]] = {creation.Arange: arange}
