"""Bugs of derivatives, which stand in core and are the same on every backend: only an oracle that is not tg tells."""

import tg
from tg.gradient import pullback
from tg.gradient.selection import Supports
from tg.ops import norm, reduction, scatter_pullback, sorting
from tg.ops.contraction import MatMul
from tg.ops.cumulative import Accumulate, CumProdPullback, _from_the_end
from tg.ops.elementwise import arithmetic
from tg.ops.elementwise.arithmetic import clip
from tg.ops.indexing import Gather, Scatter, Slice
from tg.ops.reduction import Reduce
from tg.ops.shape import BroadcastTo, Concatenate, Transpose
from tg_bugs.record import Bug


def quotient_of_products(self, x, dy):
    return _from_the_end(dy * tg.cumprod(x, -1), -1) / x


def product_by_itself(x, axes):
    return tg.prod(x, axes, keepdims=True) / x


def all_ties(self, tools, inputs, outputs, cotangents):
    (x,), (y,), (dy,) = inputs, outputs, cotangents
    if dy is None or self.fn not in (tg.maximum, tg.minimum):
        return TRUE_REDUCE(self, tools, inputs, outputs, cotangents)
    return (tg.where(tg.equal(x, self.restore(y)), tg.broadcast_to(self.restore(dy), x.shape), 0.0),)


TRUE_REDUCE = Reduce.pullback


def gathered(self, tools, inputs, outputs, cotangents):
    """Repeated positions get what the last of them gets."""
    (x, *indices), (dy,) = inputs, cotangents
    return (Scatter(self.axes)(tg.zeros_like(x), dy, *indices), *(None for _ in indices))


def not_replaced(op, x, v, at, dy):
    """The written elements are taken to depend on the old ones still."""
    return dy, Gather(op.axes)(dy, *at)


def winners_ignored(op, x, v, at, dy):
    """Every value written gets a share, those overwritten too."""
    zero = tg.zeros_like(v)
    return op(dy, zero, *at), Gather(op.axes)(dy, *at)


def last_use(self, v, dv):
    """A variable that is used twice gets the cotangent of one use."""
    if dv is not None and pullback.key_of(v) not in self.known:
        self.found[pullback.key_of(v)] = dv


def no_selection(self, a, b, *, turns=False):
    """A product whatever is selected: 0 * inf is NaN."""
    return tg.multiply(a, b)


def chosen_by_value(self, a, b, *, turns=False):
    """A cotangent that happens to be 0 is taken for one that is selected: 0 * inf is 0."""
    return tg.where(tg.equal(a, 0.0), 0.0, tg.multiply(a, b))


def no_slope_at_0(self, tools, inputs, outputs, cotangents):
    """The direction of x, which 0 has none of."""
    (x,), (y,), (dy,) = inputs, outputs, cotangents
    length, dy = (tg.expand_dims(v, self.axes) for v in (y, dy))
    return (tools.times(tg.broadcast_to(dy, x.shape), x / length),)


def permuted_again(self, tools, inputs, outputs, cotangents):
    (dy,) = cotangents
    return (None if dy is None else Transpose(self.axes)(dy),)


def sorted_gather(self, tools, inputs, outputs, cotangents):
    """The cotangent taken at the positions that sort, where it should be put there."""
    (x,), (dy,) = inputs, cotangents
    last, given = tg.moveaxis(x, self.axis, -1), tg.moveaxis(dy, self.axis, -1)
    return (tg.moveaxis(sorting.along(given, sorting.ArgSort(-1)(last)), -1, self.axis),)


def forward_sum(self, tools, inputs, outputs, cotangents):
    (dy,) = cotangents
    if dy is None or self.fn is not tg.add:
        return TRUE_ACCUMULATE(self, tools, inputs, outputs, cotangents)
    return (self(dy),)


TRUE_ACCUMULATE = Accumulate.pullback


def mean_of_repeated(self, tools, inputs, outputs, cotangents):
    """What was repeated is averaged."""
    (dx, *rest) = TRUE_BROADCAST(self, tools, inputs, outputs, cotangents)
    many = tg.prod(tg.stack(outputs[0].shape)) / tg.prod(tg.stack(inputs[0].shape)) if inputs[0].shape else 1.0
    return (None if dx is None else tg.cast(dx / many, dx.type.dtype), *rest)


TRUE_BROADCAST = BroadcastTo.pullback


def pieces_from_the_start(self, tools, inputs, outputs, cotangents):
    """Every piece is read from the front."""
    (dy,) = cotangents
    if dy is None:
        return [None] * len(inputs)
    from tg.ops.indexing import slice_axis

    return [slice_axis(dy, self.axis, 0, x.shape[self.axis]) for x in inputs]


def untransposed(self, tools, inputs, outputs, cotangents):
    """The second operand's cotangent as if the first were symmetric."""
    (dx, dy), (x, _), (dz,) = TRUE_MATMUL(self, tools, inputs, outputs, cotangents), inputs, cotangents
    square = x.type.shape[-1] is not None and x.type.shape[-1] == x.type.shape[-2] and x.type.ndim == 2
    return (dx, self(x, dz) if square and dz is not None else dy)


