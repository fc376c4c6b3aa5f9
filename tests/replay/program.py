"""A program of the corpus, and its text after each phase of rewriting that changes it."""

from __future__ import annotations

import difflib
import importlib
import inspect
from pathlib import Path
from typing import NamedTuple

import tg
from tg import plugin
from tg.graph.function_graph import FunctionGraph
from tg.graph.op import Op
from tg.graph.text.printer import to_text
from tg.rewrite.driver import rewrite
from tg.rewrite.journal import Journal
from tg.rewrite.phases import PHASES

HERE = Path(__file__).parent
FAMILIES = sorted(path.stem for path in (HERE / "corpus").glob("*.py"))
COMMAND = "make replay"


class Program(NamedTuple):
    """A name, a function of variables, the types of those that are no vectors of float64, and what to derive by."""

    name: str
    build: object
    types: dict
    wrt: tuple


def program(name, build, *, grad=False, wrt=None, **types):
    """A program: `build` is a function of variables, which get the names of its parameters.

    Args:
        grad: the gradients of the sum of the (first) result are results too, with respect to all floating inputs.
        wrt: or with respect to these.
        types: as they are printed, `x="float64[?, 3]"`; `float64[?]` by default.
    """
    names = tuple(inspect.signature(build).parameters)
    floating = tuple(n for n in names if types.get(n, "float64").startswith("float"))
    return Program(name, build, types, wrt if wrt is not None else floating if grad else ())


def variable(name, text):
    dtype, _, lengths = text.partition("[")
    return tg.tensor(name, dtype, [length(n) for n in lengths.rstrip("]").split(", ") if n])


def length(text):
    return None if text == "?" else int(text) if text.isdigit() else tg.dim(text)


def expression(one: Program):
    """The inputs and the results."""
    names = inspect.signature(one.build).parameters
    inputs = {name: variable(name, one.types.get(name, "float64[?]")) for name in names}
    made = one.build(**inputs)
    outputs = list(made) if isinstance(made, tuple | list) else [made]
    if one.wrt:
        outputs += tg.grad(tg.sum(outputs[0]), [inputs[name] for name in one.wrt], disconnected="zero")
    return list(inputs.values()), outputs


def performs(op, types):
    """Whether the reference has the op itself: others are expanded."""
    return type(op).perform is not Op.perform


def replay(one: Program) -> str:
    """The program as it is written, then after each phase that changed it."""
    inputs, outputs = expression(one)
    journal = Journal(snapshots=True)
    before = FunctionGraph.of(inputs, outputs).freeze()
    graph = FunctionGraph.of(inputs, outputs)
    final = rewrite(graph, [plugin.registry().rewrites("perform")], supported=performs, journal=journal)
    parts, shown = [f"## {one.name}\n\n{body(before)}"], before
    for phase in PHASES:
        found = journal.after.get(phase, shown)
        if found != shown:
            parts.append(f"-- {phase}\n{body(found)}")
            shown = found
    if final != shown:
        parts.append(f"-- as it is linked\n{body(final)}")
    if final == before:
        parts.append("-- unchanged\n")
    return "\n".join(parts)


def body(frozen) -> str:
    """The text without the line of its version."""
    return to_text(frozen).partition("\n")[2]


def programs(family):
    """The programs of a family."""
    return importlib.import_module(f"tests.replay.corpus.{family}").PROGRAMS


def replayed(family) -> str:
    """The text of a family's programs."""
    title = f"# {family}: {len(programs(family))} programs, as written and after each phase that changes them\n"
    return "\n".join([title, *map(replay, programs(family))])


def golden(family) -> Path:
    """The file that holds what was reviewed."""
    return HERE / "golden" / f"{family}.txt"


def difference(family) -> str:
    """What has changed since the file was written, as a unified diff; nothing if nothing has."""
    path = golden(family)
    old = path.read_text() if path.exists() else ""
    name = f"tests/replay/golden/{path.name}"
    lines = difflib.unified_diff(old.splitlines(), replayed(family).splitlines(), name, "now", lineterm="", n=6)
    return "\n".join(lines)
