"""Mixtures of experts: each token goes to its most likely experts, as long as these have room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.nodes import as_size_variable
from tg.ops.creation import one_hot
from tg.ops.cumulative import cumsum
from tg.ops.elementwise.arithmetic import divide, multiply, subtract
from tg.ops.elementwise.cast import cast_variable, widened
from tg.ops.elementwise.comparison import greater, less, logical_and, where
from tg.ops.family import Family
from tg.ops.reduction import any as any_of
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import expand_dims_at, reshape, swapaxes
from tg.ops.softmax import softmax
from tg.ops.sorting import topk
from tg.ops.statistics import as_floating, mean
from tg.types.dtypes import is_complex, numpy_dtype
from tg.variables.conversion import known_integer

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.variables.like import TensorLike


class Routing(NamedTuple):
    """The routing of tokens: which slots of which experts they fill, by what weights results return, and the loss."""

    dispatch: Variable
    combine: Variable
    loss: Variable


def top_k_routing(logits: TensorLike, k: int, capacity: Any, *, normalize: bool | None = None) -> Routing:
    """Slots of experts for each token's k most likely ones, and the loss that is least where all experts are as likely.

    An expert takes `capacity` tokens: first those whose most likely one it is, in their order, then those whose second
    one, and so on; who comes too late is left out. With p the softmax of the logits, the loss is n sum(f p) over the n
    experts: f is the share of tokens whose most likely expert it is, p its mean probability.

    Args:
        k: how many experts a token has.
        capacity: how many tokens an expert takes, a number or a length.
        normalize: whether the weights of a token's k experts are divided by their sum; if k > 1 unless given.
    Returns:
        dispatch (bool) and combine, for each token, expert and slot, and the loss, as a named tuple: the slots' inputs
        are `einsum("tec,td->ecd", dispatch, x)`, and the tokens' results `einsum("tec,ecd->td", combine, y)`.
    Shapes:
        logits (..., t, e) -> dispatch (..., t, e, c), combine (..., t, e, c), loss (...)
    Dtypes:
        that of the logits, float64 for integers. Of halves all is computed in float32, and rounded once.
    Raises:
        DtypeError: the logits are complex.
        InputError: k is no number of experts, or the capacity is negative.
        ShapeError: the logits have fewer than two axes.
    Source:
        Lepikhin et al., GShard, 2020, algorithm 1, with weights for both experts; Fedus et al., Switch Transformers,
        2021, equation 4 for the loss.
    Example:
        >>> import tg
        >>> routing = tg.nn.top_k_routing([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 1, 1)
        >>> routing.dispatch[:, :, 0].eval().tolist()
        [[True, False], [False, False], [False, True]]
    """
    what = "top_k_routing"
    scores = as_floating(logits)
    if is_complex(scores.type.dtype):
        raise DtypeError(message(f"{what}: logits: found {scores.type}, needed a real dtype"))
    if scores.type.ndim < 2:
        raise ShapeError(message(f"{what}: logits: found {scores.type}, needed at least 2 axes, of tokens and experts"))
    experts = scores.type.shape[-1]
    count, room = known_integer(k), known_integer(capacity)
    if type(count) is not int or count < 1 or (experts is not None and count > experts):
        text = f"{what}: k: found {k!r}, needed an integer from 1 on" + (
            f" to {experts}" if experts is not None else ""
        )
        raise InputError(message(text))
    if type(room) is int and room < 0:
        raise InputError(message(f"{what}: capacity: found {room}, needed at least 0"))
    x = widened(scores)
    shares = softmax(x)
    weights, chosen = topk(shares, count)
    if count > 1 if normalize is None else normalize:
        weights = divide(weights, sum_of(weights, -1, keepdims=True))
    places = one_hot(swapaxes(chosen, -1, -2), x.shape[-1], dtype="int64")  # (..., k, t, e): the first choices first
    fills, slots = _slots(places, room)
    taken = logical_and(fills, slots)
    wide = x.type.dtype
    weight = expand_dims_at(swapaxes(weights, -1, -2), (-2, -1))
    combine = sum_of(where(taken, weight, numpy_dtype(wide).type(0)), -4)
    first = cast_variable(places[..., 0, :, :], wide)
    balance = sum_of(multiply(mean(first, -2), mean(shares, -2)), -1)
    loss = multiply(balance, cast_variable(as_size_variable(x.shape[-1]), wide))
    dtype = scores.type.dtype
    return Routing(any_of(taken, -4), cast_variable(combine, dtype), cast_variable(loss, dtype))


def _slots(places: Variable, capacity: Any) -> tuple[Variable, Variable]:
    """For each choice, token and expert whether it is chosen, and the slot that it fills; none behind the capacity."""
    *lead, k, t, e = places.shape
    counted = cumsum(reshape(places, (*lead, k * t, e)), -2)
    before = subtract(reshape(counted, (*lead, k, t, e)), 1)
    fills = logical_and(greater(places, 0), less(before, capacity))
    return expand_dims_at(fills, (-1,)), one_hot(before, capacity, dtype="bool")


FAMILY = Family(
    "nn/mixture",
    functions=(top_k_routing,),
    module="nn",
)
