"""The array library, imported as `ml` here and nowhere else, and its arrays: to NumPy's and back."""

import numpy as ml
import numpy as np

from tg.backend import Hosted


def to_native(array):
    """A copy of a NumPy array as the library's, of the same dtype."""
    return ml.array(array)


def to_numpy(array):
    """The library's array, or a NumPy one, as NumPy's; it may share memory."""
    return np.asarray(array)


def argument(value):
    """An input, NumPy's array or the library's, as the library takes it: `to_native` where it must be its own."""
    return value


def copy(array):
    """A copy of the library's array."""
    return ml.copy(array)


def scope(options):
    """What a program runs inside: a new context manager, for a device, a precision or a lock."""
    return ml.errstate(all="ignore")


@Hosted
def performed(op, *operands):
    """A rule for any op, by its reference: right, and no faster than NumPy. Sizes are Python ints and stay so."""
    with np.errstate(all="ignore"):
        results = op.perform(*(v if isinstance(v, int) else to_numpy(v) for v in operands))
    natives = tuple(map(to_native, results))
    return natives[0] if len(natives) == 1 else natives


def reference(fn):
    """A rule for any elementwise function, by its reference."""
    return Hosted(lambda *arrays: performed(fn.op, *arrays))
