"""Shared variables: variables with a value of their own that functions read and update.

A value is replaced, and written into only while nobody can see it (see `tg.functions.lending`), so a reader that has a
snapshot keeps it. Values stay on the backend that made them until another asks.

What a variable has, a `Value` or a `Loan` of one, is stored only in a turn that claims the variable (`tg.turns`), and
by one call of C for all variables of a function. What several variables have is read by one such call too. No other
thread and no interrupt comes between, so all see all of an update or nothing of it, and nobody locks anything to read.
"""

from __future__ import annotations

import math
import operator
from itertools import count, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, final

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.functions.convert import to_array
from tg.graph.dims import named_type
from tg.graph.nodes import Variable
from tg.keywords import with_told_methods
from tg.members import missing
from tg.turns import Claim, alone
from tg.types.dtypes import dtype_name, numpy_dtype
from tg.types.tensor_type import TensorType
from tg.variables.conversion import constant, number_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.functions.lending import Loan
    from tg.graph.loc import Loc
    from tg.link.linker import Executable
    from tg.types.lengths import Length

LARGE: Final = 1 << 17  # bytes from which on NumPy's array is given up once a backend has its own
SHOWN: Final = 20  # elements of a value that a notebook shows; of more its ends
MOST_SHOWN: Final = 1 << 16  # elements of a value that is fetched to be shown
PATIENCE: Final = 100  # updates that do not overwrite a value after a reader had to wait for it
_has: Final = operator.attrgetter("has")


class Form(NamedTuple):
    """The arrays in which programs take and give values of shared variables.

    Programs that are re-typed have values of 64 bits in another dtype, and a form of their own. It is the border: a
    value is converted when the first of them reads it, and back when somebody reads what one of them gave.
    """

    key: str  # of its arrays in `Value.natives`
    to_native: Callable[[np.ndarray[Any, Any]], Any]
    to_numpy: Callable[[Any], np.ndarray[Any, Any]]
    laid_out: Callable[[Any, int], Any]
    back: Mapping[str, Callable[[Any], np.ndarray[Any, Any]]]
    """In place of `to_numpy`, by the dtype of the variable."""

    @classmethod
    def of(cls, backend: str, executable: Executable, dtypes: Mapping[str, str]) -> Form:
        """The form of a backend's programs in which these dtypes are replaced by others."""
        if not dtypes:
            return cls(backend, executable.to_native, executable.to_numpy, executable.laid_out, {})

        def to_native(array: np.ndarray[Any, Any]) -> Any:
            return executable.to_native(in_dtypes(array, dtypes))

        def to(dtype: str) -> Callable[[Any], np.ndarray[Any, Any]]:
            return lambda native: executable.to_numpy(native).astype(numpy_dtype(dtype))

        key = " ".join([backend, *dtypes.values()])
        back = {dtype: to(dtype) for dtype in dtypes}
        return cls(key, to_native, executable.to_numpy, executable.laid_out, back)

    def has_all_of(self, array: np.ndarray[Any, Any]) -> bool:
        """Whether its arrays have every digit of one of NumPy."""
        return dtype_name(array.dtype) not in self.back


@final
class Value:
    """One immutable value: as a NumPy array, as a backend's array, or both.

    `array` is NumPy's, None where only a backend has one; `natives` are the backends' by the keys of their forms.
    """

    __slots__ = ("_to_numpy", "array", "natives", "shape")

    def __init__(
        self,
        numpy: np.ndarray[Any, Any] | None,
        key: str = "",
        native: Any = None,
        to_numpy: Callable[[Any], np.ndarray[Any, Any]] | None = None,
    ) -> None:
        self.array = numpy
        self.natives: dict[str, Any] = {} if native is None else {key: native}
        self._to_numpy = to_numpy
        self.shape: tuple[int, ...] = tuple(numpy.shape if numpy is not None else native.shape)

    @property
    def numpy(self) -> np.ndarray[Any, Any]:
        """The value as a NumPy array that nobody writes."""
        array = self.array
        if array is None:
            array = self.array = self.copied()
        return array

    def copied(self) -> np.ndarray[Any, Any]:
        """The same, made anew where only a backend has it, so that it is not kept twice."""
        array = self.array
        if array is None:
            assert self._to_numpy is not None
            array = self._to_numpy(next(iter(self.natives.values())))
            array.flags.writeable = False
        return array

    @property
    def nbytes(self) -> int:
        """The number of bytes that its elements take."""
        array = self.array
        return int(next(iter(self.natives.values())).nbytes if array is None else array.nbytes)

    def native(self, form: Form) -> Any:
        """The value as an array of a form, for which NumPy's is given up where it is large."""
        value = self.natives.get(form.key)
        if value is None:
            array = self.numpy
            value = self.natives[form.key] = form.to_native(array)
            is_first = next(iter(self.natives)) == form.key and self._to_numpy is None
            if is_first and value is not array and array.nbytes >= LARGE and form.has_all_of(array):
                self._to_numpy = form.to_numpy  # before it is needed
                self.array = None
        return value

    def laid_out(self, form: Form, place: int) -> Any:
        """The same as it lies on devices where an input of a program wants it, by its place; it is kept so."""
        value = self.native(form)
        laid = form.laid_out(value, place)
        if laid is not value:
            self.natives[form.key] = laid
        return laid


