"""Users' classes as parts of nestings: registered with tg, JAX or optree, of dataclasses, attrs and pydantic.

JAX and optree are asked only where the program has imported them. Of optree's registrations those of its global
namespace are known; a class of another is registered with `tg.tree.register`.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.errors import InputError, message
from tg.graph.nodes import Variable
from tg.graph.op import exact_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Flatten = Callable[[Any], tuple[Iterable[Any], Any]]
    Unflatten = Callable[[Any, tuple[Any, ...]], Any]

PLAIN: Final = {"builtins", "jaxlib", "mlx", "numpy", "tg", "torch"}  # packages whose classes are registered nowhere

_own: Final[dict[type, tuple[Flatten, Unflatten]]] = {}


@final
@dataclasses.dataclass(frozen=True, slots=True)
class Registered:
    """The class of a part of a nesting that holds more than its parts: whose it is, and the rest of the value.

    `rest` is what a value of the class is made of beside its parts; `mark` tells two of them apart.
    """

    kind: type
    registry: str
    rest: Any = dataclasses.field(compare=False)
    mark: Any

    @property
    def __name__(self) -> str:
        return self.kind.__name__

    def build(self, steps: Sequence[str] | None, parts: Sequence[Any]) -> Any:
        """A value of the class, of its parts."""
        if self.registry == "tg":
            return _own[self.kind][1](self.rest, tuple(parts))
        if self.registry != "fields":
            return self.rest.unflatten(parts)
        assert steps is not None
        return record(self.kind, {**dict(self.rest), **dict(zip(steps, parts, strict=True))})


class Level(NamedTuple):
    """The outermost of a nested value: its class, the names of its parts where they have some, and the parts."""

    kind: Any
    names: tuple[str, ...] | None
    parts: Sequence[Any]


def register(kind: type, flatten: Flatten | None, unflatten: Unflatten | None) -> None:
    """Let values of a class be parts of nestings.

    Raises:
        InputError: it is no class, is one that nests already, or has no functions to take it apart and make it.
    """
    if not isinstance(kind, type):
        raise InputError(message(f"register: found {kind!r}, needed a class"))
    root = kind.__module__.partition(".")[0]
    if issubclass(kind, dict | list | tuple | Variable) or (root in PLAIN and root != "tg"):
        raise InputError(message(f"register: found {kind.__name__}, needed a class that is none of tg's or Python's"))
    if flatten is None and unflatten is None:
        own_flatten, own_unflatten = getattr(kind, "tree_flatten", None), getattr(kind, "tree_unflatten", None)
    else:
        own_flatten, own_unflatten = flatten, unflatten
    if not callable(own_flatten) or not callable(own_unflatten):
        hint = "tg.tree.register(Class, flatten, unflatten), or methods tree_flatten and tree_unflatten"
        raise InputError(message(f"register: {kind.__name__}: found no functions for it, needed two", hint=hint))
    _own[kind] = (own_flatten, own_unflatten)


def level(value: Any) -> Level | None:
    """The outermost of a value of a user's class, which is not None; None where it is a leaf.

    Raises:
        InputError: what it holds beside its parts has no hash.
    """
    kind = type(value)
    if kind in _own:
        pair: Any = _own[kind][0](value)
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not hasattr(pair[0], "__iter__"):
            hint = "lambda x: ((x.a, x.b), None) is one"
            raise InputError(message(f"{kind.__name__}: flatten gave {pair!r}, needed (parts, rest)", hint=hint))
        children, rest = pair
        return Level(Registered(kind, "tg", rest, _mark(rest, kind)), None, tuple(children))
    if kind.__module__.partition(".")[0] not in PLAIN:
        for registry, take in (("jax.tree_util", _of_jax), ("optree", _of_optree)):
            library = sys.modules.get(registry)
            if library is not None and (parts := take(library, value)) is not None:
                return parts
    return _of_fields(value)


def _of_jax(library: Any, value: Any) -> Level | None:
    if library.all_leaves([value]):
        return None
    pairs, rest = library.tree_flatten_with_path(value, is_leaf=lambda inner: inner is not value)
    steps = tuple(library.keystr(path) for path, _ in pairs)
    kind = Registered(type(value), "jax", rest, _mark(rest, type(value)))
    return Level(kind, steps, [part for _, part in pairs])


def _of_optree(library: Any, value: Any) -> Level | None:
    if library.tree_is_leaf(value):
        return None
    parts, rest = library.tree_flatten(value, is_leaf=lambda inner: inner is not value)
    return Level(Registered(type(value), "optree", rest, _mark(rest, type(value))), None, parts)


def _of_fields(value: Any) -> Level | None:
    """The fields of a dataclass, of attrs or pydantic; those marked as static are no parts."""
    fields = _fields(type(value))
    if fields is None:
        return None
    kind: Any = type(value)
    names = [*fields, *(getattr(value, "model_extra", None) or ())] if hasattr(kind, "model_construct") else [*fields]
    dynamic = tuple(name for name in names if name not in fields or not _is_static(fields[name]))
    if len(dynamic) < len(names):
        rest = tuple((name, getattr(value, name)) for name in names if name not in dynamic)
        kind = Registered(kind, "fields", rest, _mark(rest, kind))
    return Level(kind, dynamic, [getattr(value, name) for name in dynamic])


def _fields(kind: Any) -> dict[str, Any] | None:
    """The metadata of each field of a class, by name; None of a class without fields."""
    if dataclasses.is_dataclass(kind):
        return {field.name: field.metadata for field in dataclasses.fields(kind)}
    if hasattr(kind, "__attrs_attrs__"):
        return {field.name: field.metadata for field in kind.__attrs_attrs__}
    if hasattr(kind, "__pydantic_fields__"):
        return {name: field.json_schema_extra for name, field in kind.__pydantic_fields__.items()}
    return None


def _is_static(metadata: Any) -> bool:
    """Whether a field is marked as JAX and Equinox mark one that is no part: `field(metadata={"static": True})`."""
    return hasattr(metadata, "get") and bool(metadata.get("static", False))


def _mark(rest: Any, kind: type) -> Any:
    try:
        mark = exact_key(rest)
        hash(mark)
    except TypeError as error:
        text = f"{kind.__name__}: found {rest!r} beside its parts, needed something hashable: {error}"
        raise InputError(message(text, hint="tuples and strings are hashable; arrays are parts")) from None
    return mark


def record(kind: Any, values: dict[str, Any]) -> Any:
    """An instance with these fields, made without `__init__` and validation, which may not expect what they hold."""
    if hasattr(kind, "model_construct"):
        return kind.model_construct(**values)
    instance: Any = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(instance, name, value)
    return instance
