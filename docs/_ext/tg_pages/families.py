"""A page for each op family, from its records, its ops and its functions."""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING

from tg import plugin
from tg_pages import function_pages
from tg_pages.docstring import cell, entry, escaped, myst, sentence, table
from tg_pages.dtypes import loops
from tg_pages.function_pages import address, function_address

if TYPE_CHECKING:
    from tg.ops.family import Family

NOTE = """*Dtypes* are the loops: operands of other dtypes are cast to the nearest one, as NumPy does. *Accuracy* is how
far a backend may be from the exact result, in units of the last place; *cost* is how long it takes where C has vectors,
in additions; *tested on* is where the conformance suite draws most of its operands, beside hostile values.
"""
REDUCTIONS_NOTE = """What elements are combined by: each is a record, which `Reduce`, `Accumulate` and `Scatter` find by
the function. *Another order* is what may change in inexact numbers: nothing, the sign of a zero, or the rounding.
"""
OPS_NOTE = "What graphs hold, texts show, and backends have rules for.\n"
INDEX = """# The functions, by family

{count} functions of arrays, every one in the namespace `tg`. They carry NumPy's names and meanings; where a name of the
array API standard differs, both work. An *elementwise function* is a record of facts; an *op* is what a graph holds; a
*function* checks its arguments and builds a graph of both.

{table}
```{{toctree}}
:hidden:

{tree}
```
"""


def pages() -> dict[str, str]:
    """A page for each family, one that lists them, and one for each function."""
    families = [family for family in plugin.registry().families() if not family.is_lowered]
    own = {f"ops/{family.path}.md": page(family) for family in families}
    return {"ops/index.md": index(families), **own, **function_pages.pages(families)}


def index(families: list[Family]) -> str:
    """The list of families, each with its sentence and its names."""
    rows = [(f"[{f.path}]({f.path}.md)", cell(about(f)), " ".join(links(f))) for f in families]
    count = len({name for f in families for name in links(f)})
    tree = "\n".join(f.path for f in families)
    return INDEX.format(count=count, table=table(("family", "what", "names"), rows), tree=tree)


def about(family: Family) -> str:
    """The first sentence of the file of a family."""
    own = f"tg.ops.{family.path.replace('/', '.')}"
    others = [member.__module__ for member in (*family.ops, *family.functions)]  # an extension's are elsewhere
    for name in (own, *others):
        with contextlib.suppress(ModuleNotFoundError):
            return sentence(importlib.import_module(name))
    return ""


def links(family: Family) -> list[str]:
    """Links to what the family adds to the namespace, without further names of the same."""
    public = [address(fn, family) for fn in family.elementwise if address(fn, family) == f"tg.{fn.name}"]
    public += [function_address(fn, family) for fn in family.functions]
    return [f"[{name.removeprefix('tg.')}](../function/{name}.md)" for name in public]


def page(family: Family) -> str:
    """The page of a family."""
    parts = [f"# {family.path.rpartition('/')[2].capitalize()}\n", escaped(about(family)) + "\n"]
    if family.elementwise:
        parts += ["## Elementwise functions\n", summary(family), NOTE]
    if family.reductions:
        parts += ["## Reductions\n", REDUCTIONS_NOTE, reductions(family)]
    if family.functions:
        parts += ["## Functions\n", functions(family)]
    if family.ops:
        parts += ["## Ops\n", OPS_NOTE, *(entry("class", op_heading(op), myst(op.__doc__ or "")) for op in family.ops)]
    return "\n".join(parts)


def summary(family: Family) -> str:
    """The table of the elementwise functions."""
    rows = [
        (
            f"{{py:func}}`{address(fn, family)}`",
            cell(fn.doc),
            cell(loops(fn)),
            f"{fn.accuracy:g} ulp" if fn.accuracy else "exact",
            f"{fn.cost:g}",
            f"{fn.domain[0]:g} … {fn.domain[1]:g}" if fn.domain else "-3 … 3",
        )
        for fn in family.elementwise
    ]
    return table(("function", "what", "dtypes", "accuracy", "cost", "tested on"), rows)


def reductions(family: Family) -> str:
    """The table of the reductions."""
    rows = [
        (
            f"`{one.name}`",
            f"`{one.fn}`",
            f"`{one.identity('bool' if one.kind == 'logical' else 'float64')}`",
            one.order.replace("_", " "),
            one.of_bool or "",
            f"`{one.working('float32')}`",
            one.nan,
        )
        for one in family.reductions
    ]
    return table(("", "combined by", "starts from", "another order", "of bool", "of float32 in", "NaN"), rows)


def functions(family: Family) -> str:
    """The table of the functions that are written with ops."""
    rows = [(f"{{py:func}}`{function_address(fn, family)}`", cell(sentence(fn))) for fn in family.functions]
    return table(("function", "what"), rows)


def op_heading(op: type) -> str:
    """The op with its fields."""
    return f"{op.__module__}.{op.__name__}({', '.join(op.fields)})"
