"""Windows by their names: the tables of names, other names and parameters, and the function that reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.errors import InputError, ShapeError, message
from tg.ops.family import Family
from tg.ops.signal.designed_windows import chebwin, dpss, kaiser_bessel_derived, taylor
from tg.ops.signal.window_functions import (
    barthann,
    bartlett,
    blackman,
    blackmanharris,
    bohman,
    boxcar,
    cosine,
    exponential,
    flattop,
    gaussian,
    general_cosine,
    general_gaussian,
    general_hamming,
    hamming,
    hann,
    kaiser,
    lanczos,
    nuttall,
    parzen,
    triang,
    tukey,
)
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable

PLAIN: Final = {
    fn.__name__: fn
    for fn in (
        barthann, bartlett, blackman, blackmanharris, bohman, boxcar, cosine, exponential, flattop, hamming, hann,
        lanczos, nuttall, parzen, taylor, triang, tukey,
    )
}  # fmt: skip
"""Windows that have no parameter, or need none."""
WITH_PARAMETERS: Final = {
    fn.__name__: fn
    for fn in (
        chebwin, dpss, exponential, gaussian, general_cosine, general_gaussian, general_hamming, kaiser,
        kaiser_bessel_derived, taylor, tukey,
    )
}  # fmt: skip
ALIASES: Final = {
    "barthann": "brthan bth", "bartlett": "bart brt", "blackman": "black blk", "blackmanharris": "blackharr bkh",
    "bohman": "bman bmn", "boxcar": "box ones rect rectangular", "chebwin": "cheb", "cosine": "halfcosine",
    "exponential": "poisson",
    "flattop": "flat flt", "gaussian": "gauss gss", "general_gaussian": "general_gauss ggs", "hamming": "hamm ham",
    "hann": "han", "kaiser": "ksr", "kaiser_bessel_derived": "kbd", "lanczos": "sinc", "nuttall": "nutl nut",
    "parzen": "parz par", "taylor": "taylorwin", "triang": "triangle tri", "tukey": "tuk",
}  # fmt: skip
OTHER_NAMES: Final = {other: name for name, others in ALIASES.items() for other in others.split()}
PERIODIC: Final = {"_periodic": False, "_symmetric": True}


def get_window(window: Any, Nx: Any, fftbins: bool = True) -> Variable:
    """A window by its name: "hann", ("kaiser", 8.6), or a number, which is Kaiser's beta.

    Args:
        window: the name of a function of `tg.signal.windows`, or a tuple of the name and its parameters. A name that
            ends with "_periodic" or "_symmetric" says that in place of `fftbins`.
        Nx: how many points.
        fftbins: True for one period, False for a window that is symmetric.
    Raises:
        InputError: an unknown name, or parameters that are missing or too many.
    Example:
        >>> import tg
        >>> tg.signal.get_window("triang", 4, fftbins=False).eval()
        array([0.25, 0.75, 0.75, 0.25])
    Source:
        scipy.signal.get_window
    """
    if isinstance(window, int | float):
        return kaiser(Nx, float(window), sym=not fftbins)
    name, *parameters = window if isinstance(window, tuple) and window else (window,)
    if not isinstance(name, str):
        raise InputError(message(f"get_window: found {window!r}, needed a name, a tuple that begins with one, or beta"))
    sym = not fftbins
    for ending, is_symmetric in PERIODIC.items():
        if name.endswith(ending):
            name, sym = name.removesuffix(ending), is_symmetric
    name = name.replace(" ", "_")
    name = OTHER_NAMES.get(name, name)
    function: Any = (WITH_PARAMETERS if parameters else PLAIN).get(name)
    if function is None:
        raise InputError(message(_refusal(name, parameters)))
    try:
        return function(Nx, *parameters, sym=sym)  # type: ignore[no-any-return]
    except TypeError as error:
        raise InputError(message(f"get_window: parameters of {name!r}: found {parameters!r}: {error}")) from None


def _refusal(name: str, parameters: Sequence[Any]) -> str:
    if name in WITH_PARAMETERS:
        return f"get_window: found {name!r} alone, needed a tuple of it and its parameters"
    if name in PLAIN:
        return f"get_window: found parameters {list(parameters)!r} of {name!r}, needed none"
    names = ", ".join(sorted({*PLAIN, *WITH_PARAMETERS}))
    return f"get_window: found the window {name!r}, needed one of {names}"


def window_of(what: str, window: Any, count: Any) -> Variable:
    """The values of a window: those of a name, or a vector of so many.

    Raises:
        ShapeError: an array that is no vector of `count` entries.
    """
    if isinstance(window, str | tuple | int | float):
        return get_window(window, count)
    v = as_variable(window)
    n = v.type.shape[0] if v.type.ndim == 1 else None
    if v.type.ndim != 1 or (type(count) is int and type(n) is int and n != count):
        raise ShapeError(message(f"{what}: window: found {v.type}, needed a vector of {count}"))
    return v


FAMILY = Family("signal/named_windows", functions=(get_window,), module="signal.windows")
