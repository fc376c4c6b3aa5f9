"""The loops that users write: functions of carries and slices, traced into the graphs of `tg.ops.loops`."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.dims import named_type
from tg.graph.function_graph import freeze
from tg.graph.nodes import Variable, as_size_variable
from tg.ops.elementwise.arithmetic import maximum, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.family import Family
from tg.ops.inner import captured
from tg.ops.loops import Scan
from tg.ops.shape import specify_shape
from tg.types.lengths import Length, same
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, is_weak
from tg.variables.structure import Structure, flatten, paths

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_PASSES = 3  # over a function whose Python scalars take dtypes from what it gives


class _Step(NamedTuple):
    """A function of carries and slices, traced: its inputs, what it gives, and the structure of that."""

    carries: list[Variable]
    slices: list[Variable]
    after: list[Variable]
    given: list[Variable]
    structure: Structure


def scan(
    f: Callable[..., Any], init: Any, xs: Any = None, length: Any = None, *, reverse: bool = False
) -> tuple[Any, Any]:
    """Apply f step by step: `carry, y = f(carry, x)`, x being the slices of `xs` along their first axis.

    What f uses besides its arguments is captured as it is. A Python scalar in `init` takes the dtype of what f makes of
    it; everything else keeps its dtype and shape from step to step.

    Args:
        f: a function of the carry and a slice, of any structure; it gives the next carry and a result (None for none).
        init: the first carry, of any structure.
        xs: arrays whose first axes have one length, of any structure; None for none: f is given None.
        length: how many steps, an int or an integer scalar; it follows from `xs` if there are any.
        reverse: begin with the last slices; results stand where their slices do.
    Returns:
        the last carry, and the results of all steps, each with a new first axis.
    Raises:
        InputError: f gives no pair, or a carry of another structure; neither xs nor length says how many steps.
        DtypeError, ShapeError: a carry changes its dtype or shape.
    Source:
        Names and meaning are those of `jax.lax.scan`.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> total, sums = tg.scan(lambda c, v: (c + v, c + v), 0.0, x)
        >>> [float(v) for v in sums.eval({x: [1.0, 2.0, 3.0]})]
        [1.0, 3.0, 6.0]
    """
    sequences, xs_structure = _sequences(xs, "scan")
    leaves, init_structure = flatten(init)
    count = _count(length, sequences, "scan")

    def traced(carries: Sequence[Any], slices: Sequence[Variable]) -> tuple[Any, Any]:
        found = f(init_structure(iter(carries)), xs_structure(iter(slices)))
        if not isinstance(found, tuple) or len(found) != 2:
            raise InputError(message(f"scan: f gave {_kind(found)}, needed a pair: the next carry and a result"))
        return found

    step = _traced(traced, leaves, sequences, init_structure, "scan")
    results = _applied(step, leaves, sequences, count, reverse=reverse)
    carries, ys = results[: len(leaves)], results[len(leaves) :]
    return init_structure(iter(carries)), step.structure(iter(ys))


def fori_loop(lower: Any, upper: Any, body: Callable[..., Any], init: Any) -> Any:
    """Apply `carry = body(i, carry)` for i from `lower` to below `upper`.

    Args:
        lower, upper: integers or integer scalars; there is no step where lower is not below upper.
        body: a function of i, an int64 scalar, and the carry, of any structure.
    Returns:
        the last carry.
    Source:
        Names and meaning are those of `jax.lax.fori_loop`.
    Example:
        >>> import tg
        >>> n = tg.scalar("n", dtype="int64")
        >>> int(tg.fori_loop(1, n + 1, lambda i, c: c * i, 1).eval({n: 5}))
        120
    """
    low, high = _integer(lower, "fori_loop: lower"), _integer(upper, "fori_loop: upper")
    steps: Any = max(0, high - low) if type(low) is int and type(high) is int else maximum(subtract(high, low), 0)
    start = as_size_variable(low)
    (_, found), _ = scan(lambda c, _: ((c[0] + 1, body(c[0], c[1])), None), (start, init), None, steps)
    return found


def map(f: Callable[..., Any], xs: Any) -> Any:
    """Apply f to every slice of `xs` along their first axis.

    Returns:
        what f gives, each with a new first axis.
    Source:
        Names and meaning are those of `jax.lax.map`.
    Example:
        >>> import tg
        >>> x = tg.matrix("x")
        >>> tg.map(tg.sum, x).eval({x: [[1.0, 2.0], [3.0, 4.0]]}).tolist()
        [3.0, 7.0]
    """
    return scan(lambda _, x: (None, f(x)), None, xs)[1]


def reduce(f: Callable[..., Any], xs: Any, init: Any) -> Any:
    """Apply `carry = f(carry, x)` to the slices of `xs`, from the first to the last.

    Returns:
        the last carry.
    Source:
        The order of arguments is that of `functools.reduce`.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> float(tg.reduce(tg.maximum, x, 0.0).eval({x: [1.0, 3.0, 2.0]}))
        3.0
    """
    return scan(lambda c, x: (f(c, x), None), init, xs)[0]


def _sequences(xs: Any, what: str) -> tuple[list[Variable], Structure]:
    leaves, structure = flatten(xs)
    found = [as_variable(v) for v in leaves]
    for path, v in zip(paths(structure), found, strict=True):
        if not v.type.ndim:
            raise ShapeError(message(f"{what}: xs{path}: found {v.type}, needed an axis for the steps"))
    return found, structure


def _count(length: Any, sequences: Sequence[Variable], what: str) -> int | Variable:
    """The number of steps: an int, or an int64 scalar."""
    if length is None:
        if not sequences:
            raise InputError(message(f"{what}: found neither xs nor length, needed one: how many steps"))
        length = sequences[0].shape[0]
    found = _integer(length, f"{what}: length")
    if type(found) is int and found < 0:
        raise ShapeError(message(f"{what}: length: found {found}, needed at least 0"))
    return found


def _integer(value: Any, what: str) -> Any:
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


def _traced(
    f: Callable[..., tuple[Any, Any]],
    leaves: Sequence[Any],
    sequences: Sequence[Variable],
    structure: Structure,
    what: str,
) -> _Step:
    """The function traced until the dtypes of Python scalars are those of what it makes of them."""
    named = [f"carry{path}" for path in paths(structure)]
    weak = [is_weak(v) and type(v) is not Length for v in leaves]
    types = [named_type(as_variable(v)) for v in leaves]
    if any(weak):
        types = _weak_types(f, leaves, weak, sequences, types, structure, what)
    for _ in range(MOST_PASSES):
        step = _once(f, types, sequences, structure, what)
        after = [v.type.dtype for v in step.after]
        stale = [k for k, t in enumerate(types) if weak[k] and after[k] != t.dtype]
        if not stale:
            break
        for k in stale:
            types[k] = TensorType(after[k], types[k].shape)
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
    given = [v if is_python else Variable(t) for v, is_python, t in zip(leaves, weak, types, strict=True)]
    try:
        after, _ = f(given, _slices(sequences))
        found = structure.leaves_of(after, what)
    except Exception:  # noqa: BLE001 (what it is shows when the function is traced over variables)
        return list(types)
    return [
        TensorType(v.type.dtype) if is_python and isinstance(v, Variable) else t
        for v, is_python, t in zip(found, weak, types, strict=True)
    ]


def _slices(sequences: Sequence[Variable]) -> list[Variable]:
    """A variable for a slice of each sequence."""
    return [Variable(t.with_shape(t.shape[1:])) for t in (named_type(v) for v in sequences)]


def _once(
    f: Callable[..., tuple[Any, Any]],
    types: Sequence[TensorType],
    sequences: Sequence[Variable],
    structure: Structure,
    what: str,
) -> _Step:
    carries, slices = [Variable(t) for t in types], _slices(sequences)
    after, given = f(carries, slices)
    found = [
        as_variable(v, t.dtype if is_weak(v) else None)
        for v, t in zip(structure.leaves_of(after, f"{what}: the carry"), types, strict=True)
    ]
    ys, made = flatten(given)
    return _Step(carries, slices, found, [as_variable(y) for y in ys], made)


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


def _applied(
    step: _Step, leaves: Sequence[Any], sequences: Sequence[Variable], count: int | Variable, *, reverse: bool
) -> Sequence[Variable]:
    """The results of a loop of a traced step: carries, and what it traces.

    The carries before each step are traced as well: what gradients need. Where nothing reads them they are not kept.
    """
    own = [*step.carries, *step.slices]
    after = [_as_before(v, c) for v, c in zip(step.after, step.carries, strict=True)]
    used = captured([*after, *step.given], own)
    body = freeze([*own, *used], [*after, *step.carries, *step.given])
    given = [as_variable(v, c.type.dtype) for v, c in zip(leaves, step.carries, strict=True)]
    length = [count] if isinstance(count, Variable) else []
    op = Scan(body, len(given), len(sequences), None if length else count, reverse)  # type: ignore[arg-type]
    made = op(*length, *given, *sequences, *used)
    results = made if isinstance(made, tuple) else (made,)
    kept = len(given)
    return (*results[:kept], *results[2 * kept : 2 * kept + len(step.given)])


def _as_before(after: Variable, before: Variable) -> Variable:
    """A carry after a step, with the lengths that it has before."""
    if all(same(a, b) for a, b in zip(after.shape, before.shape, strict=True)):
        return after
    return specify_shape(after, before.shape, "scan: a carry after a step")


def _kind(value: object) -> str:
    return f"{type(value).__name__} of {len(value)}" if isinstance(value, tuple) else type(value).__name__


FAMILY = Family("iteration", ops=(Scan,), functions=(scan, fori_loop, map, reduce))
