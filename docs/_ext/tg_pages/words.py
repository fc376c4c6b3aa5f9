"""`Is there …?`: names of other libraries, and what does the same in tg, from the tables that errors answer with."""

from __future__ import annotations

import functools
import re
from itertools import groupby

from tg import keywords, words
from tg.libraries import pytensor, tensorflow
from tg_pages.docstring import cell, table

INTRO = """# Is there …?

Names of NumPy, SciPy, PyTorch, JAX, Optax, TensorFlow and PyTensor that have another name in tg, and the program that
does the same. `tg.NAME` of any of them raises an error that says it too. Names that are the same, such as `dropout`,
`softmax` or `einsum`, are not here: [the list of functions](ops/index.md) has them.

By library: [NumPy and SciPy](names/numpy.md), [JAX](names/jax.md), [PyTorch](names/pytorch.md); names that only
[TensorFlow](names/tensorflow.md) and [PyTensor](names/pytensor.md) have stand there alone.

By subject: [a gallery of notebooks](gallery/index.md), [convolutions, attention, dropout,
transformers](../networks.md), [training and optimizers](../training.md), [splines and differential
equations](../differential_equations.md), [minimizers and roots](../solvers.md), [models of ONNX](../onnx_reading.md),
[random numbers](../random.md), [distributions](../distributions.md), [several devices](../devices.md), [quantised
weights](../quantised.md).

"""
LATER = """## Not yet

What tg does not have, and what helps until then.

"""
WITHOUT = """## Without a counterpart

What programs of arrays do not have, and what to use instead.

"""
KEYWORDS = """## Keywords

Arguments that have another name here: the error of a call with one of these names the right one.

"""
LIBRARIES = {"TensorFlow": tensorflow, "PyTensor": pytensor}
CALL = re.compile(r"`(tg(?:\.\w+)+)\((?!.*\btg\.(?!random\.key))[^`]*\)`")


def page() -> str:
    """The page."""
    apart = {name for own in LIBRARIES.values() for names, _ in (*own.ROWS, *own.WITHOUT) for name in names.split()}
    rows = sorted((row for row in words.elsewhere() if row[0] not in apart), key=_by_letter)
    parts = [INTRO]
    for letter, group in groupby(rows, key=lambda row: row[0].strip("_")[0].upper()):
        parts += [f"## {letter}\n", table(("name", "in tg"), [line(*row) for row in group])]
    parts += [LATER, table(("name", "until then"), [line(*row) for row in words.later()])]
    parts += [
        WITHOUT,
        table(
            ("name", "why, and what to use"),
            [line(*row) for row in sorted(words.without(), key=_by_letter) if row[0] not in apart],
        ),
    ]
    others = [(f"`{here}`", ", ".join(f"`{name}`" for name in names.split())) for here, names in keywords.ELSEWHERE]
    return "\n".join([*parts, KEYWORDS, table(("in tg", "elsewhere"), others)])


def pages() -> dict[str, str]:
    """A page of the names of each library that have no place in the list of all."""
    return {f"names/{title.lower()}.md": library(title) for title in LIBRARIES}


def library(title: str) -> str:
    """The names of one library."""
    own = LIBRARIES[title]
    head = f"# Names: from {title}\n\nNames that only {title} has, and the program that does the same in tg.\n"
    return "\n".join([head, _lines(own.ROWS, (title, "in tg")), WITHOUT, _lines(own.WITHOUT, (title, "instead"))])


def _lines(rows: tuple[tuple[str, str], ...], head: tuple[str, str]) -> str:
    """A table of names, those of one row apart."""
    return table(head, [line(*r) for r in sorted(((n, t) for names, t in rows for n in names.split()), key=_by_letter)])


def line(name: str, text: str) -> tuple[str, str]:
    """A name, and its text."""
    return f"`{name}`", cell(text)


def _by_letter(row: tuple[str, str]) -> tuple[str, str]:
    return row[0].lower(), row[0]


@functools.cache
def _names() -> dict[str, list[str]]:
    """For each function of tg the names of a row that is one call of it."""
    by_function: dict[str, list[str]] = {}
    for name, text in words.elsewhere():
        if call := CALL.fullmatch(text):
            by_function.setdefault(call[1], []).append(name)
    return by_function


def elsewhere(address: str) -> list[str]:
    """Names that other libraries have for a function of tg."""
    return [name for name in _names().get(address, []) if name != address.rpartition(".")[2]]
