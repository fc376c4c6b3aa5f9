"""Rewrites that hold for some operands only: where 0, infinities, NaN, repeats or shapes make a difference."""

import numpy as np

import tg
from tg.graph.nodes import Constant
from tg.ops.elementwise.record import Elementwise
from tg.ops.indexing import Gather, Scatter, Slice
from tg.ops.reduction import Reduce
from tg.ops.shape import BroadcastTo, Transpose
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import node_rule, rule
from tg.rules.catalog import RULES
from tg_bugs.record import Bug


def wrong(name, trap, caught_by, match, replace):
    """A bug that is one equation."""
    made = rule(name, match=match, replace=replace, phase=CANONICALIZE, kind=EXACT, why="It looks true.")
    return Bug(name, trap, caught_by, rewrites=(made,))


def wrong_at(name, trap, caught_by, keys, apply):
    """A bug that is a function of a node."""
    made = node_rule(name, keys=keys, apply=apply, phase=CANONICALIZE, kind=EXACT, why="It looks true.")
    return Bug(name, trap, caught_by, rewrites=(made,))


def is_made_by(v, kind):
    return v.apply is not None and isinstance(v.apply.op, kind)


def is_call(v, fn):
    return is_made_by(v, Elementwise) and v.apply.op.fn is fn


def any_sigmoid(node, outputs):
    """1 / (c + exp(x)) for any c."""
    one, below = node.inputs
    if not (isinstance(one, Constant) and np.all(one.data == 1) and is_call(below, tg.add)):
        return None
    for powers, c in (below.inputs, below.inputs[::-1]):
        if is_call(powers, tg.exp) and isinstance(c, Constant):
            return tg.sigmoid(-powers.inputs[0])
    return None


def merged_slices(node, outputs):
    """x[a::s][b::t] as x[a + b::s * t]."""
    (x, *rest), op = node.inputs, node.op
    if rest or not is_made_by(x, Slice) or len(x.inputs) > 1 or len(op.steps) > 1 or len(x.apply.op.steps) > 1:
        return None
    starts = (x.apply.op.starts[0] + op.starts[0],)
    steps = (x.apply.op.steps[0] * op.steps[0],)
    return Slice(starts, op.sizes, steps)(x.inputs[0])


def read_of_write(node, outputs):
    """What was written is what is read, wherever that is."""
    x = node.inputs[0]
    if not is_made_by(x, Scatter) or x.apply.op.fn is not None:
        return None
    v = x.inputs[1]
    return v if v.type.ndim == outputs[0].type.ndim and v.type == outputs[0].type else None


def set_into_zeros(node, outputs):
    """Writing into zeros as adding to them, which repeats tell apart."""
    x = node.inputs[0]
    zero = x.inputs[0] if is_made_by(x, BroadcastTo) else x
    if node.op.fn is not None or not isinstance(zero, Constant) or x.type.dtype == "bool" or zero.data.any():
        return None
    return Scatter(node.op.axes, tg.add)(*node.inputs)


def symmetric(node, outputs):
    """A square matrix taken for a symmetric one."""
    (x,) = node.inputs
    shape = x.type.shape
    return x if len(shape) == 2 and shape[0] is not None and shape[0] == shape[1] else None


def reduced_transpose(node, outputs):
    """The reduction of a transposed array over the axes that it had before."""
    (x,) = node.inputs
    return Reduce(node.op.fn, node.op.axes, node.op.total)(*x.inputs) if is_made_by(x, Transpose) else None


def split_logarithm(node, outputs):
    """log(x / c) as log(x) - log(c), whose second term is a constant in single precision."""
    quotient = node.inputs[0]
    if not is_call(quotient, tg.divide) or not isinstance(quotient.inputs[1], Constant):
        return None
    x, c = quotient.inputs
    return tg.log(x) - Constant(np.asarray(np.log(c.data.astype("float32"))).astype(c.data.dtype))


def choice_that_forgets(node, outputs):
    """A constant condition that is true somewhere taken to be true."""
    c, x, _ = node.inputs
    return x if isinstance(c, Constant) and c.data.any() else None


def other_way(names, trap, caught_by, attribute, value, *, bug=""):
    """Rules of core's that do another thing."""
    known = {one.name: one for one in RULES}
    core = tuple((known[name], attribute, value) for name in names.split())
    return Bug(bug or names.replace("_", "-"), trap, caught_by, core=core)


ARITHMETIC = "^elementwise/arithmetic:(cancelling|sqrt of square)"

BUGS = (
    wrong("quotient-with-itself", "T24", ARITHMETIC, lambda x: x / x, lambda x: 1),
    wrong("difference-from-itself", "T24", ARITHMETIC, lambda x: x - x, lambda x: 0),
    wrong("product-with-zero", "T24", ARITHMETIC, lambda x: x * 0, lambda x: 0),
    wrong("log-of-exp", "T24", "^elementwise/(arithmetic:cancel|exponential:log of exp)",
          lambda x: tg.log(tg.exp(x)), lambda x: x),
    other_way("root_of_square", "T26", ARITHMETIC, "replace", lambda x: x),
    wrong("square-of-root", "T26", ARITHMETIC, lambda x: tg.square(tg.sqrt(x)), lambda x: x),
    wrong_at("sigmoid-for-any-constant", "T25", "^elementwise/exponential:sigmoid", (tg.divide,), any_sigmoid),
    wrong_at("logarithm-split", "T15", "^elementwise/exponential:log of", (tg.log,), split_logarithm),
    other_way("slice_of_slice", "T52", "^indexing:(slice of|slices of)", "function", merged_slices,
              bug="slices-merged"),
    wrong_at("read-of-write", "T51", "^indexing:(add|set|read of|read across)", (Gather,), read_of_write),
    wrong_at("set-into-zeros", "T50", "^indexing:zeros", (Scatter,), set_into_zeros),
    wrong_at("square-is-symmetric", "T60", "^shape:.*(transpose|square)", (Transpose,), symmetric),
    other_way("reduce_of_movement", "T57", "^reduction:reductions", "function",
              reduced_transpose, bug="reduced-transpose"),
    other_way("where_known", "T59", "^elementwise/comparison:where", "function", choice_that_forgets),
)  # fmt: skip
