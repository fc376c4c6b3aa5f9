"""Arrays made of nothing but numbers and lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops import creation as t
from tg_native.kernels.lanes import Lanes
from tg_numba.blocks import store_one

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.plan.values import Value
    from tg_numba.site import Site


def arange(op: t.Arange, site: Site) -> Value:
    """0, 1, ..."""
    y = site.allocate(0)
    kernel = site.kernel()
    place = kernel.write(y)
    with kernel.body.loop("0", kernel.length(y.shape[0])) as index:
        store_one(kernel, Lanes(kernel.body, "int64", index), kernel.moved(("int64", place), [index], [1]))
    site.run(kernel)
    return y


RULES: Final[dict[object, Rule]] = {t.Arange: arange}
