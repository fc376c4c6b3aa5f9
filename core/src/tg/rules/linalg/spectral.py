"""Rules of eigenvalues and singular values: values without vectors that nobody wants; functions of a whole matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.function_graph import freeze
from tg.graph.nodes import Constant, Variable, apply
from tg.graph.traversal import key_of, sorted_applies
from tg.ops.contraction import MatMul
from tg.ops.creation import Arange
from tg.ops.elementwise.arithmetic import add, divide, multiply, reciprocal, square
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.record import Elementwise
from tg.ops.indexing import Scatter
from tg.ops.linalg.spectral import SVD, Eigh, Eigvalsh, Svdvals
from tg.ops.linalg.spectral_functions import SymmetricFunction, TraceOfFunction
from tg.ops.reduction import Reduce, reduce_sum
from tg.ops.shape import expand_dims_at, matrix_transpose
from tg.ops.shape_ops import ExpandDims
from tg.ops.sized_ops import BroadcastTo
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import DIFFERENTIATE, REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import Pass, pass_of, rule_of, rule_of_node
from tg.rules.shape.moved import Moved, every, untransposed
from tg.types.dtypes import is_float
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Apply
    from tg.graph.view import View

DEEPEST: Final = 16  # functions between eigenvalues and their sum
VALUES: Final[dict[type, Any]] = {Eigh: Eigvalsh, SVD: Svdvals}


def _with_vectors(values: type, whole: type) -> Callable[[View], dict[int, Variable]]:
    """A pass that takes values from where their vectors are computed."""

    def run(view: View) -> dict[int, Variable]:
        by_matrix: dict[int, Apply] = {}
        for node in view.applies:
            if type(node.op) is whole and _wants_vectors(node, view):
                by_matrix.setdefault(id(node.inputs[0]), node)
        replacements: dict[int, Variable] = {}
        for node in view.applies:
            if type(node.op) is values and id(node.inputs[0]) in by_matrix:
                replacements.update(_taken(view.results(node), view.results(by_matrix[id(node.inputs[0])])))
        return replacements

    return run


def _wants_vectors(node: Apply, view: View) -> bool:
    op: Any = node.op
    vectors = (1,) if type(op) is Eigh else (0, 2)
    return any(view.uses(view.results(node)[k]) for k in vectors)


@pass_of(
    Eigh,
    SVD,
    phase=SPECIALIZE,
    kind=REASSOCIATES,
    example=lambda x: [Eigh(raises=False)(x[..., : x.shape[-2]])[0], SVD(False, raises=False)(x)[1]],
)
def _values_without_vectors(view: View) -> dict[int, Variable]:
    """The values and the info of factorisations whose vectors nothing reads.

    Values alone take a fraction of the work of values with vectors.
    """
    replacements: dict[int, Variable] = {}
    for node in view.applies:
        op: Any = node.op
        if type(op) in VALUES and not _wants_vectors(node, view):
            results = VALUES[type(op)](op.raises)(*node.inputs)
            old = view.results(node)
            replacements.update({id(old[len(old) == 4]): results[0], id(old[-1]): results[1]})
    return replacements


def _taken(old: tuple[Variable, ...], new: tuple[Variable, ...]) -> dict[int, Variable]:
    """Values and info of a factorisation that has vectors too."""
    return {id(old[0]): new[len(new) == 4], id(old[1]): new[-1]}


def _op(v: Variable) -> Any:
    return None if v.apply is None else v.apply.op


def _along(v: Variable, axis: int) -> Variable | None:
    """x of expand_dims(x, axis)."""
    moved = Moved.of(v, ExpandDims, most=1)
    return moved.with_axes((axis,)) if moved.is_moved else None


def _scaled(x: Variable, axis: int) -> tuple[Variable, Variable] | None:
    """v and f of v * f, or v / (1 / f), f being the same in each column (-2) or row (-1) of v."""
    if is_made_by(x, multiply):
        for v, f in (x.inputs, x.inputs[::-1]):
            scale = _along(f, axis)
            if scale is not None:
                return v, scale
    if is_made_by(x, divide):
        scale = _along(x.inputs[1], axis)
        return None if scale is None else (x.inputs[0], reciprocal(scale))
    return None


def _diagonal(x: Variable) -> Variable | None:
    """f of diag(f)."""
    op = _op(x)
    if type(op) is not Scatter or op != Scatter((-2, -1)):
        return None
    zeros, f, rows, columns = x.inputs
    is_zero = every(zeros, lambda base: isinstance(base, Constant) and not base.data.any())
    is_main = type(_op(rows)) is Arange and type(_op(columns)) is Arange
    return f if is_zero and is_main and zeros.type.ndim == 2 else None


def _three(node: Apply) -> tuple[Variable, Variable, Variable] | None:
    """u, f and w of the product u diag(f) w, however it is written."""
    left, right = node.inputs
    pair = _scaled(left, -2)
    if pair is not None:
        return *pair, right
    pair = _scaled(right, -1)
    if pair is not None:
        return left, pair[1], pair[0]
    if type(_op(left)) is MatMul:
        f = _diagonal(left.inputs[1])
        return None if f is None else (left.inputs[0], f, right)
    if type(_op(right)) is MatMul:
        f = _diagonal(right.inputs[0])
        return None if f is None else (left, f, right.inputs[1])
    return None


def _is_result(v: Variable, like: Variable, index: int) -> bool:
    """Whether a variable is a result of the node that made another."""
    return v.apply is not None and v.apply is like.apply and v.index == index


def _example(x: Variable) -> Variable:
    w, v, _ = Eigh(raises=False)(x[..., : x.shape[-2]])
    return MatMul()(multiply(v, expand_dims_at(w * w, (-2,))), matrix_transpose(v))  # type: ignore[no-any-return]


@rule_of_node(MatMul, phase=DIFFERENTIATE, kind=REASSOCIATES, example=_example)
def _function_of_matrix(node: Apply, outputs: Any) -> Variable | None:
    """V diag(f(w)) V' as a function of the matrix; U diag(s) Vh as the matrix.

    Vectors of equal eigenvalues have no derivative, a function of the matrix has: by divided differences.
    """
    parts = _three(node)
    if parts is None:
        return None
    u, f, w = parts
    op = _op(u)
    if type(op) is SVD:
        whole = u.index == 0 and _is_result(f, u, 1) and _is_result(w, u, 2)
        (a,) = u.inputs
        return a if whole and u.type.shape[-1] == f.type.shape[-1] and not op.full_matrices else None
    turned = untransposed(w)
    if type(op) is not Eigh or u.index != 1 or not is_float(u.type.dtype):
        return None
    if turned is None or not _is_result(turned, u, 1):
        return None
    assert u.apply is not None
    match = _of_eigenvalues(f, u.apply)
    if match is None:
        return None
    graph, parameters = match
    return SymmetricFunction(graph, op.raises)(*u.inputs, *parameters)  # type: ignore[no-any-return]


def _of_eigenvalues(f: Variable, eigh: Apply) -> tuple[FrozenGraph, list[Variable]] | None:
    """A function of one eigenvalue and of numbers, and these numbers, that gives f element by element."""
    values = Variable(eigh.types[0], eigh, 0)
    leaf = Variable(TensorType(values.type.dtype))
    inside = {key_of(values): leaf}
    parameters: dict[tuple[int, int], tuple[Variable, Variable]] = {}
    for node, _ in sorted_applies([f], boundary=[values]):
        if type(node.op) is Eigvalsh and key_of(node.inputs[0]) == key_of(eigh.inputs[0]):
            inside[id(node), 1] = leaf
            continue
        if not any(key_of(v) in inside for v in node.inputs):
            continue
        if not isinstance(node.op, Elementwise | Cast):
            return None
        operands = []
        for v in node.inputs:
            one = inside.get(key_of(v))
            if one is None:
                number = _number_of(v)
                if number is None:
                    return None
                is_constant = isinstance(number, Constant)
                new = number if is_constant else Variable(number.type)
                one = new if is_constant else parameters.setdefault(key_of(number), (number, new))[1]
            operands.append(one)
        for k, v in enumerate(apply(node.op, operands)):
            inside[id(node), k + 1] = v
    if key_of(f) not in inside or f.type.dtype != values.type.dtype or f.type.ndim != values.type.ndim:
        return None
    pairs = list(parameters.values())
    return freeze([leaf, *(new for _, new in pairs)], [inside[key_of(f)]]), [number for number, _ in pairs]


@rule_of(
    Reduce,
    phase=DIFFERENTIATE,
    kind=REASSOCIATES,
    example=lambda x: reduce_sum(square(Eigvalsh(raises=False)(x[..., : x.shape[-2]])[0]), (-1,)),
)
def _sum_over_eigenvalues(op: Any, y: Variable) -> Variable | None:
    """The sum of f over all eigenvalues as the trace of f of the matrix.

    The second derivative of a sum over equal eigenvalues asks for their vectors, that of a trace does not.
    """
    if op.fn is not add or op.axes != (-1,) or not is_float(y.type.dtype):
        return None
    below, depth = y, 0
    while below.apply is not None and isinstance(below.apply.op, Elementwise | Cast) and depth < DEEPEST:
        deeper = [v for v in below.inputs if v.apply is not None and v.type.ndim == y.type.ndim]
        if not deeper:
            return None
        below, depth = deeper[0], depth + 1
    values = below.apply
    if values is None or below.index != 0 or type(values.op) not in (Eigh, Eigvalsh):
        return None
    if not is_float(values.inputs[0].type.dtype):  # the functions of matrices are those of real ones
        return None
    match = _of_eigenvalues(y, values)
    if match is None:
        return None
    graph, parameters = match
    return TraceOfFunction(graph, values.op.raises)(*values.inputs, *parameters)  # type: ignore[attr-defined,no-any-return]


def _number_of(v: Variable) -> Variable | None:
    """The number that all elements of an array are, if that is seen."""
    moved = Moved.of(v, BroadcastTo, ExpandDims)
    value = moved.single()
    if value is not None and value.type.ndim == 0:
        return value
    number = moved.every(_common)
    return None if number is None else Constant(np.asarray(number))


def _common(v: Variable) -> np.generic | None:
    """The number that all elements of a constant are."""
    if not isinstance(v, Constant) or not v.data.size or not np.all(v.data == v.data.flat[0]):
        return None
    return v.data.flat[0]  # type: ignore[no-any-return]


FORMS = (_function_of_matrix, _sum_over_eigenvalues)

PASSES = (
    _values_without_vectors,
    Pass(
        "eigvalsh_with_eigh",
        phase=SPECIALIZE,
        keys=(Eigvalsh,),
        kind=REASSOCIATES,
        why="The eigenvalues come with the vectors.",
        run=_with_vectors(Eigvalsh, Eigh),
        example=lambda x: [
            Eigvalsh(raises=False)(x[..., : x.shape[-2]])[0],
            *Eigh(raises=False)(x[..., : x.shape[-2]])[:2],
        ],
    ),
    Pass(
        "svdvals_with_svd",
        phase=SPECIALIZE,
        keys=(Svdvals,),
        kind=REASSOCIATES,
        why="The singular values come with the vectors.",
        run=_with_vectors(Svdvals, SVD),
        example=lambda x: [Svdvals(raises=False)(x)[0], *SVD(False, raises=False)(x)[:3]],
    ),
)
