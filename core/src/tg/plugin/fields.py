"""Fields of a record of options: each with a default, its meaning in a line, and how a trial shows that it acts."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar

T = TypeVar("T")

Setting = bool | int | float | str
Settings = Mapping[str, Setting] | tuple[tuple[str, Setting], ...]
"""Options of an engine's own, by name: as a mapping, or as pairs."""

NOTHING: Final = object()


class Described(NamedTuple):
    """An option as it is shown: its type and its default as text, and its meaning."""

    name: str
    type: str
    default: str
    meaning: str


class Trial(NamedTuple):
    """Values of an option other than the default, the options beside which it acts, and the address of what shows it.

    The function at `observed`, "module:FUNCTION", takes the options and gives what the engine is told of them.
    """

    values: tuple[Any, ...]
    beside: Mapping[str, Any]
    observed: str | None


def option(
    default: T,
    meaning: str,
    *,
    trial: object = NOTHING,
    beside: Mapping[str, Any] | None = None,
    observed: str | None = None,
) -> T:
    """A field of a record of options, as `dataclasses.field` makes one.

    Args:
        default: the value where none is given.
        meaning: one line, which `tg backends --options` and the page of options show.
        trial: another value, which the conformance suite tries; by the type unless given.
        beside: other options that are set where the suite tries it, as it acts beside them alone.
        observed: "module:FUNCTION" that shows the option where no program does: of the record of options, what the
            engine is told.
    Example:
        >>> from dataclasses import dataclass
        >>> from tg.backend import option
        >>> @dataclass(frozen=True)
        ... class Options:
        ...     threads: int = option(1, "threads that share a loop")
        >>> Options().threads
        1
    """
    metadata = {"meaning": meaning, "trial": trial, "beside": beside or {}, "observed": observed}
    return dataclasses.field(default=default, metadata=metadata)


def pairs(settings: Settings) -> tuple[tuple[str, Setting], ...]:
    """Settings as pairs in the order of their names, which can be hashed."""
    return tuple(sorted(dict(settings).items()))


def described(record: type) -> tuple[Described, ...]:
    """The options of a record, in the order of its fields."""
    hints = typing.get_type_hints(record)
    return tuple(
        Described(f.name, type_text(hints[f.name]), _default(f), f.metadata.get("meaning", ""))
        for f in dataclasses.fields(record)
        if f.init
    )


def reason_text(reason: str) -> str:
    """The reason of a refusal without a value that was given."""
    return reason.replace("{value}", "…")


def trial(record: type, name: str) -> Trial:
    """The trial of an option: as its field says, else values by its type, of which there may be none."""
    field = next(f for f in dataclasses.fields(record) if f.name == name)
    value = field.metadata.get("trial", NOTHING)
    values = _others(typing.get_type_hints(record)[name], field.default) if value is NOTHING else (value,)
    return Trial(values, field.metadata.get("beside", {}), field.metadata.get("observed"))


def _others(hint: Any, default: Any) -> tuple[Any, ...]:
    """Values of a type that are not the default: the other choices, or the next number."""
    if typing.get_origin(hint) is typing.Literal:
        return tuple(one for one in typing.get_args(hint) if one != default)
    kinds = {hint, *typing.get_args(hint)}
    if bool in kinds:
        return tuple(one for one in (True, False) if one is not default)
    if int in kinds or float in kinds:
        return (1 if default is None else default + 1,)
    return ()


def type_text(hint: Any) -> str:
    """The text of a type, as it is written."""
    if hint == Settings:
        return "Settings"
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " | ".join(map(type_text, typing.get_args(hint)))
    if hint is type(None):
        return "None"
    shown = hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
    return shown.replace("typing.", "").replace("collections.abc.", "")


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return repr(field.default)
    return "" if field.default_factory is dataclasses.MISSING else repr(field.default_factory())
