"""Executed examples of functions: sessions whose output is computed when the pages are built."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from examples import Script

import tg
from tg.graph.traversal import sorted_applies
from tg_pages.formula import operands_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.ops.elementwise.record import ElementwiseFunction

TABLE = Path(__file__).parents[2] / "samples.toml"
PLACES = (0.3, 0.5, 0.8)  # of a domain: where operands are taken
USUAL = ([0.5, 1.0, 2.0], [1.5, 0.5, 2.0], [2.0, 1.0, 0.5], [0.5, 0.25, 0.75])
WHOLE = ([6, 3, 12], [1, 2, 3], [2, 2, 2])
LONGEST = 500  # characters of an output that a page shows


@functools.cache
def samples() -> dict[str, dict[str, str]]:
    """The expressions of `samples.toml`: by module, then by the name of a function."""
    return tomllib.loads(TABLE.read_text())


def sample(address: str) -> str | None:
    """The expression for a function by its address; None where its docstring has an example only."""
    module, _, name = address.rpartition(".")
    return samples().get(module, {}).get(name)


def session(lines: Sequence[str]) -> str:
    """Lines and what they give, as a block of MyST."""
    script = Script()
    script.run("import numpy as np\nimport tg\n", shown=False)
    shown = [">>> import numpy as np"] if any("np." in line for line in lines) else []
    shown.append(">>> import tg")
    for line in lines:
        got = script.run(line + "\n", shown=True).rstrip("\n")
        shown += [f">>> {line}", *([got[:LONGEST]] if got else [])]
    return "\n".join(("```pycon", *shown, "```")) + "\n"


def of_sample(expression: str) -> str:
    """The session of an expression."""
    return session([f"tg.evaluate({expression})"])


def of_elementwise(fn: ElementwiseFunction, address: str) -> str | None:
    """Values at three places, and the derivatives of their sum there; None where no usual operand fits."""
    values = operands(fn)
    if values is None:
        return None
    call = f"{address}({', '.join(map(str, values))})"
    lines = [f"tg.evaluate({call})"]
    names = operands_of(fn)
    derived = next((k for k, d in enumerate(fn.d or ()) if d is not None), None)
    if derived is not None and isinstance(values[derived][0], float):
        name = names[derived]
        inner = ", ".join(name if k == derived else str(v) for k, v in enumerate(values))
        slope = f"tg.grad(tg.sum({address}({inner})), {name})"
        shown = session([*lines, f'{name} = tg.vector("{name}")', f"{slope}.eval({{{name}: {values[derived]}}})"])
        if "Traceback" not in shown:
            return shown
    return session(lines)


def operands(fn: ElementwiseFunction) -> list[list[Any]] | None:
    """Operands at which the function is a number, of floats or else of integers."""
    for values in (domain_operands(fn), *(pattern[: fn.arity] for pattern in (USUAL, WHOLE))):
        if values is None or len(values) < fn.arity:
            continue
        try:
            with np.errstate(all="ignore"):
                result = np.asarray(tg.evaluate(fn(*values)))
        except (tg.TgError, TypeError):
            continue
        if result.dtype.kind not in "fc" or np.isfinite(result).all():
            return [list(value) for value in values]
    return None


def domain_operands(fn: ElementwiseFunction) -> list[list[float]] | None:
    """Places in the record's domain for each operand; None where it has none."""
    if fn.domain is None:
        return None
    low, high = max(fn.domain[0], -2.0), min(fn.domain[1], 2.0)
    if not low < high:
        low, high = fn.domain
    places = [round(low + (high - low) * place, 2) for place in PLACES]
    return [places[k:] + places[:k] for k in range(fn.arity)] if fn.arity <= len(places) else None


def ops_of(expression: str) -> list[str]:
    """The ops that an expression is written with, in order."""
    value = eval(expression, {"tg": tg, "np": np})
    outputs = [leaf for leaf in leaves(value) if isinstance(leaf, tg.Variable)]
    return list(dict.fromkeys(node.op.name for node, _ in sorted_applies(outputs)))


def leaves(value: Any) -> list[Any]:
    """What stands in tuples, lists and dicts."""
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in leaves(part)]
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    return [value]
