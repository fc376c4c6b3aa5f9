"""Cases of `ops/sorting`: ties keep their order, NaN comes last, and positions are int64 on every backend."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import DomainError, InputError, ShapeError
from tg.ops.sorting import FAMILY
from tg.plugin.case import SAME_SHAPE, Case, any_dtype, f32, f64, fixed, i32
from tg.types.dtypes import SIGNED, UNSIGNED
from tg_conformance.cases.family import of_family, twin

if TYPE_CHECKING:
    from collections.abc import Iterator

REAL: Final = ("bool", *SIGNED, *UNSIGNED, "float16", "bfloat16", "float32", "float64")
BARE: Final = (*SAME_SHAPE, "empty", "one")
NAN: Final = float("nan")
MIXED: Final = [3.0, NAN, -1.0, 0.0, NAN, -np.inf, 3.0, -0.0, np.inf, 2.0]


def sortable(x: Any) -> Any:
    """The array in a dtype that NumPy sorts."""
    return x.astype(np.float32) if x.dtype.name == "bfloat16" else x


PARTLY_NAN: Final = [
    *(
        complex(*parts)
        for parts in ((1, 2), (1, NAN), (NAN, 1), (NAN, NAN), (-1, 0), (NAN, 1), (1, 1), (0, NAN), (NAN, -1))
    ),
    *(complex(k % 3, -k % 2) for k in range(20)),
]


def orders_of_complex() -> Iterator[Case]:
    """Complex numbers of which parts are NaN, in NumPy's order, by runs and by merging."""
    for dtype in ("complex64", "complex128"):
        yield Case(
            lambda x: (tg.sort(x), tg.argsort(x)),
            [fixed(PARTLY_NAN, dtype)],
            name=f"sort of {dtype} of which parts are NaN",
            accuracy=0,
            oracle=lambda x: (np.sort(x, kind="stable"), np.argsort(x, kind="stable")),
        )
        yield Case(
            lambda a, v: [tg.searchsorted(tg.sort(a), v, side) for side in ("left", "right")],
            [fixed(PARTLY_NAN, dtype), fixed(PARTLY_NAN[:9], dtype)],
            name=f"search among {dtype} of which parts are NaN",
            oracle=lambda a, v: [np.searchsorted(np.sort(a), v, side) for side in ("left", "right")],
        )


def orders() -> Iterator[Case]:
    """Sorts and positions along every axis; all dtypes along one."""
    for axis, values in itertools.product((None, 0, 1, -1), ("random", "ties")):
        few = ("int8", "float64")
        yield Case(
            lambda x, axis=axis: (tg.sort(x, axis), tg.argsort(x, axis)),
            [any_dtype("n", "m", values=values)],
            name=f"sort axis {axis} {values}",
            dtypes=REAL if axis == 0 else few,
            layouts=BARE,
            traps=("T31",),
            accuracy=0,
            oracle=lambda x, axis=axis: (
                np.sort(sortable(x), axis, kind="stable"),
                np.argsort(sortable(x), axis, kind="stable"),
            ),
        )
    yield Case(
        lambda x: (tg.sort(x, descending=True), tg.argsort(x, descending=True)),
        [any_dtype("n", "m", values="ties")],
        name="sort descending",
        dtypes=("int32", "uint8", "float64"),
        traps=("T31",),
        accuracy=0,
        oracle=lambda x: (np.flip(np.sort(x), -1), np.argsort(-x.astype(float), kind="stable")),
    )
    for side in ("left", "right"):
        yield Case(
            lambda a, v, side=side: tg.searchsorted(tg.sort(a), v, side),
            [any_dtype("m", values="ties"), any_dtype("n", "k", values="ties")],
            name=f"searchsorted {side}",
            dtypes=("int8", "uint16", "int64", "float32", "float64"),
            layouts=BARE,
            accuracy=0,
            oracle=lambda a, v, side=side: np.searchsorted(np.sort(a), v, side),
        )


