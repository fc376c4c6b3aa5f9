"""The Python protocol of variables: operators, methods, and the refusals that keep mistakes from passing silently.

No op is imported here: everything dispatches through `NAMESPACE`, which `tg/__init__` binds once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.errors import InputError, SymbolicError, message
from tg.graph import loc as locs
from tg.types.lengths import Length

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tg.graph.nodes import Variable


class Namespace:
    """The flat namespace of op functions, bound once."""

    _module: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(type(self)._module, name)


NAMESPACE: Any = Namespace()


def bind(module: object) -> None:
    """Let operators and methods dispatch to the functions of a module."""
    Namespace._module = module
    Length.arrays = NAMESPACE


def _where() -> tuple[tuple[str, str], ...]:
    place = locs.here()
    return (("at", f"{place}:  {place.source}"),) if place is not None else ()


class Operators:
    """The operators of `Variable`; each builds a graph node."""

    __slots__ = ()
    __array_priority__ = 1000

    def _n(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(NAMESPACE, name)(self, *args, **kwargs)

    def __add__(self, other: Any) -> Variable:
        return self._n("add", other)  # type: ignore[no-any-return]

    def __radd__(self, other: Any) -> Variable:
        return NAMESPACE.add(other, self)  # type: ignore[no-any-return]

    def __sub__(self, other: Any) -> Variable:
        return self._n("subtract", other)  # type: ignore[no-any-return]

    def __rsub__(self, other: Any) -> Variable:
        return NAMESPACE.subtract(other, self)  # type: ignore[no-any-return]

    def __mul__(self, other: Any) -> Variable:
        return self._n("multiply", other)  # type: ignore[no-any-return]

    def __rmul__(self, other: Any) -> Variable:
        return NAMESPACE.multiply(other, self)  # type: ignore[no-any-return]

    def __truediv__(self, other: Any) -> Variable:
        return self._n("divide", other)  # type: ignore[no-any-return]

    def __rtruediv__(self, other: Any) -> Variable:
        return NAMESPACE.divide(other, self)  # type: ignore[no-any-return]

    def __floordiv__(self, other: Any) -> Variable:
        return self._n("floor_divide", other)  # type: ignore[no-any-return]

    def __rfloordiv__(self, other: Any) -> Variable:
        return NAMESPACE.floor_divide(other, self)  # type: ignore[no-any-return]

    def __mod__(self, other: Any) -> Variable:
        return self._n("remainder", other)  # type: ignore[no-any-return]

    def __rmod__(self, other: Any) -> Variable:
        return NAMESPACE.remainder(other, self)  # type: ignore[no-any-return]

    def __pow__(self, other: Any) -> Variable:
        return self._n("power", other)  # type: ignore[no-any-return]

    def __rpow__(self, other: Any) -> Variable:
        return NAMESPACE.power(other, self)  # type: ignore[no-any-return]

    def __matmul__(self, other: Any) -> Variable:
        return self._n("matmul", other)  # type: ignore[no-any-return]

    def __rmatmul__(self, other: Any) -> Variable:
        return NAMESPACE.matmul(other, self)  # type: ignore[no-any-return]

    def __and__(self, other: Any) -> Variable:
        return self._n("bitwise_and", other)  # type: ignore[no-any-return]

    def __rand__(self, other: Any) -> Variable:
        return NAMESPACE.bitwise_and(other, self)  # type: ignore[no-any-return]

    def __or__(self, other: Any) -> Variable:
        return self._n("bitwise_or", other)  # type: ignore[no-any-return]

    def __ror__(self, other: Any) -> Variable:
        return NAMESPACE.bitwise_or(other, self)  # type: ignore[no-any-return]

    def __xor__(self, other: Any) -> Variable:
        return self._n("bitwise_xor", other)  # type: ignore[no-any-return]

    def __rxor__(self, other: Any) -> Variable:
        return NAMESPACE.bitwise_xor(other, self)  # type: ignore[no-any-return]

    def __invert__(self) -> Variable:
        return self._n("bitwise_invert")  # type: ignore[no-any-return]

    def __neg__(self) -> Variable:
        return self._n("negative")  # type: ignore[no-any-return]

    def __pos__(self) -> Variable:
        return self  # type: ignore[return-value]

    def __abs__(self) -> Variable:
        return self._n("absolute")  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> Variable:  # type: ignore[override]
        return self._n("equal", other)  # type: ignore[no-any-return]

    def __ne__(self, other: object) -> Variable:  # type: ignore[override]
        return self._n("not_equal", other)  # type: ignore[no-any-return]

    def __lt__(self, other: Any) -> Variable:
        return self._n("less", other)  # type: ignore[no-any-return]

    def __le__(self, other: Any) -> Variable:
        return self._n("less_equal", other)  # type: ignore[no-any-return]

    def __gt__(self, other: Any) -> Variable:
        return self._n("greater", other)  # type: ignore[no-any-return]

    def __ge__(self, other: Any) -> Variable:
        return self._n("greater_equal", other)  # type: ignore[no-any-return]

    __hash__ = object.__hash__

    def __getitem__(self, index: Any) -> Variable:
        return self._n("getitem", index)  # type: ignore[no-any-return]

    def __setitem__(self, index: Any, value: Any) -> None:
        hint = "x.at[index].set(value) is a new variable with the change"
        raise InputError(message("item assignment: variables are immutable", *_where(), hint=hint))

    @property
    def at(self: Any) -> Any:
        """Indexed updates: `x.at[index].set(v)` and `.add(v)` are new variables."""
        return NAMESPACE.IndexedUpdates(self)

    @property
    def T(self) -> Variable:
        """The axes reversed."""
        return self._n("transpose")  # type: ignore[no-any-return]

    @property
    def mT(self) -> Variable:
        """The last two axes swapped."""
        return self._n("matrix_transpose")  # type: ignore[no-any-return]

    @property
    def size(self: Any) -> Any:
        """The number of elements: a length."""
        from tg.types.lengths import product

        return product(self.shape)

    def sum(self, axis: Any = None, *, keepdims: bool = False) -> Variable:
        """As `tg.sum`."""
        return self._n("sum", axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def prod(self, axis: Any = None, *, keepdims: bool = False) -> Variable:
        """As `tg.prod`."""
        return self._n("prod", axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def max(self, axis: Any = None, *, keepdims: bool = False) -> Variable:
        """As `tg.max`."""
        return self._n("max", axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def min(self, axis: Any = None, *, keepdims: bool = False) -> Variable:
        """As `tg.min`."""
        return self._n("min", axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def mean(self, axis: Any = None, *, keepdims: bool = False) -> Variable:
        """As `tg.mean`."""
        return self._n("mean", axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def var(self, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Variable:
        """As `tg.var`."""
        return self._n("var", axis, ddof=ddof, keepdims=keepdims)  # type: ignore[no-any-return]

    def std(self, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Variable:
        """As `tg.std`."""
        return self._n("std", axis, ddof=ddof, keepdims=keepdims)  # type: ignore[no-any-return]

    def all(self, axis: Any = None, *, keepdims: bool = False) -> Variable:
        """As `tg.all`."""
        return self._n("all", axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def any(self, axis: Any = None, *, keepdims: bool = False) -> Variable:
        """As `tg.any`."""
        return self._n("any", axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def argmax(self, axis: int | None = None) -> Variable:
        """As `tg.argmax`."""
        return self._n("argmax", axis)  # type: ignore[no-any-return]

    def argmin(self, axis: int | None = None) -> Variable:
        """As `tg.argmin`."""
        return self._n("argmin", axis)  # type: ignore[no-any-return]

    def cumsum(self, axis: int | None = None) -> Variable:
        """As `tg.cumsum`."""
        return self._n("cumsum", axis)  # type: ignore[no-any-return]

    def reshape(self, *shape: Any) -> Variable:
        """As `tg.reshape`; the shape may be given as one tuple or as arguments."""
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return self._n("reshape", given)  # type: ignore[no-any-return]

    def transpose(self, *axes: Any) -> Variable:
        """As `tg.transpose`; the axes may be given as one tuple or as arguments."""
        given = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        return self._n("transpose", tuple(given) or None)  # type: ignore[no-any-return]

    def squeeze(self, axis: Any = None) -> Variable:
        """As `tg.squeeze`."""
        return self._n("squeeze", axis)  # type: ignore[no-any-return]

    def ravel(self) -> Variable:
        """As `tg.ravel`."""
        return self._n("ravel")  # type: ignore[no-any-return]

    flatten = ravel

    def astype(self, dtype: object) -> Variable:
        """As `tg.cast`."""
        return self._n("cast", dtype)  # type: ignore[no-any-return]

    def dot(self, other: Any) -> Variable:
        """As `tg.dot`."""
        return self._n("dot", other)  # type: ignore[no-any-return]

    def clip(self, lower: Any, upper: Any) -> Variable:
        """As `tg.clip`."""
        return self._n("clip", lower, upper)  # type: ignore[no-any-return]

    def eval(self, values: Any = None, **options: Any) -> Any:
        """The value of this expression for given values of its inputs: `out.eval({x: 1.0})`."""
        return self._n("evaluate", values, **options)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return NAMESPACE.numpy_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Sequence[type], args: Any, kwargs: Any) -> Any:
        return NAMESPACE.numpy_function(function, args, kwargs)

    def __iter__(self: Any) -> Iterator[Variable]:
        return iter([self[k] for k in range(len(self))])

    def __len__(self: Any) -> int:
        if self.type.ndim == 0:
            raise SymbolicError(message(f"len: {self!r} is a scalar", *_where()))
        first = self.type.shape[0]
        if first is None:
            hint = "x.shape[0] is a length that works where an int does; a static shape=(3, …) makes it one"
            raise SymbolicError(message(f"len: the first length of {self!r} is not known", *_where(), hint=hint))
        return first  # type: ignore[no-any-return]

    def _refuse(self, what: str, hint: str) -> Any:
        raise SymbolicError(message(f"{what}: {self!r} has no value until the function runs", *_where(), hint=hint))

    def __bool__(self) -> bool:
        return self._refuse("if, and, or, not, while", "tg.where(condition, a, b) chooses when it runs")  # type: ignore[no-any-return]

    def __contains__(self, item: object) -> bool:
        return self._refuse("in", "tg.any(x == item) asks when it runs")  # type: ignore[no-any-return]

    def __index__(self) -> int:
        return self._refuse("index", "x[i] with a variable i gathers when it runs")  # type: ignore[no-any-return]

    def __int__(self) -> int:
        return self._refuse("int", "x.astype('int64') converts when it runs")  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return self._refuse("float", "x.eval({…}) gives a value")  # type: ignore[no-any-return]

    def __complex__(self) -> complex:
        return self._refuse("complex", "x.eval({…}) gives a value")  # type: ignore[no-any-return]

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self._refuse("array", "x.eval({…}) gives a value; tg.array([x, y]) stacks variables")
