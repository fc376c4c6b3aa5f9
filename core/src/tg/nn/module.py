"""`Module`: layers that hold their weights, frozen once they are made; `parameter`: a weight that has no value yet.

A module is described first and gets its values after, at once: by `tg.nn.randomized` from a key, or by `tg.nn.load`
from a file. So no layer takes a key, nothing is drawn that is loaded anyway, and each weight is called by its path from
the outermost module: "blocks.0.first.weight".
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Final, dataclass_transform

import numpy as np

from tg.display.table import WIDTH
from tg.errors import InputError, message
from tg.graph import loc as locs
from tg.graph.nodes import Variable
from tg.keywords import unfit
from tg.members import missing
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CALLS: Final[ContextVar[Callable[[Module, Callable[[], Any]], Any] | None]] = ContextVar("calls", default=None)
"""What is told of each module that is called, and runs the call: for summaries."""


class Initial:
    """A weight that has no value yet: its shape, and what draws it."""

    __slots__ = ("draw", "dtype", "shape", "where")

    def __init__(self, shape: tuple[int, ...], draw: Callable[..., Any], dtype: str | None) -> None:
        self.shape = shape
        self.draw = draw  # of a key, a shape and a dtype, as the functions of `tg.nn.init`
        self.dtype = dtype  # None: that of the whole model
        self.where = "a parameter"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__array__":
            raise AttributeError(name)
        hint = "model = tg.nn.randomized(model, tg.random.key(0)) draws all, model = tg.nn.load(model, file) reads them"
        raise InputError(message(f"{self.where} has no value yet", hint=hint))

    def __repr__(self) -> str:
        return f"{self.dtype or 'float'}[{', '.join(map(str, self.shape))}]"


def parameter(shape: int | tuple[int, ...], draw: Callable[..., Any], dtype: str | None = None) -> Any:
    """A weight of a module, to be drawn when the model is.

    Args:
        draw: of a key, a shape and a dtype: a function of `tg.nn.init`, such as `tg.nn.init.he_normal`.
        dtype: where it does not take part in that of the model: a counter.
    Raises:
        InputError: the shape is none, or what is to draw is no function: an array, a class, what a function gave.
    Example:
        >>> import tg
        >>> class Scale(tg.nn.Module):
        ...     def __init__(self, width):
        ...         self.weight = tg.nn.parameter((width,), tg.nn.init.ones)
        ...
        ...     def __call__(self, x):
        ...         return x * self.weight
        >>> scale = tg.nn.randomized(Scale(3), tg.random.key(0))
        >>> tg.nn.params(scale)
        {'weight': <shared weight : float32[3]>}
    """
    lengths = shape if isinstance(shape, tuple | list) else (shape,)
    if not all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 0 for n in lengths):
        raise InputError(message(f"parameter: shape: found {short(shape)}, needed lengths, such as (3, 2)"))
    if not callable(draw) or isinstance(draw, type | Variable):
        hint = "tg.nn.init.zeros is one; lambda key, shape, dtype: tg.constant(value, dtype) gives a value"
        raise InputError(message(f"parameter: draw: found {short(draw)}, needed a function", hint=hint))
    return Initial(tuple(map(int, lengths)), draw, dtype)


class _Kind(type):
    """The class of the classes of modules: these may be filled while `__init__` runs."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature that help and completion show: that of `__init__`."""
        own = inspect.signature(cls.__init__)  # type: ignore[misc]
        return own.replace(parameters=list(own.parameters.values())[1:], return_annotation=inspect.Signature.empty)

    if not TYPE_CHECKING:  # for checkers a call is what `__init__` takes

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            try:
                module = super().__call__(*args, **kwargs)
            except TypeError as error:
                makers = [vars(c)["__init__"] for c in cls.__mro__ if c is not object and "__init__" in vars(c)]
                told = unfit(cls.__name__, makers, (cls, *args), kwargs, error)
                if told is None:
                    raise
                raise told from None
            module.__dict__["_is_made"] = True
            return module


