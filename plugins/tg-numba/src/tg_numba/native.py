"""What nests in Python call, before anything of it is compiled: nothing here imports Numba.

Numba's cost grows faster than the length of a function, and what a function calls is compiled again as part of it. So
each nest, and each function of a rule that nests call, is a function of its own that others call by its name, and what
has been compiled serves all programs of the process that need it. What those functions call becomes part of them.

Numba asks an object that is a global of what it compiles for its `_numba_type_`; only then is Numba there.
"""

from __future__ import annotations

import functools
import weakref
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, final

from tg.turns import Claim, exclusive

if TYPE_CHECKING:
    from collections.abc import Callable

COMPILING: Final = Claim(frozenset(["tg-numba"]), delays_forks=True)  # of everything that compiles


@final
class Word:
    """A word of generated code that LLVM's instructions stand for; `tg_numba.meanings` has what it means."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    @property
    def key(self) -> str:
        """What makes two words one."""
        return self.__name__

    @cached_property
    def _numba_type_(self) -> Any:
        from tg_numba import internals, meanings

        return internals.word_type(self, meanings.of(self.__name__))

    def __call__(self, *arguments: Any) -> Any:
        """Words are for compiled code alone."""
        raise NotImplementedError(f"{self.__name__} means nothing in Python")


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
        from tg_numba import internals

        return internals.callee_type(self)

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


# --- what the process knows ------------------------------------------------------------------------------------------

_functions: Final[dict[Callable[..., Any], Callee]] = {}
_nests: Final[weakref.WeakValueDictionary[object, Nest]] = weakref.WeakValueDictionary()


@exclusive(COMPILING)
def called(function: Callable[..., Any]) -> Callee:
    """A function of a rule as nests call it: by its name."""
    found = _functions.get(function)
    if found is None:
        plain = function.function if isinstance(function, Callee) else function
        found = _functions[function] = Callee(plain, apart=True)
    return found


@exclusive(COMPILING)
def nest(text: str, scope: dict[str, Any]) -> Nest:
    """The function of a loop nest, called by its name: one for equal texts that use the same functions."""
    key = (text, frozenset((name, id(value)) for name, value in scope.items()))
    found = _nests.get(key)
    if found is None:
        found = _nests[key] = Nest(text, scope)
    return found
