"""`Names of NumPy`: each name of NumPy's and JAX's main namespace, and whether tg has it, or what to use."""

from __future__ import annotations

from typing import Final

import numpy as np

import tg
from tg import words
from tg_pages.docstring import cell, table

NARROW: Final = """
    float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn
    float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int1 int2 int4 uint1 uint2 uint4
"""
RECORDS: Final = """
    bytes_ str_ object_ void char character flexible rec record recarray typename typecodes
    sctypeDict base_repr binary_repr format_float_positional format_float_scientific
"""
DATES: Final = """
    busday_count busday_offset busdaycalendar is_busday datetime64 datetime_as_string datetime_data timedelta64 isnat
"""
OUTSIDE: Final = (  # what has no place in a program of arrays of numbers
    (DATES, "dates: programs have numbers, `dates.astype('datetime64[s]').astype('int64')` before a call"),
    (RECORDS, "text, objects and records: no arrays of numbers"),
    ("isfortran may_share_memory shares_memory ctypeslib little_endian",
     "memory: variables have none, and results are arrays of NumPy"),
    ("set_printoptions get_printoptions printoptions", "printing: NumPy's, of results; `tg.print` shows programs"),
    ("geterr geterrcall seterrcall getbufsize setbufsize",
     "warnings of floats: there are none; `nan_guard=True` finds the first NaN"),
    ("core f2py get_include info lib show_config show_runtime testing typing ComplexWarning",
     "NumPy as a library: `tg doctor` says what is installed"),
    (NARROW, "dtypes of JAX for narrow numbers: weights are kept in groups by `tg.quantize_groups`"),
)  # fmt: skip
JAX: Final = ("ComplexWarning", "bfloat16", "complex_", "float_", *NARROW.split())  # of jax.numpy besides NumPy's
INTRO = """# Names of NumPy

Each name of NumPy's main namespace. {same} of {all} are the same in tg, with NumPy's results; what differs in values
on purpose stands on [a page of its own](../numpy.md). `tg.NAME` of one that is written otherwise raises an error that
says how.

The names of `numpy.linalg`, `numpy.fft` and `numpy.random` are in `tg.linalg`, `tg.fft` and `tg.random`.
[Other libraries' names](words.md) have a page too.

## The same in tg

"""


def numpy_names() -> list[str]:
    """The public names of NumPy's main namespace."""
    return sorted((name for name in dir(np) if not name.startswith("_")), key=lambda name: (name.lower(), name))


def reasons() -> dict[str, str]:
    """For each name that has no place in a program the reason."""
    return {name: reason for names, reason in OUTSIDE for name in names.split()}


def page() -> str:
    """The page."""
    names, own = numpy_names(), set(dir(tg))
    same = [name for name in names if name in own]
    others = [(f"`{name}`", cell(text)) for name in names if name not in own and (text := words.instead(name))]
    outside = [(", ".join(f"`{name}`" for name in row.split() if hasattr(np, name)), cell(why)) for row, why in OUTSIDE]
    return "\n".join(
        (
            INTRO.format(same=len(same), all=len(names)) + ", ".join(f"`{name}`" for name in same) + "\n",
            "## Written otherwise\n",
            table(("NumPy", "in tg"), others),
            "## Without a place in programs\n",
            table(("NumPy", "why, and what to use"), [row for row in outside if row[0]]),
            "## `jax.numpy`\n",
            "Of its names all that NumPy has are above. Besides it has:\n",
            table(("JAX", "in tg"), [(f"`{name}`", cell(in_tg(name))) for name in JAX]),
        )
    )


def in_tg(name: str) -> str:
    """The way tg writes a name that it may not have."""
    return f"`tg.{name}`" if name in dir(tg) else words.instead(name) or reasons()[name]
