"""Steps of loops traced: a user's function of carries and slices as the inner graph of a `Scan`."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.dims import named_type
from tg.graph.function_graph import freeze
from tg.graph.nodes import Variable, as_size_variable
from tg.ops.elementwise.cast import cast_variable
from tg.ops.inner import captured
from tg.ops.loops import Scan
from tg.ops.shape import specify_shape
from tg.types.lengths import Length, same
from tg.types.requirements import unheard
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, is_weak, promote, weak_kind
from tg.variables.structure import Structure, flatten, paths

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_PASSES = 3  # over a function whose Python scalars take dtypes from what it gives


class Step(NamedTuple):
    """A function of carries and slices, traced: its inputs, what it gives, and the structure of that."""

    began: int
    """The serial number of a variable made before all that the function made."""
    carries: list[Variable]
    slices: list[Variable]
    after: list[Variable]
    given: list[Variable]
    structure: Structure


def serial_now() -> int:
    """The serial number that a variable has which is made now."""
    return Variable(TensorType("bool")).serial


def sequences_of(xs: Any, what: str) -> tuple[list[Variable], Structure]:
    """The sequences of a loop, of which each has an axis for the steps, and how they are nested."""
    leaves, structure = flatten(xs)
    sequences = [as_variable(v) for v in leaves]
    for path, v in zip(paths(structure), sequences, strict=True):
        if not v.type.ndim:
            raise ShapeError(message(f"{what}: xs{path}: found {v.type}, needed an axis for the steps"))
    return sequences, structure


def step_count(length: Any, sequences: Sequence[Variable], what: str) -> int | Variable:
    """The number of steps: an int, or an int64 scalar."""
    if length is None:
        if not sequences:
            raise InputError(message(f"{what}: found neither xs nor length, needed one: how many steps"))
        length = sequences[0].shape[0]
    count: int | Variable = as_integer(length, f"{what}: length")
    if type(count) is int and count < 0:
        raise ShapeError(message(f"{what}: length: found {count}, needed at least 0"))
    return count


def as_integer(value: Any, what: str) -> int | Variable:
    """An int as it is, anything else as an int64 scalar."""
    if type(value) is Length:
        return as_size_variable(value)
    if isinstance(value, Variable):
        if value.type.shape or not value.type.dtype.lstrip("u").startswith("int"):
            raise InputError(message(f"{what}: found {value.type}, needed an integer scalar"))
        return cast_variable(value, "int64")
    try:
        return operator.index(value)
    except TypeError:
        raise InputError(message(f"{what}: found {value!r}, needed an integer")) from None


def trace_step(
    f: Callable[..., tuple[Any, Any]],
    leaves: Sequence[Any],
    sequences: Sequence[Variable],
    structure: Structure,
    what: str,
) -> Step:
    """The function traced until the dtypes of Python scalars are those of what it makes of them."""
    named = [f"carry{path}" for path in paths(structure)]
    weak = [is_weak(v) and type(v) is not Length for v in leaves]
    types = [named_type(as_variable(v)) for v in leaves]
    if any(weak):
        types = _weak_types(f, leaves, weak, sequences, types, structure, what)
    for number in range(MOST_PASSES):
        step = _once(f, types, sequences, structure, what)
        after = [v.type.dtype for v in step.after]
        stale = [k for k, t in enumerate(types) if weak[k] and after[k] != t.dtype]
        if not stale:
            break
        for k in stale:  # later ones only to what holds both: scalars that change places would have no end
            types[k] = _holding(leaves[k], after[k], *([types[k].dtype] if number else []))
    for k, (v, t) in enumerate(zip(step.after, types, strict=True)):
        _need_same(named[k], v, t, what)
    return step


def _weak_types(
    f: Callable[..., tuple[Any, Any]],
    leaves: Sequence[Any],
    weak: Sequence[bool],
    sequences: Sequence[Variable],
    types: Sequence[TensorType],
    structure: Structure,
    what: str,
) -> list[TensorType]:
    """The types of carries, Python scalars being given to the function as they are: they take dtypes as anywhere.

    A function that needs variables there fails, and the scalars have their own dtypes at first.
    """
    carries = [v if is_python else Variable(t) for v, is_python, t in zip(leaves, weak, types, strict=True)]
    try:
        after, _ = f(carries, slices_of(sequences))
        next_carries = structure.leaves_of(after, what)
    except Exception:  # noqa: BLE001 (what it is shows when the function is traced over variables)
        return list(types)
    return [
        _holding(start, as_variable(v).type.dtype) if is_python and not is_weak(v) else t
        for v, start, is_python, t in zip(next_carries, leaves, weak, types, strict=True)
    ]


def _holding(start: Any, *dtypes: str) -> TensorType:
    """The type of a scalar carry of these dtypes that a Python scalar begins: 0.5 is no int64."""
    kind = weak_kind(start)
    assert kind is not None
    return TensorType(promote(*dtypes, kind))


def _as_next(value: Any, dtype: str) -> Variable:
    """The value of a step for a carry of a dtype: of Python scalars only those that the dtype's kind has take it."""
    kind = weak_kind(value)
    return as_variable(value) if kind is None else as_variable(value, promote(dtype, kind))


