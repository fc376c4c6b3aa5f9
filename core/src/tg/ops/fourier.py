"""Discrete Fourier transforms along the last axis, with NumPy's scales.

Three linear maps: complex to complex, real to the half of the frequencies that decides the rest, and back. The last two
are each other's transpose but for the weights of frequencies that stand for two. `tg.ops.transforms` has the functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, final

import numpy as np

from tg.errors import DtypeError, ShapeError, message
from tg.graph.checks import Check, Descriptor
from tg.graph.nodes import Variable, as_size_variable, size_value
from tg.graph.op import Op
from tg.ops.creation import iota
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater_equal, logical_or, where
from tg.ops.elementwise.complex import conjugate
from tg.ops.family import Family
from tg.ops.length_checks import size_checks
from tg.ops.sized_ops import merge_sizes, split_sizes
from tg.types.dtypes import is_complex
from tg.types.lengths import Length, add, floor_divide, same
from tg.types.requirements import require_same
from tg.types.tensor_type import TensorType
from tg.variables.conversion import need_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]
    Norm = Literal["backward", "ortho", "forward"]

DUAL: Final[dict[str, Any]] = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The norm with which the transform of the other direction has the same factor."""
COMPLEX: Final = {"float32": "complex64", "float64": "complex128"}
REAL: Final = {wide: narrow for narrow, wide in COMPLEX.items()}
NONE_TEXT: Final = "found {0} points, needed at least 1"


def require_points(what: str, n: Any) -> None:
    """Refuse a known number of points below 1.

    Raises:
        ShapeError: it is.
    """
    if type(n) is int and n < 1:
        raise ShapeError(message(f"{what}: {NONE_TEXT.format(n)}"))


def _points_check(what: str, n: int | Length) -> tuple[Check, ...]:
    """A transform has at least one point."""
    if type(n) is int:
        return ()
    count = as_size_variable(n)
    return (Check(greater_equal(count, 1), (count,), Descriptor("ShapeError", f"{what}: {NONE_TEXT}")),)


def half(n: int | Length) -> int | Length:
    """The number of frequencies of n real points that decide the rest."""
    return add(floor_divide(n, 2), 1)


class _Transform(Op):
    """A transform along the last axis: linear in its first operand, of as many leading axes as there are."""

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The same transform: it is linear."""
        dx = tangents[0]
        return (None if dx is None else self(dx, *inputs[1:]),)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """The batch is one more leading axis."""
        return (self(*inputs),)


@final
class Fourier(_Transform):
    """The discrete Fourier transform along the last axis: y[k] = sum over j of x[j] exp(-2 pi i j k / n), scaled.

    The inverse has the other sign. `norm` is NumPy's: of the forward transform "forward" divides by n, of the inverse
    "backward" does, "ortho" divides either by sqrt(n), and the other one leaves the sum as it is.

    Shapes:
        x (..., n) -> y (..., n)
    Dtypes:
        complex64 or complex128, kept.
    Raises:
        DtypeError: x is real.
        ShapeError: there is no point.
    Source:
        numpy.fft.fft, numpy.fft.ifft
    """

    inverse: bool = False
    norm: Norm = "backward"

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        if not is_complex(x.dtype):
            raise DtypeError(message(f"Fourier: found {x}, needed complex64 or complex128"))
        need_axes("fft", (-1,), len(x.shape))
        require_points("fft", x.shape[-1])
        return (x,)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """`numpy.fft.fft`, or `ifft`."""
        return ((np.fft.ifft if self.inverse else np.fft.fft)(x, norm=self.norm),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """There is a point."""
        return _points_check("fft", inputs[0].shape[-1])

    def pullback(
        self, tools: Any, inputs: Any, outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The same transform: its matrix is symmetric."""
        (dy,) = cotangents
        return (None if dy is None else self(dy),)


