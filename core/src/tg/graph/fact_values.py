"""Definitions of the facts of an array, in NumPy, behind the names of `tg.graph.facts`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

LARGEST_EIGENVALUES: Final = 512  # the eigenvalues of larger matrices are not computed, they are taken to be positive


def fact_holds(name: str, array: Array) -> bool:
    """Whether a fact is true of an array; NaNs are judged by `not_nan` and `finite` alone."""
    array = np.asarray(array)
    if array.dtype.kind == "V":  # bfloat16
        array = array.astype(np.float32)
    with np.errstate(all="ignore"):
        return array.size == 0 or DEFINITIONS[name](array)


def _parts(array: Array) -> tuple[Array, ...]:
    return (array.real, array.imag) if array.dtype.kind == "c" else (array,)


def _no_negative_zero(array: Array) -> bool:
    return array.dtype.kind not in "fc" or not any(bool(((v == 0) & np.signbit(v)).any()) for v in _parts(array))


def _whole(array: Array) -> bool:
    return all(bool(((v == np.rint(v)) | np.isnan(v)).all()) for v in _parts(array) if v.dtype.kind == "f")


def _transposed(array: Array) -> Array:
    return np.swapaxes(array, -1, -2)


def _square(array: Array) -> bool:
    return array.ndim >= 2 and array.shape[-1] == array.shape[-2]


def _equals(array: Array, mirror: Array) -> bool:
    """Equal to rounding, each pair on its own scale and on that of the largest element."""
    if not _square(array):
        return False
    if array.dtype.kind not in "fc":
        return bool((array == mirror).all())
    finite = np.isfinite(array) & np.isfinite(mirror)
    odd = np.isfinite(array) == np.isfinite(mirror)
    scale = np.abs(np.where(finite, array, 0)).max()
    near = np.abs(np.where(finite, array - mirror, 0)) <= _rounding(array) * scale
    return bool((odd & near).all())


def _rounding(array: Array) -> float:
    """The rounding error that sums as long as the array's last axis may have."""
    epsilon: float = np.finfo(array.dtype).eps
    return float(epsilon * 8 * (array.shape[-1] + 8))


def _positive_definite(array: Array) -> bool:
    if not _equals(array, np.conj(_transposed(array))):
        return False
    if array.shape[-1] > LARGEST_EIGENVALUES or not np.isfinite(array).all():
        return True
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    values = np.linalg.eigvalsh((wide + np.conj(_transposed(wide))) / 2)
    slack = _rounding(array) if array.dtype.kind in "fc" else 1e-12
    return bool((values > -slack * np.abs(values).max()).all())


def _orthogonal(array: Array) -> bool:
    if not _square(array) or not np.isfinite(array).all():
        return False
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    slack = 8 * _rounding(array) if array.dtype.kind in "fc" else 0.0
    return bool((np.abs(np.conj(_transposed(wide)) @ wide - np.eye(array.shape[-1])) <= slack).all())


def _zero_where(array: Array, mask: Callable[[Array], Array]) -> bool:
    return _square(array) and bool(((array == 0) | ~mask(np.ones(array.shape[-2:], bool))).all())


DEFINITIONS: Final[dict[str, Callable[[Array], bool]]] = {
    "finite": lambda x: bool(np.isfinite(x).all()),
    "not_nan": lambda x: not np.isnan(x).any(),
    "nonnegative": lambda x: x.dtype.kind == "b" or not (x < 0).any(),
    "positive": lambda x: bool(x.all()) if x.dtype.kind == "b" else not (x <= 0).any(),
    "nonpositive": lambda x: not (x > 0).any(),
    "negative": lambda x: x.dtype.kind != "b" and not (x >= 0).any(),
    "nonzero": lambda x: not (x == 0).any(),
    "whole": _whole,
    "no_negative_zero": _no_negative_zero,
    "symmetric": lambda x: _equals(x, _transposed(x)),
    "hermitian": lambda x: _equals(x, np.conj(_transposed(x))),
    "positive_definite": _positive_definite,
    "lower_triangular": lambda x: _zero_where(x, lambda ones: np.triu(ones, 1)),
    "upper_triangular": lambda x: _zero_where(x, lambda ones: np.tril(ones, -1)),
    "lower_hessenberg": lambda x: _zero_where(x, lambda ones: np.triu(ones, 2)),
    "upper_hessenberg": lambda x: _zero_where(x, lambda ones: np.tril(ones, -2)),
    "tridiagonal": lambda x: _zero_where(x, lambda ones: np.triu(ones, 2) | np.tril(ones, -2)),
    "diagonal": lambda x: _zero_where(x, lambda ones: ~np.eye(len(ones), dtype=bool)),
    "unit_diagonal": lambda x: _square(x) and bool((np.diagonal(x, axis1=-2, axis2=-1) == 1).all()),
    "nonzero_diagonal": lambda x: _square(x) and not (np.diagonal(x, axis1=-2, axis2=-1) == 0).any(),
    "orthogonal": _orthogonal,
}
