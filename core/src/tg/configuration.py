"""Configuration: one frozen `Config` in a context variable; environment variables are read on first use.

A compiled function keeps the configuration that was in force when it was made.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypedDict, Unpack, final, get_args

from tg.callers import warn
from tg.errors import ConfigurationWarning, InputError, OptionError, message, nearest
from tg.members import missing

if TYPE_CHECKING:
    from collections.abc import Iterable

Mode = Literal["default", "strict", "finite", "off", "debug"]
Compile = Literal["now", "background"]
Checkpointing = Literal["none", "layers", "sqrt"]
FloatDtype = Literal["float16", "bfloat16", "float32", "float64"]
Promotion = Literal["numpy", "warn", "strict"]
Tracebacks = Literal["short", "full"]
MODES: Final[tuple[str, ...]] = get_args(Mode)
COMPILES: Final[tuple[str, ...]] = get_args(Compile)
CHECKPOINTINGS: Final[tuple[str, ...]] = get_args(Checkpointing)
DTYPES: Final[tuple[str | None, ...]] = (None, *get_args(FloatDtype))
PROMOTIONS: Final[tuple[str, ...]] = get_args(Promotion)
TRACEBACKS: Final[tuple[str, ...]] = get_args(Tracebacks)
VALUES: Final[dict[str, tuple[str | None, ...]]] = {
    "mode": MODES,
    "compile": COMPILES,
    "dtype": DTYPES,
    "promotion": PROMOTIONS,
    "checkpointing": CHECKPOINTINGS,
    "tracebacks": TRACEBACKS,
}


@dataclasses.dataclass(frozen=True)
class Config:
    """The defaults of a function's options, used where its arguments do not say otherwise.

    Each field can be set by an environment variable, `TG_` and the field's name in capitals.
    """

    backend: str = "auto"  # a backend's name, or "auto": the first in line that can run a program
    mode: str = "default"  # all rewrite classes but nan_unsafe; "strict": exact only; "finite": all; "off": none;
    # "debug": as the default one, checked at each call
    exclude: tuple[str, ...] = ()  # names of rules, passes and classes of rewriting that are not applied
    nan_guard: bool = False  # whether a call whose results have a NaN or an infinity names the node that made it
    compile: str = "now"  # "background": calls are answered by the reference until native code is ready
    remember: bool = True  # whether rewritten programs are kept on disk beside what backends compile
    dtype: str | None = None  # of what is made where no dtype is said; None: float64, of weights of networks float32
    promotion: str = "numpy"  # "warn" and "strict" tell of ops in which a dtype of less than 64 bits meets float64
    checkpointing: str = "none"  # "layers", "sqrt": part of the forward pass is computed again in the backward pass
    tracebacks: str = "short"  # of errors of tg: "full" has tg's own frames below the user's line
    progress: bool = True  # whether a long compilation says on the standard error, a terminal or notebook, where it is
    specializations: int = 16  # how many patterns of length-1 dimensions a function compiles before it refuses


VARIABLES: Final = tuple(f"TG_{field.name.upper()}" for field in dataclasses.fields(Config))
_CURRENT: ContextVar[Config | None] = ContextVar("tg_config", default=None)


def current() -> Config:
    """The configuration in force here."""
    config = _CURRENT.get()
    return config if config is not None else _from_environment()


def chosen() -> Config | None:
    """The configuration that a `with` block has set here; None where the environment decides."""
    return _CURRENT.get()


def float_dtype(unset: str = "float64") -> str:
    """The floating dtype of what is made where no dtype is said; `unset` where the configuration has none."""
    config = _CURRENT.get()
    if config is None and "TG_DTYPE" not in os.environ:
        return unset
    return (config or _from_environment()).dtype or unset


@final
class _Block(contextlib.ContextDecorator, contextlib.AbstractContextManager[Config]):
    """Changes of the configuration for one `with` block, or for each call of a function that this decorates."""

    def __init__(self, changes: dict[str, Any]) -> None:
        self._changes, self._is_used = changes, False
        self._token: Token[Config | None] | None = None

    def __enter__(self) -> Config:
        self._is_used = True
        config = _replace(current(), self._changes)
        self._token = _CURRENT.set(config)
        return config

    def __exit__(self, *exc: object) -> None:
        assert self._token is not None
        _CURRENT.reset(self._token)

    def _recreate_cm(self) -> _Block:
        self._is_used = True
        return _Block(self._changes)

    def __del__(self) -> None:
        if not self._is_used:
            shown = ", ".join(f"{name}={value!r}" for name, value in self._changes.items())
            text = f"config: found no `with` block: {shown} has changed nothing"
            hint = f"with tg.config({shown}): …, or TG_BACKEND and the like in the environment of the process"
            warn(message(text, hint=hint), ConfigurationWarning)


class Changes(TypedDict, total=False):
    """The arguments of `tg.config`, for type checkers: the fields of `Config`."""

    backend: str
    mode: Mode
    exclude: str | Iterable[str]
    nan_guard: bool
    compile: Compile
    remember: bool
    dtype: FloatDtype | None
    promotion: Promotion
    checkpointing: Checkpointing
    tracebacks: Tracebacks
    progress: bool
    specializations: int


if TYPE_CHECKING:
    _Fields = Config  # what `tg.config` has can be read, and not assigned
else:
    _Fields = object


@final
class Configure(_Fields):
    """The function `tg.config`. Its attributes are the fields of the configuration in force, to be read."""

    __slots__ = ()
    __name__ = "config"

    def __init__(self) -> None:
        """Make it: it has nothing of its own."""

    def __call__(self, **changes: Unpack[Changes]) -> contextlib.AbstractContextManager[Config]:
        """Change the configuration for the functions made inside a `with` block.

        It changes nothing by itself, and warns where it is called without one. As attributes, `tg.config.backend`, the
        fields can be read; they cannot be assigned.

        Raises:
            OptionError: a name that is not a field of `Config`, or a value the field cannot have.
        Example:
            >>> import tg
            >>> with tg.config(backend="perform"):
            ...     x = tg.scalar("x")
            ...     f = tg.function([x], x + 1)
            >>> f.backend
            'perform'
            >>> tg.config.mode
            'default'
        """
        _replace(Config(), dict(changes))
        return _Block(dict(changes))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in _names():
                return getattr(current(), name)
            raise missing(self, name)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        _replace(Config(), {name: value})  # a name that is no option is told first
        hint = f"with tg.config({name}={value!r}): …, or TG_{name.upper()} in the environment of the process"
        raise InputError(message(f"config: found an assignment of {name}, needed a `with` block", hint=hint))

    def __delattr__(self, name: str) -> NoReturn:
        raise InputError(message(f"config: found a deletion of {name}, needed a `with` block that ends"))

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *_names()})

    def __repr__(self) -> str:
        return f"<tg.config: {current()}>"

    def __reduce__(self) -> str:
        return "config"


def _names() -> list[str]:
    return [field.name for field in dataclasses.fields(Config)]


config: Final = Configure()


def _replace(base: Config, changes: dict[str, Any]) -> Config:
    fields = {field.name: field for field in dataclasses.fields(Config)}
    if "exclude" in changes:
        changes = {**changes, "exclude": names_of(changes["exclude"], "config: exclude")}
    for name, value in changes.items():
        if name not in fields:
            near = nearest(name, fields)
            hint = f"{near[0]} exists" if near else None
            line = ("options", ", ".join(fields))
            raise OptionError(message(f"config: unknown option {name!r}", line, hint=hint))
        known_values, needed = VALUES.get(name), type(fields[name].default)
        if known_values is None and type(value) is not needed:
            raise OptionError(message(f"config: {name}: found {value!r}, needed {needed.__name__}"))
        if known_values is not None and not any(type(value) is type(v) and value == v for v in known_values):
            text = f"config: {name}: found {value!r}, needed one of {', '.join(map(str, known_values))}"
            hint = "backend= says what runs a function" if name == "mode" else None
            raise OptionError(message(text, hint=hint))
    return dataclasses.replace(base, **changes)


def names_of(value: Any, what: str) -> tuple[str, ...]:
    """One name, or a collection of names, as a sorted tuple in which each stands once.

    Raises:
        OptionError: neither.
    """
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, tuple | list | set | frozenset) or not all(isinstance(name, str) for name in names):
        raise OptionError(message(f"{what}: found {value!r}, needed names"))
    return tuple(sorted(set(names)))


def _from_environment() -> Config:
    return _of_texts(tuple([os.environ.get(name) for name in VARIABLES]))


@functools.lru_cache(maxsize=8)
def _of_texts(texts: tuple[str | None, ...]) -> Config:
    """The configuration that environment variables say, of which None is not set."""
    pairs = zip(dataclasses.fields(Config), texts, strict=True)
    return _replace(Config(), {field.name: _read(text, field.default) for field, text in pairs if text is not None})


def _read(text: str, default: object) -> object:
    """The value that the text of an environment variable stands for; the text itself where it stands for none."""
    if isinstance(default, bool):
        return {"0": False, "false": False, "1": True, "true": True}.get(text.lower(), text)
    if isinstance(default, tuple):
        return tuple(filter(None, (part.strip() for part in text.split(","))))
    return int(text) if isinstance(default, int) and text.isdigit() else text
