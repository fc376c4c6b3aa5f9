"""Products with an inverse are solutions, where the inverse itself is not wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.ops.contraction import MatMul
from tg.ops.linalg.linear_systems import Inv, Solve
from tg.ops.shape import broadcast_to, matrix_transpose
from tg.rewrite.phases import REASSOCIATES
from tg.rewrite.rule import pass_of
from tg.rules.linalg.solving.structure import bounded
from tg.rules.shape.moved import untransposed
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View


@pass_of(
    Inv,
    kind=REASSOCIATES,
    example=lambda x, y: MatMul()(Inv(raises=False)(bounded(x[..., : x.shape[-2]]))[0], bounded(y)),
)
def _solve_for_product_with_inv(view: View) -> dict[int, Variable]:
    """The products with inverses of which there are no other uses.

    Solving takes a third of the work of inverting and multiplying, and loses fewer digits.
    """
    readers = _readers(view)
    replacements: dict[int, Variable] = {}
    for node in view.applies:
        if type(node.op) is Inv:
            replacements.update(_without(node, readers, view) or {})
    return replacements


def _readers(view: View) -> dict[int, list[tuple[Apply, int]]]:
    """By the id of a value: the applies that read it, and as which operand."""
    by_id: dict[int, list[tuple[Apply, int]]] = {}
    for node in view.applies:
        for k, v in enumerate(node.inputs):
            by_id.setdefault(id(v), []).append((node, k))
    return by_id


def _without(node: Apply, readers: dict[int, list[tuple[Apply, int]]], view: View) -> dict[int, Variable] | None:
    """Replacements of the products with an inverse, and of its matrix's info, by their ids; None if it is wanted."""
    op, (a,), (x, info) = node.op, node.inputs, view.results(node)
    products = _products(x, "n", readers, view)
    if not products:
        return None
    replacements: dict[int, Variable] = {}
    told: Variable | None = None
    for product, k, transpose in products:
        (z,) = view.results(product)
        other = product.inputs[1 - k]
        if product.inputs[0] is product.inputs[1] or not _fits(a, z):
            return None
        turned = {"n": "t", "t": "n"}[transpose]
        right = other if k == 0 else matrix_transpose(other)
        right = broadcast_to(right, (*a.shape[:-2], *right.shape[-2:]))
        y, told = Solve(transpose if k == 0 else turned, False, op.raises)(a, right)  # type: ignore[attr-defined]
        replacements[id(z)] = y if k == 0 else matrix_transpose(y)
    assert told is not None
    replacements[id(info)] = told
    return replacements


def _products(
    x: Variable, transpose: str, readers: dict[int, list[tuple[Apply, int]]], view: View
) -> list[tuple[Apply, int, str]] | None:
    """The products with a value or its transpose, and where it stands; None if anything else reads it."""
    uses = readers.get(id(x), [])
    if len(uses) != view.uses(x):
        return None
    products = []
    for node, k in uses:
        if type(node.op) is MatMul:
            products.append((node, k, transpose))
            continue
        if transpose != "n" or untransposed(view.results(node)[0]) is None:
            return None
        more = _products(view.results(node)[0], "t", readers, view)
        if more is None:
            return None
        products += more
    return products


def _fits(a: Variable, z: Variable) -> bool:
    """Whether there is one matrix for each product."""
    return all(map(equal_here, a.shape[:-2], z.shape[:-2]))


PASSES = (_solve_for_product_with_inv,)
