"""The Python protocol of variables: operators, methods, and the refusals that keep mistakes from passing silently.

No op is imported here: everything dispatches through `NAMESPACE`, which `tg/__init__` binds once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Unpack

from tg.errors import InputError, SymbolicError, TgError, message
from tg.graph import loc as locs
from tg.keywords import with_told_methods
from tg.members import missing
from tg.types.dtypes import numpy_dtype
from tg.types.lengths import Length

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tg.graph.method_options import (
        Accumulated,
        Averaged,
        Reduced,
        Selected,
        Sorted,
        Spread,
        Started,
        Summed,
    )
    from tg.graph.nodes import Variable
    from tg.ops.index_updates import IndexedUpdates
    from tg.types.choices import IndexMode, Order, Side


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


def _where() -> str | None:
    place = locs.here()
    return f"{place}:  {place.source}" if place is not None else None


@with_told_methods
class Operators:
    """The operators of `Variable`; each builds a graph node."""

    __slots__ = ()
    __array_priority__ = 1000
    _set_hint: ClassVar[str] = "x.at[index].set(value) and x.at[index].add(value) say the place"
    _value_hint: ClassVar[str] = "x.eval({…}) gives a value"
    _number_hint: ClassVar[str] = f"{_value_hint}; tg.exp and np.exp take variables, math.exp does not"
    __pandas_priority__ = 10_000  # more than a DataFrame's 4000: what pandas would do element by element is left to us

    if not TYPE_CHECKING:  # refusals, which a type checker tells by there being no such method

        def __getattr__(self, name: str) -> Any:
            raise missing(self, name)

        def __setitem__(self, index: Any, value: Any) -> None:
            hint = "x.at[index].set(value) is a new variable with the change"
            raise InputError(message("item assignment: variables are immutable", hint=hint, at=_where()))

        def __index__(self) -> int:  # noqa: PLE0305  it raises
            self._refuse("index", "x[i] with a variable i gathers when it runs")

        def __int__(self) -> int:
            self._refuse("int", "x.astype('int64') converts when it runs")

        def __float__(self) -> float:
            self._refuse("float", self._number_hint)

        def __complex__(self) -> complex:
            self._refuse("complex", self._value_hint)

    def _n(self, name: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return getattr(NAMESPACE, name)(self, *args, **kwargs)
        except TgError as error:
            error.trim()
            raise

    def _with(self, name: str, other: Any) -> Any:
        """The op, or its refusal beside what says that it computes with arrays itself, as NumPy's refuse it."""
        if getattr(type(other), "__array_ufunc__", self) is None:
            return NotImplemented
        try:
            return self._n(name, other)
        except TgError as error:
            error.trim()
            raise

    def __add__(self, other: Any) -> Variable:
        return self._with("add", other)  # type: ignore[no-any-return]

    def __radd__(self, other: Any) -> Variable:
        return NAMESPACE.add(other, self)  # type: ignore[no-any-return]

    def __sub__(self, other: Any) -> Variable:
        return self._with("subtract", other)  # type: ignore[no-any-return]

    def __rsub__(self, other: Any) -> Variable:
        return NAMESPACE.subtract(other, self)  # type: ignore[no-any-return]

    def __mul__(self, other: Any) -> Variable:
        return self._with("multiply", other)  # type: ignore[no-any-return]

    def __rmul__(self, other: Any) -> Variable:
        return NAMESPACE.multiply(other, self)  # type: ignore[no-any-return]

    def __truediv__(self, other: Any) -> Variable:
        return self._with("divide", other)  # type: ignore[no-any-return]

    def __rtruediv__(self, other: Any) -> Variable:
        return NAMESPACE.divide(other, self)  # type: ignore[no-any-return]

    def __floordiv__(self, other: Any) -> Variable:
        return self._with("floor_divide", other)  # type: ignore[no-any-return]

    def __rfloordiv__(self, other: Any) -> Variable:
        return NAMESPACE.floor_divide(other, self)  # type: ignore[no-any-return]

    def __mod__(self, other: Any) -> Variable:
        return self._with("remainder", other)  # type: ignore[no-any-return]

    def __rmod__(self, other: Any) -> Variable:
        return NAMESPACE.remainder(other, self)  # type: ignore[no-any-return]

    def __divmod__(self, other: Any) -> tuple[Variable, Variable]:
        return self._with("divmod", other)  # type: ignore[no-any-return]

    def __rdivmod__(self, other: Any) -> tuple[Variable, Variable]:
        return NAMESPACE.divmod(other, self)  # type: ignore[no-any-return]

    def __pow__(self, other: Any) -> Variable:
        return self._with("power", other)  # type: ignore[no-any-return]

    def __rpow__(self, other: Any) -> Variable:
        return NAMESPACE.power(other, self)  # type: ignore[no-any-return]

    def __matmul__(self, other: Any) -> Variable:
        return self._with("matmul", other)  # type: ignore[no-any-return]

    def __rmatmul__(self, other: Any) -> Variable:
        return NAMESPACE.matmul(other, self)  # type: ignore[no-any-return]

    def __and__(self, other: Any) -> Variable:
        return self._with("bitwise_and", other)  # type: ignore[no-any-return]

    def __rand__(self, other: Any) -> Variable:
        return NAMESPACE.bitwise_and(other, self)  # type: ignore[no-any-return]

    def __or__(self, other: Any) -> Variable:
        return self._with("bitwise_or", other)  # type: ignore[no-any-return]

    def __ror__(self, other: Any) -> Variable:
        return NAMESPACE.bitwise_or(other, self)  # type: ignore[no-any-return]

    def __xor__(self, other: Any) -> Variable:
        return self._with("bitwise_xor", other)  # type: ignore[no-any-return]

    def __rxor__(self, other: Any) -> Variable:
        return NAMESPACE.bitwise_xor(other, self)  # type: ignore[no-any-return]

    def __lshift__(self, other: Any) -> Variable:
        return self._with("left_shift", other)  # type: ignore[no-any-return]

    def __rlshift__(self, other: Any) -> Variable:
        return NAMESPACE.left_shift(other, self)  # type: ignore[no-any-return]

    def __rshift__(self, other: Any) -> Variable:
        return self._with("right_shift", other)  # type: ignore[no-any-return]

    def __rrshift__(self, other: Any) -> Variable:
        return NAMESPACE.right_shift(other, self)  # type: ignore[no-any-return]

    def __invert__(self) -> Variable:
        return self._n("bitwise_invert")  # type: ignore[no-any-return]

    def __neg__(self) -> Variable:
        return self._n("negative")  # type: ignore[no-any-return]

    def __pos__(self) -> Variable:
        return self._n("positive")  # type: ignore[no-any-return]

    def __abs__(self) -> Variable:
        return self._n("absolute")  # type: ignore[no-any-return]

    def __round__(self, decimals: int | None = None) -> Variable:
        return self._n("round", decimals or 0)  # type: ignore[no-any-return]

    def __floor__(self) -> Variable:
        return self._n("floor")  # type: ignore[no-any-return]

    def __ceil__(self) -> Variable:
        return self._n("ceil")  # type: ignore[no-any-return]

    def __trunc__(self) -> Variable:
        return self._n("trunc")  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> Variable:  # type: ignore[override]
        return self._with("equal", other)  # type: ignore[no-any-return]

    def __ne__(self, other: object) -> Variable:  # type: ignore[override]
        return self._with("not_equal", other)  # type: ignore[no-any-return]

    def __lt__(self, other: Any) -> Variable:
        return self._with("less", other)  # type: ignore[no-any-return]

    def __le__(self, other: Any) -> Variable:
        return self._with("less_equal", other)  # type: ignore[no-any-return]

    def __gt__(self, other: Any) -> Variable:
        return self._with("greater", other)  # type: ignore[no-any-return]

    def __ge__(self, other: Any) -> Variable:
        return self._with("greater_equal", other)  # type: ignore[no-any-return]

    __hash__ = object.__hash__

    def __getitem__(self: Any, index: Any) -> Variable:
        value: Variable = self._n("getitem", index)
        if value is not self:
            value.place = (self, index)
        return value

    @property
    def at(self: Any) -> IndexedUpdates:
        """Indexed updates: `x.at[index].set(v)`, `.add(v)` and so on are new variables."""
        return NAMESPACE.IndexedUpdates(self)  # type: ignore[no-any-return]

    def set(self: Any, value: Any) -> Variable:
        """`x[index].set(value)` is `x.at[index].set(value)`, for this result of an index."""
        return self._place("set").set(value)  # type: ignore[no-any-return]

    def inc(self: Any, value: Any) -> Variable:
        """`x[index].inc(value)` is `x.at[index].add(value)`, for this result of an index."""
        return self._place("inc").add(value)  # type: ignore[no-any-return]

    def _place(self: Any, what: str) -> Any:
        if self.place is None:
            text = f"{what}: {self!r} is not x[index] of a variable x"
            raise InputError(message(text, hint=self._set_hint, at=_where()))
        base, index = self.place
        return NAMESPACE.IndexedUpdates(base)[index]

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

    @property
    def nbytes(self: Any) -> Any:
        """The number of bytes of the elements: a length."""
        return self.size * numpy_dtype(self.type.dtype).itemsize

    def sum(self, axis: Any = None, **options: Unpack[Summed]) -> Variable:
        """As `tg.sum`."""
        return self._n("sum", axis, **options)  # type: ignore[no-any-return]

    def prod(self, axis: Any = None, **options: Unpack[Summed]) -> Variable:
        """As `tg.prod`."""
        return self._n("prod", axis, **options)  # type: ignore[no-any-return]

    def max(self, axis: Any = None, **options: Unpack[Started]) -> Variable:
        """As `tg.max`."""
        return self._n("max", axis, **options)  # type: ignore[no-any-return]

    def min(self, axis: Any = None, **options: Unpack[Started]) -> Variable:
        """As `tg.min`."""
        return self._n("min", axis, **options)  # type: ignore[no-any-return]

    def ptp(self, axis: Any = None, **options: Unpack[Reduced]) -> Variable:
        """As `tg.ptp`."""
        return self._n("ptp", axis, **options)  # type: ignore[no-any-return]

    def mean(self, axis: Any = None, **options: Unpack[Averaged]) -> Variable:
        """As `tg.mean`."""
        return self._n("mean", axis, **options)  # type: ignore[no-any-return]

    def var(self, axis: Any = None, **options: Unpack[Spread]) -> Variable:
        """As `tg.var`."""
        return self._n("var", axis, **options)  # type: ignore[no-any-return]

    def std(self, axis: Any = None, **options: Unpack[Spread]) -> Variable:
        """As `tg.std`."""
        return self._n("std", axis, **options)  # type: ignore[no-any-return]

    def all(self, axis: Any = None, **options: Unpack[Selected]) -> Variable:
        """As `tg.all`."""
        return self._n("all", axis, **options)  # type: ignore[no-any-return]

    def any(self, axis: Any = None, **options: Unpack[Selected]) -> Variable:
        """As `tg.any`."""
        return self._n("any", axis, **options)  # type: ignore[no-any-return]

    def argmax(self, axis: Any = None, **options: Unpack[Reduced]) -> Variable:
        """As `tg.argmax`."""
        return self._n("argmax", axis, **options)  # type: ignore[no-any-return]

    def argmin(self, axis: Any = None, **options: Unpack[Reduced]) -> Variable:
        """As `tg.argmin`."""
        return self._n("argmin", axis, **options)  # type: ignore[no-any-return]

    def cumsum(self, axis: Any = None, **options: Unpack[Accumulated]) -> Variable:
        """As `tg.cumsum`."""
        return self._n("cumsum", axis, **options)  # type: ignore[no-any-return]

    def cumprod(self, axis: Any = None, **options: Unpack[Accumulated]) -> Variable:
        """As `tg.cumprod`."""
        return self._n("cumprod", axis, **options)  # type: ignore[no-any-return]

    def sort(self, axis: int | None = -1, **options: Unpack[Sorted]) -> Variable:
        """As `tg.sort`."""
        return self._n("sort", axis, **options)  # type: ignore[no-any-return]

    def argsort(self, axis: int | None = -1, **options: Unpack[Sorted]) -> Variable:
        """As `tg.argsort`."""
        return self._n("argsort", axis, **options)  # type: ignore[no-any-return]

    def searchsorted(self, v: Any, side: Side = "left", sorter: Any = None) -> Variable:
        """As `tg.searchsorted`."""
        return self._n("searchsorted", v, side, sorter)  # type: ignore[no-any-return]

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
        """As `tg.diagonal`."""
        return self._n("diagonal", offset, axis1, axis2)  # type: ignore[no-any-return]

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
        """As `tg.trace`."""
        return self._n("trace", offset, axis1, axis2)  # type: ignore[no-any-return]

    def reshape(self, *shape: Any, order: Order = "C") -> Variable:
        """As `tg.reshape`; the shape may be given as one tuple or as arguments."""
        lengths = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return self._n("reshape", lengths, order)  # type: ignore[no-any-return]

    def transpose(self, *axes: Any) -> Variable:
        """As `tg.transpose`; the axes may be given as one tuple or as arguments."""
        permutation = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        return self._n("transpose", tuple(permutation) or None)  # type: ignore[no-any-return]

    def squeeze(self, axis: Any = None) -> Variable:
        """As `tg.squeeze`."""
        return self._n("squeeze", axis)  # type: ignore[no-any-return]

    def ravel(self, order: Order = "C") -> Variable:
        """As `tg.ravel`."""
        return self._n("ravel", order)  # type: ignore[no-any-return]

    flatten = ravel

    def swapaxes(self, axis1: int, axis2: int) -> Variable:
        """As `tg.swapaxes`."""
        return self._n("swapaxes", axis1, axis2)  # type: ignore[no-any-return]

    def repeat(self, repeats: Any, axis: int | None = None) -> Variable:
        """As `tg.repeat`."""
        return self._n("repeat", repeats, axis)  # type: ignore[no-any-return]

    def take(self, indices: Any, axis: int | None = None, *, mode: IndexMode = "raise") -> Variable:
        """As `tg.take`."""
        return self._n("take", indices, axis, mode=mode)  # type: ignore[no-any-return]

    def nonzero(self) -> tuple[Variable, ...]:
        """As `tg.nonzero`."""
        return self._n("nonzero")  # type: ignore[no-any-return]

    def compress(self, condition: Any, axis: int | None = None) -> Variable:
        """As `tg.compress`."""
        return NAMESPACE.compress(condition, self, axis)  # type: ignore[no-any-return]

    def choose(self, choices: Sequence[Any], *, mode: IndexMode = "raise") -> Variable:
        """As `tg.choose`."""
        return self._n("choose", choices, mode=mode)  # type: ignore[no-any-return]

    def astype(self, dtype: object) -> Variable:
        """As `tg.cast`."""
        return self._n("cast", dtype)  # type: ignore[no-any-return]

    def round(self, decimals: int = 0) -> Variable:
        """As `tg.round`."""
        return self._n("round", decimals)  # type: ignore[no-any-return]

    @property
    def real(self) -> Variable:
        """The real part: as `tg.real`."""
        return self._n("real")  # type: ignore[no-any-return]

    @property
    def imag(self) -> Variable:
        """The imaginary part: as `tg.imag`."""
        return self._n("imag")  # type: ignore[no-any-return]

    def conj(self) -> Variable:
        """As `tg.conjugate`."""
        return self._n("conjugate")  # type: ignore[no-any-return]

    conjugate = conj

    def copy(self: Any) -> Variable:
        """The variable itself: it is immutable."""
        return self  # type: ignore[no-any-return]

    def dot(self, other: Any) -> Variable:
        """As `tg.dot`."""
        return self._n("dot", other)  # type: ignore[no-any-return]

    def clip(self, min: Any = None, max: Any = None) -> Variable:
        """As `tg.clip`."""
        return self._n("clip", min, max)  # type: ignore[no-any-return]

    def eval(self, values: Any = None, **options: Any) -> Any:
        """The value of this expression for given values of its inputs: `out.eval({x: 1.0})`, or by name."""
        return self._n("evaluate", values, **options)

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """The module `tg`, whose functions are those of the array API standard."""
        return NAMESPACE.standard_namespace(api_version)

    @property
    def device(self) -> None:
        """None: a program runs where its backend does."""

    def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Variable:
        """The variable itself, for the device None."""
        NAMESPACE.need_no_device("to_device", device)
        return self  # type: ignore[no-any-return]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return NAMESPACE.numpy_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Sequence[type], args: Any, kwargs: Any) -> Any:
        return NAMESPACE.numpy_function(function, args, kwargs)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NAMESPACE.refuse_torch(function)

    def __iter__(self: Any) -> Iterator[Variable]:
        if self.type.ndim == 0:
            len(self)  # refuses it
        return self._rows()  # type: ignore[no-any-return]

    def _rows(self: Any) -> Iterator[Variable]:
        """The elements along the first axis; unasked, a vector of unknown length is iterable, as NumPy and SciPy see.

        They take what is not iterable for a number, and fail at something else.
        """
        first = self.type.shape[0]
        if first is None:
            hint = "tg.scan and tg.map go through its elements; a static shape=(3, …) makes it iterable"
            error = SymbolicError(
                message(f"iteration: the first length of {self!r} is not known", hint=hint, at=_where())
            )
            error.is_of_length = True
            raise error
        yield from [self[k] for k in range(first)]

    def __len__(self: Any) -> int:
        if self.type.ndim == 0:
            raise SymbolicError(message(f"len: {self!r} is a scalar", at=_where()))
        first = self.type.shape[0]
        if first is None:
            hint = "x.shape[0] is a length that works where an int does; a static shape=(3, …) makes it one"
            error = SymbolicError(message(f"len: the first length of {self!r} is not known", hint=hint, at=_where()))
            error.is_of_length = True
            raise error
        return first  # type: ignore[no-any-return]

    def _refuse(self, what: str, hint: str) -> NoReturn:
        raise SymbolicError(message(f"{what}: {self!r} has no value until the function runs", hint=hint, at=_where()))

    def __bool__(self) -> NoReturn:  # noqa: PLE0304  a type checker tells `if x`
        hint = "tg.where(condition, a, b) chooses when it runs; (0 < x) & (x < 1) is a condition"
        self._refuse("if, and, or, not, while", hint)

    def __format__(self, spec: str) -> str:
        if spec:
            self._refuse(f"format {spec!r}", self._value_hint)
        return str(self)

    def __contains__(self, item: object) -> bool:
        self._refuse("in", "tg.any(x == item) asks when it runs")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        hint = f"{self._value_hint}; tg.array([x, y]) stacks variables"
        if locs.is_called_by("scipy"):
            hint = "tg.linalg and tg.special have SciPy's functions for variables; tg.wrap makes an op of any other"
        self._refuse("array", hint)
