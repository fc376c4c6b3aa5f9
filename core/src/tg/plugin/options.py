"""Typed options: those that core itself honours on every backend, and a backend's own, checked by its dataclass."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import TYPE_CHECKING, Any

from tg.errors import OptionError, message, nearest
from tg.plugin.fields import type_text
from tg.plugin.records import GENERAL, General

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.plugin.records import Backend


def general_options(backend: Backend, values: Mapping[str, Any]) -> tuple[General, dict[str, Any]]:
    """The general options among those that are given with a backend, and the others.

    Raises:
        OptionError: one that the backend refuses, or a value of another type.
    """
    for name, reason in backend.refuses.items():
        if name in values:
            raise OptionError(_refusal(backend.name, name, reason, values[name]))
    hints = typing.get_type_hints(General)
    for name in hints.keys() & values:
        _need_type(f"backend {backend.name!r}", name, values[name], hints[name])
    amp = values.get("amp")
    if amp is not None and backend.dtypes and amp not in backend.dtypes:
        raise OptionError(message(f"backend {backend.name!r}: option amp: found {amp!r}, which the backend lacks"))
    rest = {name: value for name, value in values.items() if name not in hints}
    return General(**{name: value for name, value in values.items() if name in hints}), rest


def validate_options(
    backend: Backend, values: Mapping[str, object], owners: Callable[[str], Sequence[str]] = lambda name: ()
) -> object:
    """The options of `backend` with those given in place of the defaults.

    Args:
        owners: the backends that have an option, for the error of one that this has not.
    Raises:
        OptionError: an option that the backend does not have, a value of another type, or one that it refuses.
    Example:
        >>> from tg.plugin import Backend, RuleProtocol, validate_options
        >>> mine = Backend("mine", distribution="tg-mine", rules=RuleProtocol("array", 2), linker="tg_mine:LINKER")
        >>> validate_options(mine, {})
        Options()
    """
    return fields_of(f"backend {backend.name!r}", backend.options, values, GENERAL, owners)


def fields_of(
    what: str,
    record: type,
    values: Mapping[str, object],
    others: Sequence[str] = (),
    owners: Callable[[str], Sequence[str]] = lambda name: (),
) -> object:
    """A record of options with these values in place of the defaults.

    Args:
        what: whose options they are, for messages.
        others: options that are honoured elsewhere, for the error of one that is not known.
        owners: as for `validate_options`.
    Raises:
        OptionError: an option that the record does not have, a value of another type, or one that it refuses.
    """
    hints = typing.get_type_hints(record)
    fields = {field.name: field for field in dataclasses.fields(record) if field.init}
    for name, value in values.items():
        if name not in fields:
            raise OptionError(_unknown(what, name, (*fields, *others), owners(name)))
        _need_type(what, name, value, hints[name])
    return _made(what, record, values)


def _need_type(what: str, name: str, value: object, hint: Any) -> None:
    if not accepts(hint, value):
        raise OptionError(message(f"{what}: option {name}: found {value!r}, needed {type_text(hint)}"))


def accepts(hint: Any, value: object) -> bool:
    """Whether `value` is of the type that an annotation says; an int is a float, a bool is no int."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return any(type(value) is type(literal) and value == literal for literal in arguments)
    if origin in (typing.Union, types.UnionType):
        return any(accepts(choice, value) for choice in arguments)
    if origin is tuple and isinstance(value, tuple):
        return _accepts_tuple(arguments, value)
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    kind = type(None) if hint is None else origin or hint
    return isinstance(value, kind) if isinstance(kind, type) else True


def _accepts_tuple(arguments: tuple[Any, ...], values: tuple[object, ...]) -> bool:
    if arguments[1:] == (...,):
        return all(accepts(arguments[0], value) for value in values)
    return len(arguments) == len(values) and all(map(accepts, arguments, values))


def _made(what: str, record: type, values: Mapping[str, object]) -> object:
    try:
        return record(**values)
    except OptionError:
        raise
    except (TypeError, ValueError) as error:
        shown = ", ".join(f"{name}={value!r}" for name, value in values.items()) or "no options"
        raise OptionError(message(f"{what}: {error}: found {shown}")) from error


def _refusal(backend: str, name: str, reason: str, value: object) -> str:
    """The text about an option that a backend cannot honour; `{value}` in its reason is the value, as code."""
    fact, _, hint = reason.partition("; ")
    text = f"backend {backend!r}: option {name}: {fact}: found {name}={value!r}, needed none"
    return message(text, hint=hint.replace("{value}", repr(value)) or None)


def _unknown(what: str, name: str, options: Sequence[str], owners: Sequence[str]) -> str:
    like = nearest(name, options)
    lines = [("options", ", ".join(options) or "none")]
    if owners:
        lines.append(("backends with it", ", ".join(owners)))
    return message(f"{what}: unknown option {name!r}", *lines, hint=f"{like[0]} exists" if like else None)
