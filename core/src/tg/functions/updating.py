"""`with_updates`: a value, and what a function that computes it stores beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.errors import InputError, message
from tg.functions.arguments import pairs_of, updates_of
from tg.ops.inner import repeated_by, whole_of
from tg.ops.updating import Updating
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg.functions.shared import Shared
    from tg.graph.nodes import Variable


def with_updates(x: Any, updates: Mapping[Shared, Any]) -> Variable:
    """x, with which a function that computes it stores new values of shared variables: running statistics of layers.

    `updates=` of `tg.function` goes before. Where a program has two updates of a variable, the second is made of what
    the first gives. `tg.checkpoint` carries updates outward; loops and branches refuse them. In `tg.vmap` each
    element may update its own element of a shared variable that is mapped along the first axis.

    Args:
        updates: new values, by variable.
    Returns:
        x: derivatives do not see the updates.
    Raises:
        InputError: what is updated is not shared; what is traced is the body of a loop, or of `tg.vmap`, all of whose
            elements would update one value.
        DtypeError: the cast to the variable's dtype would lose values.
        ShapeError: another rank, or another length where one is fixed.
    Example:
        >>> import tg
        >>> x, largest = tg.scalar("x"), tg.shared(0.0, "largest")
        >>> f = tg.function([x], tg.with_updates(2 * x, {largest: tg.maximum(largest, x)}))
        >>> [float(f(value)) for value in (1.0, 3.0, 2.0)], float(largest.get_value())
        ([2.0, 6.0, 4.0], 3.0)
    """
    v = as_variable(x)
    within = repeated_by()
    for target, value in zip(*updates_of(dict(pairs_of(updates, "updates")), "with_updates"), strict=True):
        whole: Shared = whole_of(target)
        if within and whole is target:
            hint = "a loop may carry the value, and the program update the variable afterwards"
            text = f"with_updates: found an update of {target!r} in the body of {within}"
            raise InputError(message(text, hint=hint))
        v = Updating(next(whole.said))(v, target, value)
    return v
