"""What stands in the fields of an op is held against its operands: an axis that is not there is no axis left out."""

import pytest

import tg
from tg.errors import InputError, ShapeError, TextError
from tg.graph.op import Op
from tg.ops import catalog
from tg.ops.creation import Arange
from tg.ops.cumulative import Accumulate, CumProdPullback
from tg.ops.indexing import Gather, Scatter, Slice, SliceUpdate
from tg.ops.nn.attention import MaskedSoftmax
from tg.ops.nn.normalization import BatchNorm, BatchNormGradient
from tg.ops.norm import Norm
from tg.ops.reduction import ArgReduce, ProductOfOthers, Reduce
from tg.ops.shape import AxisLength, BroadcastTo, Concatenate, ExpandDims, Reshape, Squeeze, Transpose
from tg.ops.softmax import LogSoftmax, LogSumExp, Share, Softmax, WeightedLogSumExp
from tg.ops.sorting import ArgSort, Sort

I = tg.vector("i", "int64")
ONES = {
    AxisLength: AxisLength,
    Accumulate: lambda k: Accumulate(tg.add, k),
    ArgReduce: lambda k: ArgReduce(tg.maximum, k),
    ArgSort: ArgSort,
    BatchNorm: lambda k: BatchNorm(k, 1e-5),
    BatchNormGradient: lambda k: BatchNormGradient(k, 1e-5),
    Concatenate: Concatenate,
    LogSoftmax: LogSoftmax,
    MaskedSoftmax: MaskedSoftmax,
    Softmax: Softmax,
    Sort: Sort,
}
SEVERAL = {
    ExpandDims: ExpandDims,
    Gather: Gather,
    LogSumExp: LogSumExp,
    Norm: Norm,
    Reduce: lambda axes: Reduce(tg.add, axes),
    Scatter: lambda axes: Scatter(axes, tg.add),
    Share: Share,
    Squeeze: Squeeze,
    Transpose: Transpose,
    WeightedLogSumExp: WeightedLogSumExp,
}


def applied(op, count):
    """An op on a matrix of lengths 1, and where it takes indices on so many."""
    x = tg.tensor("x", "float64", (1, 1))
    if type(op) is Gather:
        return op(x, *[I] * count)
    if type(op) is Scatter:
        return op(x, tg.tensor("v", "float64", (None, *[1] * (2 - count))), *[I] * count)
    if type(op) in (BatchNorm, BatchNormGradient):
        of_channel = tg.tensor("c", "float64", (1,))
        return op(x, *[of_channel] * 2) if type(op) is BatchNorm else op(x, *[of_channel] * 3, x)
    return op(x, x) if type(op) in (Share, WeightedLogSumExp) else op(x)


@pytest.mark.parametrize("axis", [-3, -4, 0, 1, 2])
@pytest.mark.parametrize("kind", ONES, ids=lambda kind: kind.__name__)
def test_an_axis_is_one_of_the_operand_counted_from_the_end(kind, axis):
    with pytest.raises(ShapeError, match=f"axis {axis}"):
        applied(ONES[kind](axis), 1)
    assert applied(ONES[kind](-2), 1) is not None


@pytest.mark.parametrize("axes", [(-5,), (-5, -1), (-1, -5), (0,), (1,), (-1, 0), (-1, -1), (-2, -2)])
@pytest.mark.parametrize("kind", SEVERAL, ids=lambda kind: kind.__name__)
def test_axes_are_those_of_the_operand_each_once(kind, axes):
    with pytest.raises(ShapeError, match=r"ax[ei]s"):
        applied(SEVERAL[kind](axes), len(axes))
    assert applied(SEVERAL[kind]((-2, -1)), 2) is not None


def test_every_op_with_axes_is_among_these():
    kinds = {kind for family in catalog.FAMILIES for kind in family.ops}
    found = {kind for kind in kinds if {"axis", "axes"} & set(kind.__annotations__)}
    assert found == {*ONES, *SEVERAL}
    assert all(issubclass(kind, Op) for kind in found)


@pytest.mark.parametrize(
    ("op", "others"), [(CumProdPullback(), [tg.scalar("dy")]), (ProductOfOthers(), []), (AxisLength(-1), [])]
)
def test_a_scalar_has_no_last_axis(op, others):
    with pytest.raises(ShapeError, match="axis -1 is out of range: the array has 0 axes"):
        op(tg.scalar("x"), *others)


SIZE = tg.scalar("n", "int64")
OPEN = (
    Reshape((None,)),
    BroadcastTo((None,)),
    Slice((0,), (None,), (1,)),
    Slice((None,), (2,), (1,)),
    SliceUpdate((None,), (1,)),
)


@pytest.mark.parametrize("op", OPEN, ids=str)
def test_operands_are_as_many_as_lengths_and_starts_that_fields_leave_open(op):
    x = tg.tensor("x", "float64", (3,))
    first = [x, x] if type(op) is SliceUpdate else [x]
    for rest in ([], [SIZE, SIZE]):
        with pytest.raises(InputError, match=f"found {len(rest)}"):
            op(*first, *rest)
    assert op(*first, SIZE) is not None


def test_a_length_that_is_known_is_no_operand():
    with pytest.raises(InputError, match="found 1 operands, needed 0"):
        Arange(3)(SIZE)


@pytest.mark.parametrize(
    ("starts", "sizes", "steps"),
    [((0,), (1, 2), (1,)), ((0,), (1,), (1, 1)), ((0, 0), (1,), (1,)), ((0, 0), (1, 1), (1, 1))],
)
def test_windows_have_a_start_a_size_and_a_step_for_each_axis(starts, sizes, steps):
    with pytest.raises(ShapeError, match="slice: f"):
        Slice(starts, sizes, steps)(tg.vector("x"))


@pytest.mark.parametrize(("starts", "steps"), [((0,), (1, 1)), ((0, 0), (1,)), ((0, 0), (1, 1))])
def test_windows_that_are_written_have_a_start_and_a_step_for_each_axis(starts, steps):
    with pytest.raises(ShapeError, match="slice update: f"):
        SliceUpdate(starts, steps)(tg.vector("x"), tg.vector("v"))


@pytest.mark.parametrize(("axes", "said"), [("(0,)", "axis 0"), ("(-3,)", "axis -3"), ("(-2, -2)", "repeat an axis")])
def test_a_text_that_sums_over_what_is_no_axis_is_refused(axes, said):
    """Axis 0 is none of those that are counted from the end: without a check it is a sum over none."""
    text = tg.to_text(tg.sum(tg.matrix("x"), axis=0))
    assert "axes=(-2,)" in text
    with pytest.raises(TextError, match=said):
        tg.parse(text.replace("axes=(-2,)", f"axes={axes}"))
