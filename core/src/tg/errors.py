"""The error classes of tg: one for each decision that a caller can make, each also a built-in class.

A message reads `op: fact: what was found, what was needed`, then indented labelled lines, then at most one hint. The
user's line is last, as a note where the text has none.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, ClassVar, Final

from numpy.exceptions import AxisError as NumpyAxisError
from numpy.linalg import LinAlgError as NumpyLinAlgError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType


def message(summary: str, *lines: tuple[str, str], hint: str | None = None, at: object = None) -> str:
    """Lay out an error text: the summary, the labelled lines aligned under it, the hint, and the user's line."""
    width = max((len(label) for label, _ in lines), default=0)
    rows = [summary, *(f"  {label:<{width}}  {text}".rstrip() for label, text in lines)]
    if hint is not None:
        rows.append(f"  hint: {hint}")
    if at is not None:
        rows.append(f"  at  {at}")
    return "\n".join(rows)


def nearest(name: str, names: Iterable[str], count: int = 1, share: float = 0.6) -> list[str]:
    """The names that are most like a wrong one, the nearest first: at most `count`, that share so much with it."""
    import difflib  # for messages alone

    return difflib.get_close_matches(name, list(names), count, share)


class TgError(Exception):
    """The base of every error that tg raises on purpose; a note gives the user's line where the text does not."""

    locate: ClassVar[Callable[[], str | None]] = staticmethod(lambda: None)  # bound by `tg.graph.loc`
    is_short: ClassVar[Callable[[], bool]] = staticmethod(lambda: True)  # these three bound by `tg.graph.loc`
    of_user: ClassVar[Callable[[TracebackType | None], TracebackType | None]] = staticmethod(
        lambda traceback: traceback
    )
    rendered: ClassVar[Callable[[TgError], Sequence[str]]]
    shows_all: bool  # whether the configuration asks for tg's own frames too

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.shows_all = not TgError.is_short()
        self.note_place()

    def note_place(self) -> None:
        """Note the user's line that is being executed, unless the text or a note has one."""
        texts = (f"\n{text}" for text in (str(self), *getattr(self, "__notes__", ())))
        place = None if any("\n  at " in text for text in texts) else TgError.locate()
        if place is not None:
            self.add_note(f"  at  {place}")

    def trim(self) -> None:
        """Cut off the frames of tg through which it has come so far; it is to be raised again at a door."""
        if TgError.is_short():
            self.__traceback__ = TgError.of_user(self.__traceback__)

    def _render_traceback_(self) -> Sequence[str]:
        """The lines that IPython shows, which asks for them by this name."""
        return TgError.rendered(self)


class ShapeError(TgError, ValueError):
    """Shapes or ranks that do not fit."""


class AxisError(ShapeError, NumpyAxisError):
    """An axis that an array does not have; an `IndexError` besides, with `axis` and `ndim`, as in NumPy."""

    def __init__(self, text: str, axis: int | None = None, ndim: int | None = None) -> None:
        super().__init__(text)
        self.axis, self.ndim = axis, ndim

    def __str__(self) -> str:
        return str(self.args[0])  # NumPy's would add its own

    def __reduce__(self) -> tuple[Any, ...]:
        """Made anew: NumPy's has slots for both numbers, which those who copy the dict of an error would leave."""
        return type(self), self.args, self.__dict__


class DtypeError(TgError, TypeError):
    """A dtype that an operation does not have, or a cast that would lose values."""


class InputError(TgError, TypeError):
    """A call or an expression got an argument that is not what the place needs."""


class BoundsError(TgError, IndexError):
    """An index outside its axis."""


class DomainError(TgError, ValueError):
    """A value outside the domain of an operation, such as the maximum of an empty array."""


class LinAlgError(TgError, NumpyLinAlgError):
    """A matrix that a factorisation does not exist for: singular, or not positive definite."""


class AssertionFailed(TgError, AssertionError):  # noqa: N818 (what it is, not that it is an error)
    """A condition that `tg.assert_` requires and that does not hold."""


class RangeError(TgError, OverflowError):
    """A Python number that the dtype it is to have cannot hold."""


class SymbolicError(TgError, TypeError):
    """A value was asked of a variable that has none until the compiled function runs."""

    is_of_length = False  # whether it was a length, which static shapes say


class LengthError(TgError, ValueError):
    """A value was asked of a length that the compiled function learns from its arguments.

    It is no `TypeError`: NumPy replaces that of a shape's length by one of its own, which does not say what to do.
    """

    is_of_length = True


class NotDifferentiable(TgError, TypeError):  # noqa: N818 (reads as the fact it states)
    """A derivative that does not exist: of a cost that is no real scalar, by integers, through an op without one."""


