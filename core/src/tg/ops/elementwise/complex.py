"""Complex numbers and their parts. A real number is its own real part and its own conjugate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import DtypeError, message
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.dtype_loops import from_ufunc, real_floating
from tg.ops.elementwise.facts import of_conjugate, of_part, of_parts
from tg.ops.elementwise.record import binary, unary
from tg.ops.family import Family
from tg.types.dtypes import is_complex
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.variables.like import TensorLike

PART = {"complex64": "float32", "complex128": "float64"}
WHOLE = {"float16": "complex64", "bfloat16": "complex64", "float32": "complex64", "float64": "complex128"}


def _parts(kinds: Any) -> Any:
    """The loops from a complex dtype to that of its parts."""
    (z,), _ = from_ufunc(np.conjugate)(kinds)
    if z not in PART:
        raise DtypeError(message(f"found {z}, needed a complex dtype"))
    return (z,), PART[z]


def _complex_alone(kinds: Any) -> Any:
    (z,), _ = _parts(kinds)
    return (z,), z


def _composed(kinds: Any) -> Any:
    """The loops from two real dtypes to the complex one that holds both."""
    part = PART[WHOLE[real_floating(kinds)[1]]]
    return (part, part), WHOLE[part]


def _compose(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    z = np.empty(np.broadcast_shapes(x.shape, y.shape), WHOLE[x.dtype.name])
    z.real, z.imag = x, y
    return z


def _itself(x: Variable) -> Variable | None:
    return None if is_complex(x.type.dtype) else x


def _own_conjugate(x: Variable) -> Variable | None:
    """NumPy has no conjugate of bool, and takes that of int8."""
    return cast_variable(x, "int8") if x.type.dtype == "bool" else _itself(x)


def _nothing(x: Variable) -> Variable | None:
    from tg.ops.creation import zeros_like

    return None if is_complex(x.type.dtype) else zeros_like(x)


complex = binary(
    "complex", _compose, _composed, "The complex number x + iy of its real and its imaginary part.",
    d=(lambda x, y, z: 1, lambda x, y, z: 1j), accuracy=0, cost=2.3,
    facts=of_parts,
)  # fmt: skip
real = unary(
    "real",
    np.real,
    _parts,
    "The real part of x.",
    d=(lambda x, y: 0.5,),
    accuracy=0,
    cost=1,
    shortcut=_itself,
    facts=of_part,
)
imag = unary(
    "imag", np.imag, _parts, "The imaginary part of x, which is 0 for a real x.",
    d=(lambda x, y: -0.5j,), accuracy=0, cost=1.1, shortcut=_nothing,
    facts=of_part,
)  # fmt: skip
conjugate = unary(
    "conjugate", np.conjugate, _complex_alone, "The complex conjugate of x, which is x for a real x.",
    d=(lambda x, y: 0,), d_conj=(lambda x, y: 1,), accuracy=0, cost=2.4, shortcut=_own_conjugate,
    facts=of_conjugate,
)  # fmt: skip


def angle(z: TensorLike, deg: bool = False) -> Variable:
    """The angle of a complex number in (-pi, pi], in degrees if `deg` is set; of a negative real number pi.

    The derivative at 0 is 0.

    Source:
        numpy.angle
    """
    from tg.ops.elementwise.trigonometric import arctan2, rad2deg

    z = as_variable(z)
    theta = arctan2(imag(z), real(z)) if is_complex(z.type.dtype) else arctan2(0, z)
    return rad2deg(theta) if deg else theta


FAMILY = Family(
    "elementwise/complex", (complex, real, imag, conjugate), functions=(angle,), aliases=(("conj", conjugate),)
)
