"""Cases of `ops/signal/spectra`: every function, option and precision, beside SciPy."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import signal

import tg
from tg.errors import InputError, ShapeError
from tg.ops.signal.spectra import FAMILY
from tg.plugin.case import Case, any_dtype, f64
from tg_conformance.cases.family import in_double, of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

REAL: Final = ("float32", "float64")
ALL: Final = ("float32", "complex128")


def terms(x: Any, *others: Any) -> Any:
    """The size of what is summed: powers of both signals, and a unit of frequency."""
    return 64 * sum((np.abs(v) ** 2).sum() for v in (x, *others)) + 64


def amplitudes(x: Any) -> Any:
    """The size of what is summed without squares."""
    return 64 * np.abs(x).sum() + 64


def _of_scipy(name: str, *arrays: Any, **options: Any) -> Any:
    """SciPy's function, of which frequencies and times come in the precision of the signal as well."""
    narrow = arrays[0].dtype in (np.float32, np.complex64)
    results = in_double(getattr(signal, name), **options)(*arrays)
    if not narrow:
        return tuple(results)
    return tuple(y.astype(np.complex64 if y.dtype.kind == "c" else np.float32) for y in results)


def case(name: str, inputs: list[Any], note: str, dtypes: tuple[str, ...] = ("float64",), **options: Any) -> Case:
    """A function with options, beside SciPy's with the same."""
    return Case(
        functools.partial(getattr(tg.signal, name), **options),
        inputs,
        name=f"{name} {note}",
        dtypes=dtypes,
        layouts=("C", "strided") if note == "plain" else ("C",),
        oracle=functools.partial(_of_scipy, name, **options),
        condition=amplitudes if name in ("stft", "istft") else terms,
    )


def powers() -> Iterator[Case]:
    """Powers of one signal."""
    x, rows = any_dtype(64), any_dtype(2, 40, 3)
    yield case("periodogram", [x], "plain", ALL)
    yield case("periodogram", [any_dtype(21)], "odd", REAL, window="hann", scaling="spectrum", detrend="linear")
    yield case("welch", [x], "plain", ALL, nperseg=16, fs=10.0)
    yield case("welch", [rows], "along an axis", axis=1, nperseg=9, nfft=12, noverlap=3, detrend="linear")
    yield case("welch", [x], "median", nperseg=16, average="median", window=("kaiser", 3.0), detrend=False)
    yield case("spectrogram", [x], "plain", REAL, nperseg=16)
    for mode in ("complex", "magnitude"):
        yield case("spectrogram", [rows], mode, axis=1, nperseg=8, mode=mode)


def pairs() -> Iterator[Case]:
    """Two signals."""
    pair = [any_dtype(64), any_dtype(64)]
    yield case("csd", pair, "plain", ALL, nperseg=16)
    yield case("csd", pair, "median", nperseg=16, average="median", return_onesided=False)
    yield case("coherence", pair, "plain", nperseg=16)


def short_time() -> Iterator[Case]:
    """Short-time transforms, and back."""
    x = any_dtype(70)
    yield case("stft", [x], "plain", ALL, nperseg=16)
    yield case("stft", [any_dtype(2, 40, 3)], "along an axis", axis=1, nperseg=9, noverlap=5, nfft=12, scaling="psd")
    yield case("stft", [x], "without border", boundary=None, padded=False, nperseg=16, detrend="constant")
    yield case("istft", [any_dtype(9, 6)], "plain", ("complex64", "complex128"), nperseg=16)
    yield Case(
        lambda z: tg.signal.istft(z, time_axis=1, freq_axis=2, **BOTH)[1],
        [any_dtype(2, 6, 16)],
        name="istft of both sides",
        dtypes=("complex128",),
        layouts=("C",),
        oracle=lambda z: np.stack([signal.istft(part.T, **BOTH)[1] for part in z]),
        condition=amplitudes,
    )


BOTH: Final[dict[str, Any]] = {"input_onesided": False, "boundary": False, "scaling": "psd", "window": "hamming"}


def _there_and_back(x: Any) -> Any:
    return tg.signal.istft(tg.signal.stft(x, nperseg=16)[2], nperseg=16)[1][:70]


def _density(x: Any, namespace: Any) -> Any:
    return namespace.welch(x, nperseg=8, window="hamming")[1]


def slopes() -> Iterator[Case]:
    """Derivatives, and a signal that comes back."""
    yield Case(
        functools.partial(_density, namespace=tg.signal),
        [f64(24)],
        name="slopes of welch",
        layouts=("C",),
        oracle=functools.partial(_density, namespace=signal),
        condition=terms,
        gradient=True,
    )
    yield Case(
        _there_and_back, [f64(70)], name="stft and back", layouts=("C",), oracle=lambda x: x, condition=amplitudes,
        gradient=True, analytic=True,
    )  # fmt: skip


def refused() -> Iterator[Case]:
    """Unknown words, overlaps of whole segments, signals shorter than a segment."""
    x = [f64("n")]
    for options in ({"detrend": "cubic"}, {"noverlap": 4}, {"nfft": 3}, {"average": "mode"}, {"scaling": "power"}):
        yield Case(functools.partial(tg.signal.welch, nperseg=4, **options), x, name=f"{options}", raises=InputError)
    yield Case(lambda: tg.signal.stft(tg.constant(1.0)), name="no axis", raises=ShapeError)
    yield Case(lambda x: tg.signal.csd(x, x, window=np.ones((2, 2))), x, name="window", raises=ShapeError)


CASES: Final = of_family(FAMILY.path, *powers(), *pairs(), *short_time(), *slopes(), *refused())
