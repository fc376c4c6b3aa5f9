"""Operators of values that hold a variable and something beside it: a mask, the names of axes."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from tg.errors import InputError, message
from tg.variables.structure import short

if TYPE_CHECKING:
    from typing import Self


class Lifted(abc.ABC):
    """The operators of arrays: each is the function of tg that it stands for, applied by the class."""

    __slots__ = ()
    __array_ufunc__ = None  # an array or a variable beside one leaves the operator to it
    __hash__ = object.__hash__
    in_place_of_variables: ClassVar[str]
    """The hint of errors about one where an array belongs."""
    in_place_of_wrt: ClassVar[str] = ""
    """The hint of errors about one that derivatives are asked for, of which a part is no float."""

    @abc.abstractmethod
    def _applied(self, name: str, *operands: Any) -> Any:
        """The function of tg with this name, of operands of which one is self."""

    def __bool__(self) -> NoReturn:  # without it every one is true, `if x == y` too
        text = f"if, and, or, not, while, in: found {short(self)}, needed a value"
        raise InputError(message(text, hint=self.in_place_of_variables))

    def __add__(self, other: Any) -> Self:
        return self._applied("add", self, other)  # type: ignore[no-any-return]

    def __radd__(self, other: Any) -> Self:
        return self._applied("add", other, self)  # type: ignore[no-any-return]

    def __sub__(self, other: Any) -> Self:
        return self._applied("subtract", self, other)  # type: ignore[no-any-return]

    def __rsub__(self, other: Any) -> Self:
        return self._applied("subtract", other, self)  # type: ignore[no-any-return]

    def __mul__(self, other: Any) -> Self:
        return self._applied("multiply", self, other)  # type: ignore[no-any-return]

    def __rmul__(self, other: Any) -> Self:
        return self._applied("multiply", other, self)  # type: ignore[no-any-return]

    def __truediv__(self, other: Any) -> Self:
        return self._applied("divide", self, other)  # type: ignore[no-any-return]

    def __rtruediv__(self, other: Any) -> Self:
        return self._applied("divide", other, self)  # type: ignore[no-any-return]

    def __floordiv__(self, other: Any) -> Self:
        return self._applied("floor_divide", self, other)  # type: ignore[no-any-return]

    def __rfloordiv__(self, other: Any) -> Self:
        return self._applied("floor_divide", other, self)  # type: ignore[no-any-return]

    def __mod__(self, other: Any) -> Self:
        return self._applied("remainder", self, other)  # type: ignore[no-any-return]

    def __rmod__(self, other: Any) -> Self:
        return self._applied("remainder", other, self)  # type: ignore[no-any-return]

    def __pow__(self, other: Any) -> Self:
        return self._applied("power", self, other)  # type: ignore[no-any-return]

    def __rpow__(self, other: Any) -> Self:
        return self._applied("power", other, self)  # type: ignore[no-any-return]

    def __and__(self, other: Any) -> Self:
        return self._applied("bitwise_and", self, other)  # type: ignore[no-any-return]

    def __rand__(self, other: Any) -> Self:
        return self._applied("bitwise_and", other, self)  # type: ignore[no-any-return]

    def __or__(self, other: Any) -> Self:
        return self._applied("bitwise_or", self, other)  # type: ignore[no-any-return]

    def __ror__(self, other: Any) -> Self:
        return self._applied("bitwise_or", other, self)  # type: ignore[no-any-return]

    def __xor__(self, other: Any) -> Self:
        return self._applied("bitwise_xor", self, other)  # type: ignore[no-any-return]

    def __rxor__(self, other: Any) -> Self:
        return self._applied("bitwise_xor", other, self)  # type: ignore[no-any-return]

    def __lshift__(self, other: Any) -> Self:
        return self._applied("left_shift", self, other)  # type: ignore[no-any-return]

    def __rlshift__(self, other: Any) -> Self:
        return self._applied("left_shift", other, self)  # type: ignore[no-any-return]

    def __rshift__(self, other: Any) -> Self:
        return self._applied("right_shift", self, other)  # type: ignore[no-any-return]

    def __rrshift__(self, other: Any) -> Self:
        return self._applied("right_shift", other, self)  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return self._applied("equal", self, other)  # type: ignore[no-any-return]

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self._applied("not_equal", self, other)  # type: ignore[no-any-return]

    def __lt__(self, other: Any) -> Self:
        return self._applied("less", self, other)  # type: ignore[no-any-return]

    def __le__(self, other: Any) -> Self:
        return self._applied("less_equal", self, other)  # type: ignore[no-any-return]

    def __gt__(self, other: Any) -> Self:
        return self._applied("greater", self, other)  # type: ignore[no-any-return]

    def __ge__(self, other: Any) -> Self:
        return self._applied("greater_equal", self, other)  # type: ignore[no-any-return]

    def __neg__(self) -> Self:
        return self._applied("negative", self)  # type: ignore[no-any-return]

    def __pos__(self) -> Self:
        return self._applied("positive", self)  # type: ignore[no-any-return]

    def __abs__(self) -> Self:
        return self._applied("absolute", self)  # type: ignore[no-any-return]

    def __invert__(self) -> Self:
        return self._applied("bitwise_invert", self)  # type: ignore[no-any-return]
