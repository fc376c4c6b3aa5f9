"""The functions that a graph became, and the text of their code."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tg.link.blame import Line, described
from tg.link.inner import bound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType

    import numpy as np

    from tg.link.host import HostFunction

    Array = np.ndarray[Any, Any]


class Funcified(NamedTuple):
    """The functions of a graph.

    `device(sizes, constants, *inputs)` gives the outputs with a backend's arrays, and `constants` are its second
    argument. `host` gives the sizes that depend on values; it is None where there are none, and `sizes` is ().
    """

    device: Callable[..., tuple[Any, ...]]
    host: HostFunction | None
    constants: tuple[Array, ...]
    lines: tuple[Line, ...]  # of the generated code
    code: CodeType
    rules: frozenset[str]  # the names of the rules in the scope of the code
    compiled: frozenset[str] = frozenset()  # the names of what compiles inner graphs
    overwrites: tuple[tuple[int, int], ...] = ()  # outputs and inputs: `device(…, writes=[])` tells how to make these

    def inspected(self, inspect: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
        """`device` with every call of a rule made by `inspect(line, rule, args, kwargs)`."""
        scope = dict(self.device.__globals__)
        for name in self.rules:
            scope[name] = functools.partial(_inspected, inspect, self.lines, scope[name])
        scope.update(dict.fromkeys(self.compiled, bound))
        exec(self.code, scope)
        scope.update({k: v for k, v in self.device.__globals__.items() if k.endswith("_lengths")})  # what is remembered
        return scope["graph"]  # type: ignore[no-any-return]

    @property
    def declarations(self) -> str:
        """The meaning of the names in the generated code, as comments."""
        scope = self.device.__globals__
        rows = [f"# {name}: {described(scope[name])}" for name in sorted(self.rules)]
        rows += [f"# constants[{k}]: {a.dtype}{list(a.shape)}" for k, a in enumerate(self.constants)]
        return "".join(f"{row}\n" for row in rows)

    @property
    def source(self) -> str:
        """The generated code, with the user's lines as comments."""
        rows: list[str] = []
        last = ""
        for text, loc, _, _ in self.lines:
            comment = f"    # {loc}" if loc is not None else ""
            if comment and comment != last:
                rows.append(comment)
            rows.append(text)
            last = comment or last
        return "\n".join(rows) + "\n" + (f"\n{self.host.source}" if self.host is not None else "")


def _inspected(
    inspect: Callable[..., Any], lines: Sequence[Line], rule: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """A call of a rule from generated code, of which the line tells the node."""
    return inspect(lines[sys._getframe(1).f_lineno - 1], rule, args, kwargs)
