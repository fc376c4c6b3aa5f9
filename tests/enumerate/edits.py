"""Programs beside the ones that a rule is for: a value or a function of an expression is replaced by another."""

from __future__ import annotations

import random

import tg
from tg.graph.nodes import Constant, apply
from tg.graph.traversal import sorted_applies
from tg.ops.assumptions import Assume
from tg.ops.elementwise.record import Elementwise
from tg.ops.indexing import Gather, Scatter

WRAPPED = (
    lambda x, K: -x, lambda x, K: 1 / x, lambda x, K: x * x, lambda x, K: x * 2, lambda x, K: x * -3,
    lambda x, K: x + 1, lambda x, K: tg.gate(x, 1 / x),
    lambda x, K: x * K.small, lambda x, K: x * K.large, lambda x, K: x[..., ::-1], lambda x, K: tg.roll(x, 1, -1),
    lambda x, K: tg.gate(x, x), lambda x, K: tg.broadcast_to(x[..., :1], x.shape), lambda x, K: tg.exp(x),
    lambda x, K: tg.swapaxes(x, -1, -2), lambda x, K: tg.absolute(x), lambda x, K: tg.where(x > 0, x, 1),
    lambda x, K: tg.broadcast_to(tg.sum(x, -1, keepdims=True), x.shape), lambda x, K: 0 * x,
)  # fmt: skip


ALIKE = tuple(
    tuple(line.split())
    for line in """add subtract multiply divide maximum minimum gate
    less less_equal greater greater_equal equal not_equal
    exp expm1 exp2 negative square sqrt
    log log1p log2
    sin cos tanh
    floor ceil trunc rint
    bitwise_and bitwise_or bitwise_xor
    left_shift right_shift
    logical_and logical_or logical_xor
    floor_divide remainder""".splitlines()
)


KEPT = (Gather, Scatter)
"""Their positions are in range of their first operand, as WrapIndex has seen, and stay so."""


def edited(root, number, letters, constants):
    """An expression with one or two of its places changed, which and how by a number."""
    rng = random.Random(number)
    promised = [v for node, made in sorted_applies([root]) if isinstance(node.op, Assume) for v in made]
    nodes = [node for node, _ in sorted_applies([root], boundary=promised)]  # what is promised of another is not true
    if not nodes:
        return root
    places = {(rng.randrange(len(nodes)), rng.randrange(3)) for _ in range(rng.choice((1, 1, 2)))}
    made, seen = {}, []
    for k, node in enumerate(nodes):
        operands = [made.get(id(v), v) for v in node.inputs]
        op = node.op
        for at, place in places:
            if at == k and operands and type(op) not in KEPT:
                if rng.randrange(4) == 0 and isinstance(op, Elementwise):
                    op = other_function(op, rng)
                else:
                    j = place % len(operands)
                    operands[j] = changed(operands[j], rng, seen, constants)
        found = apply(op, operands)
        seen.extend(found)
        for old, new in zip(results(node, nodes, root), found, strict=False):
            made[id(old)] = new
    return made.get(id(root), root)


def results(node, nodes, root):
    """The variables of an expression that are a node's results, in order."""
    found = {v.index: v for other in nodes for v in other.inputs if v.apply is node}
    if root.apply is node:
        found[root.index] = root
    return [v for _, v in sorted(found.items())]


def changed(v, rng, seen, constants):
    """Another value of the same type."""
    alike = [u for u in seen if u.type == v.type and u is not v]
    if alike and rng.randrange(3) == 0:
        return rng.choice(alike)
    if isinstance(v, Constant) and v.type.ndim == 0 and v.type.dtype.startswith("float") and rng.randrange(2):
        return tg.constant(v.data.dtype.type(rng.choice((0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.0, constants.small))))
    for _ in range(4):
        try:
            new = rng.choice(WRAPPED)(v, constants)
        except Exception:  # noqa: BLE001 (not for this dtype or rank)
            continue
        if new.type == v.type:
            return new
    return v


def other_function(op, rng):
    """Another elementwise function of the same dtypes."""
    for group in ALIKE:
        if op.fn.name in group:
            return getattr(tg, rng.choice(group)).op
    return op
