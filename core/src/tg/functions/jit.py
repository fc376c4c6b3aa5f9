"""`tg.jit`: a NumPy-like Python function, traced and compiled once for each kind of argument it meets."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypedDict, final, overload

import numpy as np

from tg.configuration import chosen
from tg.errors import InputError, LengthError, OptionError, SymbolicError, message
from tg.functions.make import function
from tg.graph.nodes import Variable
from tg.graph.op import exact_key
from tg.members import missing
from tg.turns import Claim, alone
from tg.types.dtypes import DTYPES
from tg.types.lengths import Length
from tg.types.tensor_type import TensorType
from tg.variables.conversion import NO_ARRAY, as_variable
from tg.variables.dlpack import as_numpy
from tg.variables.foreign import advice
from tg.variables.structure import Structure, flatten, short, step

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Unpack

    from tg.configuration import Mode
    from tg.functions.backends import BackendChoice
    from tg.functions.compiled import Function
    from tg.types.choices import Output

KEPT: Final = 256  # compiled functions: beyond, the oldest is forgotten
STATIC_HINT: Final = "tg.jit(static_argnames=…) makes an argument a Python value, compiled in"
SHAPES_HINT: Final = "tg.jit(static_shapes=True) compiles lengths in: they are ints"


class Settings(TypedDict, total=False):
    """The options of `jit`, for type checkers."""

    backend: str | BackendChoice | None
    static_argnums: int | Sequence[int]
    static_argnames: str | Sequence[str]
    static_shapes: bool
    mode: Mode | None
    exclude: str | Collection[str] | None
    nan_guard: bool | None
    output: Output


class _Arguments(NamedTuple):
    """A call taken apart: its static arguments, the leaves of the others, and under what it is compiled."""

    static: tuple[tuple[str, Any], ...]
    leaves: list[Any]
    structure: Structure
    bound: inspect.BoundArguments


if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    P = ParamSpec("P", default=...)
else:
    from typing import ParamSpec

    P = ParamSpec("P")
Q = ParamSpec("Q")


@final
class Jitted(Generic[P]):
    """A function that compiles itself; make one with `tg.jit`. It may be called from any number of threads."""

    def __init__(
        self,
        fn: Callable[..., Any],
        static: frozenset[str],
        *,
        static_shapes: bool,
        options: dict[str, Any],
    ) -> None:
        self._fn, self._static, self._static_shapes, self._options = fn, static, static_shapes, options
        self._signature = inspect.signature(fn)
        self._kept: dict[object, Function] = {}
        self._quick: dict[object, Function] = {}  # the same by the arguments, where these are arrays and nothing else
        self._elsewhere: dict[BackendChoice, Jitted] = {}  # the same for other backends
        self._is_plain = not static and not static_shapes
        self._claim = Claim(frozenset([("jit", id(self))]))
        functools.update_wrapper(self, fn)

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions compiled so far, one for each kind of arguments."""
        return tuple(self._kept.values())

    @property
    def compiles(self) -> int:
        """The number of compiler runs, for all kinds of arguments together."""
        return sum(f.compiles for f in self.functions)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The result for arrays, or, where an argument is a variable, the graph of the function."""
        every: tuple[Any, ...] = args
        quick = None
        if self._is_plain and not kwargs and all(type(v) is np.ndarray for v in every):
            quick = (*((v.dtype, v.ndim) for v in every), chosen())
            entry = self._quick.get(quick)
            if entry is not None:
                return entry(*args)
        arguments = self._taken_apart(args, kwargs)
        if any(isinstance(v, Variable | Length) for v in arguments.leaves):
            return self._applied(arguments, [as_variable(v) for v in arguments.leaves])
        eager = next((v for v in arguments.leaves if hasattr(v, "__tg_jit__")), None)
        if eager is not None:
            return eager.__tg_jit__(self, arguments)
        arrays, types = self._arrays(arguments)
        fn = self.compiled(arguments, types)
        if quick is not None:
            self._quick[quick] = fn
        values = zip(arguments.leaves, arrays, strict=True)
        return fn(*[v if type(v) is float else array for v, array in values])  # a float fits any floating input

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Function:
        """The compiled function that a call with these arguments runs; its arguments are their leaves, in order."""
        arguments = self._taken_apart(args, kwargs)
        return self.compiled(arguments, self._arrays(arguments)[1])

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing(self, name)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        call: Any = self
        return self if instance is None else functools.partial(call, instance)

    def __repr__(self) -> str:
        return f"<jit of {self._fn.__qualname__ if hasattr(self._fn, '__qualname__') else self._fn!r}>"

    def on(self, choice: BackendChoice) -> Jitted:
        """The same function for a backend, with its own arrays as results; one that has a backend stays on it."""
        if self._options["backend"] is not None:
            return self
        if choice not in self._elsewhere:
            options = {**self._options, "backend": choice, "output": "native"}
            self._elsewhere[choice] = Jitted(self._fn, self._static, static_shapes=self._static_shapes, options=options)
        return self._elsewhere[choice]

    @property
    def _name(self) -> str:
        return str(getattr(self._fn, "__name__", "jitted"))

    def _taken_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Arguments:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InputError(message(f"{self._name}: {error}")) from None
        static = tuple((k, v) for k, v in bound.arguments.items() if k in self._static)
        parts = {k: flatten(v, sort=True) for k, v in bound.arguments.items() if k not in self._static}
        leaves = [leaf for some, _ in parts.values() for leaf in some]
        structure = Structure((dict, tuple(parts), tuple(part.key for _, part in parts.values())))
        return _Arguments(static, leaves, structure, bound)

    def _arrays(self, arguments: _Arguments) -> tuple[list[Any], list[TensorType]]:
        """The leaves as arrays, and their types."""
        arrays = [self._array(v, arguments) for v in arguments.leaves]
        types = [
            TensorType(a.dtype.newbyteorder("="), a.shape if self._static_shapes else (None,) * a.ndim) for a in arrays
        ]
        return arrays, types

    def _array(self, value: Any, arguments: _Arguments) -> Any:
        try:
            array = value if _is_array(value) else as_numpy(value)
        except NO_ARRAY:
            array = np.asarray(None)
        if array.dtype.name not in DTYPES:
            names = [k for k, v in arguments.bound.arguments.items() if any(leaf is value for leaf in flatten(v)[0])]
            what = f"{self._name}: argument {names[0] if names else '?'}"
            text = f"{what}: found {short(value)}, needed an array or a number"
            raise InputError(message(text, hint=advice(value) or STATIC_HINT))
        return array

    def compiled(self, arguments: _Arguments, types: Sequence[TensorType]) -> Function:
        """The function for a call that was taken apart, whose leaves have these types."""
        try:
            key = (arguments.structure, tuple(types), tuple((k, exact_key(v)) for k, v in arguments.static), chosen())
            fn = self._kept.get(key)
        except TypeError as error:
            values = ", ".join(f"{k}={v!r}" for k, v in arguments.static)
            hint = "static arguments are part of a key: tuples and frozen dataclasses are hashable"
            raise InputError(message(f"{self._name}: {error}: found {values}", hint=hint)) from None
        if fn is not None:
            return fn
        for turn in alone():
            turn.take(self._claim)
            entry = self._kept.get(key) or self._made(arguments, types)
            if key not in self._kept and len(self._kept) >= KEPT:
                self._kept.pop(next(iter(self._kept)))
                self._quick.clear()
            self._kept[key] = entry
        turn.leave()
        return entry

    def _made(self, arguments: _Arguments, types: Sequence[TensorType]) -> Function:
        names = _leaf_names(arguments.structure)
        inputs = [Variable(t, name=name) for t, name in zip(types, names, strict=True)]
        try:
            outputs = self._applied(arguments, inputs)
        except (LengthError, SymbolicError) as error:
            shown = ", ".join(f"{v.name}: {v.type}" for v in inputs)
            error.add_note(
                f"  while tracing {self._name}({shown}); {SHAPES_HINT if error.is_of_length else STATIC_HINT}"
            )
            raise
        return function(inputs, outputs, name=self._name, on_unused_input="ignore", **self._options)

    def _applied(self, call: _Arguments, leaves: Sequence[Variable]) -> Any:
        """The result of the Python function for variables."""
        arguments = inspect.BoundArguments(self._signature, call.bound.arguments.copy())
        arguments.arguments.update(call.structure(iter(leaves)))
        return self._fn(*arguments.args, **arguments.kwargs)


def _is_array(value: object) -> bool:
    """Whether it is an array whose type can be told as it is: NumPy's, or one that may lie on several devices."""
    return isinstance(getattr(value, "dtype", None), np.dtype) and hasattr(value, "ndim") and hasattr(value, "shape")


