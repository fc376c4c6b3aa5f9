"""Costs of steps and memory, and the thresholds by which both native backends decide how loops are written.

Times are lower bounds, of what the caches hold and in the widest vectors: an estimate that is too low leaves a loop to
one thread, which is no loss. What a function costs stands in its record; `benchmarks/costs.py` measures it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise.record import Elementwise
from tg_native.kernels.dtypes import item_size, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.frozen import Node
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.ops.reductions import Reduction

# --- functions, in additions -----------------------------------------------------------------------------------------

FEW_STEPS: Final = 3.0
"""What a function of a few instructions costs at most: a root costs 2.4, the least of the others, exp2, 3.4."""

# --- nanoseconds -----------------------------------------------------------------------------------------------------

BYTE: Final = 0.01  # to move one
LIGHT: Final = 0.004  # for each byte of a result that is a few instructions
HEAVY: Final = 0.08  # for each byte of any other
ALONE: Final = 8  # times as long as that where each element is computed by itself

# --- threads ---------------------------------------------------------------------------------------------------------

LEAST: Final = 60_000  # nanoseconds; of less, waking a thread takes too much
PART: Final = 10_000  # nanoseconds that a part takes at least
SHARE: Final = 4  # parts for each thread
UNIT: Final = 64  # elements, between whose multiples parts of a row end: whole vectors, whole lines of the cache

# --- reductions ------------------------------------------------------------------------------------------------------

CHUNK: Final = 64  # terms of a floating sum, or rows, that are added one after the other
PARTIAL_SUMS: Final = 48  # sums of chunks, added pairwise: more than a count of chunks has binary digits
LEVELS: Final = 4  # of rows that are added up: CHUNK ** LEVELS = 16.8 million rows before errors grow with their number

# --- rows ------------------------------------------------------------------------------------------------------------

AHEAD: Final = 2**16  # bytes of a next row that are fetched while one is worked on

# --- tiles -----------------------------------------------------------------------------------------------------------

TILE: Final = 2**18  # bytes that loops hand on in one tile: half of a second cache, as processors have it
LEAST_TILE: Final = 64  # elements, whose multiples tiles are: whole vectors, whole lines of the cache
MOST_TILE: Final = 4096  # beyond, nothing is left of what calls cost
MOST_HANDED_ON: Final = 2**22  # bytes in the least tile, beyond which no cache holds them

# --- runs ------------------------------------------------------------------------------------------------------------

FEW_BLOCKS: Final = 8  # in a row, up to which positions are not searched for runs
SORTED_RUN: Final = 16  # elements that are sorted by insertion before runs are merged
MANY_ARGUMENTS: Final = 16
"""From so many numbers and places in a tile on, a loop is given tables: 1,500 steps took LLVM 1.3 s for calls alone."""


def has_many_steps(fn: ElementwiseFunction) -> bool:
    """Whether a function is as long as a call of one, around which few vectors can be kept."""
    return fn.cost > FEW_STEPS


def time_of(nodes: Iterable[Node], dtypes: Sequence[str]) -> float:
    """About how many nanoseconds the steps of a scalar program take for one element; `dtypes` are its values'."""
    return sum(_time_of_step(node, dtypes) for node in nodes)


def time_of_reduction(reduction: Reduction, dtype: str) -> float:
    """About how many nanoseconds one more element of a reduction takes."""
    return _time(reduction.fn, (dtype,))


def time_to_move(dtypes: Iterable[str]) -> float:
    """About how many nanoseconds one element of each of these takes on its way from or to memory."""
    return BYTE * sum(map(item_size, dtypes))


def _time_of_step(node: Node, dtypes: Sequence[str]) -> float:
    step_dtypes = [dtypes[k] for k in (*node.inputs, *node.outputs)]
    return _time(node.op.fn if isinstance(node.op, Elementwise) else None, step_dtypes)


def _time(fn: ElementwiseFunction | None, dtypes: Sequence[str]) -> float:
    """Time of a function, or of a step that is none, with operands and a result of these dtypes."""
    size = max(map(item_size, dtypes))
    if fn is None or not has_many_steps(fn):
        return LIGHT * size
    return HEAVY * size * (ALONE if any(kind_of(dtype) in ("half", "complex") for dtype in dtypes) else 1)
