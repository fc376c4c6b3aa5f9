"""`Hosted`: a rule that leaves the backend, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from collections.abc import Callable


@final
class Hosted:
    """A rule by way of the host: NumPy, or the op's own reference, computes what the backend's library does not.

    `tg coverage` and the conformance suite tell it from a rule of the backend's own; to a program it is any rule.

    Example:
        >>> from tg.link.hosted import Hosted
        >>> Hosted(lambda x: -x)(2)
        -2
    """

    __slots__ = ("__wrapped__",)

    def __init__(self, rule: Callable[..., Any]) -> None:
        self.__wrapped__ = rule  # as functools.wraps has it: inspect.signature looks through

    def __call__(self, *operands: Any, **dying: Any) -> Any:
        """The result of the rule."""
        return self.__wrapped__(*operands, **dying)
