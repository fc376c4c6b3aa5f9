"""Identity of functions of authors, in all processes: the text that stands for them in a cache."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAIN: Final = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


class UnknownError(Exception):
    """Something whose meaning has no text: what calls it is not kept."""


def digest_of(things: Mapping[str, Any]) -> str:
    """The text that stands for functions, by names.

    Raises:
        UnknownError: one of them, or what it uses, is something else.
    """
    return _digest(*(f"{name} {_of(thing)}" for name, thing in things.items()))


@functools.cache
def own() -> str:
    """The text that stands for how this package makes machine code."""
    return _digest(Path(__file__).with_name("engine.py").read_bytes().hex())


def _digest(*texts: str) -> str:
    return hashlib.blake2b("\0".join(texts).encode(), digest_size=20).hexdigest()


def _of(thing: Any) -> str:
    if isinstance(thing, FunctionType):
        return _of_function(thing)
    if isinstance(thing, PLAIN):
        return f"{type(thing).__name__} {thing!r}"
    if isinstance(thing, ModuleType):
        return f"module {thing.__name__} {getattr(thing, '__version__', '')}"
    if isinstance(thing, (tuple, frozenset)):
        inside = [*map(_of, thing)]
        return f"{type(thing).__name__} {sorted(inside) if isinstance(thing, frozenset) else inside}"
    if isinstance(thing, type) and thing.__module__ == "builtins":
        return thing.__name__
    if type(thing).__module__ == "builtins" and hasattr(thing, "__self__"):
        return f"builtin {thing.__module__}.{thing.__qualname__}"
    raise UnknownError(f"{type(thing).__name__} {thing!r}")


@functools.lru_cache(1024)
def _of_function(function: FunctionType) -> str:
    return _digest(*_parts(function, set()))


def _parts(function: FunctionType, visited: set[FunctionType]) -> list[str]:
    """The texts of a function and of all that it names; it may call itself."""
    if function in visited:
        return []
    visited.add(function)
    texts = [_of_code(function.__code__), _of(function.__defaults__ or ())]
    for cell in function.__closure__ or ():
        texts += _part(cell.cell_contents, visited)
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            texts.append(name)
            texts += _part(function.__globals__[name], visited)
    return texts


def _part(thing: Any, visited: set[FunctionType]) -> list[str]:
    if isinstance(getattr(thing, "py_func", None), FunctionType):  # of numba.njit
        return [repr(sorted(thing.targetoptions.items())), *_parts(thing.py_func, visited)]
    return _parts(thing, visited) if isinstance(thing, FunctionType) else [_of(thing)]


def _names(code: CodeType) -> set[str]:
    return set(code.co_names).union(*(_names(c) for c in code.co_consts if isinstance(c, CodeType)))


def _of_code(code: CodeType) -> str:
    constants = [_of_code(c) if isinstance(c, CodeType) else _of(c) for c in code.co_consts]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return repr((code.co_code.hex(), constants, names, code.co_argcount, code.co_flags))