def _leaf_names(structure: Structure) -> list[str]:
    """The names of the leaves: `x`, `params['w']`, `pair[0]`."""
    leaf_names: list[str] = []

    def visit(key: Any, name: str) -> None:
        if key is None or isinstance(key, str):
            if key is not None:
                leaf_names.append(name)
            return
        kind, names, parts = key
        for k, part in enumerate(parts):
            visit(part, name + step(kind, names, k))

    _, names, parts = structure.key
    for name, part in zip(names, parts, strict=True):
        visit(part, name)
    return leaf_names


class Decorator(Protocol):
    """The result of `jit` without a function, a decorator: what it is given keeps its parameters."""

    def __call__(self, fn: Callable[Q, Any], /) -> Jitted[Q]: ...


@overload
def jit(fn: Callable[Q, Any], **options: Unpack[Settings]) -> Jitted[Q]: ...
@overload
def jit(fn: None = None, **options: Unpack[Settings]) -> Decorator: ...
def jit(
    fn: Callable[..., Any] | None = None,
    *,
    backend: str | BackendChoice | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    static_shapes: bool = False,
    mode: Mode | None = None,
    exclude: str | Collection[str] | None = None,
    nan_guard: bool | None = None,
    output: Output = "numpy",
) -> Any:
    """A NumPy-like function that traces and compiles itself at its first call; without `fn`, a decorator.

    The function is called with variables and may use operators, `tg` and NumPy functions on them. Arguments and results
    are arrays, numbers, and nestings of lists, tuples, dicts and dataclasses of them. It is compiled once for each
    nesting, dtypes and ranks; other lengths compile nothing new, where the backend does not need it. Called with a
    variable anywhere among its arguments it builds its graph there, so that it can be differentiated and nested.

    Args:
        backend, mode, exclude, nan_guard, output: as in `tg.function`.
        static_argnums, static_argnames: arguments that are Python values, compiled in: hashable, one compilation each.
            Arguments that a call leaves to their defaults are Python values too.
        static_shapes: whether lengths are part of what is compiled, so that Python loops over them work.
    Dtypes:
        those of the arrays; a Python int is an int64 scalar, a float float64, and neither is weak.
    Raises:
        InputError: an argument is no array, or a static one is not hashable.
        OptionError: a static argument that the function does not have.
        SymbolicError, LengthError: the function asks for a value, as `if x > 0` does.
    Example:
        >>> import tg
        >>> @tg.jit(backend="perform")
        ... def normalized(x):
        ...     return x / np.sqrt(np.sum(x * x))
        >>> normalized(np.array([3.0, 4.0]))
        array([0.6, 0.8])
        >>> x = tg.vector("x")
        >>> tg.grad(normalized(x)[0], x).eval({x: [3.0, 4.0]})
        array([ 0.128, -0.096])
    """
    options = {"backend": backend, "mode": mode, "exclude": exclude, "nan_guard": nan_guard, "output": output}
    if fn is None:
        static_ones = {"static_argnums": static_argnums, "static_argnames": static_argnames}
        return functools.partial(jit, static_shapes=static_shapes, **static_ones, **options)
    if not callable(fn):
        raise InputError(message(f"jit: found {fn!r}, needed a function"))
    static = _static_names(fn, static_argnums, static_argnames)
    return Jitted(fn, static, static_shapes=static_shapes, options=options)


def _static_names(fn: Callable[..., Any], numbers: int | Sequence[int], names: str | Sequence[str]) -> frozenset[str]:
    parameters = list(inspect.signature(fn).parameters)
    static = {names} if isinstance(names, str) else set(names)
    for name in static:
        if name not in parameters:
            text = f"jit: static_argnames: found {name!r}, needed one of {', '.join(parameters) or 'no arguments'}"
            raise OptionError(message(text))
    for k in (numbers,) if isinstance(numbers, int) else numbers:
        if not -len(parameters) <= k < len(parameters):
            raise OptionError(message(f"jit: static_argnums: found {k}, the function has {len(parameters)} arguments"))
        static.add(parameters[k])
    return frozenset(static)
