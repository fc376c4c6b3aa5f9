"""Grids of coordinates and positions of parts of arrays, under NumPy's names."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Final, final

from tg.errors import InputError, ShapeError, message
from tg.ops.arranging import meshgrid
from tg.ops.creation import arange, iota, linspace, ones
from tg.ops.diagonal import tril_indices, triu_indices
from tg.ops.elementwise.cast import cast_variable
from tg.ops.family import Family
from tg.ops.selection import flatnonzero, nonzero
from tg.ops.shape import reshape, stack
from tg.variables.conversion import as_variable, promoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable
    from tg.types.lengths import Length
    from tg.variables.like import SizeLike, TensorLike


def _line(part: builtins.slice) -> Variable:
    """The values that a slice names; an imaginary step counts them, the end among them."""
    start, step = 0 if part.start is None else part.start, 1 if part.step is None else part.step
    if part.stop is None:
        raise InputError(message(f"grid: found {part}, needed an end", hint="tg.mgrid[0:3, 0:2]"))
    if isinstance(step, complex):
        return linspace(start, part.stop, int(abs(step)))  # type: ignore[no-any-return]
    return arange(start, part.stop, step)


@final
class Grid:
    """A grid of coordinates: indexed by slices, it gives an array for each of them.

    Args:
        sparse: whether the arrays have length 1 along the axes of the others.
    """

    __slots__ = ("sparse",)

    def __init__(self, *, sparse: bool) -> None:
        self.sparse = sparse

    @property
    def __name__(self) -> str:
        return "ogrid" if self.sparse else "mgrid"

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _line(key)
        if not isinstance(key, tuple) or not builtins.all(isinstance(part, slice) for part in key):
            raise InputError(message(f"grid: found {key!r}, needed slices", hint="tg.mgrid[0:3, 0:2]"))
        lines, dtype = promoted([_line(part) for part in key])
        grids = meshgrid(*(cast_variable(v, dtype) for v in lines), indexing="ij", sparse=self.sparse)
        return grids if self.sparse else stack(grids)

    def __repr__(self) -> str:
        return f"tg.{self.__name__}"


mgrid: Final = Grid(sparse=False)
"""The coordinates of a grid that slices name, as one array: `tg.mgrid[0:3, 0:2]`."""
ogrid: Final = Grid(sparse=True)
"""The same as arrays that broadcast: `tg.ogrid[0:3, 0:2]`."""


def ix_(*args: Any) -> tuple[Variable, ...]:
    """Vectors of positions with an axis each, so that `x[tg.ix_(rows, columns)]` is the part at all their pairs.

    Args:
        args: vectors of integers, or of bool: the places where they hold.
    Raises:
        ShapeError: one of them is no vector.
    Source:
        numpy.ix_
    """
    vectors = [as_variable(v) for v in args]
    for v in vectors:
        if v.type.ndim != 1:
            raise ShapeError(message(f"ix_: found {v.type}, needed vectors"))
    places = [flatnonzero(v) if v.type.dtype == "bool" else v for v in vectors]
    rank = len(places)
    return tuple(reshape(v, (1,) * k + (v.shape[0],) + (1,) * (rank - k - 1)) for k, v in enumerate(places))


def diag_indices(n: TensorLike, ndim: int = 2) -> tuple[Variable, ...]:
    """The positions of the main diagonal of an array of n by n (by n ...) elements.

    Source:
        numpy.diag_indices
    """
    return (iota(n),) * ndim


def diag_indices_from(x: TensorLike) -> tuple[Variable, ...]:
    """The positions of the main diagonal of an array.

    Raises:
        ShapeError: it has fewer than two axes, or lengths that are known to differ.
    Source:
        numpy.diag_indices_from
    """
    x = as_variable(x)
    lengths = {n for n in x.type.shape if n is not None}
    if x.type.ndim < 2 or len(lengths) > 1:
        raise ShapeError(message(f"diag_indices_from: found {x.type}, needed two axes or more, all of one length"))
    return diag_indices(x.shape[0], x.type.ndim)


def _matrix(what: str, x: Any) -> tuple[int | Length, int | Length]:
    x = as_variable(x)
    if x.type.ndim != 2:
        raise ShapeError(message(f"{what}: found {x.type}, needed a matrix"))
    return x.shape  # type: ignore[no-any-return]


def tril_indices_from(x: TensorLike, k: int = 0) -> tuple[Variable, Variable]:
    """The positions of the lower triangle of a matrix, up to its k-th diagonal.

    Source:
        numpy.tril_indices_from
    """
    n, m = _matrix("tril_indices_from", x)
    return tril_indices(n, k, m)


def triu_indices_from(x: TensorLike, k: int = 0) -> tuple[Variable, Variable]:
    """The positions of the upper triangle of a matrix, from its k-th diagonal on.

    Source:
        numpy.triu_indices_from
    """
    n, m = _matrix("triu_indices_from", x)
    return triu_indices(n, k, m)


def mask_indices(n: SizeLike, mask_func: Callable[..., Any], k: Any = 0, *, size: Any = None) -> tuple[Variable, ...]:
    """The positions where a function such as `tg.triu` leaves ones of an n by n matrix of them.

    Args:
        size: how many positions there shall be, as in `tg.nonzero`.
    Source:
        numpy.mask_indices
    """
    return nonzero(mask_func(ones((n, n), "int64"), k), size=size)


FAMILY = Family(
    "grids",
    functions=(ix_, diag_indices, diag_indices_from, tril_indices_from, triu_indices_from, mask_indices),
)
