"""Ops with inner graphs: types through a graph, graphs typed anew, functions traced into graphs."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.checks import STATUS_LENGTH, STEP
from tg.graph.frozen import types_for
from tg.graph.function_graph import freeze
from tg.graph.interpret import with_lengths
from tg.graph.nodes import Constant, Variable, size_value
from tg.graph.traversal import key_of
from tg.ops.shape_ops import AxisLength
from tg.ops.updating import Updating
from tg.types import requirements, substitution
from tg.types.atoms import AxisLength as AxisAtom
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.types.atoms import Atom


_REPEATED: ContextVar[str] = ContextVar("repeated", default="")
_WHOLES: ContextVar[Mapping[int, Variable]] = ContextVar("wholes", default=MappingProxyType({}))


@contextlib.contextmanager
def repeated(what: str, wholes: Mapping[int, Variable] = MappingProxyType({})) -> Iterator[None]:
    """Mark what is traced meanwhile as computed again and again, by `what`: it is no place for what has a state.

    Args:
        wholes: variables of which each repetition has an element, by the ids of what stands for it: these may have one.
    """
    tokens = _REPEATED.set(what), _WHOLES.set({**_WHOLES.get(), **wholes})
    try:
        yield
    finally:
        _REPEATED.reset(tokens[0])
        _WHOLES.reset(tokens[1])


def repeated_by() -> str:
    """The name of what computes again and again what is traced now; "" for nothing."""
    return _REPEATED.get()


def whole_of(v: Any) -> Any:
    """The variable of which v stands for an element, in what is repeated now; v if there is none."""
    wholes = _WHOLES.get()
    while id(v) in wholes:
        v = wholes[id(v)]
    return v


class InnerTypes(NamedTuple):
    """The types of a graph's outputs in terms of the operands' lengths.

    `inside` are the same types with the lengths that only the graph knows; in `outside` these are unknown.
    """

    inside: tuple[TensorType, ...]
    outside: tuple[TensorType, ...]
    known: frozenset[Atom]


def inner_types(name: str, graph: FrozenGraph, inputs: Sequence[TensorType], *, requires: bool = True) -> InnerTypes:
    """The types of a graph's outputs for operands of these symbolic types; lengths that must be equal are required.

    Args:
        requires: False for a graph that may not run: what it requires holds only there.
    Raises:
        InputError: operands that the graph was not made for.
    """
    for k, (actual, needed) in enumerate(zip(inputs, graph.input_types, strict=True)):
        if actual.dtype != needed.dtype or len(actual.shape) != len(needed.shape):
            raise InputError(message(f"{name}: operand {k}: found {actual}, needed {needed}"))
    with requirements.Requirements() as needs:
        types = types_for(graph, inputs)
    atoms = frozenset(a for t in inputs for n in t.shape for a in substitution.atoms(n))
    for a, b, what, broadcasts in needs.found if requires else ():  # what else must be equal the graph has checks for
        if atoms.issuperset((*substitution.atoms(a), *substitution.atoms(b))):
            requirements.require_same(a, b, lambda what=what: what, broadcasts=broadcasts)  # type: ignore[misc]
    outputs = [types[k] for k in graph.outputs]
    inside = [t.with_shape([n if n is None else needs.resolve(n) for n in t.shape]) for t in outputs]
    return InnerTypes(tuple(inside), tuple(_outer(t, atoms) for t in inside), atoms)


def _outer(t: TensorType, atoms: Collection[Atom]) -> TensorType:
    """A type with the lengths that only the inner graph knows unknown: those made of more than the operands' atoms."""
    return t.with_shape(
        [None if n is None or any(a not in atoms for a in substitution.atoms(n)) else n for n in t.shape]
    )


def respecialize(frozen: FrozenGraph, types: Sequence[TensorType]) -> FrozenGraph:
    """The graph for inputs of other static types, everything re-inferred, checks included."""
    wanted = tuple(t.static for t in types)
    if wanted == frozen.input_types:
        return frozen
    inputs = [Variable(t, name=frozen.names.get(k)) for k, t in enumerate(wanted)]
    with requirements.Requirements():  # found again where it is frozen, and none of the graph's that the op is in
        outputs, checks = frozen.instantiate_with_checks(inputs)
    return freeze(inputs, outputs, checks)


