"""Cases that get lost."""

from tg.plugin import hookimpl
from tg_tricks import TRICK


@hookimpl
def tg_cases():
    if TRICK == "lost hook":
        raise KeyError("cases of the next release")
    return ()
