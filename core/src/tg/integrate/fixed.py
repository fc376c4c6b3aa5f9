"""Steps of one length between two times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.integrate.methods import step
from tg.ops.creation import iota
from tg.ops.iteration import scan
from tg.ops.shape import broadcast_to, reshape

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.integrate.methods import Method, Rates


def states_by_fixed_steps(
    method: Method, rates: Rates, y: list[Variable], times: Variable, steps: int, *, checkpoint: bool
) -> list[Variable]:
    """The states at all times but the first.

    One loop makes all steps, whose states reverse mode keeps; with `checkpoint` there is one within another, of which
    the outer one keeps those at the times: reverse mode makes the steps between twice more, in place of once.
    """
    starts = times[:-1]
    lengths = (times[1:] - starts) / steps

    def advance(y: list[Variable], x: Any) -> tuple[Any, Any]:
        t, h = x
        y = step(method, rates, t, y, rates(t, y), h)[0]
        return y, y

    def reach(y: list[Variable], x: Any) -> tuple[Any, Any]:
        start, h = x
        parts = start + h * iota(steps).astype(h.type.dtype)
        y, _ = scan(advance, y, (parts, broadcast_to(h, parts.shape)))
        return y, y

    if checkpoint:
        return scan(reach, y, (starts, lengths))[1]  # type: ignore[no-any-return]
    parts = starts[:, None] + lengths[:, None] * iota(steps).astype(times.type.dtype)
    xs = [reshape(v, (-1,)) for v in (parts, broadcast_to(lengths[:, None], parts.shape))]
    last, states = scan(advance, y, (xs[0], xs[1]))
    if times.type.shape == (2,):
        return [v[None] for v in last]
    return [v[steps - 1 :: steps] for v in states] if steps > 1 else states
