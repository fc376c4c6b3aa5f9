"""Steps of one length between two times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.integrate.methods import step
from tg.ops.creation import iota
from tg.ops.iteration import scan

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.integrate.methods import Method, Rates


def states_by_fixed_steps(
    method: Method, rates: Rates, y: list[Variable], times: Variable, steps: int, checkpoint: int | None
) -> list[Variable]:
    """The states at all times but the first."""

    def reach(y: list[Variable], between: Any) -> tuple[Any, Any]:
        start, end = between
        h = (end - start) / steps

        def advance(y: list[Variable], number: Any) -> tuple[Any, None]:
            t = start + h * number.astype(h.type.dtype)
            return step(method, rates, t, y, rates(t, y), h)[0], None

        if steps > 1:
            y, _ = scan(advance, y, iota(steps))
        else:
            y = step(method, rates, start, y, rates(start, y), h)[0]
        return y, y

    return scan(reach, y, (times[:-1], times[1:]), checkpoint=checkpoint)[1]  # type: ignore[no-any-return]
