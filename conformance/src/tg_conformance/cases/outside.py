"""Cases of positions outside an axis: an error with the same text everywhere, and nothing read or written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import tg
from tg.errors import BoundsError
from tg.plugin.case import Case, f64, fixed

if TYPE_CHECKING:
    from collections.abc import Iterator

OUTSIDE: Final = ((4, "int64"), (-5, "int64"), (100, "int8"), (-128, "int8"), (255, "uint8"), (2**62, "int64"))


def outside() -> Iterator[Case]:
    """Positions outside an axis: an error with the position, and nothing read or written."""
    for position, dtype in OUTSIDE:
        rows = fixed([0, position, 1], dtype)
        facts: dict[str, Any] = {"raises": BoundsError, "traps": ("T48",), "static": (False,)}
        yield Case(lambda x, i: x[i] * 2, [f64(4, 3), rows], name=f"read outside {position} {dtype}", **facts)
        yield Case(lambda x, i: x.at[i].set(1.0), [f64(4, 3), rows], name=f"set outside {position} {dtype}", **facts)
        yield Case(lambda x, i: x.at[i].add(1.0), [f64(4, 3), rows], name=f"add outside {position} {dtype}", **facts)
        yield Case(
            lambda x, i: x[i],
            [f64(4, 3), fixed(position, dtype)],
            name=f"read outside by a scalar {position} {dtype}",
            **facts,
        )
        yield Case(lambda x, i: tg.take(x, i, 1), [f64(3, 4), rows], name=f"take outside {position} {dtype}", **facts)
    yield Case(lambda x, i: x[i], [f64(0, 3), fixed([0], "int64")], name="read of an axis without elements", **facts)
    yield Case(
        lambda x, i: tg.take(x, i, 0, mode="clip"),
        [f64(0, 3), fixed([0], "int64")],
        name="clipped read of an axis without elements",
        **facts,
    )
    yield Case(
        lambda x: x[7],
        [f64("n", "m")],
        name="read outside a run-time length",
        raises=BoundsError,
        static=(False,),
        traps=("T48",),
    )
    yield Case(
        lambda x: x[7],
        [f64("n", "m")],
        name="read outside a known length",
        raises=BoundsError,
        static=(True,),
        traps=("T48",),
    )
    yield Case(
        lambda x, i: x[i] + x[i + 3],
        [f64(4), fixed([0, 1], "int64")],
        name="computed index outside",
        raises=BoundsError,
        static=(False,),
        traps=("T48",),
    )
    yield Case(
        lambda x, i, j: x[i, j],
        [f64(4, 3), fixed([0, 9], "int64"), fixed([-9, 0], "int64")],
        name="two indices outside",
        raises=BoundsError,
        static=(False,),
        traps=("T48",),
    )