def refused_by_shapes(graph: FrozenGraph, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The status of the first check that fails for inputs of these shapes, whatever they hold; () if there is none.

    A library that traces what may not run asks first: its operations are not for such shapes.
    """
    own = {
        node.outputs[0]: np.asarray(shapes[node.inputs[0]][node.op.axis], np.int64)
        for node in graph.nodes
        if isinstance(node.op, AxisLength) and node.inputs[0] < graph.arity
    }
    values = with_lengths(graph, own)
    for k, check in enumerate(graph.checks):
        if check.condition in values and not values[check.condition] and values.keys() >= set(check.values):
            return (k + 1, *(int(values[v]) for v in check.values))
    return ()


def placeholders(
    name: str, graph: FrozenGraph, shapes: Sequence[Sequence[int]], length: Sequence[int] = (), skipped: int = 0
) -> tuple[np.ndarray[Any, Any], ...]:
    """Zeros in the place of what a graph has not computed, in which a check failed, for inputs of these shapes.

    Whoever looks at the status at the end alone goes on with them: they are as long as results are, as far as the
    shapes of the inputs say so.

    Args:
        length: in front of the shapes of the outputs behind the first `skipped`.
    """
    types = [t.with_shape(tuple(shape)) for t, shape in zip(graph.input_types, shapes, strict=True)]
    try:
        out_types = inner_types(name, graph, types, requires=False).outside
    except ShapeError:  # that is what failed
        out_types = tuple(t.with_shape((None,) * t.ndim) for t in graph.output_types)
    return tuple(
        np.zeros((*(length if k >= skipped else ()), *(n if type(n) is int else 0 for n in t.shape)), t.numpy_dtype)
        for k, t in enumerate(out_types)
    )


def captured(
    outputs: Sequence[Variable], own: Sequence[Variable], began: int, updating: list[Variable] | None = None
) -> list[Variable]:
    """The variables that a function used besides its arguments `own`, each once, in the order of meeting.

    These are the variables that were there before the one with the serial number `began`, whole: what they were
    computed from is not looked at, so that nothing is computed again for each step and gradients reach them.

    Args:
        updating: where the results of `Updating` go that were made inside.
    Raises:
        InputError: there are such, and nowhere to go.
    """
    own_keys = {key_of(v) for v in own}
    visited: set[tuple[int, int]] = set()
    variables: list[Variable] = []
    stack = list(reversed(outputs))
    while stack:
        v = stack.pop()
        key = key_of(v)
        if key in visited or key in own_keys:
            continue
        visited.add(key)
        if v.apply is None or (v.serial < began and not _is_length(v)):
            if not isinstance(v, Constant):
                variables.append(v)
        elif (id(v.apply), 0) not in visited:
            visited.add((id(v.apply), 0))
            if type(v.apply.op) is Updating:
                if updating is None:
                    text = f"with_updates: found an update of {v.apply.inputs[1]!r} in a loop, a branch or a function"
                    raise InputError(message(text, hint="its value may be a result, and be stored outside"))
                updating.append(v)
            stack.extend(reversed(v.apply.inputs))
    return variables


def _is_length(v: Variable) -> bool:
    """Whether a scalar follows from lengths of arrays and numbers: it is theirs inside too, where they are captured."""
    if v.type.shape != () or v.type.dtype != "int64":
        return False
    return all(type(a) is AxisAtom for a in substitution.atoms(size_value(v)))


def copies(arrays: Sequence[Any], operands: Sequence[Any]) -> tuple[Any, ...]:
    """Arrays, those that were given, are read-only or come twice being copied."""
    ids = {id(v) for v in operands}
    results = []
    for v in arrays:
        results.append(v.copy() if id(v) in ids or not v.flags.writeable else v)
        ids.add(id(v))
    return tuple(results)


def status_type() -> TensorType:
    """The type of a status."""
    return TensorType("int64", (STATUS_LENGTH,))


def status_array(status: Sequence[int], step: int | None = None) -> np.ndarray[Any, Any]:
    """A status as an array: zeros where nothing failed.

    Args:
        step: of a loop in which a check has failed.
    """
    array = np.zeros(STATUS_LENGTH, np.int64)
    array[: len(status)] = status
    if status and step is not None:
        array[STEP] = step
    return array
