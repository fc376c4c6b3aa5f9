"""`Verdict` and `Verdicts`: which backends can run a program, under which conditions, and why the others cannot."""

from __future__ import annotations

import dataclasses
import html
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, final, overload

from tg.errors import BackendUnavailable, DtypeError, NoRuleError, OptionError, PluginError
from tg.functions.limited import in_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg.errors import TgError
    from tg.graph.loc import Loc
    from tg.link.memory import Plan

WIDTH: Final = 80  # columns of a printed table
REFUSALS: Final = (NoRuleError, BackendUnavailable, OptionError, PluginError, DtypeError)
"""Errors of compiling that a backend is to blame for; any other is the program's, and the same on all of them."""


@final
@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """Something to know about a program that runs: a word for its kind, and a sentence."""

    kind: str  # "shapes", "sizes", "host", "python", "accuracy" or "precision"
    text: str
    loc: Loc | None = None  # the user's line, where one is meant

    def __str__(self) -> str:
        return self.text if self.loc is None else f"{self.text} (from {self.loc})"


@final
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """The answer for one backend: whether it runs the program, on which conditions, or which op it lacks, and where.

    `error` is what compiling raises; None where it runs.
    """

    backend: str
    error: TgError | None = None
    conditions: tuple[Condition, ...] = ()
    memory: Plan | None = None  # of a call, where all lengths are known
    seconds: float = 0.0  # that it took to find out

    @property
    def runs(self) -> bool:
        """Whether the backend runs the program."""
        return self.error is None

    @property
    def op(self) -> str | None:
        """The op that the backend lacks, None where it is none in particular."""
        return self.error.op if isinstance(self.error, NoRuleError) else None

    @property
    def loc(self) -> Loc | None:
        """The user's line that made the op."""
        return self.error.loc if isinstance(self.error, NoRuleError) else None  # type: ignore[return-value]

    @property
    def reason(self) -> str | None:
        """The error in one line, without the name of the backend; None where it runs."""
        if self.error is None:
            return None
        first = str(self.error).partition("\n")[0]
        return first.removeprefix(f"backend {self.backend!r}").lstrip(": ")

    @property
    def answer(self) -> str:
        """The words "yes", "yes, with" or "no"."""
        return "no" if not self.runs else "yes, with" if self.conditions else "yes"

    @property
    def lines(self) -> list[str]:
        """The conditions and the memory of a call, or the reason with the user's line."""
        if self.reason is None:
            needed = [] if self.memory is None else [f"a call needs {in_bytes(self.memory.total)} beside its arguments"]
            return [*map(str, self.conditions), *needed]
        return [self.reason, *([f"at {self.loc}:  {self.loc.source}"] if self.loc is not None else [])]

    def __bool__(self) -> bool:
        return self.runs

    def __repr__(self) -> str:
        return f"<{self.backend}: {self.answer}{' ' * bool(self.lines)}{'; '.join(self.lines)}>"


@final
class Verdicts(Sequence[Verdict]):
    """The verdicts of several backends, in the order in which they were asked for; by number or by name."""

    def __init__(self, name: str, verdicts: Iterable[Verdict]) -> None:
        self.name, self._all = name, tuple(verdicts)

    @overload
    def __getitem__(self, key: int | str) -> Verdict: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Verdict, ...]: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return next(one for one in self._all if one.backend == key) if key in self.names else self._missing(key)
        return self._all[key]

    def _missing(self, key: str) -> Any:
        raise KeyError(f"{key}: found {', '.join(self.names)}")

    def __len__(self) -> int:
        return len(self._all)

    @property
    def names(self) -> tuple[str, ...]:
        """The backends that were asked."""
        return tuple(one.backend for one in self._all)

    @property
    def runs(self) -> tuple[str, ...]:
        """The backends that run the program."""
        return tuple(one.backend for one in self._all if one.runs)

    def as_records(self) -> list[dict[str, Any]]:
        """The verdicts as JSON has them."""
        return [
            {
                "backend": one.backend,
                "runs": one.runs,
                "op": one.op,
                "reason": one.reason,
                "at": None if one.loc is None else {"file": one.loc.file, "line": one.loc.line},
                "conditions": [{"kind": c.kind, "text": str(c)} for c in one.conditions],
                "memory": None if one.memory is None else one.memory._asdict(),
                "seconds": round(one.seconds, 6),
            }
            for one in self._all
        ]

    def __str__(self) -> str:
        first = max(map(len, ("backend", *self.names)), default=0)
        second = max(len(one.answer) for one in self._all) if self._all else 0
        head = f"{'backend':<{first}}  {'runs':<{second}}".rstrip()
        indent = " " * (first + second + 4)
        rows = [f"{self.name}: {len(self.runs)} of {len(self)} backends run it", head]
        for one in self._all:
            texts = [part for line in one.lines for part in textwrap.wrap(line, WIDTH - len(indent)) or [""]]
            rows.append(f"{one.backend:<{first}}  {one.answer:<{second}}  {texts[0] if texts else ''}".rstrip())
            rows += [f"{indent}{text}" for text in texts[1:]]
        return "\n".join(rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(one.backend)}</td><td>{one.answer}</td>"
            f"<td>{'<br>'.join(map(html.escape, one.lines))}</td></tr>"
            for one in self._all
        )
        title = f"{html.escape(self.name)}: {len(self.runs)} of {len(self)} backends run it"
        return f"<table><caption>{title}</caption><tr><th>backend</th><th>runs</th><th></th></tr>{rows}</table>"
