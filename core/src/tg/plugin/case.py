"""`Case` and `Input`: what a conformance case is, as data; `tg-conformance` draws the values, runs and compares.

A plugin that has ops of its own gives cases for them through `tg_cases`. A case says what it needs of a backend and
never names one. Its inputs are always run-time inputs.
"""

from __future__ import annotations

import functools
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal

from tg.errors import PluginError, message
from tg.types.dtypes import FLOATS, INTEGERS, is_inexact

if TYPE_CHECKING:
    from collections.abc import Callable

Layout = Literal[
    "C", "F", "transposed", "strided", "reversed", "broadcast", "readonly", "unaligned", "empty", "one", "scalar"
]
SAME_SHAPE: tuple[Layout, ...] = ("C", "F", "transposed", "strided", "reversed", "broadcast", "readonly", "unaligned")
OTHER_SHAPE: tuple[Layout, ...] = ("empty", "one", "scalar")


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a case: a dtype, a shape, and where its values come from.

    `dtype` None is each of the case's `dtypes` in turn. `shape` has ints, and names of lengths that are drawn ("n",
    "m", "k"): two calls of one function get different ones. `values` is a class of values by name ("random", "hostile",
    "integers", "distinct", "ties", "balanced", "subnormal"), a function of (random generator, dtype, shape), or the
    values themselves as nested lists. `low` and `high` limit random ones.
    """

    dtype: str | None
    shape: tuple[int | str, ...] = ()
    _: KW_ONLY
    values: Any = "random"
    low: float = -3.0
    high: float = 3.0
    static: bool = False  # whether lengths given as ints are known to the compiler even where shapes otherwise are not
    layout: Layout | None = None  # None: as the run has it, each in turn
    differentiate: bool = True  # whether the gradient is taken with respect to it, if its dtype is floating


@dataclass(frozen=True, slots=True)
class Case:
    """An expression, its inputs, and what must come of it.

    `subject` is an op, an elementwise function, or a function of the input variables that builds one variable or a
    tuple of them (updates and the like: see `script`). The result must agree with the unrewritten reference, and with
    `oracle`, a function of the input arrays that does not use tg, where there is one.

    A case of a `level` above the one that a backend was certified for (`Backend.conformance_level`) is advisory there:
    it runs and is reported, and fails nothing. So a case that comes after a release has the next level.

    Raises:
        PluginError: fields that contradict each other.
    """

    subject: Callable[..., Any]
    inputs: tuple[Input, ...] | list[Input] = ()
    _: KW_ONLY
    name: str | None = None  # the case's part of its id, after the family; from the subject unless given
    family: str | None = None  # the path of the family it belongs to
    note: str = ""
    dtypes: tuple[str, ...] = ()  # what stands for the dtype None of inputs
    layouts: tuple[Layout, ...] = SAME_SHAPE
    static: tuple[bool, ...] = (True, False)
    oracle: Callable[..., Any] | None = None
    accuracy: float = 4.0  # of the results, in units of the last place, where an elementwise function does not say
    condition: Callable[..., Any] | None = None  # of the arrays: the size of the terms that rounding is relative to
    signed_zero: bool = False  # whether the sign of a zero result is declared
    raises: type[Exception] | None = (
        None  # what compiling or running raises; the text is the reference's on all backends
    )
    gradient: bool = False  # whether the gradient is compared with differences of the oracle
    analytic: bool = False  # whether the oracle takes complex arguments and is analytic: a complex step is exact
    script: bool = False  # `subject(compile, *arrays)` makes functions with `compile` and returns arrays
    needs: frozenset[str] = frozenset()
    traps: tuple[str, ...] = ()
    level: int = 1

    def __post_init__(self) -> None:
        if self.level < 1:
            raise PluginError(message(f"case {self.name}: level: found {self.level}, needed at least 1"))
        if self.gradient and self.oracle is None:
            raise PluginError(message(f"case {self.name}: gradient: found no oracle, needed one to difference"))
        if any(i.dtype is None for i in self.inputs) and not self.dtypes:
            raise PluginError(
                message(f"case {self.name}: dtypes: found none, needed some for the inputs of dtype None")
            )
        object.__setattr__(self, "inputs", tuple(self.inputs))


def _input(dtype: str | None, *shape: int | str, **facts: Any) -> Input:
    """An input of a dtype: `f64(3, "n")`."""
    return Input(dtype, shape, **facts)


any_dtype = functools.partial(_input, None)
b1 = functools.partial(_input, "bool")
i8, i16, i32, i64, u8, u16, u32, u64 = (functools.partial(_input, name) for name in INTEGERS)
f16, bf16, f32, f64 = (functools.partial(_input, name) for name in FLOATS)


def fixed(values: Any, dtype: str | None = "float64", **facts: Any) -> Input:
    """An input that has exactly these values."""
    import numpy as np

    return Input(dtype, np.shape(values), values=values, **facts)


def differentiable(item: Input, dtype: str) -> bool:
    """Whether a gradient is taken with respect to an input of this dtype."""
    return item.differentiate and is_inexact(dtype)
