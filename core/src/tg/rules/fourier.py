"""Rules of Fourier transforms: real points have half a spectrum, and a transform undoes its inverse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.elementwise.complex import conjugate
from tg.ops.fourier import DUAL, REAL, Fourier, RealFourier, half
from tg.ops.indexing import Slice, slice_axis
from tg.rewrite.phases import NAN_UNSAFE, REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import pass_of, rule_of
from tg.rules.indexing.windows import is_inside, made_by, read, windows_of
from tg.types.dtypes import is_complex

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View


@pass_of(
    Slice,
    phase=SPECIALIZE,
    kind=REASSOCIATES,
    example=lambda x: slice_axis(Fourier()(Cast("complex128")(cast_variable(x, "float64"))), -1, 0, half(x.shape[-1])),
)
def _half_spectrum_of_real(view: View) -> dict[int, Variable]:
    """Transforms of real points of which nothing is read beyond the half of the frequencies.

    The frequencies beyond are conjugates, and computing none of them takes half the time.
    """
    readers: dict[int, list[tuple[Apply, Variable]]] = {}
    for node in view.applies:
        points = _points_of_half(node) if type(node.op) is Slice else None
        if points is not None:
            readers.setdefault(id(node.inputs[0]), []).append((node, points))
    replacements: dict[int, Variable] = {}
    for pairs in readers.values():
        node, points = pairs[0]
        (whole, *_) = node.inputs
        if view.uses(whole) == len(pairs):
            spectrum = _spectrum(whole.op, points)
            replacements.update((id(view.results(one)[0]), read(spectrum, windows_of(one))) for one, _ in pairs)
    return replacements


def _points_of_half(node: Apply) -> Variable | None:
    """The real points of whose transform a slice reads nothing beyond the half."""
    below = made_by(node.inputs[0], Fourier)
    cast = None if below is None else made_by(below.inputs[0], Cast)
    if cast is None or is_complex(cast.inputs[0].type.dtype):
        return None
    window = windows_of(node)[-1]
    if window is None or not is_inside(window, half(node.inputs[0].shape[-1])):
        return None
    return cast_variable(cast.inputs[0], REAL[cast.types[0].dtype])


def _spectrum(op: Any, points: Variable) -> Variable:
    """Half the frequencies of real points; those of the inverse transform are conjugates."""
    if not op.inverse:
        return RealFourier(op.norm)(points)  # type: ignore[no-any-return]
    return conjugate(RealFourier(DUAL[op.norm])(points))


def _there_and_back(x: Variable) -> Variable:
    dtype = np.result_type(x.type.numpy_dtype, np.complex64).name
    return Fourier(inverse=True)(Fourier()(cast_variable(x, dtype)))  # type: ignore[no-any-return]


@rule_of(Fourier, kind=NAN_UNSAFE, below=(Fourier,), example=_there_and_back)
def _transform_of_inverse(op: Any, z: Variable) -> Variable | None:
    """The points of a transform and its inverse, one after the other with one norm.

    Both are the identity, but for a NaN or an infinity of one point, which a transform spreads over all.
    """
    below: Any = z.op
    return z.inputs[0] if below.inverse != op.inverse and below.norm == op.norm else None


RULES = (_transform_of_inverse,)
PASSES = (_half_spectrum_of_real,)
