"""Cases of `ops/transforms`: axes, cropping and zeros behind, several axes, frequencies and shifts."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import InputError, ShapeError
from tg.ops.transforms import FAMILY
from tg.plugin.case import Case, any_dtype, f64
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator


def terms(x: Any, **_: Any) -> Any:
    """The sum of all magnitudes."""
    return 8 * np.abs(x).sum() + 1


def along_an_axis() -> Iterator[Case]:
    """Each function, along the first axis, cropped and filled up."""
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        is_real = name in {"rfft", "ihfft"}
        for n, axis in ((None, 0), (3, 0), (9, -1)):
            yield Case(
                functools.partial(getattr(tg.fft, name), n=n, axis=axis),
                [any_dtype(5, 6)],
                name=f"{name} n {n} axis {axis}",
                dtypes=("float32", "float64", "int16") if is_real else ("complex64", "complex128"),
                oracle=functools.partial(_wide, getattr(np.fft, name), n=n, axis=axis),
                condition=terms,
                gradient=n == 9 and name in {"irfft", "hfft"},
            )
    yield Case(tg.fft.fft, [f64(3, "n")], name="fft of real numbers", oracle=np.fft.fft, condition=terms)


def _wide(transform: Any, x: Any, **options: Any) -> Any:
    """NumPy's transform; of integers in double precision, which is what it promises anyway."""
    return transform(x if x.dtype.kind in "fc" else x.astype(np.float64), **options)


def along_axes() -> Iterator[Case]:
    """Two and three axes."""
    for name in ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"):
        for axes in ((-2, -1), (0, 2)):
            yield Case(
                functools.partial(getattr(tg.fft, name), axes=axes),
                [any_dtype(3, 4, 5)],
                name=f"{name} axes {axes}",
                dtypes=("float32", "float64") if name.startswith("r") else ("complex64", "complex128"),
                oracle=functools.partial(getattr(np.fft, name), axes=axes),
                condition=terms,
                gradient=name == "irfft2" and axes == (0, 2),
            )
    yield Case(
        functools.partial(tg.fft.fftn, s=(4, 3), axes=(0, 1)),
        [any_dtype(3, 4, 2)],
        name="fftn cropped and filled up",
        dtypes=("complex128",),
        oracle=functools.partial(np.fft.fftn, s=(4, 3), axes=(0, 1)),
        condition=terms,
    )


def frequencies() -> Iterator[Case]:
    """Frequencies, and shifts of even and of odd lengths."""
    for n in (4, 5):
        for name in ("fftfreq", "rfftfreq"):
            oracle = functools.partial(getattr(np.fft, name), n, 0.5)
            yield Case(functools.partial(getattr(tg.fft, name), n, 0.5), name=f"{name} {n}", oracle=oracle, accuracy=1)
        for name in ("fftshift", "ifftshift"):
            yield Case(
                getattr(tg.fft, name),
                [any_dtype(n, 3)],
                name=f"{name} {n}",
                dtypes=("int32", "float64", "complex128"),
                oracle=getattr(np.fft, name),
                accuracy=0,
            )


def refused() -> Iterator[Case]:
    """An unknown norm, no such axis, no points."""
    yield Case(lambda x: tg.fft.fft(x, norm="unit"), [f64("n")], name="fft norm unit", raises=InputError)  # type: ignore[arg-type]
    yield Case(lambda x: tg.fft.fft(x, axis=1), [f64("n")], name="fft axis 1", raises=ShapeError)
    yield Case(lambda x: tg.fft.fft(x, 0), [f64("n")], name="fft of no points", raises=ShapeError)


CASES: Final = of_family(FAMILY.path, *along_an_axis(), *along_axes(), *frequencies(), *refused())
