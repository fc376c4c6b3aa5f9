"""Annotations of public functions and classes, for who asks for them at run time: `typing.get_type_hints(tg.sum)`.

Modules import what only annotations name under `if TYPE_CHECKING:`, which costs no start time and allows a module to
name a class of a higher layer. So `eval` does not find these names in the globals of a function. `Annotations` is a
dict that brings them there when it is first read: it executes that block of the module's source.
"""

from __future__ import annotations

import importlib
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_complete: set[str] = set()  # the modules that have all names of their annotations


class Annotations(dict[str, Any]):
    """The annotations of a function or a class of a module, which has all names of them once they are read."""

    __slots__ = ("module",)

    def __init__(self, annotations: dict[str, Any], module: str) -> None:
        super().__init__(annotations)
        self.module = module

    def __iter__(self) -> Iterator[str]:
        complete(self.module)
        return super().__iter__()

    def __getitem__(self, name: str) -> Any:
        complete(self.module)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """The annotation of a name, or a default."""
        complete(self.module)
        return super().get(name, default)

    def keys(self) -> Any:
        """The annotated names."""
        complete(self.module)
        return super().keys()

    def values(self) -> Any:
        """The annotations."""
        complete(self.module)
        return super().values()

    def items(self) -> Any:
        """The annotated names with their annotations."""
        complete(self.module)
        return super().items()

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (dict(self),)


def complete(name: str, above: tuple[str, ...] = ()) -> None:
    """Give a module the names that it imports and defines for type checkers alone; those that it has stay.

    Two threads may do it at a time: each gives the same names.

    Args:
        above: modules that are being completed and import from this one.
    """
    if name in _complete or name in above:
        return
    import ast

    module = sys.modules[name]
    loader: Any = getattr(module, "__loader__", None)
    source = loader.get_source(name) if hasattr(loader, "get_source") else None
    names = dict(module.__dict__)
    for node in ast.parse(source or "").body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for statement in node.body:
                if isinstance(statement, ast.ImportFrom) and (statement.module or "").partition(".")[0] == "tg":
                    _offer(str(statement.module), [alias.name for alias in statement.names], (*above, name))
                exec(compile(ast.Module([statement], []), module.__file__ or name, "exec"), names)
    for own, value in names.items():
        module.__dict__.setdefault(own, value)
    _complete.add(name)


def _offer(name: str, wanted: Iterable[str], above: tuple[str, ...]) -> None:
    """Complete a module, of which names are imported that it may have for type checkers alone."""
    module = importlib.import_module(name)
    if not all(hasattr(module, one) for one in wanted):
        complete(name, above)


def hinted(value: Any) -> Any:
    """The function or class itself, whose annotations can be evaluated from now on, those of its methods too."""
    if type(value) is FunctionType:
        _of_function(value)
    elif isinstance(value, type):
        for kind in value.__mro__:
            if kind.__module__.partition(".")[0] == "tg":
                _of_class(kind)
    return value


def all_hinted(names: dict[str, Any], public: Iterable[str]) -> None:
    """The same for the public names of a module.

    Args:
        names: those of the module.
        public: which of them.
    """
    for name in public:
        hinted(names[name])


def _of_function(f: FunctionType) -> None:
    if type(f.__annotations__) is dict:
        own: Any = f
        while hasattr(own, "__wrapped__"):  # a wrapper has the annotations of the function, with names of its module
            own = own.__wrapped__
        f.__annotations__ = Annotations(f.__annotations__, own.__globals__["__name__"])


def _of_class(kind: type) -> None:
    own = vars(kind)
    if type(own.get("__annotations__")) is dict:
        kind.__annotations__ = Annotations(own["__annotations__"], kind.__module__)
    for member in list(own.values()):
        f = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if type(f) is FunctionType:
            _of_function(f)
