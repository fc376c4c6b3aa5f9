"""Arrays with names: inputs, those of xarray, several joined to one; functions over one more named axis."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tg.dims.arrays import Array, apply, is_named, operand
from tg.dims.names import agreeing, axis_of, distinct, ordered, shown
from tg.errors import InputError, message
from tg.gradient.vmap import vmap as positional
from tg.graph.operators import NAMESPACE as F
from tg.variables.constructors import dim as named_length
from tg.variables.constructors import tensor as variable
from tg.variables.conversion import as_variable
from tg.variables.structure import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def tensor(name: str | None = None, dims: Sequence[str] = (), dtype: object = None, shape: Any = None) -> Array:
    """An input whose axes have names.

    Args:
        shape: the lengths, as for `tg.tensor`. Without it an axis has the length of its name, `tg.dim("obs")`: inputs
            that share a name have one length, and a call that gives others raises.
    Example:
        >>> import numpy as np, tg
        >>> x = tg.dims.tensor("x", dims=("obs", "group"))
        >>> f = tg.function([x], x.sum("obs"))
        >>> f(np.ones((3, 2)))
        Array(values=array([3., 3.]), dims=('group',))
    """
    names = distinct("tensor", (dims,) if isinstance(dims, str) else dims)
    lengths = [named_length(n) if n.isidentifier() else None for n in names] if shape is None else shape
    return Array(variable(name, dtype, lengths), names)


def from_xarray(x: Any) -> Array:
    """The values of an array of xarray with the names of its axes, without its coordinates.

    Raises:
        InputError: it is none.
    Example:
        >>> import tg, xarray
        >>> tg.dims.from_xarray(xarray.DataArray([1.0, 2.0], dims="obs")).sum("obs").values.eval()
        array(3.)
    """
    if not is_named(x):
        raise InputError(message(f"dims: from_xarray: found {type(x).__name__}, needed a DataArray"))
    return Array(x.values, distinct("from_xarray", x.dims))


def where(condition: Any, x: Any, y: Any) -> Array:
    """Elements of x where a condition holds, of y elsewhere, aligned by name.

    Source:
        xarray.where
    Example:
        >>> import tg
        >>> x = tg.dims.Array([-1.0, 2.0], ("obs",))
        >>> tg.dims.where(x > 0, x, 0.0).values.eval()
        array([0., 2.])
    """
    return apply(F.where, condition, x, y)  # type: ignore[no-any-return]


def concat(arrays: Sequence[Any], dim: str) -> Array:
    """Arrays one behind another along a named axis, or beside one another along a new one.

    Raises:
        InputError: there is no array; some have the axis, and some do not, or others differ.
    Source:
        xarray.concat
    Example:
        >>> import tg
        >>> x = tg.dims.Array([1.0, 2.0], ("obs",))
        >>> tg.dims.concat([x, x], "chain").sizes
        {'chain': 2, 'obs': 2}
    """
    parts = [operand("concat", x) for x in arrays]
    if not parts:
        raise InputError(message("dims: concat: found no array, needed at least one"))
    dims = parts[0].dims
    for part in parts:
        if set(part.dims) != set(dims):
            raise InputError(message(f"dims: concat: found {shown(part.dims)}, needed {shown(dims)}"))
    values = [ordered(part, dims) for part in parts]
    if dim in dims:
        return Array(F.concatenate(values, axis=axis_of("concat", dim, dims)), dims)
    agreeing("concat", parts)
    return Array(F.stack(values), distinct("concat", (dim, *dims)))


def vmap(f: Callable[..., Any], dim: str) -> Callable[..., Any]:
    """The function that applies f to every entry along a named axis of its arguments, all at once.

    f is given arrays without the axis, where they have it; its results have it in front.

    Args:
        f: a function of arrays with names, of any structure, which gives such; of an argument that is one of xarray it
            is given ours.
    Raises:
        InputError: no argument has the axis.
    Example:
        >>> import tg
        >>> x = tg.dims.Array([[1.0, 2.0], [3.0, 4.0]], ("chain", "draw"))
        >>> y = tg.dims.vmap(lambda row: row.cumsum("draw"), "chain")(x)
        >>> y.dims, y.values.eval().tolist()
        (('chain', 'draw'), [[1.0, 3.0], [3.0, 7.0]])
    """

    @functools.wraps(f, updated=())
    def mapped(*arguments: Any) -> Any:
        leaves, structure = flatten(arguments, whole=Array)
        leaves = [from_xarray(leaf) if is_named(leaf) else leaf for leaf in leaves]
        axes = [_axis(leaf, dim) for leaf in leaves]
        if all(axis is None for axis in axes):
            names = sorted({name for leaf in leaves if isinstance(leaf, Array) for name in leaf.dims})
            raise InputError(message(f"dims: vmap: found no argument with {dim!r}, needed one of {shown(names)}"))
        nesting: Any = None
        names_of_results: list[tuple[str, ...] | None] = []

        def inner(*values: Any) -> list[Any]:
            nonlocal nesting
            parts = [_without(leaf, value, dim) for leaf, value in zip(leaves, values, strict=True)]
            results, nesting = flatten(f(*structure(iter(parts))), whole=Array)
            names_of_results[:] = [one.dims if isinstance(one, Array) else None for one in results]
            return [as_variable(one.values if isinstance(one, Array) else one) for one in results]

        values = [leaf.operand.value if isinstance(leaf, Array) else leaf for leaf in leaves]
        outputs = positional(inner, in_axes=tuple(axes))(*values)
        pairs = zip(outputs, names_of_results, strict=True)
        return nesting(iter([v if names is None else Array(v, (dim, *names)) for v, names in pairs]))

    return mapped


def _axis(leaf: Any, dim: str) -> int | None:
    return leaf.dims.index(dim) if isinstance(leaf, Array) and dim in leaf.dims else None


def _without(leaf: Any, value: Any, dim: str) -> Any:
    """An argument of the function that is mapped."""
    return Array(value, tuple(name for name in leaf.dims if name != dim)) if isinstance(leaf, Array) else leaf
