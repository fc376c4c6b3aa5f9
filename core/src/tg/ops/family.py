"""`Family`: the table that closes every file of ops, so that the parser, the docs and conformance know its members."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tg.graph.op import Op
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.ops.reductions import Reduction


class Family(NamedTuple):
    """A family of operations: its path, its elementwise functions, its op classes, and the functions users call.

    `aliases` are further names that users know some of them by. `is_lowered` says that only the lowering of a backend
    makes its ops: no expression has them, and no other backend is asked for them. `reductions` are the records that it
    makes known, so that texts that reduce by them can be read. Its functions are names of `tg`, or of a `module` of it.
    `internal` are the elementwise functions that only derivatives, rewriting and draws write: texts and plugins know
    them, and no list of the names of `tg` has them.
    """

    path: str
    elementwise: tuple[ElementwiseFunction, ...] = ()
    ops: tuple[type[Op], ...] = ()
    functions: tuple[Callable[..., Any], ...] = ()
    aliases: tuple[tuple[str, Callable[..., Any]], ...] = ()
    is_lowered: bool = False
    reductions: tuple[Reduction, ...] = ()
    module: str = ""
    internal: tuple[ElementwiseFunction, ...] = ()
