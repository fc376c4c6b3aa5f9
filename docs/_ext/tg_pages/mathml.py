"""Formulas in MathML, made of LaTeX when the pages are built: a reader's browser loads nothing for them."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path

from latex2mathml.converter import convert

TABLE = Path(__file__).parents[2] / "formulas.toml"
NAMED = re.compile(
    r"\\(?:sin|cos|tan|sinh|cosh|tanh|arcsin|arccos|arctan|ln|det|arg|operatorname\{\w+\}|log_(?:2|\{10\}))(?= [\w\\])"
)
"""Names of functions before an operand without parentheses, from which converted formulas leave no space."""
MODULES = ("tg", "tg.special")  # where an elementwise function of `tg` has its formula


@functools.cache
def table() -> dict[str, dict[str, str]]:
    """The table of formulas: by module, then by the name of a function."""
    return tomllib.loads(TABLE.read_text())


def formula(address: str) -> str | None:
    """The formula in LaTeX of a function by its address, as `tg.linalg.qr`; None where there is none."""
    module, _, name = address.rpartition(".")
    modules = MODULES if module in MODULES else (module,)
    return next((table()[one][name] for one in modules if name in table().get(one, {})), None)


def display(latex: str) -> str:
    """A formula in a line of its own."""
    spaced = NAMED.sub(r"\g<0>\\,", latex)
    return f'<div class="formula">{convert(spaced, display="block")}</div>\n'
