"""Nested lists, tuples, dicts and dataclasses: taken apart into leaves, put together again around results.

Each keeps its class: an OrderedDict comes back as one, a defaultdict with what makes its defaults.

A `Structure` is what is left without the leaves: a hashable value, equal for equal nesting.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.errors import InputError, message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LEAF: Final = "*"


@final
class Structure:
    """A nesting; called with an iterator of leaves it makes the nested value.

    `key` is "*" for a leaf, None for None, else the type with its keys or field names, and the keys of the parts.
    """

    __slots__ = ("_build", "_hash", "key")

    def __init__(self, key: Any) -> None:
        self.key = key
        self._hash = hash(key)
        self._build = _builder(key)

    def __call__(self, leaves: Iterator[Any]) -> Any:
        return self._build(leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self._hash == other._hash and bool(self.key == other.key)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return _shown(self.key)

    def __reduce__(self) -> tuple[object, ...]:
        return (Structure, (self.key,))

    def leaves_of(self, value: Any, what: str) -> list[Any]:
        """The leaves of another value of this nesting; whatever stands where a leaf is expected is one.

        Raises:
            InputError: the value is nested in another way.
        """
        leaves: list[Any] = []
        _match(self.key, value, what, leaves)
        return leaves


def flatten(value: Any, *, sort: bool = False) -> tuple[list[Any], Structure]:
    """The leaves of a nested value in order, and its structure; None is a structure without leaves.

    Args:
        sort: keys of dicts that are strings are in their own order, so that dicts that were filled in another order
            have one structure.
    """
    leaves: list[Any] = []
    return leaves, Structure(_key(value, leaves, sort=sort))


def _key(value: Any, leaves: list[Any], *, sort: bool) -> Any:
    if value is None:
        return None
    if isinstance(value, dict):
        is_sorted = sort and type(value) is dict and all(type(k) is str for k in value)
        names = tuple(sorted(value)) if is_sorted else tuple(value)
        return (_kind_of(value), names, tuple([_key(value[n], leaves, sort=sort) for n in names]))
    if isinstance(value, list | tuple):
        return (type(value), None, tuple([_key(v, leaves, sort=sort) for v in value]))
    if _is_record(value):
        names = tuple(field.name for field in dataclasses.fields(value))
        return (type(value), names, tuple([_key(getattr(value, n), leaves, sort=sort) for n in names]))
    leaves.append(value)
    return LEAF


def repeated_over(value: Any, prefix: Any, is_one: Callable[[Any], bool], what: str) -> list[Any]:
    """For each leaf of a nested value what is given for it: `prefix` is nested like the value, or less deep.

    Args:
        is_one: whether something stands for all leaves of the part that it is given for.
    Raises:
        InputError: it is nested in another way.
    """
    if is_one(prefix):
        return [prefix] * len(flatten(value)[0])
    top = _key_of_top(value)
    if top in (None, LEAF) or not _is_like(prefix, top):
        raise InputError(message(f"{what}: found {short(prefix)}, needed {_shown(flatten(value)[1].key)}"))
    inner = [prefix[name] for name in value] if isinstance(value, dict) else _parts(prefix)
    pairs = zip(_parts(value), inner, strict=True)
    return [one for part, of_part in pairs for one in repeated_over(part, of_part, is_one, what)]


def _is_like(value: Any, top: Any) -> bool:
    """Whether the outermost of a nesting is what `_key_of_top` said of another; keys may come in another order."""
    own = _key_of_top(value)
    if own in (None, LEAF) or own[0] is not dict or top[0] is not dict:
        return bool(own == top)
    return len(own[1]) == len(top[1]) and set(own[1]) == set(top[1])


class Defaulting(NamedTuple):
    """Substitute for the class of a defaultdict in a structure: the class, and the factory of defaults."""

    kind: type[defaultdict[Any, Any]]
    factory: Callable[[], Any] | None

    @property
    def __name__(self) -> str:
        return self.kind.__name__


def paths(structure: Structure) -> list[str]:
    """Place of each leaf in a nested value, as Python writes it: "['rates'][0]"; "" for a value that is a leaf."""
    return list(_paths(structure.key, ""))


def _paths(key: Any, before: str) -> Iterator[str]:
    if key == LEAF:
        yield before
    elif key is not None:
        kind, names, parts = key
        for k, part in enumerate(parts):
            step = f"[{k}]" if names is None else f"[{names[k]!r}]" if has_keys(kind) else f".{names[k]}"
            yield from _paths(part, before + step)


def _kind_of(value: dict[Any, Any]) -> type | Defaulting:
    return Defaulting(type(value), value.default_factory) if isinstance(value, defaultdict) else type(value)


def has_keys(kind: type | Defaulting) -> bool:
    """Whether the parts of a kind of a structure have keys: those of a dict."""
    return isinstance(kind, Defaulting) or issubclass(kind, dict)


def _mapping(kind: type | Defaulting, items: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """A dict of a class, made without its `__init__` and `__setitem__`, which may expect something else."""
    if isinstance(kind, Defaulting):
        filled = _mapping(kind.kind, items)
        filled.default_factory = kind.factory  # type: ignore[attr-defined]
        return filled
    make: Any = kind.__new__
    mapping: dict[Any, Any] = make(kind)
    put = OrderedDict.__setitem__ if issubclass(kind, OrderedDict) else dict.__setitem__
    for key, value in items:
        put(mapping, key, value)
    return mapping


def _is_record(value: object) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _builder(key: Any) -> Callable[[Iterator[Any]], Any]:
    if key == LEAF:
        return next
    if key is None:
        return lambda leaves: None
    kind, names, parts = key
    inner = [_builder(part) for part in parts]
    if kind is dict:
        return lambda leaves: {name: build(leaves) for name, build in zip(names, inner, strict=True)}
    if has_keys(kind):
        return lambda leaves: _mapping(kind, zip(names, [build(leaves) for build in inner], strict=True))
    if names is not None:
        return lambda leaves: _record(kind, zip(names, [build(leaves) for build in inner], strict=True))
    if hasattr(kind, "_fields"):
        return lambda leaves: kind(*[build(leaves) for build in inner])
    return lambda leaves: kind([build(leaves) for build in inner])


def _record(kind: type, values: Any) -> Any:
    """A dataclass instance with these fields, made without its `__init__`, which may not expect what they hold."""
    record: Any = object.__new__(kind)
    for name, value in values:
        object.__setattr__(record, name, value)
    return record


def _match(key: Any, value: Any, what: str, leaves: list[Any]) -> None:
    if key == LEAF:
        leaves.append(value)
        return
    wanted = None if key is None else (dict if has_keys(key[0]) else key[0], key[1], len(key[2]))
    if not (value is None if wanted is None else _is_like(value, wanted)):
        raise InputError(message(f"{what}: found {short(value)}, needed {_shown(key)}"))
    if key is None:
        return
    parts = [value[name] for name in key[1]] if has_keys(key[0]) else _parts(value)  # keys may come in another order
    for part, inner in zip(key[2], parts, strict=True):
        _match(part, inner, what, leaves)


def _key_of_top(value: Any) -> Any:
    """Key of the outermost part of a nesting; a dict of any class is one."""
    if isinstance(value, dict):
        return (dict, tuple(value), len(value))
    if isinstance(value, list | tuple):
        return (type(value), None, len(value))
    if _is_record(value):
        names = tuple(field.name for field in dataclasses.fields(value))
        return (type(value), names, len(names))
    return None if value is None else LEAF


def _parts(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple):
        return list(value)
    return [getattr(value, field.name) for field in dataclasses.fields(value)]


def hint_of(value: Any, otherwise: str) -> str:
    """Advice where something that is no variable was given for one: modules know it themselves."""
    return str(getattr(type(value), "in_place_of_variables", otherwise))


def short(value: Any) -> str:
    """A value as it is written, or its beginning."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _shown(key: Any) -> str:
    if key is None or key == LEAF:
        return str(key)
    kind, names, parts = key
    inner = [_shown(part) for part in parts]
    if has_keys(kind):
        return "{" + ", ".join(f"{name!r}: {part}" for name, part in zip(names, inner, strict=True)) + "}"
    if names is not None:
        return f"{kind.__name__}({', '.join(f'{name}={part}' for name, part in zip(names, inner, strict=True))})"
    if kind is list:
        return f"[{', '.join(inner)}]"
    return f"{'' if kind is tuple else kind.__name__}({', '.join(inner)})"
