"""`vmap`: a function of arrays over one more axis of its arguments."""

from __future__ import annotations

import functools
import numbers
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, Protocol, TypeVar, overload

from tg.errors import InputError, ShapeError, message
from tg.gradient.batching import TOOLS, spread
from tg.ops.inner import repeated
from tg.ops.shape import moveaxis, specify_shape
from tg.types.lengths import same
from tg.variables.conversion import as_variable, axis_from_end
from tg.variables.structure import flatten, paths, repeated_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable
    from tg.types.lengths import Length


P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class _Mapped(NamedTuple):
    """An argument, or a part of one, whose mapped axis stands in front, and how messages call that axis."""

    variable: Variable
    label: str


class Mapped(Protocol[P, R_co]):
    """A function that takes what another takes, with one more axis."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


@overload
def vmap(f: Callable[P, R_co], in_axes: Any = 0, out_axes: Any = 0) -> Mapped[P, R_co]: ...
@overload
def vmap(f: Callable[..., R_co], in_axes: Any = 0, out_axes: Any = 0) -> Mapped[..., R_co]: ...  # type: ignore[overload-cannot-match]  # of lambdas where any function is wanted
def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Mapped[..., Any]:
    """The function that applies f to every element along an axis of its arguments, all at once.

    f is called once, with variables in the place of elements. What it uses besides its arguments is the same for all
    elements. The lengths of its results may not differ from one to another.

    Args:
        f: a function of arrays, of any structure, which gives arrays of any structure.
        in_axes: the mapped axis of every argument; None for none; or a tuple of these, one for each argument. For an
            argument that is a structure, also a structure of axes, in which one axis may stand for a whole part.
        out_axes: where the new axis stands in the results: an axis, or a structure of these; None for a result that
            is the same for all elements.
    Raises:
        InputError: no argument is mapped; axes are nested in another way than the arguments; within f a length depends
            on the element.
        ShapeError: an argument has no such axis, or the lengths of mapped axes differ.
    Source:
        Names and meaning are those of `jax.vmap`.
    Example:
        >>> import tg
        >>> m, v = tg.matrix("m"), tg.vector("v")
        >>> rows = tg.vmap(lambda row, v: tg.dot(row, v), in_axes=(0, None))(m, v)
        >>> rows.eval({m: [[1.0, 2.0], [3.0, 4.0]], v: [1.0, 10.0]}).tolist()
        [21.0, 43.0]
    """
    if not callable(f):
        raise InputError(message(f"vmap: found {f!r}, needed a function", hint="tg.vmap(lambda x: tg.sum(x))(m)"))

    @functools.wraps(f, updated=())
    def mapped(*arguments: Any) -> Any:
        return _mapped(f, arguments, in_axes, out_axes)

    return mapped


def _mapped(f: Callable[..., Any], arguments: tuple[Any, ...], in_axes: Any, out_axes: Any) -> Any:
    leaves, structure = flatten(arguments)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, tuple) and len(in_axes) != len(arguments):
        text = f"vmap: in_axes: found {len(in_axes)}, needed {len(arguments)}, one for each argument"
        raise InputError(message(text))
    axes = repeated_over(arguments, in_axes, _is_axis, "vmap: in_axes")
    names = [f"argument {path.removeprefix('[').replace(']', '', 1)}" for path in paths(structure)]
    inputs: dict[int, _Mapped] = {}
    for k, (leaf, axis, name) in enumerate(zip(leaves, axes, names, strict=True)):
        if axis is not None:
            v = as_variable(leaf)
            front = axis_from_end(axis, v.type.ndim, f"vmap: {name}")
            inputs[k] = _Mapped(moveaxis(v, front, 0), f"axis {axis} of {name}")
    if not inputs:
        raise InputError(message("vmap: in_axes: found no mapped argument, needed one"))
    size, batches = _agreeing(inputs)
    elements = {k: TOOLS.element(v) for k, v in batches.items()}
    with repeated("vmap", {id(v): inputs[k].variable for k, v in elements.items()}):
        result = f(*structure(iter([elements.get(k, leaf) for k, leaf in enumerate(leaves)])))
    outputs, shape = flatten(result)
    places = repeated_over(result, out_axes, _is_axis, "vmap: out_axes")
    values = {id(elements[k]): v for k, v in batches.items()}
    results, flags = spread([as_variable(v) for v in outputs], values, size)
    labels = [f"result{path}" for path in paths(shape)]
    each = zip(results, flags, places, labels, strict=True)
    return shape(iter([_placed(v, has_batch, size, axis, name) for v, has_batch, axis, name in each]))


def _placed(v: Variable, batched: bool, size: int | Length, axis: int | None, name: str) -> Variable:
    """A result with the axis of the batch where it is to stand."""
    if axis is None:
        if batched:
            text = f"vmap: out_axes: found None for {name}, which depends on the element, needed an axis"
            raise InputError(message(text))
        return v
    value = TOOLS.lead(v, batched, size)
    return moveaxis(value, 0, axis_from_end(axis, value.type.ndim, f"vmap: {name}"))


def _agreeing(arguments: dict[int, _Mapped]) -> tuple[int | Length, dict[int, Variable]]:
    """The length of the mapped axes, and the arguments, of which it is made sure that they have it.

    Raises:
        ShapeError: two are known to differ.
    """
    lengths = [(v.shape[0], label) for v, label in arguments.values()]
    static = [pair for pair in lengths if type(pair[0]) is int]
    size, first = (static or lengths)[0]
    for n, label in static:
        if n != size:
            raise ShapeError(message(f"vmap: lengths differ: {first} has {size}, {label} has {n}"))
    values = {}
    for k, (v, label) in arguments.items():
        what = f"vmap: {first} and {label}"
        values[k] = v if same(v.shape[0], size) else specify_shape(v, (size, *v.shape[1:]), what)
    return size, values


def _is_axis(value: Any) -> bool:
    return value is None or (isinstance(value, numbers.Integral) and not isinstance(value, bool))
