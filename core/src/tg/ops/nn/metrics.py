"""Metrics of classification: accuracies, confusion matrices, F1 scores, the area under the ROC curve.

Predictions come first and labels second, as in `tg.nn.cross_entropy`; scikit-learn has labels first. Counts have no
derivative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.nodes import Variable, as_size_variable, size_value
from tg.ops.creation import zeros
from tg.ops.diagonal import diagonal
from tg.ops.elementwise.arithmetic import add, divide, maximum, multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, isnan, where
from tg.ops.family import Family
from tg.ops.nn.operands import need_labels, wide
from tg.ops.reduction import any, argmax, sum
from tg.ops.shape import expand_dims_at, reshape, specify_shape
from tg.ops.sorting import searchsorted, sort, topk
from tg.ops.statistics import mean
from tg.types.dtypes import is_integer
from tg.variables.conversion import as_variable, axis_from_end

if TYPE_CHECKING:
    from tg.types.choices import Average
    from tg.variables.like import TensorLike


def accuracy(x: TensorLike, labels: TensorLike, axis: int = 1) -> Variable:
    """The share of labels that are met.

    Args:
        x: classes, of the shape of the labels; or scores of classes, with an axis more, of which the largest counts.
        axis: that of classes in scores.
    Raises:
        BoundsError: a label is no class of the scores.
        ShapeError: the labels do not fit.
    Example:
        >>> import tg
        >>> float(tg.nn.accuracy([[0.1, 0.9], [0.7, 0.3]], [1, 1]).eval())
        0.5
    Source:
        sklearn.metrics.accuracy_score
    """
    classes, labels = _classes("accuracy", x, labels, axis)
    return mean(equal(classes, labels))


def top_k_accuracy(scores: TensorLike, labels: TensorLike, k: int = 5, axis: int = 1) -> Variable:
    """The share of labels that are among the k classes of the largest scores; of equal scores the first class counts.

    Raises:
        BoundsError: a label is no class of the scores.
        ShapeError: there are fewer than k classes, or the labels do not fit.
    Source:
        sklearn.metrics.top_k_accuracy_score, where of equal scores the last class counts
    """
    what = "top_k_accuracy"
    scores, labels = as_variable(scores), _labels(what, labels)
    place = axis_from_end(axis, scores.type.ndim, what)
    labels = _fitting(what, labels, scores, place)
    _, best = topk(scores, k, place)
    return mean(any(equal(best, expand_dims_at(labels, (place,))), place))


def _classes(what: str, x: Any, labels: Any, axis: int) -> tuple[Variable, Variable]:
    """Classes, those of the largest scores where scores are given, and labels of their shape."""
    x, labels = as_variable(x), _labels(what, labels)
    if x.type.ndim == labels.type.ndim + 1:
        place = axis_from_end(axis, x.type.ndim, what)
        return argmax(x, place), _fitting(what, labels, x, place)
    x = _labels(what, x, "classes")
    if x.type.ndim != labels.type.ndim:
        raise ShapeError(message(f"{what}: found {x.type} for labels {labels.type}, needed classes or scores of them"))
    return x, specify_shape(labels, x.shape, f"{what}: labels")


def _labels(what: str, labels: Any, name: str = "labels") -> Variable:
    labels = as_variable(labels)
    if labels.type.dtype != "bool" and not is_integer(labels.type.dtype):
        raise DtypeError(message(f"{what}: {name}: found {labels.type.dtype}, needed integers"))
    return cast_variable(labels, "int64")


def _fitting(what: str, labels: Variable, scores: Variable, place: int) -> Variable:
    """Labels with the lengths of scores but for the axis of classes, and inside it."""
    at = place + scores.type.ndim
    labels = specify_shape(labels, [*scores.shape[:at], *scores.shape[at + 1 :]], f"{what}: labels")
    return need_labels(what, labels, scores.shape[place])


def confusion_matrix(x: TensorLike, labels: TensorLike, classes: Any) -> Variable:
    """The number of times that each class, along columns, is found for each label, along rows.

    Args:
        x: classes, of the shape of the labels.
        classes: their number, an integer, a length or an integer scalar.
    Shapes:
        x (...), labels (...) -> (classes, classes), int64
    Raises:
        BoundsError: a class or a label is outside [0, classes).
    Source:
        sklearn.metrics.confusion_matrix
    """
    what = "confusion_matrix"
    classes = size_value(classes) if isinstance(classes, Variable) else classes
    predictions, labels = (_labels(what, v, name) for v, name in ((x, "classes"), (labels, "labels")))
    labels = specify_shape(labels, predictions.shape, f"{what}: labels")
    rows, columns = (reshape(need_labels(what, v, classes), (-1,)) for v in (labels, predictions))
    counts: Variable = zeros((classes, classes), dtype="int64").at[rows, columns].add(1)
    return counts


def f1_score(x: TensorLike, labels: TensorLike, average: Average = "binary", classes: Any = 2) -> Variable:
    """2 * tp / (2 * tp + fp + fn) of true and false positives and false negatives; 0 where there are none of these.

    Args:
        x: classes, of the shape of the labels.
        average: "binary", of class 1 alone; "macro", the mean over the classes that are found or labelled; "micro", of
            all classes together, which is the accuracy; "none", for each class.
        classes: their number.
    Raises:
        InputError: no such average, or "binary" of more than two classes.
        BoundsError: a class or a label is outside [0, classes).
    Source:
        sklearn.metrics.f1_score
    """
    if average not in ("binary", "macro", "micro", "none"):
        raise InputError(message(f"f1_score: average: found {average!r}, needed one of binary, macro, micro, none"))
    if average == "binary" and not (isinstance(classes, int) and classes == 2):
        raise InputError(message(f"f1_score: classes: found {classes}, needed 2 for average='binary'"))
    counts = confusion_matrix(x, labels, classes)
    right = cast_variable(diagonal(counts), "float64")
    both = cast_variable(add(sum(counts, 0), sum(counts, 1)), "float64")
    if average == "micro":
        right, both = sum(right), sum(both)
    scores = divide(2 * right, maximum(both, 1.0))
    if average == "macro":
        return mean(scores, where=greater(both, 0))
    return scores[1] if average == "binary" else scores


def roc_auc(scores: TensorLike, labels: TensorLike) -> Variable:
    """The area under the ROC curve: how often a positive has a larger score than a negative, equal ones counting half.

    NaN where there are no positives or no negatives, or a score is NaN.

    Args:
        labels: of positives 1 or True, of negatives 0.
    Shapes:
        scores (n), labels (n) -> ()
    Raises:
        BoundsError: a label is neither 0 nor 1.
    Source:
        sklearn.metrics.roc_auc_score
    """
    (x,), _ = wide("roc_auc", scores)
    if x.type.ndim != 1:
        raise ShapeError(message(f"roc_auc: found {x.type}, needed a vector"))
    y = specify_shape(_labels("roc_auc", labels), x.shape, "roc_auc: labels")
    is_positive = equal(need_labels("roc_auc", y, 2), 1)
    ordered = sort(x)
    twice = add(searchsorted(ordered, x, "left"), searchsorted(ordered, x, "right"))  # the rank among equals, less 1/2
    positives = sum(cast_variable(is_positive, "int64"))
    negatives = subtract(as_size_variable(x.shape[0]), positives)
    above = subtract(sum(where(is_positive, twice, 0)), multiply(positives, positives))
    area = divide(cast_variable(above, "float64"), 2.0 * cast_variable(multiply(positives, negatives), "float64"))
    return where(any(isnan(x)), np.nan, area)


FAMILY = Family("nn/metrics", functions=(accuracy, top_k_accuracy, confusion_matrix, f1_score, roc_auc), module="nn")
