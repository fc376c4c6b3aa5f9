"""What generated Python calls, before anything of it is compiled: nothing here imports Numba.

Numba's cost grows faster than the length of a function, and what a function calls is compiled again as part of it. So
each loop nest is a function of its own that others call by its name, and a nest that has been compiled serves all
programs of the process that need it. Only functions of single elements become part of the nests that call them.

Numba asks an object that is a global of what it compiles for its `_numba_type_`; only then is Numba there.
"""

from __future__ import annotations

import functools
import threading
import weakref
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, final

if TYPE_CHECKING:
    from collections.abc import Callable

LOCK: Final = threading.RLock()  # of everything that compiles


@final
class Word:
    """A word of generated code that LLVM's instructions stand for; `tg_numba.meanings` has what it means."""

    def __init__(self, name: str, *, literal: bool = False) -> None:
        """Name a word.

        Args:
            literal: its meaning depends on the values of arguments that are numbers in the text.
        """
        self.__name__, self.literal = name, literal

    @property
    def key(self) -> str:
        """What makes two words one."""
        return self.__name__

    @cached_property
    def _numba_type_(self) -> Any:
        from tg_numba import front, meanings

        return front.word_type(self, meanings.of(self.__name__), literal=self.literal)

    def __call__(self, *arguments: Any) -> Any:
        """Words are for compiled code alone."""
        raise NotImplementedError(f"{self.__name__} means nothing in Python")


@final
class ItemWord:
    """A word for the type of elements in memory, which converts a number to it too."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.key = name

    @cached_property
    def _numba_type_(self) -> Any:
        from tg_numba import meanings

        return meanings.item_type(self.__name__)

    def __call__(self, *arguments: Any) -> Any:
        """Words are for compiled code alone."""
        raise NotImplementedError(f"{self.__name__} means nothing in Python")


@final
class Symbol:
    """An address that the text names, and that becomes known when the code is loaded."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def _numba_type_(self) -> Any:
        from tg_numba import front

        return front.PLACE


class Callee:
    """A Python function that compiled code calls, compiled when it is first needed for arguments of some types."""

    def __init__(self, function: Callable[..., Any] | None, *, apart: bool) -> None:
        """Wrap a function.

        Args:
            apart: it is called by its name, and not part of what calls it.
        """
        self.py_func, self.apart = function, apart
        if function is not None:
            functools.update_wrapper(self, function)
        self.noalias = False  # whether no two pointers among the arguments reach one place
        self.overloads: dict[Any, Any] = {}  # by types of the arguments

    @property
    def function(self) -> Callable[..., Any]:
        """The function."""
        assert self.py_func is not None
        return self.py_func

    @cached_property
    def _numba_type_(self) -> Any:
        from tg_numba import front

        return front.callee_type(self)

    def __call__(self, *arguments: Any) -> Any:
        """What Python makes of the function."""
        return self.function(*arguments)


@final
class Nest(Callee):
    """A loop nest, whose text becomes a function when it is compiled."""

    def __init__(self, text: str, scope: dict[str, Any]) -> None:
        super().__init__(None, apart=True)
        self._text, self._scope = text, scope
        self.noalias = True

    @property
    def function(self) -> Callable[..., Any]:
        """The function."""
        if self.py_func is None:
            names = dict(self._scope)
            exec(compile(self._text, "<tg-numba nest>", "exec"), names)
            self.py_func = names["loop"]
        return self.py_func


def compiled(function: Callable[..., Any]) -> Callee:
    """A function that becomes part of those that call it."""
    return Callee(function, apart=False)


def apart(function: Callable[..., Any]) -> Callee:
    """A function that others call by its name."""
    return Callee(function, apart=True)


# --- what the process knows ------------------------------------------------------------------------------------------

_functions: Final[dict[Callable[..., Any], tuple[Any, Any]]] = {}
_nests: Final[weakref.WeakValueDictionary[object, Nest]] = weakref.WeakValueDictionary()


def both(function: Callable[..., Any]) -> tuple[Any, Any]:
    """A function of a rule, as what calls it includes it and as it is called by its name."""
    if not isinstance(function, Callee) and hasattr(type(function), "_numba_type_"):
        return function, function
    with LOCK:
        found = _functions.get(function)
        if found is None:
            made = function if isinstance(function, Callee) else compiled(function)
            found = _functions[function] = (made, apart(made.function))
        return found


def nest(text: str, scope: dict[str, Any]) -> Nest:
    """The function of a loop nest, called by its name: one for equal texts that use the same functions."""
    key = (text, frozenset((name, id(value)) for name, value in scope.items()))
    with LOCK:
        found = _nests.get(key)
        if found is None:
            found = _nests[key] = Nest(text, scope)
        return found
