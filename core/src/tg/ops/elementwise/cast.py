"""Conversion between dtypes, with a declared result for every value.

Floating to integer truncates; NaN becomes 0, what is out of range the nearest limit. Integer to integer wraps.
Anything to bool asks whether it differs from 0; complex to real takes the real part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from tg.callers import is_direct
from tg.graph.nodes import Constant, Variable
from tg.graph.op import Op
from tg.ops.elementwise.facts import of_cast
from tg.ops.family import Family
from tg.types.dtypes import WIDE, dtype_name, in_float32, is_complex, is_inexact, is_integer, numpy_dtype
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tg.types.lengths import Length
    from tg.variables.like import TensorLike


@final
class Cast(Op):
    """The elements converted to `dtype`.

    `origin` is for programs that are re-typed (`tg.functions.retyped`). A cast to 64 bits that a user has written is
    "stated" and stays; the cotangent of such a one comes "back" to the dtype of the operand, and is re-typed with it.

    Shapes:
        x (...) -> y (...)
    Source:
        numpy.ndarray.astype, with declared results where NumPy leaves them to the machine.
    """

    dtype: str
    origin: Literal["", "stated", "back"] = ""
    pointwise = True

    @property
    def only_types(self) -> bool:  # type: ignore[override]
        """Whether it has an origin."""
        return bool(self.origin)

    @property
    def expands(self) -> bool:
        """Whether it has an origin."""
        return bool(self.origin)

    def expansion(self, *inputs: Variable) -> Variable:
        """The same cast, as tg makes one."""
        return cast_variable(inputs[0], self.dtype)

    def retyped(self, dtypes: Mapping[str, str]) -> Op:
        """The cast to the new dtype, unless it is stated."""
        return self if self.origin == "stated" else Cast(dtypes.get(self.dtype, self.dtype), self.origin)

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The same shape with the new dtype."""
        return (TensorType(self.dtype, x.shape),)

    def perform(self, x: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        """`astype`, saturating from floating to integer."""
        return (convert(x, self.dtype),)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The facts that the elements keep in the other dtype."""
        return (of_cast(inputs[0], self.dtype),)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The cotangent in the operand's dtype; none through integers."""
        (x,), (dy,) = inputs, cotangents
        if dy is None or not (is_inexact(x.type.dtype) and is_inexact(self.dtype)):
            return (None,)
        if self.origin:  # also where both have one dtype: re-typed, they may not
            return (Cast(x.type.dtype, "back" if self.origin == "stated" else "stated")(dy),)
        return (cast_variable(dy, x.type.dtype),)

    def length_value(
        self, inputs: Sequence[Variable], value_of: Callable[[Variable], int | Length]
    ) -> int | Length | None:
        """A cast to int64 keeps the length of an int64; others are values of their own."""
        return value_of(inputs[0]) if inputs[0].type.dtype == "int64" else None


def convert(x: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """The array in another dtype, as `Cast` declares it."""
    target = numpy_dtype(dtype)
    source = dtype_name(x.dtype)
    if is_complex(source) and not is_complex(dtype) and dtype != "bool":
        x = np.real(x)
        source = dtype_name(x.dtype)
    if is_integer(dtype) and is_inexact(source):
        limits = np.iinfo(dtype)
        wide = x.astype(np.float64)
        inside = np.where(np.isnan(wide), 0.0, np.clip(wide, float(limits.min), float(limits.max)))
        whole = np.trunc(inside)
        high, low = whole >= float(limits.max), whole <= float(limits.min)
        values = np.where(high | low, 0.0, whole).astype(target)
        return np.where(high, limits.max, np.where(low, limits.min, values)).astype(target)
    if dtype == "bool":
        return np.asarray(x != 0)
    return np.asarray(x).astype(target)


def cast_variable(x: Variable, dtype: str) -> Variable:
    """The variable in another dtype; itself if it has that dtype. A number that is written is converted at once."""
    if x.type.dtype == dtype:
        return x
    if isinstance(x, Constant) and x.data.size == 1:
        with np.errstate(all="ignore"):
            return Constant(convert(x.data, dtype).reshape(x.data.shape))
    return Cast(dtype)(x)  # type: ignore[no-any-return]


def widened(x: Variable) -> Variable:
    """The variable in float32 if its elements are halves, else itself; `cast_variable` rounds what is made of it."""
    return cast_variable(x, in_float32(x.type.dtype))


def cast(x: TensorLike, dtype: object) -> Variable:
    """The elements of x converted to a dtype; NaN and what is out of range have declared results.

    A cast to float64 or complex128 in a user's line stays where a backend's `dtype=` re-types the program.

    Raises:
        DtypeError: tg has no such dtype.
    Example:
        >>> import tg
        >>> tg.cast(tg.constant([1.7, float("nan"), 300.0]), "uint8").eval()
        array([  1,   0, 255], dtype=uint8)
    """
    v, name = as_variable(x), dtype_name(dtype)
    return Cast(name, "stated")(v) if name in WIDE and is_direct() else cast_variable(v, name)


FAMILY = Family("elementwise/cast", ops=(Cast,), functions=(cast,))
