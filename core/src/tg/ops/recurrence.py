"""`tg.recurrence`: loops in PyTensor's spelling, with taps, over `tg.scan` and `tg.cond`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import Variable, as_size_variable, size_value
from tg.ops.control import stop_gradient
from tg.ops.creation import zeros
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import logical_not, where
from tg.ops.family import Family
from tg.ops.indexing import flip, slice_axis
from tg.ops.iteration import cond, looped
from tg.ops.shape import concatenate
from tg.ops.traced_steps import as_integer
from tg.types.lengths import maximum, minimum, same
from tg.variables.conversion import as_variable, constant
from tg.variables.structure import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.types.lengths import Length
    from tg.variables.like import TensorLike


@final
class Until:
    """Says that a loop ends behind the step in which a condition holds; made by `tg.until`."""

    def __init__(self, condition: Any) -> None:
        self.condition = as_variable(condition)


def until(condition: TensorLike) -> Until:
    """The condition that ends a `tg.recurrence`, beside what its function gives; the step's own results are kept."""
    return Until(condition)


class _Ending(list[Any]):
    """Results of a step that say whether the loop ends: the outputs, then the condition."""


class _Sequence(NamedTuple):
    """A sequence and its taps."""

    array: Variable
    taps: tuple[int, ...]


class _Output(NamedTuple):
    """Initial value of an output, and the earlier values of it that a step reads; no taps: none."""

    initial: Variable | None
    taps: tuple[int, ...]


def recurrence(
    fn: Callable[..., Any],
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    n_steps: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
) -> Any:
    """Apply fn step by step, as `pytensor.scan` does: the outputs of all steps.

    fn is given the slices of `sequences` at their taps, earlier values of the outputs at theirs, then `non_sequences`;
    it gives one output for each of `outputs_info`, and `tg.until(condition)` behind them where the loop may end before.

    Args:
        sequences: an array, or `dict(input=array, taps=[-1, 0])`, or a list of these. The steps are those at which all
            taps exist: none if the sequence is shorter.
        outputs_info: for each output None, an initial value (the tap -1), or `dict(initial=array, taps=[-2, -1])`,
            whose array has as many first values as the lowest tap says.
        non_sequences: what fn is given in every step. Whatever else it uses is captured.
        n_steps: how many steps; it follows from the sequences if there are any, of which the first steps are taken.
        truncate_gradient: reverse mode goes back so many steps from the last; -1 for all.
        go_backwards: begin with the last slices.
    Returns:
        the outputs, each with a first axis over steps: one if there is one, else a list.
    Raises:
        InputError: the arguments do not say how many steps or outputs there are, or say it in another way than these.
        ShapeError: a sequence has no axis, or an initial value too few rows for its taps.
    Source:
        Names and meaning are those of PyTensor's `scan`: https://pytensor.readthedocs.io/en/latest/library/scan.html
    Example:
        >>> import tg
        >>> begin = dict(initial=tg.constant([1, 1]), taps=[-2, -1])
        >>> fib = tg.recurrence(lambda a, b: a + b, outputs_info=begin, n_steps=5)
        >>> fib.eval().tolist()
        [2, 3, 5, 8, 13]
    """
    if not callable(fn):
        raise InputError(message(f"recurrence: fn: found {fn!r}, needed a function"))
    if type(truncate_gradient) is not int:
        text = f"recurrence: truncate_gradient: found {truncate_gradient!r}, needed an int: of steps, or -1 for all"
        raise InputError(message(text))
    inputs = [_sequence(v, f"sequences[{k}]") for k, v in enumerate(_listed(sequences))]
    named = enumerate(_listed(outputs_info))
    outputs = [_output(v, f"outputs_info[{k}]") for k, v in named] if outputs_info is not None else None
    fixed = [as_variable(v) for v in _listed(non_sequences)]
    steps = _steps(inputs, n_steps)
    slices = [v for each in inputs for v in _taken(each, steps, go_backwards=go_backwards)]
    begins = [] if outputs is None else [v for each in outputs for v in _windows(each)]
    shown: dict[str, bool] = {}

    def step(carry: Any, values: Any) -> tuple[Any, Any]:
        earlier, after = iter(carry), []
        arguments = list(values)
        for each in outputs or ():
            window = [next(earlier) for _ in range(_depth(each))]
            arguments += [window[tap + _depth(each)] for tap in each.taps]
            after.append(window)
        results, ends = _results(fn(*arguments, *fixed))
        if outputs is not None and len(results) != len(outputs):
            text = f"recurrence: fn gave {len(results)} outputs, needed {len(outputs)}, one for each of outputs_info"
            raise InputError(message(text))
        shown["single"] = len(results) == 1
        moved = [v for window, y in zip(after, results, strict=False) for v in [*window[1:], y][: len(window)]]
        return moved, results if ends is None else _Ending([*results, ends])

    probe = _ends(step, begins, slices)
    if probe and truncate_gradient >= 0:  # the last step is known when all are made: a second loop makes as many
        (_, count, *_), _ = looped(_until_end(step), _unended(begins), slices, steps, "recurrence")
        length = size_value(count)
        slices, step, probe = [_rows(v, 0, length, steps) for v in slices], _without_end(step), False
        steps = length
    run, start = (_until_end(step), _unended(begins)) if probe else (step, begins)
    carry, traced = _truncated(run, start, slices, steps, truncate_gradient)
    if probe:
        traced = [_rows(y, 0, size_value(carry[1]), steps) for y in traced]
    return traced[0] if shown["single"] else list(traced)