@dataclass_transform(eq_default=False)  # frozen ones could not set attributes in `__init__`, for checkers
class Module(metaclass=_Kind):
    """The base of layers and networks: its attributes are weights, modules, lists and dicts of these, and options.

    A subclass with annotations and no `__init__` is a dataclass; one with an `__init__` sets attributes there.
    Afterwards a module is frozen: `tg.nn.replaced` makes another one.

    Args:
        state: (of a subclass) the names of weights that training does not move by gradients: running statistics.
    Example:
        >>> import tg
        >>> class Block(tg.nn.Module):
        ...     def __init__(self, width):
        ...         self.first = tg.nn.Dense(width, 2 * width)
        ...         self.second = tg.nn.Dense(2 * width, width)
        ...
        ...     def __call__(self, x):
        ...         return x + self.second(tg.relu(self.first(x)))
        >>> block = tg.nn.randomized(Block(4), tg.random.key(0))
        >>> list(tg.nn.params(block))
        ['first.weight', 'first.bias', 'second.weight', 'second.bias']
        >>> block(tg.matrix("x", "float32")).type
        float32[?, 4]
    """

    in_place_of_variables: ClassVar[str] = "tg.nn.params(model) has its weights by path"
    _state: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, *, state: tuple[str, ...] = (), **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._state = cls._state | frozenset(state)
        if "__init__" not in vars(cls) and cls.__annotations__:
            dataclasses.dataclass(eq=False, repr=False)(cls)
        if "forward" in vars(cls) and not any("__call__" in vars(c) for c in cls.__mro__):
            raise InputError(
                message(f"{cls.__name__}: found forward, needed __call__", hint="def __call__(self, x): …")
            )
        if "__call__" in vars(cls):
            setattr(cls, "__call__", _watched(vars(cls)["__call__"]))  # noqa: B010 (mypy refuses to assign a method)

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__dict__.get("_is_made"):
            hint = f"tg.nn.replaced(model, {{path: value}}) makes a model with another {name}"
            raise dataclasses.FrozenInstanceError(message(f"{type(self).__name__} is frozen: {name} stays", hint=hint))
        if isinstance(value, Initial) and value.where == "a parameter":
            value.where = f"{type(self).__name__}.{name}"
            if name.startswith("_"):
                raise InputError(message(f"{value.where}: found a parameter under a private name, which no path has"))
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        raise missing(self, name)

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(message(f"{type(self).__name__} is frozen: {name} stays"))

    @property
    def parts(self) -> dict[str, Any]:
        """The attributes by name: what paths are made of."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def __repr__(self) -> str:
        lines = []
        for name, value in self.parts.items():
            text = repr(value) if not isinstance(value, Variable) else str(value.type)
            lines.append(f"{name}={text}" if name.isidentifier() else text)
        flat = f"{type(self).__name__}({', '.join(lines)})"
        if len(flat) <= WIDTH and "\n" not in flat:
            return flat
        inner = "".join(f"    {line}\n" for text in lines for line in f"{text},".splitlines())
        return f"{type(self).__name__}(\n{inner})"

    def _repr_html_(self) -> str:
        from tg.nn.shown import module_html

        return module_html(self)


def _watched(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def watched(self: Module, *args: Any, **kwargs: Any) -> Any:
        tell = CALLS.get()
        try:
            with locs.calling(type(self).__name__):
                return call(self, *args, **kwargs) if tell is None else tell(self, lambda: call(self, *args, **kwargs))
        except TypeError as error:
            told = unfit(type(self).__name__, [call], (self, *args), kwargs, error)
            if told is None:
                raise
            raise told from None

    return watched


def leaves(value: Any, path: str = "", is_state: bool = False) -> Iterator[tuple[str, Any, bool]]:
    """The weights below a module: path, a variable or what has no value yet, and whether it is state."""
    if isinstance(value, Variable | Initial):
        yield path, value, is_state
        return
    for name, part in inner(value).items():
        own = isinstance(value, Module) and name in value._state
        yield from leaves(part, f"{path}.{name}" if path else str(name), is_state or own)


def inner(value: Any) -> Mapping[Any, Any]:
    """The parts of a module, a dict, a list or a tuple, by what paths call them."""
    if isinstance(value, Module):
        return value.parts
    if isinstance(value, dict):
        return value
    return dict(enumerate(value)) if isinstance(value, list | tuple) else {}


def rebuilt(value: Any, new: Callable[[str, Any], Any], path: str = "", done: dict[int, Any] | None = None) -> Any:
    """A copy of a module with `new(path, part)` for each part for which that is not the part itself.

    What stands in two places of the module stands in two places of the copy.
    """
    done = {} if done is None else done
    if id(value) not in done:
        copy = new(path, value)
        if copy is value:
            copy = _copied(value, lambda name, part: rebuilt(part, new, f"{path}.{name}" if path else str(name), done))
        if not isinstance(value, Module | Variable | Initial):
            return copy
        done[id(value)] = copy
    return done[id(value)]


def _copied(value: Any, part_of: Callable[[Any, Any], Any]) -> Any:
    if isinstance(value, Module):
        copy = object.__new__(type(value))
        own = {name: part for name, part in vars(value).items() if name not in value.parts}
        copy.__dict__.update({name: part_of(name, part) for name, part in value.parts.items()} | own)
        return copy
    if isinstance(value, dict):
        return {name: part_of(name, part) for name, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[part_of(k, part) for k, part in enumerate(value)])
    if isinstance(value, list | tuple):
        return type(value)(part_of(k, part) for k, part in enumerate(value))
    return value
