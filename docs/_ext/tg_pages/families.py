"""A page for each op family, from its records, its ops and its functions."""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING

import tg
from tg import plugin
from tg.errors import DtypeError
from tg.types.dtypes import BOOL, COMPLEX, DTYPES, FLOATS, INTEGERS
from tg_pages.docstring import cell, entry, escaped, myst, sentence, signature, table
from tg_pages.formula import derivatives, operand_names

if TYPE_CHECKING:
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.ops.family import Family

GROUPS = ((BOOL, (BOOL,)), ("integers", INTEGERS), ("floats", FLOATS), ("complex", COMPLEX))
ALL = frozenset(DTYPES)

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
    """A page for each family and one that lists them."""
    families = [family for family in plugin.registry().families() if not family.is_lowered]
    return {"ops/index.md": index(families), **{f"ops/{family.path}.md": page(family) for family in families}}


def index(families: list[Family]) -> str:
    """The list of families, each with its sentence and its names."""
    rows = [(f"[{f.path}]({f.path}.md)", cell(about(f)), " ".join(f"`{name}`" for name in names(f))) for f in families]
    count = len({name for f in families for name in names(f)})
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


def names(family: Family) -> list[str]:
    """What the family adds to the namespace, without further names of the same."""
    module = f"{family.module}." if family.module else ""
    return [fn.name for fn in family.elementwise] + [f"{module}{fn.__name__}" for fn in family.functions]


def page(family: Family) -> str:
    """The page of a family."""
    parts = [f"# {family.path.rpartition('/')[2].capitalize()}\n", escaped(about(family)) + "\n"]
    if family.elementwise:
        entries = [record(fn, family) for fn in family.elementwise]
        parts += ["## Elementwise functions\n", summary(family), NOTE, *entries]
    if family.reductions:
        parts += ["## Reductions\n", REDUCTIONS_NOTE, reductions(family)]
    if family.functions:
        parts += ["## Functions\n", *(function(fn, family) for fn in family.functions)]
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


def record(fn: ElementwiseFunction, family: Family) -> str:
    """The entry of an elementwise function."""
    lines = [escaped(fn.doc), ""]
    lines += [f"- derivative by {name}: `{text}`" for name, text in derivatives(fn)]
    if fn.d is None or all(d is None for d in fn.d):
        lines.append("- no derivative")
    if fn.d_conj is not None:
        lines.append("- not analytic: has a derivative by the conjugate as well")
    if fn.numpy is not None:
        lines.append(f"- on a variable, `np.{fn.numpy.__name__}` gives the same")
    lines += also_known(fn, family)
    return entry("function", f"{address(fn, family)}({', '.join(operand_names(fn.arity))})", "\n".join(lines))


def address(fn: ElementwiseFunction, family: Family) -> str:
    """Where the function stands: in `tg`, unless a function that does more has its name there."""
    return f"tg.{fn.name}" if getattr(tg, fn.name) is fn else f"tg.ops.{family.path.replace('/', '.')}.{fn.name}"


def function(fn: object, family: Family) -> str:
    """The entry of a function."""
    body = myst(fn.__doc__ or "") + "\n" + "\n".join(also_known(fn, family))
    module = f"tg.{family.module}" if family.module else "tg"
    return entry("function", signature(fn, f"{module}.{fn.__name__}"), body)


def also_known(fn: object, family: Family) -> list[str]:
    """Further names of a function."""
    found = [f"`tg.{name}`" for name, other in family.aliases if other is fn]
    return [f"- also called {', '.join(found)}"] if found else []


def op_heading(op: type) -> str:
    """The op with its fields."""
    return f"{op.__module__}.{op.__name__}({', '.join(op.fields)})"


def loops(fn: ElementwiseFunction) -> str:
    """The dtypes for which there is a loop, in words: `floats, complex`, `integers, floats -> bool`."""
    found: dict[str, list[str]] = {}
    for dtype in DTYPES:
        try:
            operands, result = fn.loop((dtype,) * fn.arity)
        except DtypeError:
            continue
        if dtype in operands:
            found.setdefault(result, []).append(dtype)
    if len(found) == 1:
        ((result, dtypes),) = found.items()
        return grouped(dtypes) if dtypes == [result] else f"{grouped(dtypes)} -> {result}"
    same = [result for result, dtypes in found.items() if result in dtypes]
    texts = [grouped(same)] if same else []
    for result, dtypes in found.items():
        others = [dtype for dtype in dtypes if dtype != result]
        texts += [f"{grouped(others)} -> {result}"] if others else []
    return "; ".join(texts)


def grouped(dtypes: list[str]) -> str:
    """Dtypes by kind where all of a kind are there."""
    if set(dtypes) >= ALL:
        return "all"
    texts = []
    for name, members in GROUPS:
        held = [dtype for dtype in members if dtype in dtypes]
        texts += [name] if len(held) == len(members) else held
    return ", ".join(texts)
