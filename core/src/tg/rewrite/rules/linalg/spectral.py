"""Rules of eigenvalues and singular values: without vectors they are computed only where nobody wants the vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.linalg.spectral import SVD, Eigh, Eigvalsh, Svdvals
from tg.rewrite.phases import REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import Pass

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.function_graph import View
    from tg.graph.nodes import Apply, Variable

VALUES: Final[dict[type, Any]] = {Eigh: Eigvalsh, SVD: Svdvals}


def _with_vectors(values: type, whole: type) -> Callable[[View], dict[int, Variable]]:
    """A pass that takes values from where their vectors are computed."""

    def run(view: View) -> dict[int, Variable]:
        made: dict[int, Apply] = {}
        for node in view.applies:
            if type(node.op) is whole and _wants_vectors(node, view):
                made.setdefault(id(node.inputs[0]), node)
        found: dict[int, Variable] = {}
        for node in view.applies:
            if type(node.op) is values and id(node.inputs[0]) in made:
                found.update(_taken(view.results(node), view.results(made[id(node.inputs[0])])))
        return found

    return run


def _wants_vectors(node: Apply, view: View) -> bool:
    op: Any = node.op
    vectors = (1,) if type(op) is Eigh else (0, 2)
    return any(view.uses(view.results(node)[k]) for k in vectors)


def _without_vectors(view: View) -> dict[int, Variable]:
    """The values and the info of factorisations whose vectors nothing reads."""
    found: dict[int, Variable] = {}
    for node in view.applies:
        op: Any = node.op
        if type(op) in VALUES and not _wants_vectors(node, view):
            made = VALUES[type(op)](op.raises)(*node.inputs)
            old = view.results(node)
            found.update({id(old[len(old) == 4]): made[0], id(old[-1]): made[1]})
    return found


def _taken(old: tuple[Variable, ...], new: tuple[Variable, ...]) -> dict[int, Variable]:
    """Values and info of a factorisation that has vectors too."""
    return {id(old[0]): new[len(new) == 4], id(old[1]): new[-1]}


PASSES = (
    Pass(
        "values_without_vectors",
        phase=SPECIALIZE,
        keys=(Eigh, SVD),
        kind=REASSOCIATES,
        why="Values alone take a fraction of the work of values with vectors.",
        run=_without_vectors,
        example=lambda x: [Eigh(raises=False)(x[..., : x.shape[-2]])[0], SVD(False, raises=False)(x)[1]],
    ),
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
