"""The loops that users write: functions of carries and slices, traced into the graphs of `tg.ops.loops`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, TypeVarTuple, Unpack, overload

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.dims import named_type
from tg.graph.function_graph import freeze
from tg.graph.nodes import Variable, as_size_variable, size_value
from tg.ops.elementwise.arithmetic import maximum, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import not_equal
from tg.ops.family import Family
from tg.ops.indexing import flip
from tg.ops.inner import captured, inner_types, repeated
from tg.ops.loops import Cond, While
from tg.ops.shape import concatenate, reshape, specify_shape
from tg.ops.traced_steps import apply_step, as_before, as_integer, sequences_of, serial_now, step_count, trace_step
from tg.types.lengths import same
from tg.types.requirements import unheard
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, is_weak, promote, weak_kind
from tg.variables.structure import Structure, flatten, paths

if TYPE_CHECKING:
    from tg.graph.frozen import FrozenGraph


Xs = TypeVar("Xs")
R = TypeVar("R")
Y = TypeVar("Y")
Ts = TypeVarTuple("Ts")


class Stepped(TypedDict, total=False):
    """The options of `scan`, for type checkers."""

    reverse: bool
    checkpoint: int | None


@overload
def scan(
    f: Callable[[Variable, Variable], tuple[Variable | complex, Y]],
    init: Variable | complex,
    xs: Variable,
    length: Any = None,
    **options: Unpack[Stepped],
) -> tuple[Variable, Y]: ...
@overload
def scan(
    f: Callable[[Variable, None], tuple[Variable | complex, Y]],
    init: Variable | complex,
    xs: None = None,
    length: Any = None,
    **options: Unpack[Stepped],
) -> tuple[Variable, Y]: ...
@overload
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: Any = None,
    **options: Unpack[Stepped],
) -> tuple[Any, Any]: ...
def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: Any = None,
    *,
    reverse: bool = False,
    checkpoint: int | None = None,
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
        checkpoint: reverse mode keeps the carries of every so many steps alone, and computes those between again: of
            t steps, with the square root of t, it keeps about twice that. None: those of all steps are kept.
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
    return looped(f, init, xs, length, "scan", reverse=reverse, checkpoint=checkpoint)


def looped(
    f: Callable[..., Any],
    init: Any,
    xs: Any,
    length: Any,
    what: str,
    *,
    reverse: bool = False,
    checkpoint: int | None = None,
    told: tuple[int, ...] = (1, 0),
) -> tuple[Any, Any]:
    """The outcome of a loop, the last carry and the results, for a function of users by the name `what`."""
    sequences, xs_structure = sequences_of(xs, what)
    leaves, init_structure = flatten(init)
    count = step_count(length, sequences, what)
    if checkpoint is not None:
        return _in_segments(f, init, (sequences, xs_structure), count, checkpoint, reverse=reverse)

    def traced(carries: Sequence[Any], slices: Sequence[Variable]) -> tuple[Any, Any]:
        pair = f(init_structure(iter(carries)), xs_structure(iter(slices)))
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InputError(message(f"{what}: f gave {_kind(pair)}, needed a pair: the next carry and a result"))
        return pair

    with unheard(), repeated(what):
        step = trace_step(traced, leaves, sequences, init_structure, what)
    results = apply_step(step, leaves, sequences, count, what, reverse=reverse, told=told)
    carries, ys = results[: len(leaves)], results[len(leaves) :]
    return init_structure(iter(carries)), step.structure(iter(ys))


@overload
def fori_loop(
    lower: Any, upper: Any, body: Callable[[Variable, Variable], Variable | complex], init: Variable | complex
) -> Variable: ...
@overload
def fori_loop(lower: Any, upper: Any, body: Callable[[Variable, Any], Any], init: Any) -> Any: ...
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
    low, high = as_integer(lower, "fori_loop: lower"), as_integer(upper, "fori_loop: upper")
    steps: Any = max(0, high - low) if type(low) is int and type(high) is int else maximum(subtract(high, low), 0)
    start = as_size_variable(low)
    (_, last), _ = looped(lambda c, _: ((c[0] + 1, body(*c)), None), (start, init), None, steps, "fori_loop")
    return last


@overload
def map(f: Callable[[Variable], R], xs: Variable) -> R: ...
@overload
def map(f: Callable[[Any], Any], xs: Any) -> Any: ...
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
    return looped(lambda _, x: (None, f(x)), None, xs, None, "map")[1]


@overload
def reduce(
    f: Callable[[Variable, Variable], Variable | complex], xs: Variable, init: Variable | complex
) -> Variable: ...
@overload
def reduce(f: Callable[[Any, Any], Any], xs: Any, init: Any) -> Any: ...
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
    return looped(lambda c, x: (f(c, x), None), init, xs, None, "reduce")[0]


def _in_segments(
    f: Callable[..., Any],
    init: Any,
    xs: tuple[list[Variable], Structure],
    count: int | Variable,
    size: int,
    *,
    reverse: bool,
) -> tuple[Any, Any]:
    """A scan over segments of so many steps, each a scan, and one over the steps that are left."""
    if type(size) is not int or size < 1:
        raise InputError(message(f"scan: checkpoint: found {size!r}, needed an int of at least 1"))
    (sequences, structure), steps = xs, count if type(count) is int else size_value(as_size_variable(count))
    segments = steps // size
    whole = segments * size

    def segment(carry: Any, slices: Any) -> tuple[Any, Any]:
        told = (1, 0) if size > 1 else ()  # of single steps those of the segments are told
        return looped(f, carry, structure(iter(slices)), size, "scan", reverse=reverse, told=told)

    def over_rest(carry: Any) -> tuple[Any, Any]:
        slices = structure(iter([v[whole:] for v in sequences]))
        told = (1, whole) if type(whole) is int else ()
        return looped(f, carry, slices, steps - whole, "scan", reverse=reverse, told=told)

    def over_segments(carry: Any) -> tuple[Any, Any]:
        parts = [reshape(v[:whole], (segments, size, *v.shape[1:])) for v in sequences]
        carry, ys = looped(segment, carry, parts, segments, "scan", reverse=reverse, told=(size, 0))
        leaves, rebuild = flatten(ys)
        return carry, rebuild(iter([reshape(y, (whole, *y.shape[2:])) for y in leaves]))

    if reverse:
        carry, last = over_rest(init)
        carry, first = over_segments(carry)
    else:
        carry, first = over_segments(init)
        carry, last = over_rest(carry)
    leaves, rebuild = flatten(first)
    pairs = zip(leaves, flatten(last)[0], strict=True)
    return carry, rebuild(iter([concatenate([a, b], 0) for a, b in pairs]))


def associative_scan(f: Callable[[Xs, Xs], Xs], xs: Xs, *, reverse: bool = False) -> Xs:
    """All running results of an associative f along the first axis, in about log2(t) rounds over whole arrays.

    Args:
        f: takes two values of the structure of `xs`, each with a leading axis over pairs, and gives one.
        xs: arrays whose first axes have one known length, of any structure.
        reverse: begin with the last.
    Returns:
        the running results, with the structure and shapes of `xs`.
    Raises:
        InputError: the length is not known before the program runs: `tg.scan` takes any.
    Source:
        Names and meaning are those of `jax.lax.associative_scan`; the rounds are those of Hillis and Steele,
        "Data parallel algorithms", CACM 29(12), 1986.
    Example:
        >>> import tg
        >>> tg.associative_scan(tg.multiply, tg.constant([1.0, 2.0, 3.0])).eval().tolist()
        [1.0, 2.0, 6.0]
    """
    values, structure = sequences_of(xs, "associative_scan")
    lengths = [v.shape[0] for v in values]
    count: Any = lengths[0] if lengths else 0
    if any(type(n) is not int or n != count for n in lengths):
        text = f"associative_scan: found axes of {' and '.join(str(n) for n in lengths)}, needed one known length"
        raise InputError(message(text, hint="tg.scan takes lengths that are known when the program runs"))
    if reverse:
        values = [flip(v, 0) for v in values]
    step = 1
    while step < count:
        earlier, later = [v[:-step] for v in values], [v[step:] for v in values]
        joined = structure.leaves_of(f(structure(iter(earlier)), structure(iter(later))), "associative_scan")
        values = [concatenate([v[:step], as_variable(w)], 0) for v, w in zip(values, joined, strict=True)]
        step *= 2
    return structure(iter([flip(v, 0) for v in values] if reverse else values))  # type: ignore[no-any-return]


@overload
def while_loop(
    cond: Callable[[Variable], Variable],
    body: Callable[[Variable], Variable | complex],
    init: Variable | complex,
    max_steps: int | None = None,
) -> Variable: ...
@overload
def while_loop(
    cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, max_steps: int | None = None
) -> Any: ...
def while_loop(cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, max_steps: int | None = None) -> Any:
    """Apply `carry = body(carry)` as long as `cond(carry)` holds.

    Args:
        cond: gives a bool scalar.
        init: the first carry, of any structure; Python scalars take the dtype of what body makes of them.
        max_steps: the loop ends after so many steps whatever the condition: reverse mode keeps as many. Without it
            there is no gradient in reverse mode.
    Returns:
        the last carry.
    Raises:
        InputError: cond gives no bool scalar, or body a carry of another structure.
        DtypeError, ShapeError: a carry changes its dtype or shape.
    Source:
        Names and meaning are those of `jax.lax.while_loop`.
    Example:
        >>> import tg
        >>> x = tg.scalar("x")
        >>> float(tg.while_loop(lambda c: c < 100, lambda c: c * 2, x).eval({x: 3.0}))
        192.0
    """
    leaves, structure = flatten(init)
    if max_steps is not None and (type(max_steps) is not int or max_steps < 0):
        raise InputError(message(f"while_loop: max_steps: found {max_steps!r}, needed an int of at least 0"))

    def traced(carries: Sequence[Any], slices: Sequence[Variable]) -> tuple[Any, Any]:
        return body(structure(iter(carries))), None

    with unheard(), repeated("while_loop"):
        step = trace_step(traced, leaves, [], structure, "while_loop")
        test = as_variable(cond(structure(iter(step.carries))))
        if test.type != TensorType("bool"):
            raise InputError(message(f"while_loop: cond gave {test.type}, needed a bool scalar"))
        after = [as_before(v, c, "while_loop") for v, c in zip(step.after, step.carries, strict=True)]
        used = captured([test, *after], step.carries, step.began)
        own = [*step.carries, *used]
        traces = step.carries if max_steps is not None else []
        op = While(freeze(own, [test]), freeze(own, [*after, *traces]), len(leaves), max_steps)
    operands = [as_variable(v, c.type.dtype) for v, c in zip(leaves, step.carries, strict=True)]
    return structure(iter(op(*operands, *used)[: len(leaves)]))


@overload
def cond(
    pred: Any,
    then: Callable[[Unpack[Ts]], Variable | complex],
    otherwise: Callable[[Unpack[Ts]], Variable | complex],
    *operands: *Ts,
) -> Variable: ...
@overload
def cond(pred: Any, then: Callable[[Unpack[Ts]], R], otherwise: Callable[[Unpack[Ts]], R], *operands: *Ts) -> R: ...
def cond(pred: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any:  # type: ignore[misc]
    """`then(*operands)` where `pred` holds, else `otherwise(*operands)`: the other is not computed, and cannot fail.

    Args:
        pred: a bool scalar; of numbers, 0 stands for False.
        operands: arrays, of any structure. What the functions use besides is captured as it is.
    Returns:
        what the function gives; both give the same structure, dtypes and shapes.
    Raises:
        InputError: the functions give different structures; pred is no scalar.
        DtypeError, ShapeError: results of different dtypes or shapes.
    Source:
        Names and meaning are those of `jax.lax.cond`.
    Example:
        >>> import tg
        >>> x = tg.scalar("x")
        >>> y = tg.cond(x > 0, lambda v: tg.sqrt(v), lambda v: -v, x)
        >>> [float(y.eval({x: v})) for v in (4.0, -3.0)]
        [2.0, 3.0]
    """
    test = as_variable(pred)
    if test.type.ndim:
        raise InputError(message(f"cond: pred: found {test.type}, needed a scalar", hint="tg.where is elementwise"))
    holds = test if test.type.dtype == "bool" else not_equal(test, 0)
    return _branched(cast_variable(holds, "int64"), {"otherwise": otherwise, "then": then}, operands, "cond")


@overload
def switch(index: Any, branches: Sequence[Callable[[Unpack[Ts]], Variable | complex]], *operands: *Ts) -> Variable: ...
@overload
def switch(index: Any, branches: Sequence[Callable[[Unpack[Ts]], R]], *operands: *Ts) -> R: ...
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:  # type: ignore[misc]
    """`branches[index](*operands)`: the others are not computed, and cannot fail.

    An index below 0 counts as 0, one above the last as the last.

    Args:
        index: an integer scalar.
        branches: functions that give the same structure, dtypes and shapes.
    Returns:
        what the function gives.
    Raises:
        InputError: no branch; the index is no integer scalar; the functions give different structures.
        DtypeError, ShapeError: results of different dtypes or shapes.
    Source:
        Names and meaning are those of `jax.lax.switch`.
    Example:
        >>> import tg
        >>> k = tg.scalar("k", dtype="int64")
        >>> int(tg.switch(k, [lambda v: v, lambda v: v * v], 3).eval({k: 1}))
        9
    """
    if callable(branches) or not isinstance(branches, Sequence) or not branches:
        hint = "tg.where(condition, x, y) chooses elements"
        raise InputError(message(f"switch: branches: found {branches!r}, needed a sequence of functions", hint=hint))
    choice = as_integer(index, "switch: index")
    number = choice if isinstance(choice, Variable) else as_size_variable(choice)
    return _branched(number, {f"branch {k}": f for k, f in enumerate(branches)}, operands, "switch")


def _branched(index: Variable, functions: Mapping[str, Any], operands: Sequence[Any], what: str) -> Any:
    """The results of the branch that an int64 scalar numbers; the functions stand by what an error calls them."""
    leaves, structure = flatten(tuple(operands))
    arguments = [as_variable(v) for v in leaves]
    with unheard():
        began = serial_now()
        inner = [Variable(named_type(v), name=v.name) for v in arguments]
        branches: list[list[Any]] = []
        results: Structure | None = None
        for name, function in functions.items():
            if not callable(function):
                hint = "tg.where(condition, x, y) chooses elements"
                raise InputError(message(f"{what}: {name}: found {function!r}, needed a function", hint=hint))
            value = function(*structure(iter(inner)))
            if results is None:
                values, results = flatten(value)
            else:
                values = results.leaves_of(value, f"{what}: {name}")
            branches.append(values)
        assert results is not None
        outputs = _alike(branches, paths(results), what)
        used = captured([v for each in outputs for v in each], inner, began)
        own = [*inner, *used]
        first = freeze(own, outputs[0])
        outputs = [outputs[0], *(_as_first(first, own, each, what) for each in outputs[1:])]
        used += captured([v for each in outputs for v in each], own, began)  # whose lengths the results must have
        graphs = [freeze([*inner, *used], each) for each in outputs]
    values = Cond(tuple(graphs))(index, *arguments, *used)
    return results(iter(values if isinstance(values, tuple) else (values,)))


def _alike(branches: Sequence[Sequence[Any]], names: Sequence[str], what: str) -> list[list[Variable]]:
    """The results of branches as variables of common dtypes, which Python scalars take from the others.

    Raises:
        DtypeError, ShapeError: they have different dtypes or ranks.
    """
    columns = []
    for name, column in zip(names, zip(*branches, strict=True), strict=True):
        strong = [as_variable(v).type.dtype for v in column if not is_weak(v)]
        kinds = [kind for kind in (weak_kind(v) for v in column if is_weak(v)) if kind is not None]
        dtype = promote(*strong[:1], *kinds)
        values = [as_variable(v, dtype if is_weak(v) else None) for v in column]
        if len({v.type.dtype for v in values}) > 1:
            shown = " and ".join(dict.fromkeys(v.type.dtype for v in values))
            raise DtypeError(message(f"{what}: result{name}: found {shown}, needed one dtype", hint="x.astype(dtype)"))
        if len({v.type.ndim for v in values}) > 1:
            shown = " and ".join(dict.fromkeys(str(v.type) for v in values))
            raise ShapeError(message(f"{what}: result{name}: found {shown}, needed one shape"))
        columns.append(values)
    return [[column[k] for column in columns] for k in range(len(branches))]


def _as_first(first: FrozenGraph, own: Sequence[Variable], outputs: Sequence[Variable], what: str) -> list[Variable]:
    """The results of a branch, made sure to have the lengths that the first branch's results have for such operands."""
    types = inner_types(what, first, [v.symbolic_type for v in own], requires=False).outside
    results = []
    for v, t in zip(outputs, types, strict=True):
        alike = all(n is None or same(m, n) for m, n in zip(v.shape, t.shape, strict=True))
        results.append(v if alike else specify_shape(v, t.shape, f"{what}: a result of a branch"))
    return results


def _kind(value: object) -> str:
    return f"{type(value).__name__} of {len(value)}" if isinstance(value, tuple) else type(value).__name__


FAMILY = Family("iteration", functions=(scan, associative_scan, while_loop, fori_loop, cond, switch, map, reduce))
