"""Arrays whose axes have names: operators by name, reductions, products, positions.

A thin layer: names are resolved to positions while an expression is built, so no op and no program knows of them.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from types import EllipsisType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.dims.indexing import selected
from tg.dims.names import Dims, Operand, agreeing, aligned, axis_of, distinct, in_order, names_of, ordered, shown
from tg.errors import BackendUnavailable, InputError, ShapeError, message
from tg.graph.nodes import Constant, Variable
from tg.graph.operators import NAMESPACE as F
from tg.types.lengths import product
from tg.variables.conversion import as_variable
from tg.variables.lifted import Lifted
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.types.lengths import Length

Dim = str | list[str] | tuple[str, ...] | EllipsisType | None
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@final
@dataclasses.dataclass(frozen=True, eq=False)
class Array(Lifted):
    """An array, and a name for each of its axes.

    Operands of an operator are aligned by name: axes of one name have one length, and what one operand lacks is
    repeated. It is a structure with one leaf, so functions, loops and gradients take and give it; a function takes an
    array of xarray, or a plain one with the axes in this order, in its place.

    Raises:
        InputError: names are no strings, or one stands twice.
        ShapeError: there are more names than axes, or fewer.
    Example:
        >>> import tg
        >>> x = tg.dims.Array([[1.0, 2.0], [3.0, 4.0]], ("obs", "group"))
        >>> y = x - x.mean("obs")
        >>> y.dims, y.values.eval().tolist()
        (('obs', 'group'), [[-1.0, -1.0], [1.0, 1.0]])
    Source:
        xarray.DataArray, without coordinates
    """

    values: Any
    dims: Dims = dataclasses.field(metadata={"static": True})

    in_place_of_variables = "x.values is a variable; tg.dims.exp(x) and the like keep the names"

    def __post_init__(self) -> None:
        stated: Any = self.dims  # one name may be said without a tuple
        names = (stated,) if isinstance(stated, str) else stated
        object.__setattr__(self, "dims", distinct("Array", names))
        if isinstance(self.values, list | tuple):  # rows are one leaf
            rows = as_variable(self.values)
            object.__setattr__(self, "values", rows.data if isinstance(rows, Constant) else rows)
        self._check()

    def _check(self) -> None:
        """As many names as axes: a loop or `tg.vmap` that takes entries along an axis leaves the names.

        Raises:
            ShapeError: there are more, or fewer.
        """
        axes = self.values.ndim if hasattr(self.values, "ndim") else as_variable(self.values).ndim
        if axes != len(self.dims):
            hint = (
                "tg.dims.vmap(f, name) maps over a named axis; a loop takes x.values" if axes < len(self.dims) else None
            )
            text = f"dims: Array: found {axes} axes and the names {shown(self.dims)}, needed as many"
            raise ShapeError(message(text, hint=hint))

    def _applied(self, name: str, *operands: Any) -> Any:
        return apply(getattr(F, name), *operands)

    @staticmethod
    def as_argument(value: Any, what: str, dims: Dims) -> Any:
        """An array of xarray, one with its axes in another order, or a plain one, as one of these names."""
        if not (isinstance(value, Array) or is_named(value)):
            return Array(value, dims) if _axes(value) == len(dims) else value
        own = value.dims
        if set(own) != set(dims):
            raise InputError(message(f"{what}: dims: found {shown(own)}, needed {shown(dims)}"))
        return Array(np.transpose(np.asarray(value.values), [own.index(name) for name in dims]), dims)

    # --- parts -------------------------------------------------------------------------------------------------------

    @property
    def operand(self) -> Operand:
        """The values as a variable, and the names."""
        self._check()
        return Operand(as_variable(self.values), self.dims)

    @property
    def sizes(self) -> dict[str, int | Length]:
        """The length of each axis by its name."""
        return dict(zip(self.dims, self.operand.value.shape, strict=True))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.dims)

    @property
    def dtype(self) -> Any:
        """Dtype of the elements."""
        return self.operand.value.dtype

    def to_xarray(self, coords: Any = None, name: str | None = None) -> Any:
        """The array of xarray, with coordinates if any are given.

        Raises:
            InputError: values are not computed yet.
            BackendUnavailable: xarray is not installed.
        """
        if isinstance(self.values, Variable):
            hint = "tg.function([x], x)(value) is computed"
            raise InputError(message(f"dims: to_xarray: found {short(self)}, needed an array", hint=hint))
        try:
            xarray = importlib.import_module("xarray")
        except ImportError as error:
            raise BackendUnavailable(message("dims: found no xarray, needed it", hint="pip install xarray")) from error
        return xarray.DataArray(np.asarray(self.values), dims=self.dims, coords=coords, name=name)

    # --- reductions --------------------------------------------------------------------------------------------------

    def _reduced(self, name: str, dim: Dim, **options: Any) -> Array:
        names = names_of(name, dim, self.dims)
        axes = tuple(self.dims.index(one) for one in names)
        y = getattr(F, name)(self.values, axes, **options) if axes else self._of_one(name, options)
        return Array(y, tuple(one for one in self.dims if one not in names))

    def _of_one(self, name: str, options: dict[str, Any]) -> Variable:
        """A reduction over no axes: over a new one of length 1."""
        return getattr(F, name)(F.expand_dims(self.values, 0), 0, **options)  # type: ignore[no-any-return]

    def sum(self, dim: Dim = None) -> Array:
        """The sum over axes, all unless given. NaN is not left out, as xarray's `skipna` would."""
        return self._reduced("sum", dim)

    def prod(self, dim: Dim = None) -> Array:
        """The product over axes."""
        return self._reduced("prod", dim)

    def mean(self, dim: Dim = None) -> Array:
        """The mean over axes."""
        return self._reduced("mean", dim)

    def var(self, dim: Dim = None, *, ddof: float = 0) -> Array:
        """The variance over axes."""
        return self._reduced("var", dim, ddof=ddof)

    def std(self, dim: Dim = None, *, ddof: float = 0) -> Array:
        """The standard deviation over axes."""
        return self._reduced("std", dim, ddof=ddof)

    def max(self, dim: Dim = None) -> Array:
        """The greatest element over axes."""
        return self._reduced("max", dim)

    def min(self, dim: Dim = None) -> Array:
        """The least element over axes."""
        return self._reduced("min", dim)

    def any(self, dim: Dim = None) -> Array:
        """Whether any element over axes is not 0."""
        return self._reduced("any", dim)

    def all(self, dim: Dim = None) -> Array:
        """Whether no element over axes is 0."""
        return self._reduced("all", dim)

    def median(self, dim: Dim = None) -> Array:
        """The median over axes."""
        return self._reduced("median", dim)

    def logsumexp(self, dim: Dim = None) -> Array:
        """The logarithm of the sum of exponentials over axes."""
        return self._reduced("logsumexp", dim)

    def _at(self, name: str, dim: str) -> Array:
        axis = axis_of(name, dim, self.dims)
        return Array(getattr(F, name)(self.values, axis), tuple(one for one in self.dims if one != dim))

    def argmax(self, dim: str) -> Array:
        """Position of the greatest element along an axis."""
        return self._at("argmax", dim)

    def argmin(self, dim: str) -> Array:
        """Position of the least element along an axis."""
        return self._at("argmin", dim)

    # --- along axes --------------------------------------------------------------------------------------------------

    def _along(self, name: str, dim: str, *args: Any, **options: Any) -> Array:
        return Array(getattr(F, name)(self.values, *args, axis=axis_of(name, dim, self.dims), **options), self.dims)

    def cumsum(self, dim: str) -> Array:
        """Running sums along an axis."""
        return self._along("cumsum", dim)

    def cumprod(self, dim: str) -> Array:
        """Running products along an axis."""
        return self._along("cumprod", dim)

    def softmax(self, dim: str) -> Array:
        """Exponentials, divided by their sum along an axis."""
        return self._along("softmax", dim)

    def log_softmax(self, dim: str) -> Array:
        """The logarithm of `softmax`."""
        return self._along("log_softmax", dim)

    def diff(self, dim: str, n: int = 1) -> Array:
        """Differences of neighbours along an axis."""
        return self._along("diff", dim, n=n)

    def sort(self, dim: str) -> Array:
        """The elements along an axis in ascending order."""
        return self._along("sort", dim)

    def roll(self, **shifts: Any) -> Array:
        """Entries moved along axes by name, round the end: `x.roll(obs=1)`."""
        y = self
        for name, shift in shifts.items():
            y = y._along("roll", name, shift)
        return y

    # --- products ----------------------------------------------------------------------------------------------------

    def dot(self, *others: Any, dim: Dim = None) -> Array:
        """As `tg.dims.dot`."""
        return dot(self, *others, dim=dim)

    def __matmul__(self, other: Any) -> Array:
        return dot(self, other)

    def __rmatmul__(self, other: Any) -> Array:
        return dot(other, self)

    # --- places ------------------------------------------------------------------------------------------------------

    def isel(self, indexers: Mapping[str, Any] | None = None, **by_name: Any) -> Array:
        """Entries by positions along named axes.

        Args:
            indexers: by name an integer, a slice, a vector, or an `Array` of positions or one of xarray, whose names
                the result has in the place of the axis; also as keywords.
        Raises:
            InputError: no axis has a name, or a condition has other axes than the one that it indexes.
        Example:
            >>> import tg
            >>> a = tg.dims.Array([10.0, 20.0], ("group",))
            >>> group = tg.dims.Array([1, 0, 1], ("obs",))
            >>> each = a.isel(group=group)
            >>> each.dims, each.values.eval().tolist()
            (('obs',), [20.0, 10.0, 20.0])
        Source:
            xarray.DataArray.isel
        """
        chosen = {**(indexers or {}), **by_name}
        is_array = {name: isinstance(index, Array) or is_named(index) for name, index in chosen.items()}
        return of(selected(self.operand, {k: operand("isel", v) if is_array[k] else v for k, v in chosen.items()}))

    def __getitem__(self, index: Any) -> Array:
        if isinstance(index, dict):
            return self.isel(index)
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) > self.ndim or any(part is None or part is ... for part in parts):
            hint = "x.isel(obs=0) says the name; x.expand_dims('chain') has one more axis"
            raise InputError(message(f"dims: found the index {short(index)}, needed one for each name", hint=hint))
        return self.isel(dict(zip(self.dims, parts, strict=False)))

    def transpose(self, *dims: Any) -> Array:
        """The axes in the order of names, `...` for those that are not said; reversed without any."""
        names = in_order("transpose", dims, self.dims)
        return Array(ordered(self.operand, names), names)

    @property
    def T(self) -> Array:
        """The axes reversed."""
        return self.transpose()

    def rename(self, names: Mapping[str, str] | None = None, **by_name: str) -> Array:
        """The same array with other names: `x.rename(obs="row")`."""
        new = {**(names or {}), **by_name}
        for name in new:
            axis_of("rename", name, self.dims)
        return Array(self.values, tuple(new.get(name, name) for name in self.dims))

    def expand_dims(self, dim: str | Sequence[str] | Mapping[str, int] | None = None, **lengths: int) -> Array:
        """New axes in front, of length 1 or one that is said: `x.expand_dims(chain=4)`."""
        names = [dim] if isinstance(dim, str) else list(dim or ())
        sizes: dict[str, Any] = {**dict.fromkeys(names, 1), **(dim if isinstance(dim, dict) else {}), **lengths}
        dims = distinct("expand_dims", (*sizes, *self.dims))
        x = self.operand.value
        return Array(F.broadcast_to(x, (*sizes.values(), *x.shape)), dims)

    def squeeze(self, dim: str | Sequence[str]) -> Array:
        """The array without axes of length 1."""
        names = names_of("squeeze", dim, self.dims)
        y = F.squeeze(self.values, tuple(self.dims.index(name) for name in names))
        return Array(y, tuple(name for name in self.dims if name not in names))

    def stack(self, **new: Sequence[str]) -> Array:
        """Several axes as one, the last: `x.stack(cell=("row", "column"))`."""
        y = self
        for name, dim in new.items():
            inner = names_of("stack", dim, y.dims)
            rest = tuple(one for one in y.dims if one not in inner)
            value = ordered(y.operand, (*rest, *inner))
            lengths = value.shape
            y = Array(value.reshape((*lengths[: len(rest)], product(lengths[len(rest) :]))), (*rest, name))
        return y

    def unstack(self, **old: Any) -> Array:
        """One axis as several, the last: `x.unstack(cell={"row": 2, "column": 3})`."""
        y = self
        for name, sizes in old.items():
            axis_of("unstack", name, y.dims)
            if not isinstance(sizes, Mapping):
                text = f"dims: unstack: {name}: found {short(sizes)}, needed lengths by name"
                raise InputError(message(text, hint=f'x.unstack({name}={{"row": 2, "column": -1}})'))
            rest = tuple(one for one in y.dims if one != name)
            value = ordered(y.operand, (*rest, name))
            y = Array(value.reshape((*value.shape[:-1], *sizes.values())), (*rest, *sizes))
        return y

    def broadcast_like(self, other: Any) -> Array:
        """The array with the axes of another too, repeated along those that it lacks."""
        (y, x), dims = aligned("broadcast_like", [operand("broadcast_like", other), self.operand])
        return Array(F.broadcast_to(x, F.broadcast_shapes(x.shape, y.shape)), dims)

    def where(self, condition: Any, other: Any = np.nan) -> Array:
        """The elements where a condition holds, those of another elsewhere.

        Source:
            xarray.DataArray.where
        """
        return apply(lambda x, c, y: F.where(c, x, y), self, condition, other)  # type: ignore[no-any-return]

    def clip(self, min: Any = None, max: Any = None) -> Array:
        """Elements below min as min, above max as max."""
        return apply(F.clip, self, **{k: v for k, v in (("min", min), ("max", max)) if v is not None})  # type: ignore[no-any-return]

    def astype(self, dtype: Any) -> Array:
        """The same elements in another dtype."""
        return Array(self.operand.value.astype(dtype), self.dims)