def slices_of(sequences: Sequence[Variable]) -> list[Variable]:
    """A variable for a slice of each sequence."""
    return [Variable(t.with_shape(t.shape[1:])) for t in (named_type(v) for v in sequences)]


def _once(
    f: Callable[..., tuple[Any, Any]],
    types: Sequence[TensorType],
    sequences: Sequence[Variable],
    structure: Structure,
    what: str,
) -> Step:
    began = serial_now()
    carries, slices = [Variable(t) for t in types], slices_of(sequences)
    after, result = f(carries, slices)
    next_carries = [
        _as_next(v, t.dtype) for v, t in zip(structure.leaves_of(after, f"{what}: the carry"), types, strict=True)
    ]
    ys, ys_structure = flatten(result)
    return Step(began, carries, slices, next_carries, [as_variable(y) for y in ys], ys_structure)


def _need_same(name: str, after: Variable, before: TensorType, what: str) -> None:
    """Refuse a carry that changes its type.

    Raises:
        DtypeError, ShapeError: its dtype changes, or its shape.
    """
    if after.type.dtype != before.dtype:
        text = f"{what}: {name}: found {after.type.dtype} after a step, needed {before.dtype} as before"
        hint = f"astype({before.dtype!r}) of the result, or an init of {after.type.dtype}"
        raise DtypeError(message(text, hint=hint))
    pairs = zip(after.type.shape, before.static.shape, strict=False)
    if after.type.ndim != len(before.shape) or any(a != b for a, b in pairs if a is not None and b is not None):
        raise ShapeError(message(f"{what}: {name}: found {after.type} after a step, needed {before.static} as before"))


def apply_step(
    step: Step,
    leaves: Sequence[Any],
    sequences: Sequence[Variable],
    count: int | Variable,
    what: str,
    *,
    reverse: bool,
    told: tuple[int, ...],
) -> Sequence[Variable]:
    """The results of a loop of a traced step: carries, and what it traces.

    The carries before each step are traced as well: what gradients need. Where nothing reads them they are not kept.
    """
    own = [*step.carries, *step.slices]
    with unheard():
        after = [as_before(v, c, what) for v, c in zip(step.after, step.carries, strict=True)]
        used = captured([*after, *step.given], own, step.began)
        body = freeze([*own, *used], [*after, *step.given, *step.carries])
    inits = [as_variable(v, c.type.dtype) for v, c in zip(leaves, step.carries, strict=True)]
    length = [count] if isinstance(count, Variable) else []
    op = Scan(body, len(inits), len(sequences), None if length else count, reverse, told)  # type: ignore[arg-type]
    outputs = op(*length, *inits, *sequences, *used)
    results = outputs if isinstance(outputs, tuple) else (outputs,)
    return results[: len(inits) + len(step.given)]


def as_before(after: Variable, before: Variable, what: str) -> Variable:
    """A carry after a step, with the lengths that it has before."""
    if all(same(a, b) for a, b in zip(after.shape, before.shape, strict=True)):
        return after
    return specify_shape(after, before.shape, f"{what}: a carry after a step")