TRUE_MATMUL = MatMul.pullback


def shifted_slice(self, tools, inputs, outputs, cotangents):
    """The cotangent put to the front, wherever the slice began."""
    from tg.ops.indexing import SliceUpdate

    (dy,) = cotangents
    if dy is None or None in self.starts or any(s != 1 for s in self.steps):
        return TRUE_SLICE(self, tools, inputs, outputs, cotangents)
    zeros = tg.zeros_like(inputs[0], dtype=dy.type.dtype)
    return (SliceUpdate((0,) * len(self.starts), self.steps, tg.add)(zeros, dy), *(None for _ in inputs[1:]))


TRUE_SLICE = Slice.pullback


def averaged(self, dx, x):
    """The cotangent of an operand that was repeated, averaged over its copies."""
    found = TRUE_OPERAND(self, dx, x)
    many = 1
    for n in dx.shape:
        many = many * n
    for n in x.shape:
        many = many // n
    return found if found is dx else found / tg.cast(many, found.type.dtype)


TRUE_OPERAND = pullback.Tools.to_operand


def slopes(name, trap, caught_by, fn, *partials):
    """Other partial derivatives in a record."""
    return Bug(name, trap, caught_by, core=((fn, "d", partials),))


def replaced(name, trap, caught_by, owner, attribute, value):
    """Another function in core."""
    return Bug(name, trap, caught_by, core=((owner, attribute, value),))


ARITHMETIC = "^elementwise/arithmetic:grad of"

BUGS = (
    slopes("slope-of-tanh", "R7", "^elementwise/trigonometric:tanh", tg.tanh, lambda x, y: 1 - y),
    slopes("both-of-equal", "T68", ARITHMETIC, tg.maximum,
           lambda x, y, z: tg.cast(x >= y, z.type.dtype), lambda x, y, z: tg.cast(y >= x, z.type.dtype)),
    slopes("clip-without-bounds", "T68", ARITHMETIC, clip, lambda x, a, b, y: 1, None, None),
    slopes("slope-of-abs-at-0", "T68", ARITHMETIC, tg.absolute,
           lambda x, y: tg.where(tg.real(x) >= 0, 1.0, -1.0).astype(y.type.dtype)),
    slopes("slope-of-power-at-0", "T69", ARITHMETIC, tg.power,
           lambda x, y, z: y * x ** (y - 1), lambda x, y, z: z * tg.log(x)),
    replaced("cumprod-by-division", "T67", "^cumulative:(grad|hessian) of cumprod", CumProdPullback, "expansion",
             quotient_of_products),
    replaced("prod-by-division", "T74", "^reduction:grad", reduction, "product_of_others", product_by_itself),
    replaced("maximum-for-all-ties", "T68", "^reduction:grad", Reduce, "pullback", all_ties),
    replaced("norm-at-0", "T69", "^norm:grad", norm.Norm, "pullback", no_slope_at_0),
    replaced("gather-of-repeats", "T72", "^indexing:(points|sum of|rows by int8)", Gather, "pullback", gathered),
    replaced("replaced-depends", "T72", "^indexing:set", scatter_pullback, "_replaced", not_replaced),
    replaced("overwritten-depends", "T72", "^indexing:(set|grad)", scatter_pullback, "_replaced", winners_ignored),
    replaced("last-use", "T73", "^control:(call with|hess|jac)", pullback._Flow, "add", last_use),
    replaced("no-selection", "T70", "^elementwise/comparison:(grad|branch)", Supports, "times", no_selection),
    replaced("chosen-by-value", "T69", "^elementwise/arithmetic:grad of", Supports, "times", chosen_by_value),
    slopes("flat-at-kink", "T69", "^norm:hessian", arithmetic.kink, lambda x, y: 0),
    replaced("sort-at-positions", "T68", "^sorting:(grad|jac)", sorting.Sort, "pullback", sorted_gather),
    replaced("running-sum-forward", "T67", "^cumulative:cumsum", Accumulate, "pullback", forward_sum),
    replaced("permuted-again", "T73", "^shape:(transpose|moveaxis)", Transpose, "pullback", permuted_again),
    replaced("mean-of-repeated", "T72", "^shape:broadcast_to", BroadcastTo, "pullback", mean_of_repeated),
    replaced("operand-averaged", "T72", "^elementwise/arithmetic:(gradient through|grad of clip)", pullback.Tools,
             "to_operand", averaged),
    replaced("pieces-from-the-start", "T73", "^shape:(concatenate|stack)", Concatenate, "pullback",
             pieces_from_the_start),
    replaced("operand-is-symmetric", "T71", "^contraction:matmul of", MatMul, "pullback", untransposed),
    replaced("slice-at-the-front", "T72", r"^indexing:read (-?\d|-?\d:)", Slice, "pullback", shifted_slice),
)  # fmt: skip
