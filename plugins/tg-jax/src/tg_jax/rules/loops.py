"""Loops of inner graphs: `lax.scan`, and `lax.fori_loop` where the number of steps is an operand like others.

Where a step has checks the first status that is not 0 is kept: steps after it are computed, and their results not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import loops as t
from tg_jax.place import platform
from tg_jax.small import in_one, is_small

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import Rule
    from tg_jax import Options

STATUS: Final = 5  # elements


def scan(op: t.Scan, *operands: Any, graphs: Sequence[Callable[..., tuple[Any, ...]]], context: Options) -> Any:
    """A loop over the steps; another number of them compiles nothing where nothing has an axis of that length."""
    (function,) = graphs
    inits, sequences, captured = op.parts(operands)
    n, checked = op.carries, bool(op.body.checks)
    length = op.length if op.length is not None else operands[0]
    start = [jnp.asarray(v) for v in inits] + ([jnp.zeros(STATUS, jnp.int64)] if checked else [])

    def step(carries: Any, slices: Any) -> tuple[Any, Any]:
        found = function(*carries[:n], *slices, *captured)
        after = [lax.convert_element_type(v, c.dtype) for v, c in zip(found, carries[:n], strict=False)]
        if checked:  # a status None: shapes tell that none fails
            first = carries[n]
            after.append(first if found[-1] is None else jnp.where(first[0] == 0, found[-1], first))
        return after, list(found[n : n + op.traces])

    def counted(carries: Any, length: Any) -> Any:
        return lax.fori_loop(0, length, lambda _, carries: step(carries, ())[0], carries)

    def scanned(carries: Any, sequences: Any) -> Any:
        carries, traces = lax.scan(step, carries, sequences, length, reverse=op.reverse)
        return [*carries[:n], *traces, *carries[n:]]

    loop, given = (counted, length) if op.counts_only else (scanned, list(sequences))
    is_one = (op.counts_only or length > 0) and platform(context) == "cpu" and is_small(op.lowered)
    results = in_one(loop, start, given) if is_one else loop(start, given)
    return results[0] if len(results) == 1 else tuple(results)


RULES: Final[dict[object, Rule]] = {t.Scan: scan}
