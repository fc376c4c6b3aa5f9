"""Movements go outwards through elementwise functions, where they meet others, cancel, and rules see what is below.

f(move(x)) is move(f(x)), and f(move(x), move(y)) is move(f(x, y)). Before programs are linked, a movement between two
elementwise functions goes inwards again, so that both run in one loop; and what drops all axes of a computed array goes
inwards at once, so that scalars are computed as scalars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.record import Elementwise
from tg.ops.shape import ExpandDims, Reshape, Squeeze, Transpose, expand_dims_at, inverse_permutation
from tg.rewrite.phases import BACKEND, EXACT
from tg.rewrite.rule import pass_of, rule_of_node
from tg.rules.shape.terms import arranged, below_movements, is_shape_of, made_by, steps, wanted_shape
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View

    Chain = tuple[Apply, ...]  # movements, each of the one before

KINDS = (ExpandDims, Squeeze, Transpose, Reshape)
POINTWISE = (Elementwise, Cast)


def applied(op: Any, operands: list[Variable]) -> Variable:
    """An elementwise function or a cast of operands, whose ranks are aligned."""
    return op.fn(*operands) if type(op) is Elementwise else op(*operands)


def is_scalar(v: Variable) -> bool:
    """Whether a value is 0-d, or a constant of one element."""
    return v.type.ndim == 0 or (type(v) is Constant and v.data.size == 1)


def _as_scalar(v: Variable) -> Variable:
    return Constant(v.data.reshape(())) if type(v) is Constant and v.data.ndim else v


@rule_of_node(*POINTWISE, kind=EXACT, below=KINDS, example=lambda x: -Transpose((-1, -2))(x))
def _elementwise_of_movement(node: Apply, outputs: Any) -> Variable | None:
    """An elementwise function of values that one movement has made, of scalars and of constants is that movement.

    Movements go outwards, where they meet others and rules see the functions below.
    """
    arrays = [v for v in node.inputs if not is_scalar(v)]
    nodes = [v.apply for v in arrays if v.apply is not None and type(v.apply.op) in KINDS]
    first = next((m for m in nodes if type(m.op) is Transpose), nodes[0] if nodes else None)
    if first is None or outputs[0].type.ndim == 0:
        return None
    if type(first.op) is ExpandDims:
        return _through_expand(node)
    before: Callable[[Variable, Apply], Variable | None] = BEFORE[type(first.op)]
    operands: list[Variable] = []
    for v in node.inputs:
        u = _as_scalar(v) if is_scalar(v) else before(v, first)
        if u is None:
            return None
        operands.append(u)
    return first.op(applied(node.op, operands), *first.inputs[1:])  # type: ignore[no-any-return]


def _before_transpose(v: Variable, movement: Apply) -> Variable | None:
    """Operand that a transpose makes a value of, if that takes no transpose."""
    op: Any = movement.op
    if made_by(v, Transpose) == op:
        return v.inputs[0]
    inverse = Transpose(inverse_permutation(op.axes))
    if type(v) is Constant:
        return Constant(inverse.perform(v.data)[0])
    x, places, _ = below_movements(v)
    places = [places[k] for k in inverse.order(len(places))]
    return arranged(x, places) if not any(type(s) is Transpose for s in steps(x, places)) else None


def _before_squeeze(v: Variable, movement: Apply) -> Variable | None:
    op: Any = movement.op
    if type(v) is Constant:
        return Constant(np.expand_dims(v.data, op.axes).copy())
    return v.inputs[0] if made_by(v, Squeeze) == op else None


def _before_reshape(v: Variable, movement: Apply) -> Variable | None:
    """Operand that a reshape makes a value of, if it has the same shapes before and after."""
    x = movement.inputs[0]
    wanted = wanted_shape(movement.op, movement)
    if type(v) is Constant:
        whole = [n for n in x.shape if type(n) is int]
        fits = is_shape_of(v, wanted) and len(whole) == x.type.ndim
        return Constant(v.data.reshape(whole)) if fits else None
    if not made_by(v, Reshape) or not is_shape_of(v.inputs[0], x.shape):
        return None
    assert v.apply is not None
    own = wanted_shape(v.apply.op, v.apply)
    return v.inputs[0] if len(own) == len(wanted) and all(map(equal_here, own, wanted)) else None


BEFORE: dict[type, Callable[[Variable, Apply], Variable | None]] = {
    Transpose: _before_transpose,
    Squeeze: _before_squeeze,
    Reshape: _before_reshape,
}


def _through_expand(node: Apply) -> Variable | None:
    """The axes that all operands have been given are given to the result."""
    arrays = [v for v in node.inputs if not is_scalar(v)]
    axes = frozenset(range(-arrays[0].type.ndim, 0))
    for v in arrays:
        own = made_by(v, ExpandDims)
        if own:
            axes &= frozenset(own.axes)
        elif type(v) is Constant:
            axes = frozenset(k for k in axes if v.data.shape[k] == 1)
        else:
            return None
    if not axes:
        return None
    value = applied(node.op, [_as_scalar(v) if is_scalar(v) else _without(v, axes) for v in node.inputs])
    return ExpandDims(tuple(sorted(axes)))(value)  # type: ignore[no-any-return]


def _without(v: Variable, axes: frozenset[int]) -> Variable:
    """A value without axes of length 1 that an expand_dims has added, or that a constant has."""
    if type(v) is Constant:
        return Constant(np.squeeze(v.data, tuple(axes)).copy())
    rest = [k for k in range(-v.type.ndim, 0) if k not in axes]
    left = tuple(rest.index(k) - len(rest) for k in made_by(v, ExpandDims).axes if k not in axes)
    x = v.inputs[0]
    return ExpandDims(left)(x) if left else x


def is_elementwise(v: Variable) -> bool:
    """Whether an elementwise function or a cast makes a value."""
    return v.apply is not None and type(v.apply.op) in POINTWISE


def _inwards(view: View, roots: list[Chain]) -> dict[int, Variable]:
    """Movements of elementwise values that nothing reads as they are: the same values of moved operands."""
    moved = _only_moved(view, roots)
    done: dict[int, Variable] = {}
    for node in view.applies:
        v = view.results(node)[0]
        root = moved.get(id(v))
        if root is not None:
            done[id(v)] = applied(node.op, [_operand(u, root, moved, done) for u in node.inputs])
    return {id(view.results(root[-1])[0]): done[id(v)] for root in roots if id(v := root[0].inputs[0]) in done}


def _only_moved(view: View, roots: list[Chain]) -> dict[int, Chain]:
    """The elementwise values that are read by one of these movements alone, or to compute others such; and by which."""
    chains: dict[int, Chain] = {}
    reads: dict[int, dict[object, int]] = {}  # value -> movements -> how often it is read for these

    def read(v: Variable, root: Chain) -> None:
        counts = reads.setdefault(id(v), {})
        counts[_kind(root)] = counts.get(_kind(root), 0) + 1

    for root in roots:
        read(root[0].inputs[0], root)
    one_of = {_kind(root): root for root in roots}
    for node in reversed(view.applies):
        v = view.results(node)[0]
        counts = reads.get(id(v))
        if counts is None or len(counts) > 1 or not is_elementwise(v) or v.type.ndim == 0:
            continue
        ((kind, count),) = counts.items()
        if count == view.uses(v) and _goes_through(v, one_of[kind]):
            chains[id(v)] = one_of[kind]
            for u in node.inputs:
                read(u, one_of[kind])
    return chains


def _kind(root: Chain) -> object:
    """Key by which movements of one value are the same movements."""
    return tuple((node.op, *map(id, node.inputs[1:])) for node in root)


def _operand(u: Variable, root: Chain, moved: dict[int, Chain], done: dict[int, Variable]) -> Variable:
    if u.type.ndim == 0:
        return u
    return done[id(u)] if moved.get(id(u)) is root else _moved(u, root)


def _goes_through(v: Variable, root: Chain) -> bool:
    """Whether the operands of an elementwise value can be moved as it is: for a reshape, if they have its shape."""
    assert v.apply is not None
    if all(type(node.op) is not Reshape for node in root):
        return True
    return all(u.type.ndim == 0 or is_shape_of(u, v.shape) for u in v.apply.inputs)


def _moved(v: Variable, root: Chain) -> Variable:
    for node in root:
        op: Any = node.op
        if type(v) is Constant and type(op) is not Reshape:
            v = Constant(op.perform(v.data)[0])
        else:
            v = op(v, *node.inputs[1:])
    return v


@pass_of(Transpose, kind=EXACT, example=lambda x, y: Transpose((-1, -2))(Transpose((-1, -2))(x) @ y) + x)
def _elementwise_beside_transposed(view: View) -> dict[int, Variable]:
    """Elementwise functions of a transposed value and of others whose transposes are computed anyway: transposed.

    What is computed in the other order of axes anyway is read there, and transposes meet others.
    """
    nodes = [node for node in view.applies if type(node.op) is Transpose]
    transposes = {(id(node.inputs[0]), node.op): view.results(node)[0] for node in nodes}
    replacements: dict[int, Variable] = {}
    for node in view.applies if nodes else ():
        if type(node.op) not in POINTWISE:
            continue
        first = next((v for v in node.inputs if made_by(v, Transpose) and view.uses(v) == 1), None)
        if first is None or first.apply is None:
            continue
        inverse = Transpose(inverse_permutation(made_by(first, Transpose).axes))
        operands: list[Variable] = []
        for v in node.inputs:
            one = _as_scalar(v) if is_scalar(v) else _before_transpose(v, first.apply)
            one = transposes.get((id(v), inverse)) if one is None else one
            operands += [] if one is None else [one]
        if len(operands) == len(node.inputs):
            replacements[id(view.results(node)[0])] = first.apply.op(applied(node.op, operands))
    return replacements


@pass_of(kind=EXACT, example=lambda x: Squeeze((-2, -1))(x[:1, :1] * 2 + 1))
def _scalars_as_scalars(view: View) -> dict[int, Variable]:
    """A squeeze that leaves no axis, of an elementwise value that nothing else reads.

    One element is computed without a loop.
    """
    applies = view.applies
    return _inwards(view, [(n,) for n in applies if type(n.op) is Squeeze and view.results(n)[0].type.ndim == 0])


@pass_of(phase=BACKEND, kind=EXACT, example=lambda x: Transpose((-1, -2))(x * 2) + expand_dims_at(x[0], (-1,)))
def _movement_between_elementwise(view: View) -> dict[int, Variable]:
    """Movements between elementwise functions, of values that nothing else reads.

    Elementwise functions on both sides of a movement run in one loop.
    """
    read = {id(v) for node in view.applies if type(node.op) in POINTWISE for v in node.inputs}
    ends = [n for n in view.applies if type(n.op) in KINDS and id(view.results(n)[0]) in read]
    return _inwards(view, [_in_a_row(view, node) for node in ends])


def _in_a_row(view: View, last: Apply) -> Chain:
    """A movement behind those of which nothing else reads the results."""
    chain = [last]
    while (below := chain[0].inputs[0].apply) is not None and type(below.op) in KINDS:
        if view.uses(chain[0].inputs[0]) > 1:
            break
        chain.insert(0, below)
    return tuple(chain)


RULES = (_elementwise_of_movement,)

PASSES = (_scalars_as_scalars, _elementwise_beside_transposed, _movement_between_elementwise)
