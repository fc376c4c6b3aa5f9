"""The backend `loopback`: the reference run through the seam, every rule made of what the op's own record gives.

It computes with NumPy and is complete, so it shows an author all that a first backend needs: this file, with the
functions of another array library where NumPy's stand. It is never chosen by `backend="auto"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg import plugin
from tg.graph.op import Op
from tg.link.funcify import FuncifyLinker
from tg.link.hosted import Hosted
from tg.plugin import Backend, RuleProtocol, Rules, hookimpl
from tg.types.dtypes import DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.ops.elementwise.record import ElementwiseFunction

PROTOCOL = RuleProtocol("array", 2)
LINKER = FuncifyLinker(to_native=np.array, to_numpy=np.asarray, scope=lambda options: np.errstate(all="ignore"))


@hookimpl
def tg_backends() -> tuple[Backend, ...]:
    """The one backend."""
    return (
        Backend(
            "loopback",
            distribution="tg-conformance",
            rules=PROTOCOL,
            linker="tg_conformance.loopback:LINKER",
            dtypes=frozenset(DTYPES),
            priority=-1,
            is_double=True,
        ),
    )


@hookimpl
def tg_rules(backend: str) -> Rules | None:
    """A rule for every elementwise function and every op that is more than its expansion."""
    return Rules(PROTOCOL, table()) if backend == "loopback" else None


def table() -> dict[object, Callable[..., Any]]:
    """The rules, from the families of core and of all extensions."""
    families = plugin.registry().families()
    elementwise: dict[object, Callable[..., Any]] = {
        fn: elementwise_rule(fn) for family in families for fn in family.elementwise
    }
    others: dict[object, Callable[..., Any]] = {
        op: Hosted(op_rule) for family in families for op in family.ops if op.perform is not Op.perform
    }
    return {**elementwise, **others}


def elementwise_rule(fn: ElementwiseFunction) -> Callable[..., Any]:
    """`f(*arrays) -> array` for an elementwise function."""
    return Hosted(lambda *arrays: fn.op.perform(*arrays)[0])


def op_rule(op: Op, *arrays: Any) -> Any:
    """`rule(op, *arrays)` for any op: an array, or a tuple of several."""
    outputs = op.perform(*arrays)
    return outputs[0] if len(outputs) == 1 else outputs