def _ends(step: Callable[..., Any], begins: Sequence[Variable], slices: Sequence[Variable]) -> bool:
    """Whether a step says when the loop ends: it is called once more for that."""
    inner = [Variable(v.type.with_shape(v.type.shape[1:])) for v in slices]
    return isinstance(step([Variable(v.type) for v in begins], inner)[1], _Ending)


def _truncated(
    step: Callable[..., Any], start: Any, slices: Sequence[Variable], steps: Any, most: int
) -> tuple[Any, list[Variable]]:
    """The last carry and the outputs of a loop, of which reverse mode sees the last steps."""
    if most < 0:
        return looped(step, start, list(slices), steps, "recurrence")
    first = maximum(steps - most, 0)
    carry, before = looped(step, start, [_rows(v, 0, first, steps) for v in slices], first, "recurrence")
    leaves, structure = flatten(carry)
    pairs = zip(flatten(start)[0], leaves, strict=True)
    carry = structure(iter([_cut(first, begin, v) for begin, v in pairs]))
    rest = [_rows(v, first, steps - first, steps) for v in slices]
    carry, after = looped(step, carry, rest, steps - first, "recurrence")
    return carry, [concatenate([stop_gradient(a), b], 0) for a, b in zip(before, after, strict=True)]


def _rows(v: Variable, start: int | Length, size: int | Length, steps: int | Length) -> Variable:
    """`size` rows from `start`, of one for each of so many steps, among which they are.

    A slice by a user's numbers may reach beyond, so its length is the least of several, which what is computed of it
    has again and again: two loops of a truncated gradient took eight times as long to compile.
    """
    if not same(v.shape[0], steps):  # n_steps may be more than there are, which the loop finds out
        return v[start : start + size]
    return slice_axis(v, -v.type.ndim, start, size)


def _cut(first: int | Length, begin: Variable, v: Variable) -> Variable:
    """Outputs of the truncated steps (no gradient); the initial values if there are none."""
    if type(first) is int:
        return stop_gradient(v) if first else begin
    return where(as_size_variable(first) > 0, stop_gradient(v), begin)


def _listed(value: Any) -> list[Any]:
    """A list of what is given as one, alone, or not at all."""
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def _sequence(value: Any, name: str) -> _Sequence:
    fields = _keys(value, name, "input")
    if fields.get("input") is None:
        raise InputError(message(f"recurrence: {name}: found {_shown(value)}, needed an array as its 'input'"))
    array = as_variable(fields["input"])
    if not array.type.ndim:
        hint = "non_sequences has what is the same in every step"
        raise ShapeError(message(f"recurrence: {name}: found {array.type}, needed an axis for the steps", hint=hint))
    return _Sequence(array, _taps(fields.get("taps", 0), name))


def _output(value: Any, name: str) -> _Output:
    fields = _keys(value, name, "initial")
    if fields.get("initial") is None:
        if fields.get("taps") is not None:
            text = f"recurrence: {name}: found taps without 'initial', needed the values before the first step"
            raise InputError(message(text))
        return _Output(None, ())
    initial, taps = as_variable(fields["initial"]), _taps(fields.get("taps", -1), name)
    if any(tap >= 0 for tap in taps):
        text = f"recurrence: {name}: taps: found {list(taps)}, needed ints below 0: an output has no later values"
        raise InputError(message(text))
    depth = -min(taps)
    rows = initial.type.shape[0] if initial.type.ndim else 0
    if taps != (-1,) and rows is not None and rows < depth:
        text = f"recurrence: {name}: initial: found {initial.type}, needed {depth} rows for the taps {list(taps)}"
        raise ShapeError(message(text))
    return _Output(initial, taps)


def _keys(value: Any, name: str, main: str) -> dict[str, Any]:
    """Fields of a sequence or an output, by key; a value that is no dict is the main one.

    Raises:
        InputError: there are others, which would be passed over.
    """
    if not isinstance(value, dict):
        return {main: value}
    others = [key for key in value if key not in (main, "taps")]
    if others:
        shown = " and ".join(map(repr, others))
        raise InputError(message(f"recurrence: {name}: found the key {shown}, needed {main!r} and 'taps' alone"))
    return value