WRITTEN: Final = (
    twin(
        "sort with nan",
        lambda m, x: (m.sort(x), m.argsort(x, kind="stable")),
        fixed(MIXED, None),
        dtypes=("float16", "bfloat16", "float32", "float64"),
        traps=("T31",),
        accuracy=0,
    ),
    twin("sort of many", lambda m, x: (m.sort(x, 0), m.argsort(x, 0, kind="stable")), f32(1000, 2), accuracy=0),
    twin("sort of many integers", lambda m, x: m.argsort(x, kind="stable"), i32(777, low=-3, high=3), traps=("T31",)),
    twin("sort of a cube", lambda m, x: m.sort(x, 1), f64("b", "n", "k"), accuracy=0),
    twin("sort of a long vector", lambda m, x: (m.sort(x), m.argsort(x, kind="stable")), f64(9001), accuracy=0),
    *(
        twin(f"sort of {dtype} with many digits", lambda m, x: (m.sort(x), m.argsort(x)), fixed(values, dtype))
        for dtype, values in (
            ("int64", [2**53 + 1, 2**53, -(2**63), 2**63 - 1, 0, 1 - 2**63]),
            ("uint64", [2**63 + 5, 3, 2**64 - 1, 2**63, 2**53 + 1, 2**53]),
        )
    ),
    Case(tg.sort, [f64("n", "m", values="distinct")], name="gradient of sort", gradient=True, oracle=np.sort),
    Case(
        lambda x: tg.sum(tg.sort(x, 0) * np.arange(1.0, 6.0)),
        [f64(5, values="distinct")],
        name="gradient of an order statistic",
        gradient=True,
        static=(True,),
        oracle=lambda x: np.sum(np.sort(x) * np.arange(1, 6)),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.sort(x) * np.array([1.0, 10.0, 100.0])), x),
        [fixed([2.0, 1.0, 2.0])],
        name="grad of sort at ties",
        traps=("T68",),
        oracle=lambda x: np.array([10.0, 1.0, 100.0]),
    ),
    Case(
        lambda x: tg.jacobian(tg.sort(x), x),
        [fixed([3.0, 1.0, 2.0])],
        name="jacobian of sort",
        oracle=lambda x: np.eye(3)[np.argsort(x)],
    ),
    twin("searchsorted of nan", lambda m, v: m.searchsorted(np.array([0.0, 1.0, NAN, NAN]), v), fixed(MIXED)),
    twin(
        "searchsorted of nan, right",
        lambda m, v: m.searchsorted(np.array([0.0, 1.0, NAN, NAN]), v, side="right"),
        fixed(MIXED),
    ),
    twin(
        "searchsorted with a sorter",
        lambda m, a, v: m.searchsorted(a, v, sorter=m.argsort(a, kind="stable")),
        f64("n"),
        f64("k"),
    ),
    twin("searchsorted of a scalar", lambda m, a, v: m.searchsorted(m.sort(a), v), f64("n"), f64()),
    twin("searchsorted promotes", lambda m, a, v: m.searchsorted(m.sort(a), v), i32("n"), f64("k")),
    twin("searchsorted in nothing", lambda m, a, v: m.searchsorted(a, v), f64(0), f64("n")),
    twin("digitize", lambda m, x: m.digitize(x, np.array([-1.0, 0.0, 0.5])), f64("n", "m")),
    twin(
        "digitize by edges that descend",
        lambda m, x: (m.digitize(x, np.array([1.0, 0.0, 0.0, -1.0])), m.digitize(x, np.array([1.0, -1.0]), right=True)),
        f64("n", values="ties"),
    ),
    *(
        Case(
            lambda x, e, right=right: (tg.digitize(x, e, right), tg.digitize(x, e[::-1], right)),
            [f64("n", values="ties"), fixed([2.0, 1.0, 0.0, 0.0])],
            name=f"digitize by edges of either order, right={right}",
            oracle=lambda x, e, right=right: tuple(np.digitize(x, v.astype(float), right) for v in (e, e[::-1])),
        )
        for right in (False, True)
    ),
    Case(
        lambda x: tg.digitize(x, np.array([0.0, 2.0, 1.0])),
        [f64("n")],
        name="digitize by edges in no order",
        raises=DomainError,
    ),
    Case(lambda x: tg.partition(x, 3), [f64(3)], name="partition outside", raises=ShapeError, static=(True,)),
    Case(lambda x: tg.sort(x, kind="bogo"), [f64("n")], name="sort of another kind", raises=InputError),
    twin("digitize right", lambda m, x: m.digitize(x, np.array([0.0, 1.0, 2.0]), right=True), f64("n", values="ties")),
    twin("lexsort", lambda m, a, b: m.lexsort((a, b)), i32("n", values="ties"), f64("n", values="ties")),
    twin("lexsort of rows", lambda m, a, b: m.lexsort((a, b), axis=0), i32("n", "k"), f64("n", "k", values="ties")),
    Case(
        lambda x: tg.topk(x, 3, 0),
        [f64("n", "m", values="distinct")],
        name="topk",
        accuracy=0,
        oracle=lambda x: (np.flip(np.sort(x, 0), 0)[:3], np.argsort(-x, 0)[:3]),
    ),
    Case(
        lambda x: tg.topk(x, 2, largest=False)[0],
        [f64("n", "m", values="distinct")],
        name="topk least",
        gradient=True,
        oracle=lambda x: np.sort(x)[..., :2],
    ),
    Case(
        lambda x: tg.partition(x, 2)[2],
        [f64("n")],
        name="partition",
        accuracy=0,
        oracle=lambda x: np.partition(x, 2)[2],
    ),
    Case(lambda x: tg.topk(x, 9), [f64(3)], name="topk of too many", raises=ShapeError, static=(True,)),
    Case(lambda x: tg.sort(x, 2), [f64("n", "m")], name="sort along no axis", raises=ShapeError),
)

CASES: Final = of_family(FAMILY.path, orders(), orders_of_complex(), WRITTEN)
