"""Nested lists, tuples, dicts and users' classes: taken apart into leaves, put together again around results.

Each keeps its class: an OrderedDict comes back as one, a defaultdict with what makes its defaults.

A `Structure` is what is left without the leaves: a hashable value, equal for equal nesting.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.errors import InputError, message
from tg.variables.registered import Registered, level, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

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


def flatten(value: Any, *, sort: bool = False, whole: type | tuple[type, ...] = ()) -> tuple[list[Any], Structure]:
    """The leaves of a nested value in order, and its structure; None is a structure without leaves.

    Args:
        sort: keys of dicts that are strings are in their own order, so that dicts that were filled in another order
            have one structure.
        whole: classes whose instances are leaves.
    """
    leaves: list[Any] = []
    return leaves, Structure(_key(value, leaves, sort, whole))


def _key(value: Any, leaves: list[Any], sort: bool, whole: type | tuple[type, ...]) -> Any:
    if value is None:
        return None
    if whole and isinstance(value, whole):
        leaves.append(value)
        return LEAF
    if isinstance(value, dict):
        is_sorted = sort and type(value) is dict and all(type(k) is str for k in value)
        names = tuple(sorted(value)) if is_sorted else tuple(value)
        return (_kind_of(value), names, tuple([_key(value[n], leaves, sort, whole) for n in names]))
    if isinstance(value, list | tuple):
        return (type(value), None, tuple([_key(v, leaves, sort, whole) for v in value]))
    if (top := level(value)) is not None:
        return (top.kind, top.names, tuple([_key(part, leaves, sort, whole) for part in top.parts]))
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
            yield from _paths(part, before + step(kind, names, k))


def step(kind: Any, names: Sequence[Any] | None, k: int) -> str:
    """The way from a part of a nesting to its k-th part, as Python writes it; JAX writes it itself."""
    if names is None:
        return f"[{k}]"
    if isinstance(kind, Registered) and kind.registry == "jax":
        return str(names[k])
    return f"[{names[k]!r}]" if has_keys(kind) else f".{names[k]}"


def _kind_of(value: dict[Any, Any]) -> type | Defaulting:
    return Defaulting(type(value), value.default_factory) if isinstance(value, defaultdict) else type(value)


def has_keys(kind: type | Defaulting | Registered) -> bool:
    """Whether the parts of a kind of a structure have keys: those of a dict."""
    return isinstance(kind, Defaulting) or (isinstance(kind, type) and issubclass(kind, dict))


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
    if isinstance(kind, Registered):
        return lambda leaves: kind.build(names, [build(leaves) for build in inner])
    if names is not None:
        return lambda leaves: record(kind, dict(zip(names, [build(leaves) for build in inner], strict=True)))
    if hasattr(kind, "_fields"):
        return lambda leaves: kind(*[build(leaves) for build in inner])
    return lambda leaves: kind([build(leaves) for build in inner])


def _match(key: Any, value: Any, what: str, leaves: list[Any]) -> None:
    if key == LEAF:
        leaves.append(value)
        return
    wanted = None if key is None else (dict if has_keys(key[0]) else key[0], key[1], len(key[2]))
    if wanted is not None and not _is_like(value, wanted):
        value = _as_argument(wanted[0], value, what)
    if not (value is None if wanted is None else _is_like(value, wanted)):
        raise InputError(message(f"{what}: found {short(value)}, needed {_shown(key)}"))
    if key is None:
        return
    parts = [value[name] for name in key[1]] if has_keys(key[0]) else _parts(value)  # keys may come in another order
    for part, inner in zip(key[2], parts, strict=True):
        _match(part, inner, what, leaves)


def _as_argument(kind: Any, value: Any, what: str) -> Any:
    """A value of another class as one of a dataclass, if that says how: `as_argument(value, what, **static fields)`."""
    has_static = isinstance(kind, Registered) and kind.registry == "fields"
    cls, static = (kind.kind, kind.rest) if has_static else (kind, ())
    convert = getattr(cls, "as_argument", None)
    return value if convert is None else convert(value, what, **dict(static))


def _key_of_top(value: Any) -> Any:
    """Key of the outermost part of a nesting; a dict of any class is one."""
    if isinstance(value, dict):
        return (dict, tuple(value), len(value))
    if isinstance(value, list | tuple):
        return (type(value), None, len(value))
    if value is None:
        return None
    top = level(value)
    return LEAF if top is None else (top.kind, top.names, len(top.parts))


def _parts(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple):
        return list(value)
    top = level(value)
    return [] if top is None else list(top.parts)


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
    if isinstance(kind, Registered) and kind.registry != "fields":
        return f"{kind.__name__}({', '.join(inner)})"
    if names is not None:
        fixed = [f"{name}={short(value)}" for name, value in kind.rest] if isinstance(kind, Registered) else []
        parted = [f"{name}={part}" for name, part in zip(names, inner, strict=True)]
        return f"{kind.__name__}({', '.join([*parted, *fixed])})"
    if kind is list:
        return f"[{', '.join(inner)}]"
    return f"{'' if kind is tuple else kind.__name__}({', '.join(inner)})"
