"""Every case under `tg.check`: the verdict on a backend is what compiling for it comes to, and so is the first call."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import tg
from tg import plugin
from tg.functions.verdict import REFUSALS
from tg_conformance.case import Item, all_cases, variants
from tg_conformance.program import Program


@cache
def items() -> dict[str, Item]:
    """The sparse tier: for each case one dtype and layout, and its gradient."""
    plugin.registry()
    found = (item for case in all_cases() if case.inputs for item in variants(case, "sparse"))
    return {item.id: item for item in found if item.kind in ("value", "grad") and "hundred thousand" not in item.id}


def pairs() -> list[object]:
    names = [one.name for one in tg.backends() if one.is_available]
    return [
        pytest.param(name, item, marks=pytest.mark.xdist_group(f"verdicts of {name}"), id=f"{name}-{item}")
        for item in sorted(items())
        for name in names
    ]


def refusal(program: Program, backend: str, arrays: list) -> Exception | None:
    """The error of compiling, and of the first call where compilers take no seconds; None where all is well."""
    try:
        f = tg.function(program.arguments, program.outputs, backend=backend, on_unused_input="ignore")
        if plugin.registry().backend(backend).compiles == "fast":
            f(*arrays)
    except REFUSALS as error:
        return error
    return None


@pytest.mark.sampled(360)
@pytest.mark.parametrize(("backend", "name"), pairs())
def test_the_verdict_is_what_compiling_comes_to(backend: str, name: str) -> None:
    with np.errstate(all="ignore"):
        program = Program(items()[name])
        call = program.call(items()[name], 0)
    verdict = tg.check(program.arguments, program.outputs, backends=backend)[0]
    error = refusal(program, backend, call.arrays)
    assert (type(verdict.error), str(verdict.error)) == (type(error), str(error))
