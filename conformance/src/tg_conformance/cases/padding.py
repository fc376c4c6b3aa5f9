"""Cases of `ops/padding`: every mode of NumPy's, narrow and wide, whole numbers and floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import InputError, RangeError, ShapeError
from tg.ops.padding import FAMILY
from tg.plugin.case import Case, Input, any_dtype, f64
from tg.types.dtypes import DTYPES
from tg_conformance.cases.family import alike, of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

FEW: Final = ("int8", "int64", "float32", "float64")
PLAIN: Final = ("constant", "edge", "maximum", "minimum", "wrap", "mean", "median", "linear_ramp")
OPTIONS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("constant", {"constant_values": ((1, 2), (3, 4))}),
    ("linear_ramp", {"end_values": ((1, -2), (3, 4))}),
    ("mean", {"stat_length": ((1, 2), (3, 99))}),
    ("median", {"stat_length": 2}),
    ("maximum", {"stat_length": ((1, 2), (2, 99))}),
    ("reflect", {"reflect_type": "odd"}),
    ("symmetric", {"reflect_type": "odd"}),
)


def size(x: Any, *_: Any) -> Any:
    """The magnitude to which the rounding of sums and differences of entries is relative."""
    return 40 * np.abs(np.asarray(x, float)).max(initial=0)


def modes() -> Iterator[Case]:
    """Each mode with widths as one number, a pair and a pair for each axis."""
    for mode in (*PLAIN, "reflect", "symmetric"):
        yield alike(
            mode,
            lambda m, x, mode=mode: (m.pad(x, 2, mode), m.pad(x, (0, 3), mode), m.pad(x, ((1, 0), (3, 12)), mode)),
            [any_dtype("n", "m")],
            dtypes=DTYPES if mode in ("constant", "reflect") else FEW,
            gradient=mode not in ("maximum", "minimum", "median"),
            condition=None if mode not in ("mean", "median", "linear_ramp") else lambda x: (size(x),) * 3,
        )
    for mode, options in OPTIONS:
        yield alike(
            f"{mode} {next(iter(options))}",
            lambda m, x, mode=mode, options=options: (
                m.pad(x, 3, mode, **options),
                m.pad(x, ((9, 1), (0, 0)), mode, **options),
            ),
            [any_dtype("n", "m")],
            dtypes=FEW if mode not in ("reflect", "symmetric") else ("int64", "float32", "float64"),
            gradient=mode not in ("maximum", "median"),
            condition=lambda x: (size(x),) * 2,
        )


WRITTEN: Final = (
    alike(
        "one entry",
        lambda m, x: tuple(m.pad(x, (2, 3), mode) for mode in ("reflect", "symmetric", "wrap", "edge", "mean")),
        [f64(1)],
        gradient=True,
        condition=lambda x: (4 * abs(x),) * 5,
    ),
    alike("nothing to pad", lambda m, x: (m.pad(x, 0), m.pad(x, 0, "edge")), [f64("n", "m")], gradient=True),
    alike("constant of nothing", lambda m, x: m.pad(x, ((1, 2), (0, 1))), [f64(0, "m")]),
    Case(
        lambda x: tg.pad(x, 2, "empty")[2:-2],
        [f64("n")],
        name="empty",
        oracle=lambda x: x,
    ),
    Case(
        lambda x, v: tg.pad(x, (1, 2), constant_values=(v, v * 2)),
        [f64("n"), f64()],
        name="constant values that are variables",
        oracle=lambda x, v: np.concatenate([[v], x, [2 * v, 2 * v]]),
        gradient=True,
    ),
    Case(lambda x: tg.pad(x, -1), [f64("n")], name="a negative width", raises=ShapeError),
    Case(lambda x: tg.pad(x, 1, "away"), [f64("n")], name="another mode", raises=InputError),  # type: ignore[arg-type]
    Case(lambda x: tg.pad(x, 1, "edge", end_values=1), [f64("n")], name="another option", raises=InputError),
    Case(lambda x: tg.pad(x, ((1, 1),) * 3), [f64("n", "m")], name="widths too many", raises=InputError),
    Case(lambda x: tg.pad(x, 1, "reflect"), [f64(0)], name="reflect of nothing", raises=ShapeError),
    *(
        Case(
            lambda x, mode=mode: tg.pad(x, 2, mode),
            [f64(0)],
            name=f"{mode} of nothing of a run-time length",
            raises=ShapeError,
            static=(False,),
        )
        for mode in ("edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap")
    ),
    Case(
        lambda x: tg.pad(x, 1, constant_values=300),
        [Input("int8", ("n",))],
        name="a value that does not fit",
        raises=RangeError,
    ),
)

CASES: Final = of_family(FAMILY.path, modes(), WRITTEN)