@final
class RealFourier(_Transform):
    """The frequencies 0 to n // 2 of the transform of real points along the last axis; the others are conjugates.

    Shapes:
        x (..., n) -> y (..., n // 2 + 1)
    Dtypes:
        float32 -> complex64, float64 -> complex128.
    Raises:
        DtypeError: x is of another dtype.
        ShapeError: there is no point.
    Source:
        numpy.fft.rfft
    """

    norm: Norm = "backward"

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """Half the frequencies, complex."""
        if x.dtype not in COMPLEX:
            raise DtypeError(message(f"RealFourier: found {x}, needed float32 or float64"))
        need_axes("rfft", (-1,), len(x.shape))
        require_points("rfft", x.shape[-1])
        n = x.shape[-1]
        assert n is not None
        return (TensorType(COMPLEX[x.dtype], (*x.shape[:-1], half(n))),)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """`numpy.fft.rfft`."""
        return (np.fft.rfft(x, norm=self.norm),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """There is a point."""
        return _points_check("rfft", inputs[0].shape[-1])

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The real part of the transform of the cotangent, by way of the inverse."""
        (dy,), (x,) = cotangents, inputs
        if dy is None:
            return (None,)
        n = x.shape[-1]
        return (inverse_real(_weighted(conjugate(dy), n, 0.5), n, DUAL[self.norm]),)


@final
class InverseRealFourier(_Transform):
    """The n real points whose frequencies 0 to n // 2 are x; imaginary parts of the first, and of n / 2, count nothing.

    n is the field, or the second operand where the field is None.

    Shapes:
        x (..., n // 2 + 1) -> y (..., n)
    Dtypes:
        complex64 -> float32, complex128 -> float64.
    Raises:
        DtypeError: x is real.
        ShapeError: there is no point, or another number of frequencies.
    Source:
        numpy.fft.irfft
    """

    length: int | None
    norm: Norm = "backward"

    def size_operands(self, count: int) -> range:
        """The number of points, where it is an operand."""
        return range(1, count)

    def infer(self, x: TensorType, *sizes: int | Length) -> tuple[TensorType, ...]:
        """So many points, real."""
        if not is_complex(x.dtype):
            raise DtypeError(message(f"InverseRealFourier: found {x}, needed complex64 or complex128"))
        need_axes("irfft", (-1,), len(x.shape))
        (n,) = merge_sizes((self.length,), sizes)
        require_points("irfft", n)
        require_same(x.shape[-1], half(n), lambda: "irfft: frequencies")
        return (TensorType(REAL[x.dtype], (*x.shape[:-1], n)),)

    def perform(self, x: Array, *sizes: Array) -> tuple[Array, ...]:
        """`numpy.fft.irfft`."""
        n = int(sizes[0]) if self.length is None else self.length
        return (np.fft.irfft(x, n, norm=self.norm),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """There is a point, and as many frequencies as belong to the points."""
        x, *sizes = inputs
        (n,) = merge_sizes((self.length,), [size_value(v) for v in sizes])
        here, whole = x.shape[-1], half(n)
        checks = (*size_checks(sizes), *_points_check("irfft", n))
        if same(here, whole) or (type(here) is int and type(whole) is int):
            return checks
        a, b = as_size_variable(here), as_size_variable(whole)
        text = "irfft: found {0} frequencies, needed {1}"
        return (*checks, Check(equal(a, b), (a, b), Descriptor("ShapeError", text)))

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Any]
    ) -> Sequence[Variable | None]:
        """The conjugate transform of the cotangent; frequencies that stand for two count twice."""
        (dy,), (y,), sizes = cotangents, outputs, inputs[1:]
        rest = (None,) * len(sizes)
        if dy is None:
            return (None, *rest)
        frequencies = RealFourier(DUAL[self.norm])(dy)
        return (_weighted(conjugate(frequencies), y.shape[-1], 2.0), *rest)


def _weighted(x: Variable, n: int | Length, weight: float) -> Variable:
    """Frequencies times a weight, but for those that stand for themselves alone: the first, and n / 2 of an even n."""
    k = iota(x.shape[-1])
    alone = logical_or(equal(k, 0), equal(multiply(k, 2), n))
    return multiply(x, cast_variable(where(alone, 1.0, weight), REAL[x.type.dtype]))


def inverse_real(x: Variable, n: int | Length, norm: Norm) -> Variable:
    """The n real points of half their frequencies."""
    (field,), sizes = split_sizes([n])
    return InverseRealFourier(field, norm)(x, *sizes)  # type: ignore[no-any-return]


FAMILY = Family("fourier", ops=(Fourier, RealFourier, InverseRealFourier))