class Elsewhere:
    """A name that values of other libraries' variables are assigned to: assigning it tells what to do instead.

    It is a descriptor, and not `__setattr__`: new values are stored by one call of C, in which no Python runs.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        if instance is None:
            raise AttributeError(self.name)
        raise missing(instance, self.name)

    def __set__(self, instance: object, value: object) -> NoReturn:
        text = f"{type(instance).__name__!r} object: found an assignment of {self.name}, needed a call"
        hint = "s.set_value(v) replaces the value; updates={s: …} does at each call"
        raise AttributeError(message(text, hint=hint), name=self.name, obj=instance)


@final
@with_told_methods
class Shared(Variable):
    """A variable with a value; make one with `tg.shared`."""

    __slots__ = {
        "claim": None,
        "default_update": "The expression that each function with this variable assigns it, without `updates`.",
        "has": None,
        "is_fixed": "Whether it is a snapshot, whose value nobody replaces.",
        "patience": None,
        "said": None,
    }
    _set_hint = "s.set_value(v) replaces the value, updates={s: …} at each call; s.at[index].set(v) is a new variable"
    _value_hint = _number_hint = "s.get_value() is a copy of its value"
    if not TYPE_CHECKING:
        value, data = Elsewhere(), Elsewhere()

    def __init__(self, type_: TensorType, value: Value, name: str | None, *, is_fixed: bool = False) -> None:
        super().__init__(type_, name=name)
        self.is_fixed = is_fixed  # a snapshot, which nobody replaces: programs may compute with it beforehand
        self.has: Value | Loan = value
        self.claim = Claim(frozenset([self.serial]))  # of what stores a value
        self.default_update: Variable | None = None  # of functions that use it, unless `updates` says another
        self.said = count()  # numbers of the updates that expressions say of it
        self.patience = 0  # how many updates are not to overwrite values

    def get_value(self) -> np.ndarray[Any, Any]:
        """A copy of the value."""
        return self.snapshot.numpy.copy()

    def set_value(self, value: Any) -> None:
        """Replace the value by a copy of another; nothing changes if it does not fit.

        Raises:
            InputError: it is a snapshot.
            DtypeError: the cast to this dtype would lose values.
            ShapeError: another rank, or another length where one is fixed.
        """
        if self.is_fixed:
            text = f"set_value: found {self!r}, needed a variable that is no snapshot"
            raise InputError(message(text, hint="f.inference() takes the values of that moment anew"))
        array = to_array(value, self.type, self.name or "shared variable").copy()
        array.flags.writeable = False
        new = Value(array)
        for turn in alone():
            turn.take(self.claim)
            self.has = new
        turn.leave()

    @property
    def snapshot(self) -> Value:
        """The value as it is now."""
        value = self.has
        return value if type(value) is Value else snapshots([self])[0]

    def check(self, value: Value, loc: Loc | None) -> None:
        """Raise if the new value that an expression has given does not fit.

        Raises:
            ShapeError: another length where one is fixed.
        """
        for n, m in zip(self.type.shape, value.shape, strict=True):
            if n is not None and n != m:
                lines = (("created at", f"{loc}:  {loc.source}"),) if loc is not None else ()
                hint = "tg.shared(…, shape=(None, …)) makes one whose lengths may change"
                text = f"update of {self!r}: found shape {value.shape}, needed {self.type}"
                raise ShapeError(message(text, *lines, hint=hint))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if type(vars(Shared).get(name)) is not Elsewhere]

    def __reduce__(self) -> tuple[object, ...]:
        return (_restored, (named_type(self), self.get_value(), self.name, self.is_fixed))

    def __repr__(self) -> str:
        return f"<{'snapshot' if self.is_fixed else 'shared'}{f' {self.name}' if self.name else ''} : {self.type}>"

    def _repr_html_(self) -> str:
        from tg.display.html import element, fold
        from tg.graph.shown import variable_html

        value = self.snapshot
        size = math.prod(value.shape)
        title = f"{'snapshot' if self.is_fixed else 'value'} of shape {value.shape}"
        shown = np.array2string(value.numpy, threshold=SHOWN, edgeitems=3) if size <= MOST_SHOWN else ""
        return variable_html(self, fold(title, *([element("pre", shown)] if shown else [])))


def claim_of(variables: Sequence[Shared]) -> Claim:
    """The claim of what stores values of several variables."""
    return Claim(frozenset().union(*(s.claim.things for s in variables)))


def snapshots(variables: Sequence[Shared]) -> list[Value]:
    """The values of variables at one moment, waited for while another thread may be writing one."""
    while True:
        held = [*map(_has, variables)]
        for value in held:
            if type(value) is not Value:
                break
        else:
            return held
        values = [
            value if type(value) is Value else value.value_of(s) for s, value in zip(variables, held, strict=True)
        ]
        if None not in values:
            return values
        for s, loan in zip(variables, held, strict=True):
            if type(loan) is not Value:
                s.patience = PATIENCE
                loan.turn.wait()


def natives(values: Sequence[Value], form: Form, first: int) -> list[Any]:
    """Values as the arrays of a form, for the inputs of a program from `first` on."""
    return [v.laid_out(form, k) for k, v in enumerate(values, first)]


def in_dtypes(array: np.ndarray[Any, Any], dtypes: Mapping[str, str]) -> np.ndarray[Any, Any]:
    """An array in the dtype that takes the place of its own; itself where none does."""
    dtype = dtypes.get(dtype_name(array.dtype))
    return array if dtype is None else array.astype(numpy_dtype(dtype))


def store(variables: Sequence[Shared], values: Sequence[Value | Loan]) -> None:
    """Give all variables what they are to have, in one step; the caller has a turn that claims them."""
    before = [*map(_has, variables)]  # what goes, goes afterwards: that may run Python
    any(map(setattr, variables, repeat("has"), values))
    del before


def _restored(kind: TensorType, array: np.ndarray[Any, Any], name: str | None, is_fixed: bool) -> Shared:
    array.flags.writeable = False
    return Shared(kind, Value(array), name, is_fixed=is_fixed)


def shared(
    value: Any, name: str | None = None, *, dtype: object = None, shape: Sequence[int | Length | None] | None = None
) -> Shared:
    """A variable with a value that functions read and update.

    The value is a copy of what is given, and `get_value` gives a copy. An update may write the new value into the
    memory of the old one where nothing else refers to that, so that a large value need not be copied for it.

    Args:
        shape: the lengths that stay fixed, or have names; all may change unless given.
    Dtypes:
        that of the value, or `dtype`; of Python floats that of `tg.config(dtype=…)`.
    Raises:
        InputError: the value is not an array of numbers.
    Example:
        >>> import tg
        >>> count = tg.shared(0, name="count")
        >>> step = tg.function([], count, updates={count: count + 1})
        >>> int(step()), int(step()), int(count.get_value())
        (0, 1, 2)
    """
    if name is not None and not isinstance(name, str):
        raise InputError(message(f"shared: name: found {name!r}, needed a string"))
    array = constant(value, number_dtype(value) if dtype is None else dtype).data
    lengths = (None,) * array.ndim if shape is None else tuple(shape)
    kind = TensorType(array.dtype, lengths)
    fixed = [n if type(n) is int else m for n, m in zip(kind.shape, array.shape, strict=False)]
    if len(lengths) != array.ndim or fixed != list(array.shape):
        raise ShapeError(message(f"shared: found a value of shape {array.shape}, needed {kind}"))
    return Shared(kind, Value(array), name)
