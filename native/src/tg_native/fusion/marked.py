"""Places that were scattered to, read off the sums there.

A derivative by what was gathered is 0 by selection where nothing was: a mask is scattered beside the sums, which takes
as many stores as these. Sums that begin at -0.0, to which no -0.0 is added, are -0.0 just where nothing was added: of
two addends only -0.0 and -0.0 have that sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.creation import full_like, iota, zeros_like
from tg.ops.elementwise.arithmetic import add
from tg.ops.elementwise.comparison import equal, logical_and, logical_not, signbit, where
from tg.ops.indexing import Scatter
from tg.ops.shape import ravel
from tg.ops.sized_ops import BroadcastTo
from tg.rewrite.phases import BACKEND, EXACT
from tg.rewrite.rule import Pass
from tg.types.dtypes import numpy_dtype
from tg.types.lengths import same

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View

DTYPES: Final = ("float32", "float64")  # whose sums are never rounded to 0


def _read_off(view: View) -> dict[int, Variable]:
    sums: dict[tuple[object, ...], list[Apply]] = {}
    masks: list[Apply] = []
    for node in view.applies:
        op = node.op
        if isinstance(op, Scatter):
            if op.fn is add and node.types[0].dtype in DTYPES and _repeats(node.inputs[0], 0):
                sums.setdefault(_places(node, op), []).append(node)
            elif op.fn is None and _repeats(node.inputs[0], False) and _repeats(node.inputs[1], True):
                masks.append(node)
    replacements: dict[int, Variable] = {}
    for mask in masks:
        (marked,) = view.results(mask)
        for node in sums.get(_places(mask, mask.op), ()):
            (total,) = view.results(node)
            if total.type.ndim == marked.type.ndim and all(map(same, total.shape, marked.shape)):
                sum_below = _from_below(node)
                replacements[id(total)] = add(sum_below, _zero(sum_below))
                replacements[id(marked)] = logical_not(
                    logical_and(equal(sum_below, _zero(sum_below)), signbit(sum_below))
                )
                break
    return replacements


def _places(node: Apply, op: Any) -> tuple[object, ...]:
    """Key that scatters to the same places have in common."""
    return (op.axes, *map(id, node.inputs[2:]))


def _repeats(v: Variable, value: Any) -> bool:
    """Whether an array is one number, or truth, that is written."""
    written = np.asarray(value, numpy_dtype(v.type.dtype))
    c = _base(v)
    return isinstance(c, Constant) and c.data.tobytes() == written.tobytes() * c.data.size


def _base(v: Variable) -> Variable:
    """Operand that is repeated in an array."""
    return v.inputs[0] if v.apply is not None and type(v.apply.op) is BroadcastTo else v


def _from_below(node: Apply) -> Variable:
    """The sums that begin at -0.0, of addends that are not that."""
    base, v, *indices = node.inputs
    zero = Constant(np.negative(_base(base).data))  # type: ignore[attr-defined]
    begun = zero if base.apply is None else base.apply.op(zero, *base.inputs[1:])
    return node.op(begun, add(v, _zero(v)), *indices)  # type: ignore[no-any-return]


def _zero(v: Variable) -> Constant:
    return Constant(np.zeros((), numpy_dtype(v.type.dtype)))


def _halves(x: Variable) -> Variable:
    """Sums of neighbours at the first half of the places, infinite at the others."""
    v = ravel(x)
    places = iota(v.shape[0]) // 2
    marks = Scatter((-1,))(full_like(v, False, "bool"), full_like(v, True, "bool"), places)
    return where(marks, Scatter((-1,), add)(zeros_like(v), v, places), np.inf)


MARKED: Final = Pass(
    "marks_of_scattered_sums",
    keys=(Scatter,),
    phase=BACKEND,
    kind=EXACT,
    why="Which places have been added to is seen of the sums: no mask is scattered beside them.",
    run=_read_off,
    example=_halves,
)