def _taps(value: Any, name: str) -> tuple[int, ...]:
    """The taps of a sequence or an output, of which a single one needs no list."""
    taps = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not taps or any(type(tap) is not int for tap in taps):
        raise InputError(message(f"recurrence: {name}: taps: found {value!r}, needed one int or a list of them"))
    return taps


def _shown(value: Any) -> str:
    """A dict without what it holds, or a value as it is."""
    return f"a dict of {', '.join(map(repr, value))}" if isinstance(value, dict) and value else repr(value)


def _depth(output: _Output) -> int:
    """Number of earlier values of an output that are kept."""
    return -min(output.taps, default=0)


def _windows(output: _Output) -> list[Variable]:
    """The values that an output has before the first step, the earliest first."""
    if output.initial is None:
        return []
    return [output.initial] if output.taps == (-1,) else [output.initial[k] for k in range(_depth(output))]


def _span(each: _Sequence) -> tuple[int, int | Length]:
    """The position of the first step in a sequence, and at how many all its taps exist."""
    first, last = max(0, -min(each.taps)), max(0, *each.taps)
    return first, maximum(each.array.shape[0] - (first + last), 0)  # a sequence shorter than its taps has no step


def _steps(sequences: Sequence[_Sequence], n_steps: Any) -> int | Length:
    """Number of steps.

    Raises:
        InputError: nothing says it.
    """
    if n_steps is not None:
        count: Any = as_integer(n_steps, "recurrence: n_steps")
        if type(count) is int and count < 0:
            raise InputError(message(f"recurrence: n_steps: found {count}, needed at least 0"))
        return count if type(count) is int else size_value(count)
    if not sequences:
        raise InputError(message("recurrence: found neither sequences nor n_steps, needed one: how many steps"))
    count = _span(sequences[0])[1]
    for each in sequences[1:]:
        count = minimum(count, _span(each)[1])
    return count  # type: ignore[no-any-return]


def _taken(each: _Sequence, steps: int | Length, *, go_backwards: bool) -> list[Variable]:
    """The slices of a sequence at its taps, in their order."""
    array = flip(each.array, 0) if go_backwards else each.array
    first, most = _span(each)
    if same(minimum(steps, most), steps):  # as many as there are for all taps
        return [slice_axis(array, -array.type.ndim, first + tap, steps) for tap in each.taps]
    return [array[first + tap : first + tap + steps] for tap in each.taps]


def _results(result: Any) -> tuple[list[Variable], Variable | None]:
    """The outputs that a function gave, and the condition that ends the loop, if it gave one."""
    values = list(result) if isinstance(result, tuple | list) else [result]
    ends = None
    if any(v is None or isinstance(v, dict) for v in values):
        shown = next("a dict" if isinstance(v, dict) else "None" for v in values if v is None or isinstance(v, dict))
        hint = "there are no updates: what changes from step to step is an output with an initial value"
        raise InputError(message(f"recurrence: fn gave {shown}, needed outputs, and tg.until behind them", hint=hint))
    if values and isinstance(values[-1], Until):
        ends = cast_variable(values.pop().condition, "bool")
    if len(values) == 1 and isinstance(values[0], tuple | list):
        values = list(values[0])
    if any(isinstance(v, Until) for v in values):
        raise InputError(message("recurrence: fn gave tg.until before an output, needed it behind them, once"))
    return [as_variable(v) for v in values], ends


def _unended(begins: Sequence[Variable]) -> tuple[Variable, ...]:
    """Initial values of a loop that notes whether it has ended, and how many steps it has made."""
    return (constant(False), constant(np.int64(0)), *begins)


def _without_end(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step without its condition."""

    def plain(carry: Any, values: Any) -> tuple[Any, Any]:
        moved, outputs = step(carry, values)
        return moved, [*outputs[:-1]]

    return plain


def _until_end(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step that does nothing where the loop has ended: its outputs are zeros then."""

    def lazy(carry: Any, values: Any) -> tuple[Any, Any]:
        ended, count, *window = carry
        _, like = step(window, values)

        def run() -> Any:
            moved, outputs = step(window, values)
            return moved, [*outputs]

        def rest() -> Any:
            return window, [zeros(y.shape, dtype=y.type.dtype) for y in like[:-1]] + [constant(True)]

        moved, outputs = cond(ended, rest, run)
        return (outputs[-1], count + cast_variable(logical_not(ended), "int64"), *moved), outputs[:-1]

    return lazy


FAMILY = Family("recurrence", functions=(recurrence, until))
