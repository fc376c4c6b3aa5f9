"""Answers that are worked out at most once and kept for the life of the process."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

T = TypeVar("T")


class Memo:
    """Answers by question: the first published is everyone's.

    There is no lock: working out an answer may import a framework, which may start threads, and publishing it is one
    step of a dict. Two threads may work out the same answer; both get the one that was published first.
    """

    __slots__ = ("_answers",)

    def __init__(self, answers: Mapping[tuple[Hashable, ...], Any] = MappingProxyType({})) -> None:
        self._answers = dict(answers)

    def get(self, question: tuple[Hashable, ...], work_out: Callable[[], T]) -> T:
        """The answer to `question`: the one published, else that of `work_out`; what it raises is not kept."""
        if question in self._answers:
            return self._answers[question]  # type: ignore[no-any-return]
        answer = work_out()
        return self._answers.setdefault(question, answer)  # type: ignore[no-any-return]

    def published(self) -> dict[tuple[Hashable, ...], Any]:
        """A copy of all that was published so far."""
        return dict(self._answers)

    def clear(self) -> None:
        """Forget everything."""
        self._answers.clear()
