"""Functions of elements or of lines of an array, applied to all of them at once: NumPy's names for batches."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from tg.errors import InputError, ShapeError, message
from tg.gradient.vmap import vmap
from tg.ops.arranging import broadcast_shapes
from tg.ops.shape import broadcast_to, moveaxis, reshape
from tg.types.lengths import product
from tg.variables.conversion import as_variable, axis_from_end

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tg.graph.nodes import Variable


def apply_along_axis(func1d: Callable[..., Any], axis: int, x: Any, *args: Any, **kwargs: Any) -> Variable:
    """The results of a function of a vector for every line of an array along an axis, in the place of that axis.

    Args:
        func1d: called once, as `func1d(line, *args, **kwargs)`; it gives a scalar or an array.
    Shapes:
        x (a..., n, b...) -> (a..., m..., b...), where func1d gives (m...)
    Raises:
        ShapeError: x has no such axis.
    Example:
        >>> import tg
        >>> m = tg.matrix("m")
        >>> tg.apply_along_axis(lambda v: v - v.mean(), 1, m).eval({m: [[1.0, 3.0], [2.0, 8.0]]})
        array([[-1.,  1.],
               [-3.,  3.]])
    Source:
        numpy.apply_along_axis
    """
    x = as_variable(x)
    rank = x.type.ndim
    k = axis_from_end(axis, rank, "apply_along_axis") + rank
    others = [n for j, n in enumerate(x.shape) if j != k]
    lines = reshape(moveaxis(x, k, -1), (product(tuple(others)), x.shape[k]))
    y = vmap(lambda line: as_variable(func1d(line, *args, **kwargs)))(lines)
    y = reshape(y, (*others, *y.shape[1:]))
    width = y.type.ndim - len(others)
    return moveaxis(y, tuple(range(rank - 1, rank - 1 + width)), tuple(range(k, k + width)))


class _Signature:
    """Names of the axes that a function takes of each argument and gives in each result: `(n),(n)->()`."""

    def __init__(self, text: str) -> None:
        group = r"\(\s*(?:\w+(?:\s*,\s*\w+)*)?\s*\)"
        if not re.fullmatch(rf"\s*{group}(?:\s*,\s*{group})*\s*->\s*{group}(?:\s*,\s*{group})*\s*", text):
            raise InputError(message(f"vectorize: signature: found {text!r}, needed one like '(n),(n)->()'"))
        taken, results = text.split("->")
        self.taken = [re.findall(r"\w+", part) for part in re.findall(r"\(([^)]*)\)", taken)]
        self.results = [re.findall(r"\w+", part) for part in re.findall(r"\(([^)]*)\)", results)]


def vectorize(pyfunc: Callable[..., Any], *, excluded: Collection[int | str] = (), signature: str | None = None) -> Any:
    """The function that applies a function of scalars to all elements of arrays, which broadcast, at once.

    Args:
        pyfunc: called once, with variables in the place of elements.
        excluded: positions and names of arguments that are handed on as they are.
        signature: for a function of arrays the names of its axes, as `(n),(n)->()`: those before them broadcast.
    Raises:
        InputError: the signature is none, or has another number of arguments.
        ShapeError: an argument has fewer axes than the signature names, or lengths do not broadcast.
    Example:
        >>> import tg
        >>> f = tg.vectorize(lambda a, b: tg.where(a > b, a - b, a + b))
        >>> f([1.0, 2.0, 3.0, 4.0], 2.0).eval()
        array([3., 4., 1., 2.])
    Source:
        numpy.vectorize, jax.numpy.vectorize
    """
    axes = None if signature is None else _Signature(signature)

    @functools.wraps(pyfunc, updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        chosen = [j for j in range(len(args)) if j not in excluded]
        keys = [] if axes is not None else [name for name in kwargs if name not in excluded]
        values = [as_variable(args[j]) for j in chosen] + [as_variable(kwargs[name]) for name in keys]
        if axes is not None and len(axes.taken) != len(values):
            text = f"vectorize: found {len(values)} arguments for {signature!r}, needed {len(axes.taken)}"
            raise InputError(message(text))
        ranks = [len(names) for names in axes.taken] if axes is not None else [0] * len(values)

        def of_elements(*elements: Variable) -> Any:
            filled = list(args)
            for j, v in zip(chosen, elements[: len(chosen)], strict=True):
                filled[j] = v
            return pyfunc(*filled, **{**kwargs, **dict(zip(keys, elements[len(chosen) :], strict=True))})

        return _over_batches(of_elements, values, ranks)

    return mapped


def _over_batches(f: Callable[..., Any], values: Sequence[Variable], ranks: Sequence[int]) -> Any:
    """f of the last axes of values, for all places along those before them, which broadcast."""
    for v, rank in zip(values, ranks, strict=True):
        if v.type.ndim < rank:
            raise ShapeError(message(f"vectorize: found {v.type}, needed at least {rank} axes"))
    own = [v.shape[v.type.ndim - rank :] for v, rank in zip(values, ranks, strict=True)]
    batch = broadcast_shapes(*(v.shape[: v.type.ndim - rank] for v, rank in zip(values, ranks, strict=True)))
    if not batch:
        return f(*values)
    count = product(tuple(batch))
    ready = [reshape(broadcast_to(v, (*batch, *shape)), (count, *shape)) for v, shape in zip(values, own, strict=True)]
    results = vmap(f)(*ready)

    def unfolded(y: Any) -> Variable:
        y = as_variable(y)
        return reshape(y, (*batch, *y.shape[1:]))

    return tuple(map(unfolded, results)) if isinstance(results, tuple | list) else unfolded(results)
