"""A page for each function of arrays: formula, dtypes, gradient, accuracy, backends, an executed example, a curve."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import tg
from tg import plugin
from tg.ops.catalog import NAMES
from tg.plugin.coverage import coverage
from tg_pages import curves, dtypes, mathml, sessions, typeset
from tg_pages.coverage import backends, mark
from tg_pages.docstring import cell, entry, escaped, myst, signature, table
from tg_pages.formula import operands_of
from tg_pages.words import elsewhere

if TYPE_CHECKING:
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.ops.family import Family
    from tg.plugin.coverage import Cell

FRONT = "---\norphan: true\n---\n\n"  # reached from the page of the family; in the sidebar they would be 600 lines
CURVES = ("nn/activation", "elementwise/exponential", "elementwise/trigonometric", "elementwise/rounding")
NEIGHBOURS = 12
CONVENTIONS = "[Conventions](../../design/differentiation.md) hold at points without a derivative."


def pages(families: list[Family]) -> dict[str, str]:
    """The page of each function, by its file."""
    texts = {}
    for family in families:
        for fn in family.elementwise:
            texts[f"function/{address(fn, family)}.md"] = elementwise_page(fn, family)
        for function in family.functions:
            texts[f"function/{function_address(function, family)}.md"] = function_page(function, family)
    return texts


def address(fn: ElementwiseFunction, family: Family) -> str:
    """The name under which users call it: in `tg`, unless a function that does more has that name there."""
    is_public = NAMES.get(fn.name) is fn and getattr(tg, fn.name) is fn
    return f"tg.{fn.name}" if is_public else f"tg.ops.{family.path.replace('/', '.')}.{fn.name}"


def function_address(fn: Any, family: Family) -> str:
    """The name under which users call a function of a family."""
    return f"tg.{family.module}.{fn.__name__}" if family.module else f"tg.{fn.__name__}"


def elementwise_page(fn: ElementwiseFunction, family: Family) -> str:
    """The page of an elementwise function."""
    name = address(fn, family)
    numpy = f"`np.{fn.numpy.__name__}` of a variable is the same." if fn.numpy is not None else ""
    body = "\n\n".join(filter(None, (escaped(fn.doc), formula(name), numpy)))
    parts = [FRONT, f"# {name}\n", crumbs(family), entry("function", f"{name}({', '.join(operands_of(fn))})", body)]
    shapes = "Operands broadcast as in NumPy; the result has their common shape." if fn.arity > 1 else "That of x."
    parts += [
        f"**Shapes**: {shapes}\n",
        f"**Dtypes**: {cell(dtypes.loops(fn))}; other dtypes are cast to the nearest.\n",
    ]
    parts += ["## Gradient\n", gradient(fn)]
    parts += ["## Accuracy and backends\n", accuracy(fn), backends_table([fn.name])]
    example = sessions.of_elementwise(fn, name)
    parts += ["## Example\n", example] if example else []
    parts += picture(fn, name) if fn.arity == 1 else []
    return "\n".join([*parts, *see_also(name, family)])


def function_page(fn: Any, family: Family) -> str:
    """The page of a function that is written with ops."""
    name = function_address(fn, family)
    expression = sessions.sample(name)
    text = myst(fn.__doc__ or "")
    shown = formula(name)
    if shown:
        first, _, rest = text.partition("\n\n")
        text = f"{first}\n\n{shown}\n\n{rest}"
    parts = [FRONT, f"# {name}\n", crumbs(family), entry("function", signature(fn, name), text)]
    if expression and "```pycon" not in text:
        parts += ["## Example\n", sessions.of_sample(expression)]
    if family.path in CURVES:
        parts += picture(fn, name)
    ops = sessions.ops_of(expression) if expression else []
    if ops:
        written = ", ".join(f"`{op}`" for op in ops)
        parts += ["## Backends\n", f"The example is written with {written}.\n", backends_table(ops)]
    return "\n".join([*parts, *see_also(name, family)])


def crumbs(family: Family) -> str:
    """The way back to the family."""
    return f"[Functions](../ops/index.md) › [{family.path}](../ops/{family.path}.md)\n"


def formula(name: str) -> str | None:
    """The formula of a function in MathML."""
    latex = mathml.formula(name)
    return mathml.display(latex) if latex else None


def gradient(fn: ElementwiseFunction) -> str:
    """Partial derivatives, typeset where they fit in a line."""
    shown = typeset.derivatives(fn)
    lines = [mathml.display(rf"\frac{{\partial}}{{\partial {name}}} = {latex}") for name, latex in shown]
    partials = dict(zip(operands_of(fn), fn.d or (None,) * fn.arity, strict=False))
    if fn.d is None and fn.expansion is not None:
        lines.append("That of its expansion in other functions.\n")
    elif all(d is None for d in partials.values()):
        lines.append("None: the function is constant between its jumps, or its operands are not real numbers.\n")
    else:
        written = {name for name, _ in shown}
        longer = [f"`{name}`" for name, d in partials.items() if d is not None and name not in written]
        without = [f"`{name}`" for name, d in partials.items() if d is None]
        lines += [f"By {', '.join(longer)}: longer than a line.\n"] if longer else []
        lines += [f"None by {', '.join(without)}.\n"] if without else []
        lines += ["Not analytic: there is a derivative by the conjugate as well.\n"] if fn.d_conj is not None else []
        lines.append(CONVENTIONS + "\n")
    return "\n".join(lines)


def accuracy(fn: ElementwiseFunction) -> str:
    """The error that a backend may have, and where it is tested."""
    error = f"At most {fn.accuracy:g} units in the last place" if fn.accuracy else "Exact"
    slope = fn.slope_accuracy
    derivatives = "stated in the record" if callable(slope) else f"at most {16 if slope is None else slope:g}"
    where = f"{fn.domain[0]:g} to {fn.domain[1]:g}" if fn.domain else "-3 to 3"
    return f"{error}; of derivatives, {derivatives}. Most operands of the tests lie in {where}.\n"


@functools.cache
def rows() -> dict[str, tuple[Cell, ...]]:
    """How each backend computes each op."""
    return {row.op: row.cells for row in coverage(plugin.registry(), backends())}


def backends_table(ops: list[str]) -> str:
    """How each backend computes the ops, by the table of the page of coverage."""
    known = [op for op in ops if op in rows()]
    if not known:
        return ""
    cells = [(f"`{op}`", *map(mark, rows()[op])) for op in known]
    gaps = [f"- {one.backend}, `{op}`: {cell(why)}" for op in known for one in rows()[op] for why in one.gaps]
    return "\n".join((table(("op", *backends()), cells), *gaps, "", "[What the marks mean](../coverage.md).\n"))


def picture(fn: Any, name: str) -> list[str]:
    """The curve of a function of one number, where it has one."""
    domain = getattr(fn, "domain", None) or (-4.0, 4.0)
    drawn = curves.curve(fn, max(domain[0], -6.0), min(domain[1], 6.0), name)
    if drawn is None:
        return []
    return ["## Curve\n", drawn, "The value, and dashed its derivative.\n" if 'class="slope"' in drawn else ""]


def see_also(name: str, family: Family) -> list[str]:
    """Further names of the function, and its neighbours in the family."""
    own = name.rpartition(".")[2]
    targets = {other: getattr(fn, "__name__", getattr(fn, "name", "")) for other, fn in family.aliases}
    further = [f"`tg.{other}`" for other, target in targets.items() if target == own]
    lines = [f"Also called {', '.join(further)}.\n"] if further else []
    names = [address(fn, family) for fn in family.elementwise]
    names += [function_address(fn, family) for fn in family.functions]
    others = near(names, name)
    lines += [" · ".join(f"{{py:func}}`{other}`" for other in others) + "\n"] if others else []
    words = elsewhere(name)
    said = ", ".join(f"`{word}`" for word in words)
    lines += [f"In other libraries: {said} ([is there …?](../words.md)).\n"] if words else []
    return ["## See also\n", *lines] if lines else []


def near(names: list[str], name: str) -> list[str]:
    """Those around a name in its list."""
    place = names.index(name)
    start = max(0, min(place - NEIGHBOURS // 2, len(names) - NEIGHBOURS - 1))
    return [other for other in names[start : start + NEIGHBOURS + 1] if other != name]