def is_named(value: Any) -> bool:
    """Whether a value is a DataArray or a Variable of xarray, which is not imported for this."""
    return isinstance(getattr(value, "dims", None), tuple) and hasattr(value, "values")


def _axes(value: Any) -> int | None:
    """The number of axes of a plain array; None for what is none, such as rows of several lengths."""
    try:
        return np.ndim(value)
    except (TypeError, ValueError):
        return None


def of(operand: Operand) -> Array:
    """An array of a variable and its names."""
    return Array(operand.value, operand.dims)


def operand(what: str, value: Any) -> Operand:
    """A value with its names: an array of these or of xarray, or a number.

    Raises:
        InputError: an array has no names.
    """
    if isinstance(value, Array):
        return value.operand
    if is_named(value):
        return Operand(as_variable(value.values), distinct(what, value.dims))
    v = as_variable(value)
    if v.type.ndim:
        hint = 'tg.dims.Array(x, ("obs",)) has a name for each axis'
        raise InputError(message(f"dims: {what}: found {v.type} without names, needed them", hint=hint))
    return Operand(v, ())


def apply(f: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    """A function of elements, of arrays that are aligned by the names of their axes.

    Args:
        f: a function of arrays that broadcasts them, and gives an array or a tuple of arrays.
        options: further arguments of f; arrays with names are aligned too.
    Raises:
        InputError: an array has no names.
        ShapeError: axes of one name have several lengths.
    Example:
        >>> import tg
        >>> y = tg.dims.Array([0.0, 1.0], ("obs",))
        >>> mu = tg.dims.Array([0.0, 1.0, 2.0], ("draw",))
        >>> density = tg.dims.apply(tg.distributions.normal.logpdf, y, mu, 1.0)
        >>> density.dims, density.values.eval().shape
        (('obs', 'draw'), (2, 3))
    """
    what = getattr(f, "__name__", None) or getattr(f, "name", "apply")
    named = [name for name, v in options.items() if isinstance(v, Array) or is_named(v)]
    arrays = [operand(str(what), v) for v in (*operands, *(options[name] for name in named))]
    values, dims = aligned(str(what), arrays)
    n = len(operands)
    result = f(*values[:n], **options | dict(zip(named, values[n:], strict=True)))
    return tuple(Array(y, dims) for y in result) if isinstance(result, tuple) else Array(result, dims)


def dot(*arrays: Any, dim: Dim = None) -> Array:
    """The sum of products over axes by name.

    Args:
        dim: the names that are summed over, `...` for all; those that several arrays have unless given.
    Raises:
        InputError: no array has a name, or an array has no names.
    Example:
        >>> import tg
        >>> x = tg.dims.Array([[1.0, 2.0], [3.0, 4.0]], ("obs", "feature"))
        >>> b = tg.dims.Array([10.0, 1.0], ("feature",))
        >>> tg.dims.dot(x, b).values.eval().tolist()
        [12.0, 34.0]
    Source:
        xarray.dot
    """
    operands = agreeing("dot", [operand("dot", x) for x in arrays])
    names = [name for one in operands for name in one.dims]
    all_dims = tuple(dict.fromkeys(names))
    over = tuple(n for n in all_dims if names.count(n) > 1) if dim is None else names_of("dot", dim, all_dims)
    dims = tuple(name for name in all_dims if name not in over)
    letter = dict(zip(all_dims, LETTERS, strict=False))
    terms = ",".join("".join(letter[name] for name in one.dims) for one in operands)
    result = "".join(letter[name] for name in dims)
    return Array(F.einsum(f"{terms}->{result}", *(one.value for one in operands)), dims)
