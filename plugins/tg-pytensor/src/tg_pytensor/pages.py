"""The tables of docs/pytensor.md that say what converts, made of the registry: `python -m tg_pytensor.pages PAGE`."""

from __future__ import annotations

import functools
import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tg
import tg_pytensor  # noqa: F401  its rules
from tg_pytensor.registry import convert

if TYPE_CHECKING:
    from collections.abc import Iterable

BEGIN, END = "<!-- made by python -m tg_pytensor.pages, as the plugin's tests make sure -->\n", "<!-- end -->\n"


def function_of(name: str) -> str | None:
    """The function of tg that an op is, where it is one and no more."""
    write = convert[name].write
    function: Any = write.args[0] if isinstance(write, functools.partial) else None
    label = str(getattr(function, "name", None) or getattr(function, "__name__", ""))
    return f"tg.{label}" if getattr(tg, label, None) is function and function is not None else None


def home_of(name: str) -> str:
    """The module of an op's rule."""
    write: Any = convert[name].write
    return str((write.func if isinstance(write, functools.partial) else write).__module__)


def row(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


def coded(names: Iterable[str]) -> str:
    """Names in the type of code."""
    return ", ".join(f"`{name}`" for name in names)


def tables() -> str:
    """Functions of elements by the ones of tg that they are, and all other classes by what their rules are of."""
    single = {name: function for name in convert if (function := function_of(name)) is not None}
    rest = sorted((name for name in convert if name not in single), key=lambda name: (home_of(name), name))
    lines = [row("tg", "PyTensor's scalar op"), "|---|---|"]
    by_function = sorted(single, key=lambda name: (single[name], name))
    for function, names in itertools.groupby(by_function, key=single.__getitem__):
        lines.append(row(f"`{function}`", coded(names)))
    lines += ["", row("what converts in other words", "classes"), "|---|---|"]
    for module, names in itertools.groupby(rest, key=home_of):
        subject = (sys.modules[module].__doc__ or "").partition("\n")[0].rstrip(".").partition(":")[0]
        lines.append(row(subject, coded(names)))
    return "\n".join(lines) + "\n"


def renewed(page: str) -> str:
    """A page with the tables of today between its marks.

    Raises:
        InputError: it has no marks.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise tg.InputError(f"pages: found no marks, needed {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(renewed(Path(name).read_text()))
