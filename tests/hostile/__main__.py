"""Make the hostile calls on one backend, and compare with the reference: `python -m tests.hostile BACKEND [WORD|K/N]`.

The arguments lie in guarded memory, so a read or write outside of them ends the process. WORD chooses cases by name,
K/N every N-th from the K-th.
"""

from __future__ import annotations

import os
import re
import resource
import sys
from pathlib import Path

import numpy as np

import tg
from tests.hostile.calls import CASES
from tests.hostile.guarded import guarded, layouts

ROOM = 1 << 30
SMALL = 1000


def main(backend, chosen=""):
    """Print what differs; the exit status says whether something did."""
    wrong = 0
    with_little_memory()
    for case in cases(chosen):
        sys.stdout.write(f"{case.name}\n")
        sys.stdout.flush()  # the last case that is named is the one that ended the process
        compiled, reference = functions(case, backend)
        compare = agrees if case.every_layout else agrees_at_the_end
        wrong += sum(not compare(compiled, reference, arrays) for arrays in case.calls)
    return 1 if wrong else 0


def cases(chosen):
    """The cases that a word of their names chooses, or a share of them."""
    share = re.fullmatch(r"(\d+)/(\d+)", chosen)
    if share is not None:
        first, step = map(int, share.groups())
        return CASES[first::step]
    return [case for case in CASES if chosen in case.name]


def with_little_memory():
    """Let no array of more than a gigabyte be, wherever the system would promise one: sanitizers have a limit too."""
    if "asan" not in os.environ.get("LD_PRELOAD", ""):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, resource.RLIM_INFINITY))


def functions(case, backend):
    """The program on the backend, and on the reference."""
    given = zip(case.dtypes, case.ranks, strict=True)
    variables = [tg.Variable(tg.TensorType(d, (None,) * n), name=f"x{k}") for k, (d, n) in enumerate(given)]
    outputs = case.outputs(*variables)
    options = {"on_unused_input": "ignore"}
    return [tg.function(variables, outputs, backend=name, **options) for name in (backend, "perform")]


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


def agrees_at_the_end(compiled, reference, arrays):
    """Whether arguments that end where memory does give what the reference gives."""
    wanted = outcome(reference, arrays)
    found = outcome(compiled, [guarded(a) if a.size <= SMALL else a for a in arrays])
    if not same(found, wanted):
        sys.stdout.write(
            f"  {[a if a.size <= SMALL else a.shape for a in arrays]}:\n  found {found}\n  needed {wanted}\n"
        )
    return same(found, wanted)


def outcome(f, arrays):
    """The results of a call, or the class of its error."""
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(y) for y in f(*arrays)]
    except MemoryError:
        return MemoryError
    except tg.TgError as error:
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
    if x.dtype == bool:
        return np.array_equal(x.view(np.uint8) != 0, y.view(np.uint8) != 0)  # NumPy compares the bytes
    return (
        np.allclose(x, y, rtol=256 * np.finfo(x.dtype).eps, equal_nan=True) if x.dtype.kind == "f" else (x == y).all()
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
