"""Recurrent networks over `tg.scan`, with the weights, states and orders of gates that PyTorch has.

The products with the inputs of all steps are one; each step then has that with the state before it. The weights of
several layers, and of both directions, are lists in PyTorch's order: each layer's, its reverse one behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.errors import DtypeError, InputError, OptionError, ShapeError, message
from tg.ops.contraction import matmul
from tg.ops.creation import iota, zeros
from tg.ops.elementwise.arithmetic import add, multiply, relu, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import less, where
from tg.ops.elementwise.exponential import sigmoid
from tg.ops.elementwise.trigonometric import tanh
from tg.ops.family import Family
from tg.ops.indexing import slice_axis
from tg.ops.iteration import scan
from tg.ops.nn.operands import need_lengths
from tg.ops.shape import concatenate, expand_dims_at, matrix_transpose, moveaxis, stack, with_lengths
from tg.ops.statistics import as_floating
from tg.types.dtypes import in_float32, is_complex
from tg.variables.conversion import axis_from_end, promoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Variable
    from tg.types.choices import Nonlinearity
    from tg.variables.like import TensorLike

    States = tuple[Variable, ...]

ACTIVATIONS: Final[dict[str, Callable[[Variable], Variable]]] = {"tanh": tanh, "relu": relu}


class _Kind(NamedTuple):
    """A kind of network: how many gates and states it has, and the states after a step.

    `step` is a function of the product with the input, that with the state, and the states before.
    """

    name: str
    gates: int
    states: int
    step: Callable[[Variable, Variable, States], States]


class _Weights(NamedTuple):
    """The weights of one layer in one direction."""

    of_input: Variable
    of_state: Variable
    input_bias: Variable | None
    state_bias: Variable | None


def rnn(
    x: TensorLike,
    weight_ih: TensorLike,
    weight_hh: TensorLike,
    bias_ih: TensorLike | None = None,
    bias_hh: TensorLike | None = None,
    state: Any = None,
    *,
    lengths: Any = None,
    axis: int = 0,
    bidirectional: bool = False,
    nonlinearity: Nonlinearity = "tanh",
) -> tuple[Variable, Variable]:
    """h' = tanh(x w_ih' + b_ih + h w_hh' + b_hh), step by step along an axis of x.

    Args:
        weight_ih, weight_hh, bias_ih, bias_hh: arrays, or lists of them: one for each layer, or two with
            `bidirectional`, that of the reverse direction second. No biases unless given.
        state: the first state; zeros unless given.
        lengths: how many steps of each sequence count, where x is padded: behind them results are 0, and the last state
            is that of the last step that counts, from which the reverse direction begins. All unless given.
            Steps behind them are computed, and left out by a mask: the time is that of all of x.
        axis: that of the steps: 0, or 1 for batches first.
        bidirectional: whether each layer goes in both directions; the next one is given both results side by side.
        nonlinearity: "tanh" or "relu".
    Returns:
        the last layer's states of all steps, and the last state of every layer and direction.
    Shapes:
        x (t, n, i), weight_ih (h, i), weight_hh (h, h), biases (h), state (layers, n, h), lengths (n)
        -> (t, n, h), (layers, n, h); with `bidirectional` (t, n, 2 h), and 2 layers in place of layers. There may be
        no n, or several.
    Dtypes:
        that of the operands, float64 for integers. Of halves all is computed in float32, and rounded once.
    Raises:
        DomainError: a length is outside of the axis.
        DtypeError: an operand is complex, or lengths are no integers.
        InputError: lists of different lengths, or of an odd one with `bidirectional`.
        OptionError: another nonlinearity.
        ShapeError: lengths differ.
    Source:
        torch.nn.RNN, whose `batch_first` is axis=1; without its dropout between layers. With lengths it gives what
        torch.nn.utils.rnn.pad_packed_sequence makes of the results, all steps of x among them.
    """
    if nonlinearity not in ACTIVATIONS:
        needed = " or ".join(map(repr, ACTIVATIONS))
        raise OptionError(message(f"rnn: nonlinearity: found {nonlinearity!r}, needed {needed}"))
    fn = ACTIVATIONS[nonlinearity]
    kind = _Kind("rnn", 1, 1, lambda a, b, _: (fn(add(a, b)),))
    weights = weight_ih, weight_hh, bias_ih, bias_hh
    y, (last,) = _run(kind, x, weights, (state,), lengths, axis, bidirectional=bidirectional)
    return y, last


def gru(
    x: TensorLike,
    weight_ih: TensorLike,
    weight_hh: TensorLike,
    bias_ih: TensorLike | None = None,
    bias_hh: TensorLike | None = None,
    state: Any = None,
    *,
    lengths: Any = None,
    axis: int = 0,
    bidirectional: bool = False,
) -> tuple[Variable, Variable]:
    """h' = (1 - z) n + z h, step by step along an axis of x, with gates r, z and n in this order.

    With a = x w_ih' + b_ih and b = h w_hh' + b_hh in three parts, r and z are the sigmoids of the first two of a + b,
    and n = tanh(a_n + r b_n).

    Args:
        weight_ih, weight_hh, bias_ih, bias_hh, state, lengths, axis, bidirectional: as in `rnn`.
    Returns:
        the last layer's states of all steps, and the last state of every layer and direction.
    Shapes:
        as in `rnn`, weight_ih (3 h, i), weight_hh (3 h, h), biases (3 h)
    Raises:
        DomainError, DtypeError, InputError, ShapeError: as `rnn`.
    Source:
        torch.nn.GRU, whose `batch_first` is axis=1; without its dropout between layers.
    """
    kind = _Kind("gru", 3, 1, _gru_step)
    weights = weight_ih, weight_hh, bias_ih, bias_hh
    y, (last,) = _run(kind, x, weights, (state,), lengths, axis, bidirectional=bidirectional)
    return y, last


def _gru_step(a: Variable, b: Variable, states: States) -> States:
    (h,) = states
    (a_r, a_z, a_n), (b_r, b_z, b_n) = _gates(a, 3, h), _gates(b, 3, h)
    r, z = sigmoid(add(a_r, b_r)), sigmoid(add(a_z, b_z))
    n = tanh(add(a_n, multiply(r, b_n)))
    return (add(n, multiply(z, subtract(h, n))),)


def _gates(x: Variable, n: int, h: Variable) -> list[Variable]:
    """The parts of the last axis, as many as there are gates, each as long as a state."""
    size = h.shape[-1]
    return [slice_axis(x, -1, k * size, size) for k in range(n)]


def lstm(
    x: TensorLike,
    weight_ih: TensorLike,
    weight_hh: TensorLike,
    bias_ih: TensorLike | None = None,
    bias_hh: TensorLike | None = None,
    state: Any = None,
    *,
    lengths: Any = None,
    axis: int = 0,
    bidirectional: bool = False,
) -> tuple[Variable, tuple[Variable, Variable]]:
    """c' = f c + i g and h' = o tanh(c'), step by step along an axis of x, with gates i, f, g and o in this order.

    The gates are the parts of x w_ih' + b_ih + h w_hh' + b_hh, g by tanh and the others by the sigmoid.

    Args:
        weight_ih, weight_hh, bias_ih, bias_hh, lengths, axis, bidirectional: as in `rnn`.
        state: the first h and the first c, a pair; zeros unless given.
    Returns:
        the last layer's h of all steps, and the pair of the last h and c of every layer and direction.
    Shapes:
        as in `rnn`, weight_ih (4 h, i), weight_hh (4 h, h), biases (4 h)
    Raises:
        DomainError, DtypeError, InputError, ShapeError: as `rnn`; the state is no pair.
    Source:
        torch.nn.LSTM, whose `batch_first` is axis=1; without its dropout between layers and its projections.
    Example:
        >>> import tg
        >>> x = tg.ones((3, 1, 2))
        >>> y, (h, c) = tg.nn.lstm(x, tg.ones((4, 2)), tg.ones((4, 1)))
        >>> y[:, 0, 0].eval().round(3).tolist()
        [0.608, 0.873, 0.935]
    """
    if state is not None and not (isinstance(state, tuple | list) and len(state) == 2):
        raise InputError(message(f"lstm: state: found {state!r}, needed a pair of arrays, h and c"))
    kind = _Kind("lstm", 4, 2, _lstm_step)
    first = (None, None) if state is None else tuple(state)
    weights = weight_ih, weight_hh, bias_ih, bias_hh
    y, (h, c) = _run(kind, x, weights, first, lengths, axis, bidirectional=bidirectional)
    return y, (h, c)


def _lstm_step(a: Variable, b: Variable, states: States) -> States:
    i, f, g, o = _gates(add(a, b), 4, states[0])
    c = add(multiply(sigmoid(f), states[1]), multiply(sigmoid(i), tanh(g)))
    return multiply(sigmoid(o), tanh(c)), c


def _run(
    kind: _Kind, x: Any, weights: Sequence[Any], state: Sequence[Any], lengths: Any, axis: Any, *, bidirectional: bool
) -> tuple[Variable, list[Variable]]:
    """The results of all steps of the last layer, and the last states of all layers and directions."""
    x = as_floating(x)
    listed = _lists(kind, weights, 2 if bidirectional else 1)
    begins = [None if v is None else as_floating(v) for v in state]
    dtype = _common_dtype(kind, [v for one in ([x], *listed, begins) for v in one if v is not None])
    if x.type.ndim < 2:
        raise ShapeError(message(f"{kind.name}: x: found {x.type}, needed at least 2 axes, of steps and features"))
    place = axis_from_end(axis, x.type.ndim, kind.name, "x")
    if place == -1:
        raise ShapeError(message(f"{kind.name}: axis: found that of features, needed another one of {x.type}"))
    wide = in_float32(dtype)
    y = cast_variable(moveaxis(x, place, 0), wide)
    begins = [None if v is None else _first_states(kind, cast_variable(v, wide), y, len(listed)) for v in begins]
    counts = None if lengths is None else _counting(kind, lengths, y)
    y = y if counts is None else where(counts, y, 0)  # what pads may be NaN
    last: list[States] = []
    step = 2 if bidirectional else 1
    for k in range(0, len(listed), step):
        results = []
        for j in range(k, k + step):
            one = [None if v is None else cast_variable(v, wide) for v in listed[j]]
            w = _fitting(kind, one, y, f" of layer {k // step}" if len(listed) > step else "")
            begin = [None if v is None else v[j] for v in begins]
            outputs, states = _layer(kind, y, w, begin, counts, reverse=j > k)
            results.append(outputs)
            last.append(states)
        y = concatenate(results, -1) if bidirectional else results[0]
    stacked = [cast_variable(stack([states[k] for states in last], 0), dtype) for k in range(kind.states)]
    return cast_variable(moveaxis(y, 0, place), dtype), stacked


def _counting(kind: _Kind, lengths: Any, x: Variable) -> Variable:
    """Whether a step of a sequence counts: (t, ..., 1)."""
    needed = need_lengths(f"{kind.name}: lengths", lengths, x.shape[1:-1], x.shape[0])
    steps = expand_dims_at(iota(x.shape[0]), tuple(range(-needed.type.ndim, 0)))
    return expand_dims_at(less(steps, needed), (-1,))


def _lists(kind: _Kind, weights: Sequence[Any], directions: int) -> list[list[Variable | None]]:
    """The weights of every layer and direction: of the input, of the state, and their biases.

    Raises:
        InputError: lists of different lengths, or one that does not have each direction of each layer.
    """
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    lists = [list(v) if isinstance(v, tuple | list) else None if v is None else [v] for v in weights]
    for v, name in zip(lists[:2], names, strict=False):
        if v is None:
            raise InputError(message(f"{kind.name}: {name}: found None, needed an array, or a list of them"))
    n = len(lists[0] or ())
    for v, name in zip(lists, names, strict=True):
        if v is not None and len(v) != n:
            raise InputError(message(f"{kind.name}: {name}: found {len(v)} arrays, needed {n}, as of weight_ih"))
    if n == 0 or n % directions:
        needed = "one for each layer" if directions == 1 else "two for each layer: bidirectional"
        raise InputError(message(f"{kind.name}: weight_ih: found {n} arrays, needed {needed}"))
    columns = [[None] * n if v is None else [as_floating(w) for w in v] for v in lists]
    return [list(one) for one in zip(*columns, strict=True)]


def _common_dtype(kind: _Kind, operands: Sequence[Any]) -> str:
    dtype = promoted(operands)[1]
    if is_complex(dtype):
        raise DtypeError(message(f"{kind.name}: found {dtype}, needed a real dtype"))
    return dtype


def _first_states(kind: _Kind, state: Variable, x: Variable, n: int) -> Variable:
    """A given state, of which it is made sure that it is one for each layer and direction."""
    if state.type.ndim != x.type.ndim:
        text = (
            f"{kind.name}: state: found {state.type}, needed {x.type.ndim} axes, the first of {n}: one for each layer"
        )
        raise ShapeError(message(text))
    batch = {k: x.shape[k] for k in range(1 - x.type.ndim, -1)}
    return with_lengths(state, {-x.type.ndim: n, **batch}, f"{kind.name}: state")


def _fitting(kind: _Kind, weights: Sequence[Variable | None], x: Variable, where: str) -> _Weights:
    """Weights of which it is made sure that they fit to each other and to x."""
    for v, name, rank in zip(weights, _Weights._fields, (2, 2, 1, 1), strict=True):
        if v is not None and v.type.ndim != rank:
            text = f"{kind.name}: {_names(name)}{where}: found {v.type}, needed {rank} {'axes' if rank > 1 else 'axis'}"
            raise ShapeError(message(text))
    of_input, of_state, *biases = weights
    assert of_input is not None
    assert of_state is not None
    size = of_state.shape[-1]
    rows = kind.gates * size
    return _Weights(
        with_lengths(of_input, {-2: rows, -1: x.shape[-1]}, f"{kind.name}: weight_ih{where}"),
        with_lengths(of_state, {-2: rows}, f"{kind.name}: weight_hh{where}"),
        *(
            None if v is None else with_lengths(v, {-1: rows}, f"{kind.name}: {name}{where}")
            for v, name in zip(biases, ("bias_ih", "bias_hh"), strict=True)
        ),
    )


def _names(field: str) -> str:
    names = dict(zip(_Weights._fields, ("weight_ih", "weight_hh", "bias_ih", "bias_hh"), strict=True))
    return names[field]


def _layer(
    kind: _Kind,
    x: Variable,
    w: _Weights,
    begins: Sequence[Variable | None],
    counts: Variable | None,
    *,
    reverse: bool,
) -> tuple[Variable, States]:
    """The results of all steps in one direction, and the last states; steps that do not count leave states alone."""
    a = matmul(x, matrix_transpose(w.of_input))
    a = a if w.input_bias is None else add(a, w.input_bias)
    size = w.of_state.shape[-1]
    shape = (*x.shape[1:-1], size)
    begin = tuple(
        zeros(shape, dtype=x.type.dtype) if v is None else with_lengths(v, {-1: size}, f"{kind.name}: state")
        for v in begins
    )
    across = matrix_transpose(w.of_state)

    def step(states: States, slices: tuple[Variable, Variable | None]) -> tuple[States, Variable]:
        of_input, is_counted = slices
        b = matmul(states[0], across)
        after = kind.step(of_input, b if w.state_bias is None else add(b, w.state_bias), states)
        if is_counted is None:
            return after, after[0]
        new_states = tuple(where(is_counted, new, old) for new, old in zip(after, states, strict=True))
        return new_states, where(is_counted, after[0], 0)

    last, results = scan(step, begin, (a, counts), reverse=reverse)
    return results, last


FAMILY = Family(
    "nn/recurrent",
    functions=(rnn, gru, lstm),
    module="nn",
)
