"""Arrays of which some elements do not count: values, and beside them whether each is valid.

What is computed of elements that are not valid goes nowhere: they are replaced before each step, so no NaN and no
infinity there reaches a result or a gradient, and the gradient at them is exactly 0.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import Variable
from tg.graph.operators import NAMESPACE as F
from tg.masked.extremes import least, most
from tg.ops.statistics import as_floating, weights_beside
from tg.types.dtypes import in_float32
from tg.variables.conversion import as_variable, promoted
from tg.variables.lifted import Lifted
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Callable


@final
@dataclasses.dataclass(frozen=True, eq=False)
class MaskedArray(Lifted):
    """An array of values and a bool array of their shape: whether each counts.

    It is a structure of both, so functions, loops and `tg.vmap` take and give it; a function takes an array of
    `numpy.ma` in its place. Operators and `tg.masked.exp` and the like are valid where all operands are.

    Shapes:
        values (...), valid (...)
    Example:
        >>> import numpy as np, tg
        >>> x = tg.masked.array([1.0, np.nan, 3.0], [True, False, True])
        >>> float((x * 2).mean().filled().eval())
        4.0
    Source:
        numpy.ma.MaskedArray, whose mask is True where an element does *not* count
    """

    values: Any
    valid: Any

    in_place_of_variables = "x.filled(0.0) is an array; tg.masked.exp(x) and the like keep the mask"
    in_place_of_wrt = "tg.grad(cost, x.values): the gradient is 0 where nothing counts"

    def _applied(self, name: str, *operands: Any) -> Any:
        return apply(getattr(F, name), *operands)

    @staticmethod
    def as_argument(value: Any, what: str) -> Any:
        """An array of `numpy.ma` as one of these; anything else as it is."""
        return _own(value)

    # --- parts -------------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Any:
        """The lengths of the axes."""
        return as_variable(self.values).shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return as_variable(self.values).ndim

    @property
    def dtype(self) -> Any:
        """Dtype of the elements."""
        return as_variable(self.values).dtype

    @property
    def mask(self) -> Variable:
        """The mask that `numpy.ma` has: True where an element does not count."""
        return ~as_variable(self.valid)

    def filled(self, value: Any = 0) -> Variable:
        """The array with a value in the place of each element that does not count.

        Source:
            numpy.ma.MaskedArray.filled
        """
        x = as_variable(self.values)
        return F.where(self.valid, x, as_variable(value, x.type.dtype))  # type: ignore[no-any-return]

    def compressed(self, *, size: Any = None, fill_value: Any = 0) -> Variable:
        """The elements that count, in C order; `size` as for `tg.nonzero`.

        Source:
            numpy.ma.MaskedArray.compressed
        """
        return F.extract(self.valid, self.values, size=size, fill_value=fill_value)  # type: ignore[no-any-return]

    def to_numpy(self) -> Any:
        """The array of `numpy.ma`.

        Raises:
            InputError: values are not computed yet.
        """
        values, valid = self._computed("to_numpy")
        return np.ma.MaskedArray(values, ~valid)

    def to_ragged(self) -> list[Any]:
        """For each entry along the first axis the values that count along the second.

        Raises:
            InputError: values are not computed yet, or an entry counts in part.
        """
        values, valid = self._computed("to_ragged")
        if valid.ndim < 2:
            raise ShapeError(message(f"to_ragged: found {valid.ndim} axes, needed at least two"))
        rows = valid.reshape(*valid.shape[:2], -1)
        if (rows.any(-1) != rows.all(-1)).any():
            raise InputError(message("to_ragged: found an entry that counts in part, needed all of it or none"))
        return [value[row.all(-1)] for value, row in zip(values, rows, strict=True)]

    def _computed(self, what: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        if isinstance(self.values, Variable) or isinstance(self.valid, Variable):
            hint = "tg.function([x], x)(value) is computed"
            raise InputError(message(f"{what}: found {short(self)}, needed arrays", hint=hint))
        return np.asarray(self.values), np.asarray(self.valid)

    # --- reductions --------------------------------------------------------------------------------------------------

    def count(self, axis: Any = None, *, keepdims: bool = False) -> Variable:
        """The number of elements that count, int64.

        Source:
            numpy.ma.MaskedArray.count
        """
        return F.sum(F.cast(self.valid, "int64"), axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def _reduced(self, y: Variable, axis: Any, keepdims: bool) -> MaskedArray:
        """A result of a reduction: valid where any element is."""
        return MaskedArray(y, F.any(self.valid, axis, keepdims=keepdims))

    def sum(self, axis: Any = None, *, keepdims: bool = False) -> MaskedArray:
        """The sum of the elements that count; where none does, 0 that does not count itself."""
        return self._reduced(F.sum(self.values, axis, keepdims=keepdims, where=self.valid), axis, keepdims)

    def prod(self, axis: Any = None, *, keepdims: bool = False) -> MaskedArray:
        """The product of the elements that count."""
        return self._reduced(F.prod(self.values, axis, keepdims=keepdims, where=self.valid), axis, keepdims)

    def any(self, axis: Any = None, *, keepdims: bool = False) -> MaskedArray:
        """Whether one of the elements that count is not 0."""
        return self._reduced(F.any(self.values, axis, keepdims=keepdims, where=self.valid), axis, keepdims)

    def all(self, axis: Any = None, *, keepdims: bool = False) -> MaskedArray:
        """Whether none of the elements that count is 0."""
        return self._reduced(F.all(self.values, axis, keepdims=keepdims, where=self.valid), axis, keepdims)

    def mean(self, axis: Any = None, *, keepdims: bool = False) -> MaskedArray:
        """The mean of the elements that count."""
        return self._reduced(F.mean(self.filled(), axis, keepdims=keepdims, where=self.valid), axis, keepdims)

    def var(self, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> MaskedArray:
        """The variance of the elements that count; it counts where there are more than `ddof`."""
        y = F.var(self.filled(), axis, ddof=ddof, keepdims=keepdims, where=self.valid)
        return MaskedArray(y, self.count(axis, keepdims=keepdims) > max(ddof, 0))

    def std(self, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> MaskedArray:
        """The standard deviation of the elements that count; it counts where there are more than `ddof`."""
        root: MaskedArray = apply(F.sqrt, self.var(axis, ddof=ddof, keepdims=keepdims))
        return root

    def max(self, axis: Any = None, *, keepdims: bool = False) -> MaskedArray:
        """The greatest of the elements that count."""
        y = F.max(self.filled(least(self.dtype)), axis, keepdims=keepdims)
        return self._reduced(y, axis, keepdims)

    def min(self, axis: Any = None, *, keepdims: bool = False) -> MaskedArray:
        """The least of the elements that count."""
        y = F.min(self.filled(most(self.dtype)), axis, keepdims=keepdims)
        return self._reduced(y, axis, keepdims)

    def ptp(self, axis: Any = None, *, keepdims: bool = False) -> MaskedArray:
        """The greatest less the least of the elements that count."""
        return self.max(axis, keepdims=keepdims) - self.min(axis, keepdims=keepdims)

    def median(self, axis: Any = None, *, keepdims: bool = False) -> MaskedArray:
        """The middle one of the elements that count, the mean of two where their number is even."""
        x = as_floating(self.values)
        present = MaskedArray(x, self.valid)
        has_nan = F.any(F.isnan(present.filled()), axis, keepdims=keepdims)
        y = F.nanmedian(present.filled(np.nan), axis, keepdims=keepdims)
        return self._reduced(F.where(has_nan, as_variable(np.nan, y.type.dtype), y), axis, keepdims)

    def average(self, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
        """The mean with weights of the elements that count; it counts where the sum of their weights is not 0.

        Args:
            weights: of the shape of the array, or of its lengths along `axis`, masked or not; all equal by default.
            returned: whether the sums of the weights come too.
        Raises:
            ShapeError: weights have another rank than the array and than `axis` names, or another length.
        """
        if weights is None:
            y = self.mean(axis, keepdims=keepdims)
            count = F.cast(self.count(axis, keepdims=keepdims), y.dtype)
            return (y, MaskedArray(count, y.valid)) if returned else y
        x, w = as_variable(self.values), _own(weights)
        beside = functools.partial(weights_beside, x, axis, what="average")
        factors = beside(as_variable(w.values if isinstance(w, MaskedArray) else w))
        both = F.logical_and(self.valid, beside(_valid(w)))
        pair, dtype = promoted([as_floating(x), as_floating(factors)])
        values, shares = (MaskedArray(F.cast(v, in_float32(dtype)), both).filled() for v in pair)
        scale = F.sum(shares, axis, keepdims=keepdims)
        counts = F.not_equal(scale, 0)
        total = F.sum(values * shares, axis, keepdims=keepdims)
        y = MaskedArray(F.cast(total / F.where(counts, scale, F.ones_like(scale)), dtype), counts)
        sums = MaskedArray(F.cast(scale, dtype), F.any(both, axis, keepdims=keepdims))
        return (y, sums) if returned else y

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Variable:
        """Position of the greatest of the elements that count, or of the first NaN among them; 0 where none counts."""
        return self._first(self.max(axis, keepdims=True), axis, keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Variable:
        """Position of the least of the elements that count, or of the first NaN among them; 0 where none counts."""
        return self._first(self.min(axis, keepdims=True), axis, keepdims)

    def _first(self, extreme: MaskedArray, axis: int | None, keepdims: bool) -> Variable:
        x = as_variable(self.values)
        is_it = F.logical_or(F.equal(x, extreme.values), F.isnan(x))
        return F.argmax(F.logical_and(self.valid, is_it), axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def logsumexp(self, axis: Any = None, *, keepdims: bool = False) -> MaskedArray:
        """The logarithm of the sum of exponentials of the elements that count."""
        return self._reduced(F.logsumexp(self._exponents(), axis, keepdims=keepdims), axis, keepdims)

    def softmax(self, axis: Any = -1) -> MaskedArray:
        """Exponentials of the elements that count, divided by their sum along axes; 0 at the others."""
        y = F.softmax(self._exponents(), axis)
        return MaskedArray(F.where(self.valid, y, as_variable(0, y.type.dtype)), self.valid)

    def log_softmax(self, axis: Any = -1) -> MaskedArray:
        """The logarithm of `softmax`."""
        return MaskedArray(F.log_softmax(self._exponents(), axis), self.valid)

    def _exponents(self) -> Variable:
        """The values in a dtype of exponentials, -inf where they do not count."""
        x = as_variable(self.values)
        return MaskedArray(x.astype(F.exp(x).type.dtype), self.valid).filled(-np.inf)

    # --- along an axis -----------------------------------------------------------------------------------------------

    def cumsum(self, axis: int | None = None) -> MaskedArray:
        """Running sums of the elements that count."""
        return MaskedArray(F.cumsum(self.filled(), axis), self._along(axis))

    def cumprod(self, axis: int | None = None) -> MaskedArray:
        """Running products of the elements that count."""
        return MaskedArray(F.cumprod(self.filled(1), axis), self._along(axis))

    def _along(self, axis: int | None) -> Any:
        return F.ravel(self.valid) if axis is None else self.valid

    def argsort(self, axis: int | None = -1, *, endwith: bool = True) -> Variable:
        """Positions that sort the elements that count: stable, NaN last.

        Args:
            axis: None for the elements in C order.
            endwith: whether those that do not count stand behind the others, or before them.
        """
        line = self if axis is not None else self.reshape(-1)
        first = F.logical_not(line.valid) if endwith else line.valid
        return F.lexsort((line.filled(), first), -1 if axis is None else axis)  # type: ignore[no-any-return]

    def sort(self, axis: int | None = -1, *, endwith: bool = True) -> MaskedArray:
        """The elements that count in ascending order, NaN last; `axis` and `endwith` as for `argsort`."""
        line, k = (self, axis) if axis is not None else (self.reshape(-1), -1)
        order = line.argsort(k, endwith=endwith)
        return MaskedArray(line.filled(), line.valid)._moved(lambda v: F.take_along_axis(v, order, k))

    # --- places ------------------------------------------------------------------------------------------------------

    def _moved(self, move: Callable[[Any], Any]) -> MaskedArray:
        """The same movement of values and of the mask."""
        return MaskedArray(move(as_variable(self.values)), move(as_variable(self.valid)))

    def __getitem__(self, index: Any) -> MaskedArray:
        return self._moved(lambda v: v[index])

    def reshape(self, *shape: Any) -> MaskedArray:
        """The same elements in C order in another shape."""
        return self._moved(lambda v: v.reshape(*shape))

    def transpose(self, *axes: Any) -> MaskedArray:
        """The axes in another order."""
        return self._moved(lambda v: v.transpose(*axes))

    @property
    def T(self) -> MaskedArray:
        """The axes reversed."""
        return self._moved(lambda v: v.T)

    def astype(self, dtype: Any) -> MaskedArray:
        """The same elements in another dtype."""
        return MaskedArray(self.filled().astype(dtype), self.valid)

    def __matmul__(self, other: Any) -> MaskedArray:
        return _product(self, other)

    def __rmatmul__(self, other: Any) -> MaskedArray:
        return _product(other, self)


def of_numpy(x: Any) -> MaskedArray:
    """An array of `numpy.ma` as values and whether each counts."""
    return MaskedArray(np.asarray(x.data), ~np.ma.getmaskarray(x))


def _own(x: Any) -> Any:
    """An array of `numpy.ma` as one of these; anything else as it is."""
    return of_numpy(x) if isinstance(x, np.ma.MaskedArray) else x


def _or_ones(x: Any) -> Any:
    """An operand with ones for elements that do not count."""
    return x.filled(1) if isinstance(x, MaskedArray) else x


def _valid(x: Any) -> Variable:
    """Whether each element of an operand counts."""
    valid: Variable = as_variable(x.valid) if isinstance(x, MaskedArray) else F.ones_like(as_variable(x), dtype="bool")
    return valid


def _product(x: Any, y: Any) -> MaskedArray:
    """The product of matrices with 0 for elements that do not count; it counts where one of its terms does.

    Source:
        numpy.ma.dot
    """
    pair = [_own(v) for v in (x, y)]
    values = [v.filled() if isinstance(v, MaskedArray) else as_variable(v) for v in pair]
    terms = F.matmul(*[F.cast(_valid(v), "int64") for v in pair])
    return MaskedArray(F.matmul(*values), terms > 0)


def apply(f: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    """A function of elements of arrays that may be masked: its results are valid where all operands are.

    In the place of elements that are not, it is given ones.

    Args:
        f: a function of arrays that broadcasts them, and gives an array or a tuple of arrays.
        operands: arrays of these, of `numpy.ma`, or plain ones, of which every element counts.
        options: further arguments of f; those that are masked are operands too.
    Example:
        >>> import tg
        >>> x = tg.masked.array([1.0, 0.0], [True, False])
        >>> y = tg.masked.apply(tg.distributions.gamma.logpdf, x, 2.0, 3.0)
        >>> y.filled(0.0).eval().round(6).tolist()
        [-2.530558, 0.0]
    """
    arrays = [_own(v) for v in operands]
    named = {name: _own(v) for name, v in options.items()}
    result = f(*map(_or_ones, arrays), **{name: _or_ones(v) for name, v in named.items()})
    masks = [one.valid for one in (*arrays, *named.values()) if isinstance(one, MaskedArray)]
    valid = functools.reduce(F.logical_and, masks) if masks else F.full((), True)
    if isinstance(result, tuple):
        return tuple(MaskedArray(y, F.broadcast_to(valid, y.shape)) for y in result)
    return MaskedArray(result, F.broadcast_to(valid, result.shape))
