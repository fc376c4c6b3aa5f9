"""Discrete Fourier transforms: MLX's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import fourier as t

if TYPE_CHECKING:
    from tg.backend import Rule


def fourier(op: t.Fourier, x: Any) -> Any:
    """The transform or its inverse along the last axis."""
    return (mx.fft.ifft if op.inverse else mx.fft.fft)(x, norm=op.norm)


def real_fourier(op: t.RealFourier, x: Any) -> Any:
    """Half the frequencies of real points."""
    return mx.fft.rfft(x, norm=op.norm)


def inverse_real_fourier(op: t.InverseRealFourier, x: Any, *sizes: int) -> Any:
    """The real points of half their frequencies."""
    n = op.length if op.length is not None else sizes[0]
    return mx.fft.irfft(x, n, norm=op.norm)


RULES: Final[dict[object, Rule]] = {
    t.Fourier: fourier,
    t.RealFourier: real_fourier,
    t.InverseRealFourier: inverse_real_fourier,
}
