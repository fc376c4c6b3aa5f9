"""Linear filters of signals: recurrences along an axis, forward, and there and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import Constant
from tg.ops.creation import zeros
from tg.ops.cumulative import cumsum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.family import Family
from tg.ops.indexing import flip
from tg.ops.iteration import scan
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import broadcast_to, concatenate, moveaxis, stack, with_lengths
from tg.ops.signal.segments import middle, need_count, signal_of, vector_of, with_points
from tg.types.lengths import subtract
from tg.variables.conversion import as_variable, axis_from_end, promoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.choices import FilterMethod, FilterPadding
    from tg.variables.like import TensorLike

    Pair = tuple[Variable, Variable]

PADDINGS: Final = ("odd", "even", "constant", None)
SECTION: Final = 6  # coefficients of a section: three of b, three of a


def _coefficients(what: str, b: Any, a: Any) -> tuple[Variable, Variable]:
    """Both polynomials in one dtype, divided by the first entry of a: as long as each other, or a of one entry.

    Without feedback no product of zero and a result is added: NaN reaches as many results as b has entries.
    """
    (b, a), _ = promoted([vector_of(what, "b", b), vector_of(what, "a", a)])
    work = signal_of(what, b).type.dtype
    b, a = cast_variable(b, work), cast_variable(a, work)
    n, m = b.type.shape[0], a.type.shape[0]
    assert n is not None
    assert m is not None
    order = max(n, m)
    return _padded(b, order) / a[0], (a if m == 1 else _padded(a, order)) / a[0]


def _padded(v: Variable, length: Any) -> Variable:
    """A vector of static length with zeros behind it."""
    missing = length - (v.type.shape[0] or 0)
    return concatenate([v, zeros(missing, dtype=v.type.dtype)]) if missing else v


def _pairs(what: str, sos: Any) -> list[Pair]:
    """The polynomials of each section, divided by its a[0]."""
    v = as_variable(sos)
    if v.type.ndim != 2 or v.type.shape[1] != SECTION or not v.type.shape[0]:
        raise ShapeError(message(f"{what}: sos: found {v.type}, needed a matrix of {SECTION} columns, its rows known"))
    v = signal_of(what, v)
    rows = v / v[:, 3:4]
    return [(rows[j, :3], rows[j, 3:]) for j in range(v.type.shape[0] or 0)]


def _run(
    x: Variable, sections: Sequence[Pair], states: Sequence[Sequence[Variable]]
) -> tuple[Variable, list[list[Variable]]]:
    """One section behind the other, in the transposed direct form: the results, and the states behind the last point.

    Shapes:
        x (n, ...), states (...) -> y (n, ...)
    """
    orders = [len(state) for state in states]

    def step(carry: Any, value: Any) -> tuple[Any, Any]:
        after = []
        left = iter(carry)
        for (b, a), order in zip(sections, orders, strict=True):
            state = [next(left) for _ in range(order)]
            result = b[0] * value + (state[0] if order else 0)
            for k in range(order):
                later = state[k + 1] if k + 1 < order else 0
                feedback = a[k + 1] * result if a.type.shape != (1,) else 0
                after.append(b[k + 1] * value - feedback + later)
            value = result
        return tuple(after), value

    ends, y = scan(step, tuple(v for state in states for v in state), x)
    rest = iter(ends)
    return y, [[next(rest) for _ in range(order)] for order in orders]


def _filtered(
    x: Any,
    axis: Any,
    sections: Sequence[Pair],
    what: str,
    initial: Sequence[Sequence[Variable]],
) -> tuple[Variable, list[list[Variable]], int]:
    """A signal through sections; `initial` has the states of each, which broadcast to a point of the signal."""
    v = signal_of(what, x)
    k = axis_from_end(axis, v.type.ndim, what)
    (v, *_), dtype = promoted([v, *(part for pair in sections for part in pair)])
    v = moveaxis(cast_variable(v, dtype), k, 0)
    sections = [(cast_variable(b, dtype), cast_variable(a, dtype)) for b, a in sections]
    states = [[cast_variable(broadcast_to(s, v.shape[1:]), dtype) for s in state] for state in initial]
    y, ends = _run(v, sections, states)
    return moveaxis(y, 0, k), ends, k


def _zeros(orders: Sequence[int]) -> list[list[Variable]]:
    """States of zeros, of float32, which widens no dtype."""
    return [[zeros((), dtype="float32")] * order for order in orders]


# --- functions ----------------------------------------------------------------------------------------------------


def lfilter(b: TensorLike, a: TensorLike, x: TensorLike, axis: int = -1, zi: Any = None) -> Any:
    """The signal y with a[0] y[n] = b[0] x[n] + b[1] x[n - 1] + … - a[1] y[n - 1] - …, along an axis.

    Args:
        b, a: vectors of static lengths, whose values may be variables.
        zi: the state before the first point, max(len(a), len(b)) - 1 entries where x has its axis: then the state
            behind the last one is a second result. Zeros by default.
    Shapes:
        x (..., n, ...) -> y (..., n, ...)
    Dtypes:
        that of all operands together, floating: float32 for arrays of float32 alone.
    Raises:
        ShapeError: coefficients that are no vectors, or zi of another length.
    Example:
        >>> import tg
        >>> tg.signal.lfilter([1.0], [1.0, -0.5], [1.0, 0.0, 0.0, 2.0]).eval()
        array([1.   , 0.5  , 0.25 , 2.125])
    Source:
        scipy.signal.lfilter
    """
    pair = _coefficients("lfilter", b, a)
    order = (pair[0].type.shape[0] or 1) - 1
    if zi is None:
        return _filtered(x, axis, [pair], "lfilter", _zeros([order]))[0]
    state = as_variable(zi)
    k = axis_from_end(axis, state.type.ndim, "lfilter", "zi")
    moved = moveaxis(with_lengths(state, {k: order}, "lfilter: zi"), k, 0)
    y, ends, k = _filtered(x, axis, [pair], "lfilter", [[moved[j] for j in range(order)]])
    return y, moveaxis(stack(ends[0]), 0, k) if order else state


def _steady(b: Variable, a: Variable) -> Variable:
    """The state of a filter that has had ones for ever: z = (I - A) z + B, summed from the first equation on."""
    a = _padded(a, b.type.shape[0] or 0)
    rest = b[1:] - a[1:] * b[0]
    first = sum_of(rest) / sum_of(a)
    return cumsum(a)[:-1] * first - concatenate([rest[:1] * 0, cumsum(rest)[:-1]])


def lfilter_zi(b: TensorLike, a: TensorLike) -> Variable:
    """The state with which `lfilter` of ones gives its limit from the first point on.

    Example:
        >>> import tg
        >>> tg.signal.lfilter_zi([1.0], [1.0, -0.5]).eval()
        array([1.])
    Source:
        scipy.signal.lfilter_zi
    """
    pair = _coefficients("lfilter_zi", b, a)
    if pair[0].type.shape[0] == 1:
        raise ShapeError(message("lfilter_zi: found one coefficient, needed a filter that has a state"))
    return _steady(*pair)


def sosfilt(sos: TensorLike, x: TensorLike, axis: int = -1, zi: Any = None) -> Any:
    """A signal through sections of the second order, one behind the other, in one loop.

    Args:
        sos: a row (b0, b1, b2, a0, a1, a2) for each section.
        zi: the states before the first point, (sections, …, 2, …) with 2 where x has its axis: then the states behind
            the last one are a second result. Zeros by default.
    Raises:
        ShapeError: sos is no matrix of six columns, or zi of another shape.
    Source:
        scipy.signal.sosfilt
    """
    pairs = _pairs("sosfilt", sos)
    count = len(pairs)
    if zi is None:
        return _filtered(x, axis, pairs, "sosfilt", _zeros([2] * count))[0]
    state = as_variable(zi)
    k = axis_from_end(axis, state.type.ndim - 1, "sosfilt", "zi")
    moved = moveaxis(with_lengths(state, {-state.type.ndim: count, k: 2}, "sosfilt: zi"), k, 1)
    y, ends, k = _filtered(x, axis, pairs, "sosfilt", [[moved[j, 0], moved[j, 1]] for j in range(count)])
    return y, moveaxis(stack([stack(pair) for pair in ends]), 1, k)


def filtfilt(
    b: TensorLike,
    a: TensorLike,
    x: TensorLike,
    axis: int = -1,
    padtype: FilterPadding | None = "odd",
    padlen: int | None = None,
    method: FilterMethod = "pad",
) -> Variable:
    """A signal filtered forward and then backward, which moves no phase.

    Args:
        padtype: how the signal goes on at both ends: "odd", "even", "constant" or None.
        padlen: for so many points; 3 max(len(a), len(b)) by default.
        method: "pad"; SciPy's "gust" is not there.
    Raises:
        InputError: an unknown padtype or method.
        ShapeError: a signal that is not longer than padlen.
    Source:
        scipy.signal.filtfilt
    """
    if method != "pad":
        raise InputError(message(f"filtfilt: method: found {method!r}, needed 'pad'"))
    pair = _coefficients("filtfilt", b, a)
    return _there_and_back("filtfilt", [pair], x, axis, padtype, padlen, 3 * (pair[0].type.shape[0] or 1))


def sosfilt_zi(sos: TensorLike) -> Variable:
    """The states with which `sosfilt` of ones gives its limit from the first point on.

    Shapes:
        sos (sections, 6) -> (sections, 2)
    Raises:
        ShapeError: sos is no matrix of six columns, or has an unknown number of rows.
    Source:
        scipy.signal.sosfilt_zi
    """
    return stack(_steady_states(_pairs("sosfilt_zi", sos)))


def sosfiltfilt(
    sos: TensorLike, x: TensorLike, axis: int = -1, padtype: FilterPadding | None = "odd", padlen: int | None = None
) -> Variable:
    """A signal through sections of the second order, forward and then backward, which moves no phase.

    Args:
        sos: a row (b0, b1, b2, a0, a1, a2) for each section.
        padtype: how the signal goes on at both ends: "odd", "even", "constant" or None.
        padlen: for so many points. By default three times the number of coefficients of all sections as one filter:
            2 sections + 1, less the sections of the first order where `sos` has numbers, none where it is a variable.
    Shapes:
        x (..., n, ...) -> y (..., n, ...)
    Raises:
        InputError: an unknown padtype.
        ShapeError: sos is no matrix of six columns, or a signal that is not longer than padlen.
    Source:
        scipy.signal.sosfiltfilt
    """
    pairs = _pairs("sosfiltfilt", sos)
    taps = 2 * len(pairs) + 1 - _first_orders(as_variable(sos))
    return _there_and_back("sosfiltfilt", pairs, x, axis, padtype, padlen, 3 * taps)


def _first_orders(sos: Variable) -> int:
    """The number of sections of the first order, as far as it is known before the program runs."""
    if not isinstance(sos, Constant):
        return 0
    values = sos.data
    return int(min((values[:, 2] == 0).sum(), (values[:, 5] == 0).sum()))


def _there_and_back(
    what: str, pairs: Sequence[Pair], x: Any, axis: Any, padtype: str | None, padlen: int | None, unset: int
) -> Variable:
    if padtype not in PADDINGS:
        raise InputError(message(f"{what}: padtype: found {padtype!r}, needed one of {PADDINGS}"))
    v = signal_of(what, x)
    k = axis_from_end(axis, v.type.ndim, what)
    v = moveaxis(v, k, -1)
    width = unset if padlen is None else need_count(what, "padlen", padlen, 0)
    width = 0 if padtype is None else width
    v = with_points(what, v, width + 1, f"more than padlen={width}")
    n = v.shape[-1]
    y = _steadily(what, pairs, _steadily(what, pairs, _continued(v, width, padtype)))  # turned round twice
    return moveaxis(middle(y, width, n), -1, k)


def _steady_states(pairs: Sequence[Pair]) -> list[Variable]:
    """The states of sections that have had ones for ever, each with the limit of the one before."""
    states = []
    level: Any = 1.0
    for b, a in pairs:
        states.append(_steady(b, a) * level if (b.type.shape[0] or 1) > 1 else b[:0])
        level = level * sum_of(b) / sum_of(a)
    return states


def _steadily(what: str, pairs: Sequence[Pair], x: Variable) -> Variable:
    """A signal through sections that have had its first value for ever, turned round."""
    first = x[..., 0]
    orders = [(b.type.shape[0] or 1) - 1 for b, _ in pairs]
    states = [[s[j] * first for j in range(order)] for s, order in zip(_steady_states(pairs), orders, strict=True)]
    return flip(_filtered(x, -1, pairs, what, states)[0], -1)


def _continued(x: Variable, width: int, padtype: str | None) -> Variable:
    """A signal that goes on at both ends: mirrored about its end point, mirrored in time, or as it was there."""
    if not width:
        return x
    n = x.shape[-1]
    first, last = middle(x, 0, 1), middle(x, subtract(n, 1), 1)
    if padtype == "constant":
        shape = (*x.shape[:-1], width)
        return concatenate([broadcast_to(first, shape), x, broadcast_to(last, shape)], -1)
    before, behind = flip(middle(x, 1, width), -1), flip(middle(x, subtract(n, width + 1), width), -1)
    if padtype == "odd":
        before, behind = 2 * first - before, 2 * last - behind
    return concatenate([before, x, behind], -1)


FAMILY = Family(
    "signal/filters", functions=(lfilter, lfilter_zi, sosfilt, sosfilt_zi, filtfilt, sosfiltfilt), module="signal"
)
