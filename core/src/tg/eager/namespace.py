"""`Namespace`: the functions of tg, for arrays that compute at once through a backend."""

from __future__ import annotations

import contextlib
import dataclasses
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.configuration import chosen, current
from tg.eager import operators  # noqa: F401 (gives arrays their operators)
from tg.eager.arguments import Arguments, SymbolicCall, pattern
from tg.eager.array import VERSIONS, Array, array
from tg.eager.border import Border
from tg.eager.functions import attribute, names
from tg.eager.fused import Block, Pending
from tg.eager.fused import current as current_block
from tg.eager.programs import Program
from tg.errors import DtypeError, InputError, OptionError, RangeError, ShapeError, TgError, message
from tg.functions.backends import BackendChoice, choose
from tg.functions.backends import backend as backend_of
from tg.keywords import explained
from tg.ops import catalog
from tg.types.tensor_type import TensorType
from tg.variables.conversion import promote, weak_constant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEPT: Final = 4096  # programs: beyond, the oldest is forgotten
QUICK: Final = 4096  # combinations of shapes for which the program is known at once
WEAK: Final = (bool, int, float, complex)
_STATIC_POWERS: Final = range(-1, 5)  # exponents that are part of the program: x ** 2 is a product
_namespaces: dict[object, Namespace] = {}


