"""That every rule has a test beside PyTensor's own op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytensor
import pytensor.scalar as ps
import test_random
import test_rules_linalg
import test_rules_scalars
import test_rules_selection
import test_rules_tensors
import test_splines
from differential import Case, classes
from pytensor.graph.op import Op
from pytensor.graph.traversal import ancestors
from pytensor.tensor import random as ptr
from pytensor.tensor.random.op import default_rng

import tg
from tg_pytensor import conversion
from tg_pytensor.registry import convert

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

# Classes that not all releases of PyTensor and PyMC have.
SOME_RELEASES = {
    "AdvancedSubtensor1": "until 3.0", "AdvancedIncSubtensor1": "until 3.0", "EighGrad": "until 2.38",
    "EigvalshGrad": "until 2.38", "SoftmaxGrad": "until 2.38", "XlogX": "until 2.38", "XlogY0": "until 2.38",
    "Iv": "until 2.38", "I0e": "PyMC", "I1e": "PyMC", "CheckParameterValue": "PyMC", "PosDefMatrix": "PyMC 5",
    "NdtriExp": "from 3.3", "Deg2Rad": "until 3.0", "Rad2Deg": "until 3.0", "GammaL": "until 3.0",
    "GammaU": "until 3.0", "Angle": "until 3.0", "ComplexFromPolar": "until 3.0", "Ger": "until 3.0",
}  # fmt: skip
KINDS = {"f": 1, "c": 2}
UNMADE = {"MakeSlice"} if pytensor.__version__ >= "3.3" else set()  # there, but no graph has them any longer


def ops_of(outputs: Iterable[Any]) -> Iterable[Any]:
    """The ops of a graph, and of those inside of them."""
    for v in ancestors(outputs):
        if v.owner is not None:
            yield from ops_in(v.owner.op)


def ops_in(op: Any) -> Iterable[Any]:
    yield op
    for name in ("scalar_op", "core_op"):
        if hasattr(op, name):
            yield from ops_in(getattr(op, name))
    if hasattr(op, "fgraph") and op.fgraph is not None:
        yield from ops_of(op.fgraph.outputs)


def cases(*dtypes: str) -> list[Case]:
    """The cases of the tests beside this one, those of linear algebra for some dtypes."""
    modules = test_rules_scalars, test_rules_selection, test_rules_tensors
    families = [c for family in test_rules_linalg.FAMILIES for dtype in dtypes for c in family(dtype)]
    return [*(c for module in modules for c in module.every()), *families]


def covered() -> set[int]:
    """The rules of all ops in the cases of the tests beside this one, as identities."""
    outputs = [v for c in cases("float64") for v in c.outputs]
    outputs += [draw(*parameters) for draw, *parameters in test_random.DRAWS.values()]
    outputs += [default_rng(3), ptr.choice(5, size=(2,), replace=False)]
    outputs += [test_splines.applied(test_splines.CUBIC)[1]]
    return {id(convert.rule(op)) for op in ops_of(outputs)}


def test_every_rule_has_a_differential_test() -> None:
    found, loaded = covered(), {**classes(Op), **classes(ps.ScalarOp)}
    untested = [name for name in convert if id(convert[name]) not in found]
    absent = {name for name in untested if name not in loaded}
    assert absent <= set(SOME_RELEASES), "rules of classes that PyTensor lacks"
    assert [name for name in untested if name not in absent | UNMADE] == []


def test_no_cast_to_what_pytensor_declares_drops_a_part_of_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """An imaginary part, or a fraction: a rule that wants one gone says so itself."""
    declare, lossy = conversion.as_declared, []

    def noted(result: Any, declared: Any) -> Any:
        if isinstance(result, tg.Variable) and hasattr(declared, "dtype"):
            before, after = (KINDS.get(np.dtype(dtype).kind, 0) for dtype in (result.type.dtype, declared.dtype))
            lossy.extend([(result, declared)] * (after < before))
        return declare(result, declared)

    monkeypatch.setattr(conversion, "as_declared", noted)
    for case in cases("float64", "complex128"):
        conversion.from_pytensor(case.inputs, case.outputs)
    assert not lossy
