"""Reading and writing by indices."""

from __future__ import annotations

from typing import Any

import tg
from tg_pytensor.conversion import as_dtype
from tg_pytensor.registry import convert


def places(op: Any, node: Any, indices: Any) -> tuple[Any, ...]:
    """The indices of an op as tg takes them: `idx_list` says which are slices of what is given as operands."""
    operands = iter(indices)

    def taken(entry: Any) -> Any:
        if isinstance(entry, slice):
            return slice(*(None if part is None else taken(part) for part in (entry.start, entry.stop, entry.step)))
        # an entry says a type, or since 3.0 a place, of the next operand; None stands for a new axis
        return entry if entry is None else next(operands)

    listed = getattr(op, "idx_list", None)
    return tuple(indices) if listed is None else tuple(taken(entry) for entry in listed)


@convert.register("Subtensor", "AdvancedSubtensor", "AdvancedSubtensor1")
def read(op: Any, node: Any, x: Any, *indices: Any) -> Any:
    """x at indices."""
    return x[places(op, node, indices)]


@convert.register("IncSubtensor", "AdvancedIncSubtensor", "AdvancedIncSubtensor1")
def write(op: Any, node: Any, x: Any, value: Any, *indices: Any) -> Any:
    """x with a value set, or added, at indices."""
    chosen = places(op, node, indices)
    value = as_dtype(value, x.type.dtype)
    x = tg.cast(x, value.type.dtype)
    if writes_rows(op, node):
        what = f"Runtime broadcasting not allowed. {type(op).__name__} was asked for it"
        value = as_long(value, node.inputs[1].type.shape, (chosen[0].shape[0], *x.shape[1:]), what)
    if getattr(op, "ignore_duplicates", False) and not op.set_instead_of_inc:
        return x.at[chosen].set(x[chosen] + value)
    return x.at[chosen].set(value) if op.set_instead_of_inc else x.at[chosen].add(value)


def writes_rows(op: Any, node: Any) -> bool:
    """Whether whole rows are written at a vector of integers, for which PyTensor repeats nothing at run time."""
    if type(op).__name__ == "AdvancedIncSubtensor1":  # until 3.0
        return True
    if getattr(op, "idx_list", None) != (0,) or len(node.inputs) < 3:
        return False
    index: Any = node.inputs[2].type
    return getattr(index, "ndim", 0) == 1 and index.dtype != "bool"


def as_long(value: Any, declared: Any, lengths: Any, what: str) -> Any:
    """A value of which it is made sure that it has some lengths along its axes, but where it is known to have 1."""
    own = lengths[len(lengths) - len(declared) :]
    wanted = [None if n == 1 else m for n, m in zip(declared, own, strict=True)]
    return tg.specify_shape(value, wanted, what)


convert.add({"MakeSlice": lambda op, node, *parts: slice(*parts)})