@final
class Namespace(ModuleType):
    """An array API namespace whose arrays a backend computes at once; make one with `tg.eager`.

    It has the functions of tg's flat namespace under their names, `linalg` and `fft`. Each call runs a program of that
    one op, which is kept by the function, its static arguments, dtypes, ranks and lengths that are 1.
    """

    __array_api_version__ = VERSIONS[-1]

    def __init__(self, choice: BackendChoice, *, background: bool, options: tuple[tuple[str, Any], ...] = ()) -> None:
        super().__init__(f"tg.eager.{choice.name}", "Arrays that compute at once.")
        self._choice, self._background, self._options = choice, background, options
        self._border = Border(choice)
        self._programs: dict[object, Program] = {}
        self._concrete: set[object] = set()  # keys of calls that need lengths and integers to be known
        self._entries: dict[object, Any] = {}  # functions by dtypes and shapes
        self._quick = self._entries  # an empty one while a block is open
        self._blocks: set[Block] = set()  # those that are open, of all threads
        self._inferred: dict[object, Any] = {}  # the types of results of ops in blocks
        self._whole = choice  # for programs of many ops
        functions: dict[str, Callable[..., Any]] = {
            **catalog.NAMES,
            "getitem": catalog.INTERNAL["getitem"],
            "setitem": _set_items,
            "astype": catalog.NAMES["cast"],
            **{f"{m}.{n}": f for m in ("linalg", "fft") for n, f in catalog.MODULES[m].items()},
        }
        self._functions = {n: explained(f) if type(f) is FunctionType else f for n, f in functions.items()}

    def __getattr__(self, name: str) -> Any:
        value = attribute(self, name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return names(self._border)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._options)
        return f"tg.eager({self._choice.name!r}{options})"

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self._choice.name, self._options)

    @property
    def programs(self) -> int:
        """The number of programs that are kept."""
        return len(self._programs)

    @property
    def on_reference(self) -> tuple[str, ...]:
        """The functions of which the backend could not hold a program, so that the reference runs it."""
        return tuple(sorted({key[0][0] for key, p in self._programs.items() if p.is_on_reference}))  # type: ignore[index]

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for native code that is in the making, at most so many seconds for each; whether all is."""
        jobs = [p.job for p in list(self._programs.values()) if p.job is not None]
        return all([job.wait(timeout) for job in jobs])  # noqa: C419 (all are waited for)

    def fused(self) -> Block:
        """A block whose ops are computed together: when a value is asked for, or at its end.

        Example:
            >>> import tg
            >>> xp = tg.eager("perform")
            >>> x = xp.asarray([1.0, 2.0, 3.0])
            >>> with xp.fused():
            ...     y = xp.exp(x - xp.max(x))
            ...     y = y / xp.sum(y)
            >>> y
            array([0.09003057, 0.24472847, 0.66524096])
        """
        return Block(self)

    def _open(self, block: Block) -> None:
        """Operators are told to the block: none goes the short way."""
        self._blocks.add(block)
        self._quick = {}

    def _close(self, block: Block) -> None:
        self._blocks.discard(block)
        if not self._blocks:
            self._quick = self._entries

    def _native(self, x: Array) -> Any:
        """The backend's array of an array, computed if it is not yet."""
        value = x._value
        if type(value) is Pending:
            value = x._value = value.computed()
        return value

    def _dtype(self, x: Array) -> np.dtype[Any]:
        value = x._value
        return value.type.numpy_dtype if type(value) is Pending else self._border.dtype_of(value)

    def _ndim(self, x: Array) -> int:
        value = x._value
        return value.type.ndim if type(value) is Pending else len(value.shape)

    def _shape(self, x: Array) -> tuple[int, ...]:
        """The shape; where it is not known, the value is computed."""
        value = x._value
        if type(value) is Pending and None not in value.type.shape:
            return tuple(value.type.shape)  # type: ignore[arg-type]
        return tuple(self._native(x).shape)

    def _array(self, value: Any) -> Array:
        """A value as an array of this namespace.

        Raises:
            InputError: an array of another namespace.
        """
        if type(value) is not Array:
            return array(self._border.taken(value), self)
        if value._xp is not self:
            hint = "xp.asarray of the one namespace takes arrays of the other"
            raise InputError(message(f"{self!r}: found an array of {value._xp!r}, needed one of its own", hint=hint))
        return value

    def _call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The results of a function, computed by a program that is kept, or by a block later."""
        arguments = self._arguments(name, args, kwargs)
        return self._at_once(name, arguments) if type(arguments) is Arguments else arguments

    def _arguments(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The arguments of a call that is computed now; else what it gives: a variable, or what a block owes."""
        try:
            arguments = Arguments(name, args, kwargs)
        except SymbolicCall:
            return self._functions[name](*map(_as_constant, args), **kwargs)
        block = current_block.get()
        if block is not None and block in self._blocks:
            return block.call(name, arguments)
        return arguments

    def _at_once(self, name: str, arguments: Arguments) -> Any:
        """The results of a function, computed now."""
        program, values = self._prepared(name, arguments)
        return program.structure(iter([array(v, self) for v in program(values)]))

    def _prepared(self, name: str, arguments: Arguments) -> tuple[Program, list[Any]]:
        """The program for a call, and its operands."""
        values = [leaf if type(leaf) is int else self._native(self._array(leaf)) for leaf in arguments.leaves]
        program, takes_integers = self._program(name, arguments, values)
        return program, values if takes_integers else [v for v in values if type(v) is not int]

    def _program(self, name: str, arguments: Arguments, values: Sequence[Any]) -> tuple[Program, bool]:
        """The program for a call, and whether integers are among its operands.

        It is one for all lengths and integers, or where an op needs to know them, one for these.

        Raises:
            TgError: the call cannot be made.
        """
        dtype_of = self._border.dtype_of
        kinds = [None if type(v) is int else (dtype_of(v), tuple(v.shape)) for v in values]
        key = arguments.key, tuple([k and (k[0], pattern(k[1])) for k in kinds]), chosen()
        if key not in self._concrete:
            program = self._programs.get(key)
            if program is not None:
                return program, True
            types = [TensorType("int64" if k is None else k[0], () if k is None else pattern(k[1])) for k in kinds]
            with contextlib.suppress(TgError):
                return self._made(key, name, arguments, types, dynamic=True), True
        program = self._concretely(name, arguments, kinds)
        self._concrete.add(key)
        return program, False

    def _concretely(self, name: str, arguments: Arguments, kinds: Sequence[Any]) -> Program:
        """The program for the lengths and integers of one call."""
        integers = tuple([v for v in arguments.leaves if type(v) is int])
        key = arguments.key, tuple(kinds), integers, chosen()
        program = self._programs.get(key)
        if program is None:
            types = [TensorType(*kind) for kind in kinds if kind is not None]
            program = self._made(key, name, arguments, types, dynamic=False)
        return program

    def _made(
        self, key: object, name: str, arguments: Arguments, types: Sequence[TensorType], *, dynamic: bool
    ) -> Program:
        def build(variables: Sequence[Any]) -> Any:
            return self._applied(name, arguments, variables, dynamic=dynamic)

        program = Program(name, build, types, self._choice, self._border, background=self._background)
        return self._stored(key, program)

    def _fused_program(
        self, key: object, build: Callable[[Sequence[Any]], Any], types: Sequence[TensorType]
    ) -> Program:
        """The program of a block."""
        key = (key, chosen())
        program = self._programs.get(key)
        if program is None:
            program = Program("fused", build, types, self._whole, self._border, background=self._background)
        return self._stored(key, program)

    def _applied(self, name: str, arguments: Arguments, variables: Sequence[Any], *, dynamic: bool = True) -> Any:
        """The results of a function as a graph, of variables in the places of the operands."""
        args, kwargs = arguments.rebuilt(iter(variables), dynamic=dynamic)
        return self._functions[name](*args, **kwargs)

    def _stored(self, key: object, program: Program) -> Program:
        while len(self._programs) >= KEPT:
            self._programs.pop(next(iter(self._programs)))
        self._programs[key] = program
        return program

    def _operate(self, name: str, a: Any, b: Any) -> Any:
        """The result of an operator, of which one operand may be a number."""
        number, x = (b, a) if type(a) is Array else (a, b)
        if type(number) in WEAK:
            value = x._value
            key = name, value.dtype, value.shape, type(number), number is b
            quick = self._quick.get(key)
            if quick is not None and (name != "pow" or type(number) is not int):
                run, dtype = quick
                try:
                    other = np.array(number, dtype)
                except OverflowError:
                    other = None  # said below
                if other is not None:
                    return array(run(value, other) if number is b else run(other, value), self)
        return self._elementwise(name, (a, b), {})

    def _elementwise(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of an elementwise function, whose Python numbers are operands in the dtype that they take."""
        numbers = {k: type(v) for k, v in enumerate(args) if type(v) in WEAK}
        arrays = [v for v in args[name == "where" :] if type(v) is Array]
        if numbers and arrays and not kwargs and not (name == "pow" and _is_static_power(args[-1])):
            kinds: list[str | type] = [*(v.dtype.name for v in arrays), *numbers.values()]
            dtype = promote(*kinds)
            with contextlib.suppress(RangeError):  # which the function itself raises where it matters
                weak = {k: weak_constant(args[k], dtype).data for k in numbers}
                args = tuple([weak.get(k, v) for k, v in enumerate(args)])
        arguments = self._arguments(name, args, kwargs)
        if type(arguments) is not Arguments:
            return arguments
        program, values = self._prepared(name, arguments)
        run = program.ready
        if run is not None and len(values) == 2:
            self._remember(name, values, numbers, run)
        return array(program(values)[0], self)

    def _remember(self, name: str, values: Sequence[Any], kinds: dict[int, type], run: Callable[..., Any]) -> None:
        """Let operators on operands of these dtypes and shapes call the function at once.

        Args:
            kinds: of the operands that are numbers, by their places.
        """
        a, b = values
        if not kinds:
            key: tuple[Any, ...] = name, a.dtype, a.shape, b.dtype, b.shape
            entry: Any = run
        elif len(kinds) == 1:
            ((place, kind),) = kinds.items()
            x, number = (b, a) if place == 0 else (a, b)
            key, entry = (name, x.dtype, x.shape, kind, place), (run, number.dtype)
        else:
            return
        if len(self._entries) >= QUICK:
            self._entries.clear()
        self._entries[key] = entry

    def _in_place(self, name: str, a: Array, b: Any) -> Array:
        """The new value of an array by an in-place operator.

        Raises:
            DtypeError, ShapeError: its dtype or its shape would be another.
        """
        result = self._operate(name, a, b)
        if result.dtype != a.dtype:
            text = f"{name}: in place: found {result.dtype} of {a.dtype}, needed {a.dtype}"
            raise DtypeError(message(text, hint=f"x = xp.{name}(x, y) may have another dtype"))
        if self._pattern(result) != self._pattern(a) or (
            type(result._value) is not Pending and result.shape != a.shape
        ):
            text = f"{name}: in place: found the shape {result.shape} of {a.shape}, needed {a.shape}"
            raise ShapeError(message(text))
        return result  # type: ignore[no-any-return]

    def _pattern(self, x: Array) -> tuple[int | None, ...]:
        """The lengths that programs know: where none is unlike, what an operator broadcasts has the same shape."""
        value = x._value
        return pattern(value.type.shape) if type(value) is Pending else pattern(x.shape)

    def _with_items(self, x: Array, index: Any, value: Any) -> Array:
        """The array with some items replaced, cast to its dtype.

        Raises:
            DtypeError: the items are complex, and the array is not.
            RangeError: a Python integer that the dtype cannot hold.
        """
        if np.dtype(x.dtype).kind in "iu":
            self._need_fitting(value, x.dtype.name)
        items: Any = np.array(value) if type(value) in WEAK else self._array(value)
        if np.dtype(items.dtype).kind == "c" and np.dtype(x.dtype).kind != "c":
            hint = "xp.real(value) has no imaginary parts; xp.astype(x, xp.complex128) holds them"
            raise DtypeError(message(f"assignment: found {items.dtype}, needed items for {x.dtype}", hint=hint))
        if type(value) in WEAK:
            items = array(self._border.to_native(items.astype(x.dtype)), self)
        return self._call("setitem", (x, index, items), {})  # type: ignore[no-any-return]

    def _need_fitting(self, value: Any, dtype: str) -> None:
        """Refuse Python integers, alone or in lists, that an integer dtype cannot hold.

        Raises:
            RangeError: there is one.
        """
        if isinstance(value, list | tuple):
            for part in value:
                self._need_fitting(part, dtype)
        elif type(value) is int:
            weak_constant(value, dtype)

    def _on(self, x: Array, device: str) -> Array:
        """The array on a device: of the namespace of its backend there."""
        if device == self._border.device:
            return x
        if device.partition(":")[0] not in self._border.devices:
            devices = ", ".join(self._border.devices)
            raise InputError(message(f"to_device: found {device!r}, needed one of {devices}"))
        other = eager(self._choice.name, **{**dict(self._options), "device": device})
        return array(other._border.taken(x.native), other)


def _set_items(x: Any, index: Any, value: Any) -> Any:
    """The array with the items at an index replaced by values in its dtype."""
    return x.at[index].set(catalog.NAMES["cast"](value, x.type.dtype))


def _is_static_power(value: object) -> bool:
    return type(value) is int and value in _STATIC_POWERS


def _as_constant(value: Any) -> Any:
    """An argument of a call that builds a graph: arrays are constants in it."""
    return value._numpy() if type(value) is Array else value


def eager(backend: str | BackendChoice | None = None, /, *, background: bool = True, **options: Any) -> Namespace:
    """The array API namespace whose arrays a backend computes at once; the same object for the same backend.

    The functions are tg's own. Each runs as a small program, which is compiled once for its static arguments, the
    dtypes and ranks of its operands and which of their lengths are 1.

    Args:
        backend: a name or `tg.backend(name, …)`; None is the configured one, the first that can be used for "auto".
        background: whether the reference answers the first calls of an op until native code of it is ready, where the
            backend writes machine code; else the first call waits for the compiler.
        options: of the backend.
    Raises:
        BackendUnavailable: not known, not installed, or broken.
        OptionError: an option that the backend does not have.
    Example:
        >>> import tg
        >>> xp = tg.eager("perform")
        >>> x = xp.asarray([3.0, 4.0])
        >>> xp.sqrt(xp.sum(x * x))
        array(5.)
    Source:
        the Python array API standard
    """
    choice = _choice(backend, options)
    key = choice, background
    namespace = _namespaces.get(key)
    if namespace is None:
        named = options if background else {"background": False, **options}
        fresh = Namespace(choice, background=background, options=tuple(sorted(named.items())))
        if isinstance(backend, str):
            fresh._whole = backend_of(choice.name, **options)
        namespace = _namespaces.setdefault(key, fresh)
    return namespace


def _choice(name: str | BackendChoice | None, options: dict[str, Any]) -> BackendChoice:
    """The one backend that is meant: what "auto" would try later is left out."""
    if options and isinstance(name, BackendChoice):
        raise OptionError(message(f"eager: found tg.backend({name.name!r}, …) and options, needed one of the two"))
    named = current().backend if name is None else name
    choice = backend_of(named, **options) if isinstance(named, str) else choose(named, "auto")
    if isinstance(named, str) and getattr(choice.options, "compile", False) is True and "compile" not in options:
        choice = backend_of(choice.name, **options, compile=False)  # which would compile each op for each shape
    return dataclasses.replace(choice, auto=None, passed_over=())


def _restored(name: str, options: tuple[tuple[str, Any], ...]) -> Namespace:
    return eager(name, **dict(options))
