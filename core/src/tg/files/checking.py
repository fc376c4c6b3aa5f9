"""Golden values of a file against what the function gives here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.exports.golden import outcome, tolerance
from tg.functions.limited import Limit
from tg.functions.names import names_of_outputs
from tg.types.dtypes import dtype_name, is_complex, is_inexact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.files.archive import Archive
    from tg.functions.compiled import Function

    Array = np.ndarray[Any, Any]

LEAST_LIMIT: Final = 1 << 30  # bytes that a golden call may need, and more for larger files
TIMES: Final = 64
SMALL: Final = 2.0**-10  # of the largest number anywhere: errors of what cancels are relative to that
PRECISIONS: Final = {"bfloat16": "bfloat16", "bfloat16x3": "float32"}


def compare(archive: Archive, f: Function, inputs: Sequence[Array], results: Sequence[Array], dtypes: set[str]) -> None:
    """Compare what a function gives for golden inputs with the results that it is to have.

    Args:
        dtypes: those in which the results were computed when the file was written, besides the program's.

    Raises:
        FileError: a result is of another shape, or further off than its dtype allows; the call needs more memory than a
            file of this size has reason to.
        TgError: the call fails.
    """
    f.wait()
    actual, state = outcome(f, inputs, limit=Limit(f.name, max(LEAST_LIMIT, TIMES * archive.size)))
    allowed = _allowed(f, dtypes)
    everything = [*inputs, *results]
    scale = SMALL * max(map(_largest, everything), default=0.0)
    names = [*names_of_outputs(f.request), *(f"the new {t.name or 'shared variable'}" for t in f.request.targets)]
    for name, a, b in zip(names, (*actual, *state), results, strict=True):
        _need_near(archive, name, a, b, allowed, scale)


def _need_near(archive: Archive, name: str, a: Array, b: Array, allowed: float, scale: float) -> None:
    if a.shape != b.shape or a.dtype != b.dtype:
        kinds = (f"{dtype_name(v.dtype)}{list(v.shape)}" for v in (a, b))
        raise archive.refusal("golden values: {}: found {}, needed {}".format(name, *kinds))
    if not is_inexact(dtype_name(a.dtype)):
        if not np.array_equal(a, b):
            raise archive.refusal(f"golden values: {name}: found other integers than the file has", hint=HINT)
        return
    wide, other = _wide(a), _wide(b)
    limit = allowed * max(_largest(b), scale)
    with np.errstate(all="ignore"):
        apart = np.abs(wide - other)
    wrong = ~(apart <= limit)
    if wrong.any():
        place = tuple(map(int, np.argwhere(wrong)[0]))
        fact = f"golden values: {name}{list(place) if place else ''}: found {wide[place]!s}, needed {other[place]!s}"
        raise archive.refusal(f"{fact} within {limit:.2g}", hint=HINT)


HINT: Final = "check=False loads it all the same"


def _allowed(f: Function, others: set[str]) -> float:
    """The largest tolerance among the dtypes that a program computes in."""
    general, request = f.request.options.choice.general, f.request
    dtypes = others | {t.dtype for t in f.graph.types} | {v.type.dtype for v in request.inputs}
    dtypes |= {name for name in (general.amp, PRECISIONS.get(general.precision)) if name is not None}
    return max(tolerance(name) for name in dtypes) if dtypes else 0.0


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if is_complex(dtype_name(array.dtype)) else np.float64)


def _largest(array: Array) -> float:
    """The largest magnitude of the finite numbers of an array."""
    if not array.size or array.dtype == bool:
        return 0.0
    with np.errstate(all="ignore"):
        sizes = np.abs(_wide(array))
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))
