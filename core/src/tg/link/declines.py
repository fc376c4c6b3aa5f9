"""Declines of the rules of a backend: ops on operands of some types, for which they gave `NotImplemented`.

Which ops a rule takes shows when it is called: by a linker that writes code while the program is linked, by one that
runs arrays when it is first run. The program is compiled once more then, and all later programs know beforehand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from tg.errors import TgError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.op import Op
    from tg.types.tensor_type import TensorType


@final
class Declined(TgError):  # noqa: N818 (it is no error)
    """A rule has declined: the program is to be compiled again. No user sees it."""

    names_rule = True  # nothing is to be said about it

    def __init__(self, op: Op, types: Sequence[TensorType]) -> None:
        super().__init__(f"{op.spelled}({', '.join(map(str, types))}): its rule declines")
        self.key = _key(op, types)


def taken(result: Any, op: Op, types: Sequence[TensorType]) -> Any:
    """The result of a rule for an op on operands of some types.

    Raises:
        Declined: it gave `NotImplemented`.
    """
    if result is NotImplemented:
        raise Declined(op, types)
    return result


@final
class Declines:
    """The ops that a backend's rules have declined, each with the dtypes and ranks of its operands."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], None] = {}  # written in one step each: several threads may compile

    def __bool__(self) -> bool:
        return bool(self._known)

    def has(self, op: Op, types: Sequence[TensorType]) -> bool:
        """Whether an op on operands of some types is among them."""
        return bool(self._known) and _key(op, types) in self._known

    def note(self, declined: Declined) -> None:
        """From now on it is one of them."""
        self._known.setdefault(declined.key)


def _key(op: Op, types: Sequence[TensorType]) -> tuple[Any, ...]:
    """An elementwise function is the same at every rank: in loops of native code it is met without one."""
    return (op, *(t.dtype if op.pointwise else (t.dtype, t.ndim) for t in types))