class GradientError(TgError, ArithmeticError):
    """A derivative that differs from the differences of its function: what `tg.check_grad` raises."""


class RewriteError(TgError, RuntimeError):
    """A rule broke its promise (a cycle, a replacement of another type), or a function has too many specialisations."""


class DebugError(TgError, AssertionError):
    """A rewrite or a backend gave another value than the reference on the inputs of a call with `mode="debug"`."""


class NonFiniteError(TgError, FloatingPointError):
    """A result has a NaN or an infinity: what a call with `nan_guard=True` raises, with the node that made it.

    A step of `tg.optimize.loss_scaled` raises it of a gradient at the least scale.
    """

    found: object = None  # the node, as `find_nonfinite` of the function gives it


class TextError(TgError, ValueError):
    """A text that is not a tg program."""


class FileError(TgError, ValueError):
    """A file that is no model of tg, is damaged, or is of a version that this tg does not read."""


class NoRuleError(TgError, NotImplementedError):
    """The chosen backend has neither a rule nor an expansion for an op."""

    is_python = False  # whether the op calls a Python function, which no compiled program can
    op: str | None = None  # as messages spell it, where one op is to blame
    loc: object = None  # the user's line that made the op, as `tg.graph.loc.Loc`


class BackendUnavailable(TgError, ImportError):  # noqa: N818
    """A backend that is not installed, is broken, or lacks something on this machine."""


class PluginError(TgError, RuntimeError):
    """A plugin that breaks the contract: of `tg.plugin.hookspecs`, or of what rules, rewrites and linkers are to do."""

    names_rule = False  # whether the text says already which rule is at fault


class OptionError(TgError, ValueError):
    """A backend or configuration option that does not exist, or has a value it cannot have."""


class LimitError(TgError, MemoryError):
    """A call that needs more memory than the option `memory` allows: it has not begun."""


FOREIGN: Final = ":"  # between module and name of a class that is not tg's
_GIVEN: Final[dict[str, type[Exception]]] = {}  # classes that checks were given, those inside functions too


def error_name(kind: type[Exception]) -> str:
    """The name by which a check keeps a class of exceptions: one of tg's own, any other behind its module's."""
    own: str = kind.__name__
    if globals().get(own) is kind:
        return own
    name = f"{kind.__module__}{FOREIGN}{kind.__qualname__}"
    _GIVEN[name] = kind
    return name


def error_class(name: str) -> type[Exception]:
    """The class of a name that `error_name` gave.

    No module is imported for it: what is read from a file would run its code. Where the class is not there the check
    raises `AssertionFailed`.
    """
    module, is_foreign, qualified = name.partition(FOREIGN)
    cls = _GIVEN.get(name) if is_foreign else globals()[name]
    if cls is None:
        cls = functools.reduce(lambda at, part: getattr(at, part, None), qualified.split("."), sys.modules.get(module))
    return cls if isinstance(cls, type) and issubclass(cls, Exception) else AssertionFailed


def blamed(error: Exception, what: str, *lines: tuple[str, str], hint: str | None = None) -> Exception:
    """The exception to raise for a plugin code's error: it says whose code that is, and where it was used.

    A `PluginError` with the error as its cause. An error that callers catch by its class stays what it is, and gets a
    note: one of tg's own, of a library's own class, of the machine (memory, files), or a warning.
    """
    if type(error).__module__ != "builtins" or isinstance(error, MemoryError | RecursionError | OSError | Warning):
        error.add_note("  in " + message(what, *lines, hint=hint).replace("\n", "\n  "))
        return error
    summary = f"{what} raised {type(error).__name__}: {str(error).partition(chr(10))[0]}".rstrip(": ")
    plugin_error = PluginError(message(summary, *lines, hint=hint))
    plugin_error.__cause__ = error
    return plugin_error


class TgWarning(UserWarning):
    """The base of every warning of tg."""


class CacheWarning(TgWarning):
    """A folder or a file of the compile cache that cannot be used."""


class ConfigurationWarning(TgWarning, RuntimeWarning):
    """Options that change nothing."""


class GradientWarning(TgWarning):
    """A derivative of a value that does not depend on the variable, with `disconnected="warn"`."""


class InputWarning(TgWarning):
    """An input that no output uses, with `on_unused_input="warn"`."""


class PerformanceWarning(TgWarning, RuntimeWarning):
    """A program that goes on slower than it could."""


class PromotionWarning(TgWarning):
    """An op of an operand of less than 64 bits in 64 bits, with `tg.config(promotion="warn")`."""
