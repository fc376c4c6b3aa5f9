"""Functions of `numpy.ma` that order elements or weigh them, of masked arrays and plain ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.masked.making import array

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.masked.arrays import MaskedArray


def sort(x: Any, axis: int | None = -1, *, endwith: bool = True) -> MaskedArray:
    """The elements that count in ascending order along an axis, NaN last.

    Args:
        axis: None for the elements in C order.
        endwith: whether those that do not count stand behind the others, or before them.
    Shapes:
        x (..., n, ...) -> (..., n, ...)
    Source:
        numpy.ma.sort
    Example:
        >>> import tg
        >>> x = tg.masked.array([3.0, 1.0, 2.0], [True, False, True])
        >>> y = tg.masked.sort(x)
        >>> y.filled(9.0).eval(), y.valid.eval()
        (array([2., 3., 9.]), array([ True,  True, False]))
    """
    return array(x).sort(axis, endwith=endwith)


def argsort(x: Any, axis: int | None = -1, *, endwith: bool = True) -> Variable:
    """Positions that sort the elements that count along an axis: stable, NaN last.

    Args:
        axis, endwith: as for `tg.masked.sort`.
    Shapes:
        x (..., n, ...) -> (..., n, ...), int64
    Source:
        numpy.ma.argsort, kind="stable"
    Example:
        >>> import tg
        >>> x = tg.masked.array([3.0, 1.0, 2.0], [True, False, True])
        >>> tg.masked.argsort(x).eval()
        array([2, 0, 1])
    """
    return array(x).argsort(axis, endwith=endwith)


def median(x: Any, axis: Any = None, *, keepdims: bool = False) -> MaskedArray:
    """The middle one of the elements that count over axes, the mean of two where their number is even.

    NaN among what counts is the result; where nothing counts, the result does not.

    Dtypes:
        float64 for bool and integers, else that of x.
    Raises:
        DtypeError: x is complex.
    Source:
        numpy.ma.median
    Example:
        >>> import tg
        >>> x = tg.masked.array([3.0, 1.0, 2.0, 9.0], [True, True, True, False])
        >>> tg.masked.median(x).filled().eval()
        array(2.)
    """
    return array(x).median(axis, keepdims=keepdims)


def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """The mean with weights of the elements that count: sum(x * weights) / sum(weights).

    Where the sum of the weights is 0, the result does not count.

    Args:
        weights: of the shape of x, or of its lengths along `axis`, masked or not; all equal by default.
        returned: whether the sums of the weights come too, as a second masked array.
    Raises:
        ShapeError: weights have another rank than x and than `axis` names, or another length.
    Source:
        numpy.ma.average
    Example:
        >>> import tg
        >>> x = tg.masked.array([1.0, 2.0, 4.0], [True, False, True])
        >>> tg.masked.average(x, weights=[3.0, 1.0, 1.0]).filled().eval()
        array(1.75)
    """
    return array(x).average(axis, weights, returned, keepdims=keepdims)
