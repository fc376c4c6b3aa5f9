"""Converted graphs beside PyTensor's own `perform`: what tests of rules are made of."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytensor
from pytensor.compile.mode import Mode

import tg
import tg_pytensor

PERFORM = Mode(linker="py", optimizer=None)
LIMIT = {np.dtype(name): limit for name, limit in (("float16", 2e-3), ("float32", 2e-5), ("float64", 1e-11))}
INF, NAN = np.inf, np.nan
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -3.0, 0.1, 30.0, INF, -INF, NAN, 1e-30, -1e30]
DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


class Case(NamedTuple):
    """A graph of PyTensor and values of its inputs."""

    name: str
    inputs: list[Any]
    outputs: list[Any]
    values: list[Any]
    scale: float = 1.0
    """By how much the results may be farther off than those of one operation."""
    signs: bool = False
    """Whether zeros have the signs that PyTensor's have."""

    def expected(self) -> list[Any]:
        """What PyTensor computes, node by node as the graph stands."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            f = pytensor.function(self.inputs, self.outputs, mode=PERFORM, on_unused_input="ignore")
            return list(f(*self.values))


def hostile(dtype: str) -> Any:
    """Values of a dtype at which functions are apt to go wrong."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    if kind == "c":
        parts = [0.0, -0.0, 1.0, -2.5, 0.5]
        return np.array([complex(a, b) for a in parts for b in parts], dtype)
    if kind == "f":
        return np.array(FLOATS, dtype)
    ends = np.iinfo(dtype)
    return np.array(
        sorted({0, 1, 2, 3, 7, ends.max, ends.max // 2, ends.min, max(ends.min, -1), max(ends.min, -7)}), dtype
    )


def close(found: Any, wanted: Any, declared: Any, limit: float, signs: bool = False) -> str | None:
    """What is wrong with a result, if anything is."""
    found = np.asarray(found)
    wanted = np.asarray(wanted).astype(declared.dtype)
    if found.dtype != declared.dtype or found.shape != wanted.shape:
        return f"found {found.dtype}{found.shape}, needed {wanted.dtype}{wanted.shape}"
    with np.errstate(all="ignore"):
        same = np.isclose(found, wanted, rtol=limit, atol=limit * 1e-3, equal_nan=True)
        if signs and found.dtype.kind == "f":
            same &= (found != 0) | (wanted != 0) | (np.signbit(found) == np.signbit(wanted))
    return (
        None
        if same.all()
        else f"found {found[~same][:5]}, needed {wanted[~same][:5]} at {np.argwhere(~same)[:5].tolist()}"
    )


def precision(x: Any) -> float:
    """How far off numbers of a dtype may be, relative to their size; integers not at all."""
    x = np.asarray(x)
    return LIMIT.get(np.dtype(x.real.dtype), 0.0) if x.dtype.kind in "fc" else 0.0


def classes(kind: type) -> dict[str, type]:
    """The classes of ops that are derived from one and loaded, by their names."""
    found = {kind.__name__: kind}
    for own in kind.__subclasses__():
        found |= classes(own)
    return found


def converted(case: Case) -> tg_pytensor.Converted:
    return tg_pytensor.from_pytensor(case.inputs, case.outputs)


def check(cases: list[Case], *, native: bool = True) -> None:
    """Make sure that converted graphs compute what PyTensor does: by the reference one by one, by C all at once."""
    wrong = []
    inputs, outputs, values, wanted = [], [], [], []
    for case in cases:
        graph, expected = converted(case), case.expected()
        found = tg.function(list(graph.inputs), list(graph.outputs), on_unused_input="ignore", backend="py")(
            *case.values
        )
        wrong += errors(case, "py", found, expected)
        inputs += graph.inputs
        outputs += graph.outputs
        values += case.values
        wanted.append(expected)
    found = iter(tg.function(inputs, outputs, on_unused_input="ignore", backend="c")(*values) if native else ())
    for case, expected in zip(cases, wanted, strict=True) if native else ():
        wrong += errors(case, "c", [next(found) for _ in expected], expected)
    assert not wrong, "\n" + "\n".join(wrong)


def errors(case: Case, backend: str, found: Any, expected: Any) -> list[str]:
    """What is wrong with the results of a case."""
    given = [precision(x) for x in case.values]
    texts = [
        close(f, e, v.type, case.scale * max(*given, precision(e), 0.0), case.signs)
        for f, e, v in zip(found, expected, case.outputs, strict=True)
    ]
    return [f"{case.name} [{backend}] result {k}: {text}" for k, text in enumerate(texts) if text]
