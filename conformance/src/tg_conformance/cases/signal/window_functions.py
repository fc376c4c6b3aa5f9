"""Cases of `ops/signal/window_functions`: every window, symmetric and periodic, even and odd, beside SciPy."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from scipy.signal import windows

import tg
from tg.errors import InputError
from tg.ops.signal.window_functions import FAMILY
from tg.plugin.case import Case, f64
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

PARAMETERS: Final[dict[str, Any]] = {
    "kaiser": (8.6,),
    "gaussian": (2.5,),
    "general_gaussian": (1.5, 3.0),
    "general_cosine": ((0.4, 0.3, 0.2, 0.1),),
    "general_hamming": (0.6,),
    "tukey": (0.3,),
}


def one(*_: Any) -> Any:
    """The size of the cosines that are summed."""
    return 1.0


def every() -> Iterator[Case]:
    """All windows, of as many points as another array has."""
    for function in FAMILY.functions:
        name = function.__name__
        parameters = PARAMETERS.get(name, ())
        for sym in (True, False):
            of_scipy = functools.partial(getattr(windows, name), sym=sym)
            yield Case(
                lambda x, function=function, parameters=parameters, sym=sym: function(x.shape[0], *parameters, sym=sym),
                [f64(8 if sym else 9)],
                name=f"{name} {'symmetric' if sym else 'periodic'}",
                layouts=("C",),
                oracle=lambda x, of_scipy=of_scipy, parameters=parameters: of_scipy(len(x), *parameters),
                condition=one,
                accuracy=16,
            )


def centre_of_symmetric() -> Any:
    """A centre where the middle is one already."""
    return tg.signal.windows.exponential(8, 3.0)


CASES: Final = of_family(FAMILY.path, *every(), Case(centre_of_symmetric, raises=InputError))
