"""Cases of `ops/signal/named_windows`: windows by their names, and names of none, beside SciPy."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from scipy.signal import get_window

import tg
from tg.errors import InputError
from tg.ops.signal.named_windows import FAMILY
from tg.plugin.case import Case
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

WRONG: Final = ("hanning_", ("hann", 2.0), "kaiser", ("gaussian", 1.0, 2.0), "dpss", None)
RIGHT: Final = ("blk_symmetric", ("tukey_periodic", 0.25), 3.0, ("cheb", 60.0), "taylorwin", ("dpss", 2.0))


def one(*_: Any) -> Any:
    """The size of the cosines that are summed."""
    return 1.0


def of_names() -> Iterator[Case]:
    """Windows by their names, and names of none."""
    for window in WRONG:
        yield Case(functools.partial(tg.signal.get_window, window, 8), name=f"{window!r}", raises=InputError)
    for named in RIGHT:
        yield Case(
            functools.partial(tg.signal.get_window, named, 9),
            name=f"{named!r}",
            oracle=functools.partial(get_window, named, 9),
            condition=one,
            accuracy=16,
        )


CASES: Final = of_family(FAMILY.path, *of_names())
