"""Cases of `ops/sliding`: each of NumPy's modes, of vectors of which either is the longer one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import InputError, ShapeError
from tg.ops.sliding import FAMILY
from tg.plugin.case import Case, any_dtype, f64
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

DTYPES: Final = ("int32", "float32", "float64", "complex128", "bool")
MODES: Final = ("full", "same", "valid")


def terms(a: Any, v: Any, **_: Any) -> Any:
    """The sum of all magnitudes of products."""
    return np.abs(a).sum() * np.abs(v).max() + 1


def products() -> Iterator[Case]:
    """Both functions."""
    for name in ("convolve", "correlate"):
        for mode in MODES:
            for n, m in ((7, 4), (3, 6)):
                yield Case(
                    functools.partial(getattr(tg, name), mode=mode),
                    [any_dtype(n), any_dtype(m)],
                    name=f"{name} {mode} of {n} and {m}",
                    dtypes=DTYPES if n > m else ("float64", "complex128"),
                    layouts=("C", "strided", "reversed") if n > m else ("C",),
                    oracle=functools.partial(getattr(np, name), mode=mode),
                    condition=terms,
                    gradient=mode == "same" and name == "convolve",
                    analytic=mode == "same" and name == "convolve",
                )


def refused() -> Iterator[Case]:
    """An unknown mode, no vector, no entries."""
    yield Case(lambda a, v: tg.convolve(a, v, "whole"), [f64("n"), f64("m")], name="mode", raises=InputError)  # type: ignore[arg-type]
    yield Case(tg.correlate, [f64(3, "n"), f64("m")], name="a matrix", raises=ShapeError)
    yield Case(tg.convolve, [f64(0), f64(3)], name="no entries", layouts=("C",), raises=ShapeError)


CASES: Final = of_family(FAMILY.path, *products(), *refused())
