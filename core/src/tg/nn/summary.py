"""`summary`: the modules of a model, what each gives, how many weights it has and how many operations it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.display.html import element, page
from tg.display.table import Table
from tg.functions.shared import shared
from tg.graph.nodes import Variable
from tg.nn.module import CALLS, Initial, Module, inner, leaves, rebuilt
from tg.nn.weights import count
from tg.nn.work import operations
from tg.types.dtypes import is_float
from tg.types.tensor_type import TensorType
from tg.variables.structure import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

HEADS: Final = ("module", "", "result", "weights", "operations")


class Row(NamedTuple):
    """A call of a module: its path and class, the types of what it gives, numbers of weights and of operations.

    The counts have those of the modules inside. `operations` is None where lengths are known only when a program runs.
    """

    path: str
    kind: str
    results: tuple[TensorType, ...]
    weights: int
    operations: int | None

    @property
    def texts(self) -> tuple[str, ...]:
        """As a table has it."""
        work = "?" if self.operations is None else f"{self.operations:,}"
        return self.path, self.kind, ", ".join(map(str, self.results)), f"{self.weights:,}", work


@final
class Summary:
    """The calls of a model in the order in which they begin; `print` it, or read its `rows`."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = tuple(rows)

    def _table(self) -> Table:
        return Table.of(HEADS, (row.texts for row in self.rows), ("weights", "operations"))

    def __str__(self) -> str:
        return self._table().text()

    def __repr__(self) -> str:
        return f"<summary of {self.rows[0].kind}: {self.rows[0].weights:,} weights>"

    def _repr_html_(self) -> str:
        return page(element("b", f"{self.rows[0].kind}: {self.rows[0].weights:,} weights"), self._table().html())


def summary(model: Module, *inputs: Any, **options: Any) -> Summary:
    """The results of a model for inputs, module by module. Nothing is computed, and weights need not have values.

    Args:
        inputs: variables or arrays, such as `tg.tensor("x", "float32", (1, 3, 224, 224))`; the operations are known
            where all their lengths are.
        options: of the call: `training=False`.
    Raises:
        what the call raises.
    Example:
        >>> import tg
        >>> net = tg.nn.Sequential(tg.nn.Dense(784, 128), tg.relu, tg.nn.Dense(128, 10))
        >>> found = tg.nn.summary(net, tg.tensor("x", "float32", (1, 784)))
        >>> for row in found.rows:
        ...     print(row.path, row.kind, *row.results, row.weights, row.operations)
         Sequential float32[1, 10] 101770 203264
        0 Dense float32[1, 128] 100480 200704
        2 Dense float32[1, 10] 1290 2560
    """
    dtypes = [v.type.dtype for v in flatten(inputs)[0] if isinstance(v, Variable)]
    dtype = next(filter(is_float, dtypes), "float32")
    of_state = {id(leaf) for _, leaf, is_state in leaves(model) if is_state}

    def standing_in(path: str, part: Any) -> Any:
        if not isinstance(part, Initial):
            return part
        if id(part) in of_state:  # which the call may update
            return shared(np.zeros(part.shape, part.dtype or dtype), path, shape=part.shape)
        return Variable(TensorType(part.dtype or dtype, part.shape), name=path)

    watched = rebuilt(model, standing_in)
    places = {id(module): (path, module) for path, module in _modules(watched, "")}
    rows: list[Row | None] = []
    running: list[Module] = []

    def told(module: Module, run: Callable[[], Any]) -> Any:
        if running and running[-1] is module:  # `super().__call__`: one call
            return run()
        if id(module) not in places and running:
            places.update(_places_of_copy(module, running[-1], places))
        place, began = len(rows), Variable(TensorType("bool")).serial
        rows.append(None)
        running.append(module)
        result = run()
        running.pop()
        values = [v for v in flatten(result)[0] if isinstance(v, Variable)]
        kinds = tuple(v.type.static for v in values)
        path = places[id(module)][0] if id(module) in places else ""
        rows[place] = Row(path, type(module).__name__, kinds, count(module), operations(values, began))
        return result

    token = CALLS.set(told)
    try:
        watched(*inputs, **options)
    finally:
        CALLS.reset(token)
    return Summary([row for row in rows if row is not None])


def _places_of_copy(copy: Module, caller: Module, places: Mapping[int, Any]) -> dict[int, tuple[str, Module]]:
    """Paths of a module that a call has made of a part of its own, such as a member of an ensemble."""
    around = places[id(caller)][0] if id(caller) in places else ""
    name = next((name for name, part in caller.parts.items() if type(part) is type(copy)), "")
    path = f"{around}.{name}" if around and name else around or name
    return {id(module): (own, module) for own, module in _modules(copy, path)}  # which lives as long as its number


def _modules(value: Any, path: str) -> Iterator[tuple[str, Module]]:
    if isinstance(value, Module):
        yield path, value
    for name, part in inner(value).items():
        yield from _modules(part, f"{path}.{name}" if path else str(name))
