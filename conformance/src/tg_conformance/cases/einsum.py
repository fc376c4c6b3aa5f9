"""Cases of `ops/einsum`: implicit and explicit results, repeated letters, ellipses, several operands."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import InputError, ShapeError
from tg.ops.einsum import FAMILY
from tg.plugin.case import Case, Input, f64
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMS: Final[tuple[tuple[str, tuple[tuple[int | str, ...], ...]], ...]] = (
    ("ij,jk->ik", (("n", "m"), ("m", "k"))),
    ("ij,jk", (("n", "m"), ("m", "k"))),
    ("ba", (("n", "m"),)),
    ("ii", (("n", "n"),)),
    ("ii->i", (("n", "n"),)),
    ("iji->j", (("n", "k", "n"),)),
    ("ij->", (("n", "m"),)),
    ("i,i->", (("n",), ("n",))),
    ("i,j->ji", (("n",), ("k",))),
    ("ij,ij->ij", (("n", "m"), ("n", "m"))),
    ("bij,bjk->bik", (("b", "n", "m"), ("b", "m", "k"))),
    ("bij,jk->bki", (("b", "n", "m"), ("m", "k"))),
    ("abc,cad->db", (("b", "n", "m"), ("m", "b", "k"))),
    ("ij,jk,kl->il", (("n", "m"), ("m", "k"), ("k", "p"))),
    ("ij,j,i", (("n", "m"), ("m",), ("n",))),
    ("i,ij,jj,k->k", (("n",), ("n", "k"), ("k", "k"), ("p",))),
    ("...ij,...jk->...ik", (("b", "n", "m"), ("b", "m", "k"))),
    ("...ij,jk->...ik", (("p", "b", "n", "m"), ("m", "k"))),
    ("i...,i...", (("n", "k"), ("n", "k"))),
    ("...i,...->...i", (("b", "n"), ("b",))),
    ("ij,,k->ijk", (("n", "k"), (), ("p",))),
)


def forms() -> Iterator[Case]:
    """Every form, with its gradient."""
    for text, shapes in FORMS:
        yield Case(
            lambda *v, text=text: tg.einsum(text, *v),
            [Input(None, shape) for shape in shapes],
            name=f"einsum {text}",
            dtypes=("int32", "float64", "complex128") if text == "ij,jk->ik" else ("float64",),
            oracle=lambda *v, text=text: np.einsum(text, *v),
            condition=lambda *v, text=text: np.einsum(text, *map(abs, v)) * (sum(x.size for x in v) + 1),
            gradient=True,
        )


def without(x: Any, y: Any) -> Any:
    """Axes of length 1 that stretch, and products from the left."""
    return tg.einsum("...i,...i->...", x, y), tg.einsum("ab,bc,cd->ad", x, y.T, y, optimize=False)


WRITTEN: Final = (
    Case(
        without,
        [f64(1, 3), f64(4, 3)],
        name="einsum that broadcasts",
        static=(True,),
        oracle=lambda x, y: (np.einsum("...i,...i->...", x, y), x @ y.T @ y),
        condition=lambda x, y: (64, 640),
        gradient=True,
    ),
    *(
        Case(
            functools.partial(tg.einsum, "...i,...ij->...j"),
            [f64(*lead, 3), f64(*other, 3, 2)],
            name=f"einsum of leading axes {lead} and {other}",
            static=(False,),
            oracle=lambda x, y: (x[..., None, :] @ y)[..., 0, :],
            condition=lambda x, y: 64,
            gradient=True,
        )
        for lead, other in (((4,), (1,)), ((1,), (4,)), ((2, 1), (1, 4)), ((4,), ()))
    ),
    Case(lambda x: tg.einsum("ij,jk", x), [f64("n", "m")], name="einsum of one operand less", raises=InputError),
    Case(lambda x: tg.einsum("i->i", x), [f64("n", "m")], name="einsum of another rank", raises=ShapeError),
    Case(lambda x: tg.einsum("ij->ik", x), [f64("n", "m")], name="einsum of no such letter", raises=InputError),
    Case(
        lambda x, y: tg.einsum("ij,jk", x, y),
        [f64(2, 3), f64(4, 2)],
        name="einsum of lengths that differ",
        raises=ShapeError,
        static=(True,),
    ),
    Case(
        lambda x, y: tg.einsum("aij,bij->ab", x, y),
        [f64(2, 3, 4), f64(2, 4, 3)],
        name="einsum of other lengths with the same product",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        lambda x: tg.einsum("ii->i", x),
        [f64(3, 4)],
        name="einsum of the diagonal of no square",
        raises=ShapeError,
        static=(False,),
    ),
)

CASES: Final = of_family(FAMILY.path, forms(), WRITTEN)
