"""Both gradients of a convolution by one call, as PyTorch computes them: one for each takes a sixth longer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np
import torch

from tg import transpose
from tg.backend import Moved, Op, convolution, shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.backend import Apply, Rule, TensorType, Variable, View

    Array = np.ndarray[Any, Any]

AXES: Final = (shape.ExpandDims, shape.Squeeze, shape.Transpose)
LEAD: Final = 3  # axes of a convolution in front of those of windows: batch, groups, channels
MOST: Final = 3  # axes of windows that PyTorch has
DTYPES: Final = ("float32", "float64")  # of convolutions that PyTorch computes as they stand
BACKWARD: Final = torch.ops.aten.convolution_backward


@final
class ConvolutionGradients(Op):
    """Gradients of a convolution by its images and by its kernel, of the cotangent dy of its result.

    Shapes:
        dy (n, g, o, m...), x (n, g, c, l...), w (g, o, c, k...) -> dx (n, g, c, l...), dw (g, o, c, k...)
    Dtypes:
        one floating dtype.
    """

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]

    def infer(self, dy: TensorType, x: TensorType, w: TensorType) -> tuple[TensorType, ...]:
        """The types of the images and of the kernel."""
        return x, w

    def perform(self, dy: Array, x: Array, w: Array) -> tuple[Array, ...]:
        """By the convolutions that the two are."""
        begins, lengths, kernel = tuple(-b for b in self.before), x.shape[LEAD:], w.shape[LEAD:]
        ones = (1,) * len(kernel)
        turned = tuple(-d for d in self.dilations)
        of_images = convolution.Convolution(ones, turned, self.strides, begins, lengths)
        of_kernel = convolution.Convolution(self.dilations, self.strides, ones, self.before, kernel)
        (dx,) = of_images.perform(dy, w.swapaxes(1, 2))
        (dw,) = of_kernel.perform(x.swapaxes(0, 2), np.moveaxis(dy, 0, 2))
        return dx, np.moveaxis(dw, 0, 2)


def convolution_gradients(
    op: ConvolutionGradients, dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The function that autograd calls."""
    groups, none = x.shape[1], [0] * len(op.strides)
    slopes, images, kernel = dy.flatten(1, 2), x.flatten(1, 2), w.flatten(0, 1)
    dx, dw, _ = BACKWARD(
        slopes, images, kernel, None, op.strides, op.before, op.dilations, False, none, groups, (True, True, False)
    )
    return dx.reshape(x.shape), dw.reshape(w.shape)


class _Place(NamedTuple):
    """An operand by the value below movements of axes, and the axis of it that each axis reads."""

    value: int
    axes: tuple[int | None, ...]

    def arranged(self, order: Sequence[int]) -> _Place:
        """The same with the first axes in another order."""
        return _Place(self.value, (*(self.axes[k] for k in order), *self.axes[len(order) :]))


def _place(v: Variable) -> _Place:
    place: _Place = Moved.of(v, *AXES).read(lambda value, axes: _Place(id(value), tuple(axes.places or ())))
    return place


def pairs(view: View) -> Mapping[int, Variable]:
    """Both gradients of a convolution, by the ids of the results of the two convolutions that they are."""
    order = {id(node): k for k, node in enumerate(view.applies)}
    places = {id(node): tuple(map(_place, node.inputs)) for node in filter(_is_plain, view.applies)}
    nodes = [node for node in view.applies if id(node) in places]
    by_kernel: dict[tuple[Op, _Place], list[Apply]] = {}
    for node in nodes:
        by_kernel.setdefault((node.op, places[id(node)][1]), []).append(node)
    by_both = {(node.op, *places[id(node)]): node for node in nodes}
    replaced: dict[int, Variable] = {}
    for node in filter(_is_forward, nodes):
        images, kernel = places[id(node)]
        op_of_images, op_of_kernel = _adjoints(node)
        for of_images in by_kernel.get((op_of_images, kernel.arranged((0, 2, 1))), ()):
            slopes = places[id(of_images)][0].arranged((1, 2, 0))
            of_kernel = by_both.get((op_of_kernel, images.arranged((2, 1, 0)), slopes))
            if of_kernel is None or not _are_before(node.inputs, (of_images, of_kernel), order):
                continue
            op: Any = node.op
            dx, dw = ConvolutionGradients(op.strides, op.dilations, op.before)(of_images.inputs[0], *node.inputs)
            replaced[id(view.results(of_images)[0])] = dx
            replaced[id(view.results(of_kernel)[0])] = transpose(dw, (2, 0, 1, *range(LEAD, dw.type.ndim)))
    return replaced


def _is_plain(node: Apply) -> bool:
    """Whether a node is a convolution whose lengths of windows are all known."""
    if type(node.op) is not convolution.Convolution or len(node.inputs) != 2:
        return False
    lengths = [n for v in node.inputs for n in v.type.shape[LEAD:]]
    return node.inputs[0].type.dtype in DTYPES and all(type(n) is int for n in lengths)


def _is_forward(node: Apply) -> bool:
    """Whether PyTorch has a convolution as it stands: with as many zeros behind images as there are before them."""
    op: Any = node.op
    (_, _, _, *lengths), (_, _, _, *kernel) = (v.type.shape for v in node.inputs)
    rows = zip(op.before, lengths, kernel, op.dilations, op.strides, op.sizes, strict=True)
    return len(kernel) <= MOST and all(
        b >= 0 < d and u == 1 and n + 2 * b - (k - 1) * d - 1 in range((m - 1) * s, m * s)
        for (b, n, k, d, s, m), u in zip(rows, op.spread, strict=True)
    )


def _adjoints(node: Apply) -> tuple[Op, Op]:
    """The convolutions that are the gradients by the images and by the kernel."""
    op: Any = node.op
    lengths, kernel = (tuple(int(n) for n in v.type.shape[LEAD:] if type(n) is int) for v in node.inputs)
    turned, begins = tuple(-d for d in op.dilations), tuple(-b for b in op.before)
    of_images = convolution.Convolution(op.spread, turned, op.strides, begins, lengths)
    return of_images, convolution.Convolution(op.dilations, op.strides, op.spread, op.before, kernel)


def _are_before(values: Sequence[Variable], nodes: Sequence[Apply], order: Mapping[int, int]) -> bool:
    """Whether values are computed before nodes, so that they do not depend on these."""
    first = min(order[id(node)] for node in nodes)
    return all(v.apply is None or order[id(v.apply)] < first for v in values)


RULES: Final[dict[object, Rule]] = {ConvolutionGradients: convolution_gradients}
