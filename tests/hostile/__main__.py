"""Make the hostile calls on one backend, and compare with the reference: `python -m tests.hostile BACKEND [WORD]`.

The arguments lie in guarded memory, so a read or write outside of them ends the process. WORD chooses cases by name.
"""

from __future__ import annotations

import sys

import numpy as np

import tg
from tests.hostile.calls import CASES
from tests.hostile.guarded import guarded, layouts


def main(backend, word=""):
    """Print what differs; the exit status says whether something did."""
    wrong = 0
    for case in CASES:
        if word in case.name:
            sys.stdout.write(f"{case.name}\n")
            sys.stdout.flush()  # the last case that is named is the one that ended the process
            compiled, reference = functions(case, backend)
            wrong += sum(not agrees(compiled, reference, arrays) for arrays in case.calls)
    return 1 if wrong else 0


def functions(case, backend):
    """The program on the backend, and on the reference."""
    given = zip(case.dtypes, case.ranks, strict=True)
    variables = [tg.Variable(tg.TensorType(d, (None,) * n), name=f"x{k}") for k, (d, n) in enumerate(given)]
    outputs = case.outputs(*variables)
    return [tg.function(variables, outputs, backend=name) for name in (backend, "perform")]


def agrees(compiled, reference, arrays):
    """Whether all layouts of the arguments give what the reference gives, and leave them as they were."""
    wanted = outcome(reference, arrays)
    right = True
    for k in range(len(arrays)):
        for laid in layouts(arrays[k]):
            given = [laid if j == k else guarded(a) for j, a in enumerate(arrays)]
            found = outcome(compiled, given)
            if not same(found, wanted) or any(not same([a], [b]) for a, b in zip(given, arrays, strict=True)):
                where = f"{arrays}, argument {k} with strides {laid.strides}"
                sys.stdout.write(f"  {where}:\n  found {found}\n  needed {wanted}\n")
                right = False
    return right


def outcome(f, arrays):
    """The results of a call, or the class of its error."""
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(y) for y in f(*arrays)]
    except (tg.TgError, MemoryError) as error:
        return type(error)


def same(found, wanted):
    """Whether two outcomes are equal, floats but for rounding."""
    if isinstance(wanted, type) or isinstance(found, type):
        return found is wanted
    return all(map(equal, found, wanted))


def equal(x, y):
    """Whether two arrays have one dtype, one shape and equal elements."""
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    return (
        np.allclose(x, y, rtol=256 * np.finfo(x.dtype).eps, equal_nan=True) if x.dtype.kind == "f" else (x == y).all()
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
