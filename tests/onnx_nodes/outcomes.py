"""Running a case on a backend, and what came of it."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import tg
import tg_onnx
from tests.onnx_nodes.exact import in_float64

if TYPE_CHECKING:
    from tests.onnx_nodes.cases import Case

RIGHT, REFUSED, WRONG, FAILED = "right", "refused", "wrong", "failed"
REFUSALS = (tg.NoRuleError, tg.DtypeError, tg.SymbolicError, tg.LimitError)


@dataclass(frozen=True)
class Outcome:
    """What came of a case: right, refused by name, wrong, or an error that is no refusal; and why."""

    kind: str
    cause: str = ""
    values: tuple[str, ...] = ()  # inputs whose values the model was read with


def outcome(case: Case, backend: str) -> Outcome:
    """Read, compile, run and compare one case."""
    values: dict[str, Any] = {n: None for n, v in case.inputs.items() if v is None}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = _read(case, values)
            function = model.function(backend)
            results = function(**{name: a for name, a in case.inputs.items() if name in model.inputs})
    except REFUSALS as error:
        return Outcome(REFUSED, _first_line(error), tuple(values))
    except Exception as error:  # noqa: BLE001 (whatever comes is counted)
        return Outcome(FAILED, f"{type(error).__name__}: {_first_line(error)}", tuple(values))
    difference = compare(results, case)
    if difference and is_nearer(results, case):
        return Outcome(RIGHT, "nearer to float64 than what is expected", tuple(values))
    return Outcome(WRONG, difference, tuple(values)) if difference else Outcome(RIGHT, "", tuple(values))


def is_nearer(results: dict[str, Any], case: Case) -> bool:
    """Whether results are no farther from the model computed in float64 than the expected ones.

    Expected values have errors of their own: ONNX rounds a softmax of 16 bits after every step, where tg computes in
    32 and rounds once, and makes those of DFT by a transform in float32, of whose zeros 1e-6 is left.
    """
    if not {a.dtype.name for a in case.outputs.values()} <= {"float16", "float32"}:
        return False
    if {n: np.shape(a) for n, a in results.items()} != {n: a.shape for n, a in case.outputs.items()}:
        return False
    exact = in_float64(case)
    return all(
        np.abs(np.asarray(results[n], np.float64) - e).max() <= np.abs(case.outputs[n].astype(np.float64) - e).max()
        for n, e in exact.items()
    )


def _read(case: Case, values: dict[str, Any]) -> tg_onnx.Model:
    """The model, read with values of those inputs that it says it needs."""
    while True:
        try:
            return tg_onnx.load(case.model, values=values)
        except tg.SymbolicError as error:
            names = [n for n in getattr(error, "inputs", ()) if n not in values]
            if not names:
                raise
            values.update({n: case.inputs[n] for n in names})


def _first_line(error: Exception) -> str:
    line = str(error).splitlines()[0] if str(error) else type(error).__name__
    return re.sub(r"node '[^']*' ", "", line)


def compare(results: dict[str, Any], case: Case) -> str:
    """The first difference from what is expected, "" if there is none."""
    for name, expected in case.outputs.items():
        got = np.asarray(results[name])
        if got.dtype != expected.dtype:
            return f"{name}: dtype {got.dtype}, expected {expected.dtype}"
        if got.shape != expected.shape:
            return f"{name}: shape {got.shape}, expected {expected.shape}"
        if not _close(got, expected, case):
            return f"{name}: values differ by {_largest(got, expected)}"
    return ""


def _close(got: Any, expected: Any, case: Case) -> bool:
    if got.dtype.kind in "biu":
        return bool(np.array_equal(got, expected))
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    rtol = max(case.rtol, 2**-6) if got.dtype.name == "bfloat16" else case.rtol  # as ONNX's own runner of these tests
    return bool(np.allclose(got.astype(wide), expected.astype(wide), rtol, case.atol, equal_nan=True))


def _largest(got: Any, expected: Any) -> str:
    with np.errstate(all="ignore"):
        return f"{np.nanmax(np.abs(got.astype(np.complex128) - expected.astype(np.complex128)), initial=0):.3g}"
