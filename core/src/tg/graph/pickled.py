"""Pickling expressions: the applies below a variable as one table, so that depth does not matter and sharing stays.

Variables of one expression share its table while it is pickled, and so are one expression again. Lengths are inferred
anew; the user's lines are kept, as file, line and function.
"""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any, Final, final

from tg.graph import loc as locs
from tg.graph.dims import named_type
from tg.graph.nodes import Constant, Variable, apply
from tg.graph.traversal import sorted_applies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.loc import Loc
    from tg.graph.nodes import Apply
    from tg.graph.op import Op
    from tg.types.tensor_type import TensorType

    Row = tuple[Op, tuple[int, ...], Loc | None, dict[int, str]]  # the last: names of results


@final
class Table:
    """The applies below a variable, operands first, but for those that other tables at hand have.

    Values are numbered: the leaves, then the results of each apply.
    """

    __slots__ = ("__weakref__", "applies", "leaves", "number", "values")

    def __init__(self, root: Variable) -> None:
        self.applies: list[Apply] = []
        self.leaves: dict[int, Variable] = {}
        self.values: dict[int, Variable] = {}  # by number
        pairs = [(node, results) for node, results in sorted_applies([root]) if id(node) not in TABLES]
        own = {id(node) for node, _ in pairs}
        for u in itertools.chain.from_iterable(node.inputs for node, _ in pairs):
            if id(u.apply) not in own:
                self.leaves.setdefault(id(u), u)
        self.number = {key: k for k, key in enumerate(self.leaves)}  # of leaves, and of the first results of applies
        self.values.update(enumerate(self.leaves.values()))
        count = len(self.leaves)
        for node, results in pairs:
            self.applies.append(node)
            self.number[id(node)] = count
            self.values.update({count + k: v for k, v in enumerate(results) if v is not None})
            count += len(node.types)
        TABLES.update(dict.fromkeys(own, self))

    def place(self, v: Variable) -> int:
        """The number of a leaf or of a result."""
        return self.number[id(v)] if id(v) in self.leaves else self.number[id(v.apply)] + v.index

    def __reduce__(self) -> tuple[object, ...]:
        rows = [(node.op, tuple(map(self.place, node.inputs)), node.loc, self._names(node)) for node in self.applies]
        return (_restored, (tuple(self.leaves.values()), rows))

    def _names(self, node: Apply) -> dict[int, str]:
        values = ((k, self.values.get(self.number[id(node)] + k)) for k in range(len(node.types)))
        return {k: v.name for k, v in values if v is not None and v.name is not None}


TABLES: Final[weakref.WeakValueDictionary[int, Table]] = weakref.WeakValueDictionary()  # by the ids of their applies


def reduced(v: Variable) -> tuple[object, ...]:
    """The result of `Variable.__reduce__`."""
    if isinstance(v, Constant):
        return (_constant, (v.data, v.name, v.loc))
    if v.apply is None:
        return (_input, (named_type(v), v.name, v.loc))
    table = TABLES.get(id(v.apply)) or Table(v)
    table.values.setdefault(table.place(v), v)
    return (_picked, (table, table.place(v)))


def _picked(table: Any, place: int) -> Variable:
    value: Variable = table.values[place]
    return value


@final
class Values:
    """The values of a table when it is read, by their numbers."""

    __slots__ = ("values",)

    def __init__(self, values: list[Variable]) -> None:
        self.values = values


def _restored(leaves: Sequence[Variable], rows: Sequence[Row]) -> Values:
    values = [*leaves]
    for op, operands, loc, names in rows:
        with locs.at(loc):
            results = apply(op, [values[k] for k in operands])
        for k, name in names.items():
            results[k].name = name
        values.extend(results)
    return Values(values)


def _input(kind: TensorType, name: str | None, loc: Loc | None) -> Variable:
    with locs.at(loc):
        return Variable(kind, name=name)


def _constant(data: Any, name: str | None, loc: Loc | None) -> Constant:
    with locs.at(loc):
        return Constant(data, name)
