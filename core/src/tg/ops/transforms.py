"""Functions of `tg.fft`: Fourier transforms of any number of points, along any axes, under NumPy's names.

Each fits an axis to the number of points, moves it to the end and applies an op of `tg.ops.fourier`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.nodes import size_value
from tg.ops.arranging import roll
from tg.ops.creation import iota, zeros
from tg.ops.elementwise.arithmetic import divide, multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import less, where
from tg.ops.elementwise.complex import conjugate
from tg.ops.family import Family
from tg.ops.fourier import COMPLEX, DUAL, Fourier, RealFourier, half, inverse_real, require_points
from tg.ops.indexing import slice_axis
from tg.ops.shape import concatenate, moveaxis
from tg.ops.sized_ops import split_sizes
from tg.types.dtypes import dtype_name, in_float32, is_complex, is_float
from tg.types.lengths import add, floor_divide, maximum, same, subtract
from tg.variables.conversion import as_variable, axis_from_end, float_name
from tg.variables.kinds import need_no_device

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.ops.fourier import Norm
    from tg.types.choices import TransformNorm
    from tg.types.lengths import Length
    from tg.variables.like import Integers, TensorLike


def _norm(what: str, norm: TransformNorm | None) -> Norm:
    chosen = "backward" if norm is None else norm
    if chosen not in DUAL:
        names = ", ".join(map(repr, DUAL))
        raise InputError(message(f"{what}: norm: found {norm!r}, needed one of {names} or None"))
    return chosen


def _floating(what: str, x: Any) -> Variable:
    """An array of float32, float64 or complex numbers; integers become floating."""
    v = as_variable(x)
    dtype = v.type.dtype
    if is_complex(dtype):
        return v
    return cast_variable(v, in_float32(dtype) if is_float(dtype) else float_name(None))


def _real(what: str, x: Any) -> Variable:
    v = _floating(what, x)
    if is_complex(v.type.dtype):
        hint = f"tg.fft.{what.removeprefix('r').removeprefix('ih')} takes complex numbers"
        raise DtypeError(message(f"{what}: found {v.type}, needed real numbers", hint=hint))
    return v


def _complex(what: str, x: Any) -> Variable:
    v = _floating(what, x)
    return v if is_complex(v.type.dtype) else cast_variable(v, COMPLEX[v.type.dtype])


def _count(what: str, n: Any, unset: int | Length) -> int | Length:
    """A number of points: an int, a length or an integer scalar."""
    if n is None:
        return unset
    (field,), sizes = split_sizes([n])
    count = size_value(sizes[0]) if field is None else field
    require_points(what, count)
    return count


def _fitted(x: Variable, n: int | Length) -> Variable:
    """The first n entries of the last axis, with zeros behind where there are fewer."""
    length = x.shape[-1]
    if same(length, n):
        return x
    missing = maximum(subtract(n, length), 0)
    if not same(missing, 0):
        x = concatenate([x, zeros((*x.shape[:-1], missing), dtype=x.type.dtype)], axis=-1)
    return slice_axis(x, -1, 0, n)


def _along(x: Variable, axis: Any, what: str, transform: Any) -> Variable:
    """A transform of the last axis, along another one."""
    k = axis_from_end(axis, x.type.ndim, what)
    return moveaxis(transform(moveaxis(x, k, -1)), -1, k)


def _axes(what: str, x: Variable, s: Any, axes: Any) -> list[tuple[int, Any]]:
    """The axes, counted from the end, with the numbers of points asked for: None for the length of the axis."""
    ndim = x.type.ndim
    if axes is None:
        axes = range(-ndim, 0) if s is None else range(-len(s), 0)
    places = [axis_from_end(k, ndim, what) for k in axes]
    counts = [None] * len(places) if s is None else list(s)
    if len(counts) != len(places):
        raise InputError(message(f"{what}: found {len(counts)} lengths in s, needed {len(places)}, one for each axis"))
    return [(k, None if n is None or (type(n) is int and n == -1) else n) for k, n in zip(places, counts, strict=True)]


# --- functions ----------------------------------------------------------------------------------------------------


def fft(a: TensorLike, n: TensorLike | None = None, axis: int = -1, norm: TransformNorm | None = None) -> Variable:
    """The discrete Fourier transform along an axis.

    Args:
        n: how many points: fewer than there are crop, more add zeros. An int, a length or an integer scalar.
        norm: "backward" (the default: the inverse divides by n), "ortho" (both by sqrt(n)) or "forward".
    Shapes:
        a (..., m, ...) -> (..., n, ...)
    Dtypes:
        float32 and halves -> complex64, other real numbers -> complex128; complex ones are kept.
    Raises:
        InputError: an unknown norm.
        ShapeError: no point, or no such axis.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.fft.fft(x).eval({x: [1.0, 2.0, 3.0, 4.0]})
        array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    Source:
        numpy.fft.fft
    """
    return _transformed("fft", a, n, axis, norm, inverse=False)


def ifft(a: TensorLike, n: TensorLike | None = None, axis: int = -1, norm: TransformNorm | None = None) -> Variable:
    """The inverse of `fft`; arguments, dtypes and errors are those of `fft`.

    Source:
        numpy.fft.ifft
    """
    return _transformed("ifft", a, n, axis, norm, inverse=True)


def _transformed(what: str, a: Any, n: Any, axis: Any, norm: TransformNorm | None, *, inverse: bool) -> Variable:
    op = Fourier(inverse, _norm(what, norm))
    x = _complex(what, a)
    return _along(x, axis, what, lambda x: op(_fitted(x, _count(what, n, x.shape[-1]))))


def rfft(a: TensorLike, n: TensorLike | None = None, axis: int = -1, norm: TransformNorm | None = None) -> Variable:
    """The frequencies 0 to n // 2 of the transform of real numbers; the others are conjugates of these.

    Shapes:
        a (..., m, ...) -> (..., n // 2 + 1, ...)
    Dtypes:
        float32 and halves -> complex64, other real numbers -> complex128.
    Raises:
        DtypeError: complex numbers.
        InputError: an unknown norm.
        ShapeError: no point, or no such axis.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.fft.rfft(x).eval({x: [1.0, 2.0, 3.0, 4.0]})
        array([10.+0.j, -2.+2.j, -2.+0.j])
    Source:
        numpy.fft.rfft
    """
    op = RealFourier(_norm("rfft", norm))
    return _along(_real("rfft", a), axis, "rfft", lambda x: op(_fitted(x, _count("rfft", n, x.shape[-1]))))


def irfft(a: TensorLike, n: TensorLike | None = None, axis: int = -1, norm: TransformNorm | None = None) -> Variable:
    """The n real points of the frequencies 0 to n // 2: the inverse of `rfft`.

    Args:
        n: how many points; 2 (m - 1) by default, so an odd number has to be said.
    Shapes:
        a (..., m, ...) -> (..., n, ...)
    Dtypes:
        complex64 -> float32, complex128 -> float64.
    Raises:
        InputError: an unknown norm.
        ShapeError: no point, or no such axis.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.fft.irfft(tg.fft.rfft(x), 3).eval({x: [1.0, 2.0, 3.0]})
        array([1., 2., 3.])
    Source:
        numpy.fft.irfft
    """
    return _real_points("irfft", _complex("irfft", a), n, axis, _norm("irfft", norm))


def _real_points(what: str, x: Variable, n: Any, axis: Any, norm: Norm) -> Variable:
    def transform(x: Variable) -> Variable:
        m = x.shape[-1]
        count = _count(what, n, add(subtract(m, 1), subtract(m, 1)))
        require_points(what, count)
        return inverse_real(_fitted(x, half(count)), count, norm)

    return _along(x, axis, what, transform)


def hfft(a: TensorLike, n: TensorLike | None = None, axis: int = -1, norm: TransformNorm | None = None) -> Variable:
    """The real transform of points that are conjugates of those from the end: `irfft` of the conjugate, scaled back.

    Source:
        numpy.fft.hfft
    """
    x = _complex("hfft", a)
    return _real_points("hfft", conjugate(x), n, axis, DUAL[_norm("hfft", norm)])


def ihfft(a: TensorLike, n: TensorLike | None = None, axis: int = -1, norm: TransformNorm | None = None) -> Variable:
    """The inverse of `hfft`: half the points, of a real transform.

    Source:
        numpy.fft.ihfft
    """
    op = RealFourier(DUAL[_norm("ihfft", norm)])
    x = _real("ihfft", a)
    return conjugate(_along(x, axis, "ihfft", lambda x: op(_fitted(x, _count("ihfft", n, x.shape[-1])))))


def fftn(a: TensorLike, s: Any = None, axes: Integers | None = None, norm: TransformNorm | None = None) -> Variable:
    """The transform along several axes, all by default.

    Args:
        s: numbers of points, one for each axis; -1 or None for the length that is there.
        axes: the last ones, as many as `s` has, by default.
    Raises:
        InputError: `s` and `axes` of different lengths, or an unknown norm.
        ShapeError: no point, or no such axis.
    Source:
        numpy.fft.fftn
    """
    return _over_axes("fftn", _complex("fftn", a), s, axes, norm, inverse=False)


def ifftn(a: TensorLike, s: Any = None, axes: Integers | None = None, norm: TransformNorm | None = None) -> Variable:
    """The inverse of `fftn`.

    Source:
        numpy.fft.ifftn
    """
    return _over_axes("ifftn", _complex("ifftn", a), s, axes, norm, inverse=True)


def _over_axes(what: str, x: Variable, s: Any, axes: Any, norm: TransformNorm | None, *, inverse: bool) -> Variable:
    for k, n in reversed(_axes(what, x, s, axes)):
        x = _transformed(what, x, n, k, norm, inverse=inverse)
    return x


def rfftn(a: TensorLike, s: Any = None, axes: Integers | None = None, norm: TransformNorm | None = None) -> Variable:
    """The transform of real numbers along several axes: half the frequencies of the last one.

    Source:
        numpy.fft.rfftn
    """
    x = _real("rfftn", a)
    places = _axes("rfftn", x, s, axes)
    if not places:
        raise ShapeError(message("rfftn: found no axis, needed at least one"))
    k, n = places[-1]
    x = rfft(x, n, k, norm)
    for j, m in reversed(places[:-1]):
        x = fft(x, m, j, norm)
    return x


def irfftn(a: TensorLike, s: Any = None, axes: Integers | None = None, norm: TransformNorm | None = None) -> Variable:
    """The inverse of `rfftn`.

    Source:
        numpy.fft.irfftn
    """
    x = _complex("irfftn", a)
    places = _axes("irfftn", x, s, axes)
    if not places:
        raise ShapeError(message("irfftn: found no axis, needed at least one"))
    for j, m in places[:-1]:
        x = ifft(x, m, j, norm)
    k, n = places[-1]
    return irfft(x, n, k, norm)


def fft2(a: TensorLike, s: Any = None, axes: Integers = (-2, -1), norm: TransformNorm | None = None) -> Variable:
    """The transform along two axes: `fftn` of the last two.

    Source:
        numpy.fft.fft2
    """
    return fftn(a, s, axes, norm)


def ifft2(a: TensorLike, s: Any = None, axes: Integers = (-2, -1), norm: TransformNorm | None = None) -> Variable:
    """The inverse of `fft2`.

    Source:
        numpy.fft.ifft2
    """
    return ifftn(a, s, axes, norm)


def rfft2(a: TensorLike, s: Any = None, axes: Integers = (-2, -1), norm: TransformNorm | None = None) -> Variable:
    """The transform of real numbers along two axes: `rfftn` of the last two.

    Source:
        numpy.fft.rfft2
    """
    return rfftn(a, s, axes, norm)


def irfft2(a: TensorLike, s: Any = None, axes: Integers = (-2, -1), norm: TransformNorm | None = None) -> Variable:
    """The inverse of `rfft2`.

    Source:
        numpy.fft.irfft2
    """
    return irfftn(a, s, axes, norm)


def fftfreq(n: TensorLike, d: TensorLike = 1.0, *, dtype: object = None, device: None = None) -> Variable:
    """The frequencies of the entries of `fft`, in cycles per unit of the spacing d: 0, 1, …, -1 over n d.

    Shapes:
        (n)
    Example:
        >>> import tg
        >>> tg.fft.fftfreq(4, 0.5).eval()
        array([ 0. ,  0.5, -1. , -0.5])
    Source:
        numpy.fft.fftfreq
    """
    need_no_device("fftfreq", device)
    count = _count("fftfreq", n, 0)
    k = iota(count)
    centred = where(less(multiply(k, 2), count), k, k - count)
    return _in_dtype(divide(centred, multiply(d, count)), dtype)


def rfftfreq(n: TensorLike, d: TensorLike = 1.0, *, dtype: object = None, device: None = None) -> Variable:
    """The frequencies of the entries of `rfft`: 0, 1, …, n // 2 over n d.

    Shapes:
        (n // 2 + 1)
    Source:
        numpy.fft.rfftfreq
    """
    need_no_device("rfftfreq", device)
    count = _count("rfftfreq", n, 0)
    return _in_dtype(divide(iota(half(count)), multiply(d, count)), dtype)


def _in_dtype(x: Variable, dtype: object) -> Variable:
    return x if dtype is None else cast_variable(x, dtype_name(dtype))


def fftshift(x: TensorLike, axes: Integers | None = None) -> Variable:
    """The entries turned so that frequency 0 is in the middle, along axes (all by default).

    Source:
        numpy.fft.fftshift
    """
    return _turned(x, axes, "fftshift", lambda n: floor_divide(n, 2))


def ifftshift(x: TensorLike, axes: Integers | None = None) -> Variable:
    """The inverse of `fftshift`.

    Source:
        numpy.fft.ifftshift
    """
    return _turned(x, axes, "ifftshift", lambda n: subtract(n, floor_divide(n, 2)))


def _turned(x: Any, axes: Any, what: str, shift: Any) -> Variable:
    v = as_variable(x)
    places = range(-v.type.ndim, 0) if axes is None else axes if isinstance(axes, tuple | list) else (axes,)
    for axis in places:
        k = axis_from_end(axis, v.type.ndim, what)
        v = roll(v, shift(v.shape[k]), k)
    return v


FAMILY = Family(
    "transforms",
    functions=(
        fft,
        fft2,
        fftfreq,
        fftn,
        fftshift,
        hfft,
        ifft,
        ifft2,
        ifftn,
        ifftshift,
        ihfft,
        irfft,
        irfft2,
        irfftn,
        rfft,
        rfft2,
        rfftfreq,
        rfftn,
    ),
    module="fft",
)
