"""Every case under `tg.vmap`: two elements give what the case gives for each, whichever of its inputs differ."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import tg
from tg import plugin
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.graph.traversal import sorted_applies, substitute
from tg.ops.indexing import Nonzero
from tg.ops.sparse import SparseDots, SparseProduct
from tg.ops.sparse_factors import SparseCholesky, SparseInverse, SparseLogDet, SparseSolve
from tg_conformance.case import Item, all_cases, variants
from tg_conformance.draw import generator
from tg_conformance.program import Call, Program

SIZED_BY_VALUES = {Nonzero}  # ops whose results have lengths that values decide
PLACES = {  # operands that are the pattern of a sparse matrix, which is one for a batch
    SparseProduct: slice(1, 3), SparseDots: slice(2), SparseCholesky: slice(1, None), SparseSolve: slice(2, 4),
    SparseLogDet: slice(2, None), SparseInverse: slice(1, None),
}  # fmt: skip


@cache
def items(*kinds: str) -> dict[str, Item]:
    """The sparse tier: for each case one dtype and layout, and its gradient."""
    plugin.registry()
    cases = (case for case in all_cases() if case.inputs and case.name != "a hundred thousand steps")
    found = (item for case in cases for item in variants(case, "sparse"))
    return {item.id: item for item in found if item.kind in kinds}


def program_of(item: Item) -> Program:
    """The program of a case, whose values are drawn with it: some are infinite in its dtype."""
    with np.errstate(all="ignore"):
        return Program(item)


def expression(program: Program, arguments) -> tuple:
    """The expression of a program over other inputs: built anew, but for a gradient, whose weights this one has."""
    if program.kind == "grad":
        return tuple(substitute(program.outputs, dict(zip(map(id, program.arguments), arguments, strict=True))))
    found = program.case.subject(*arguments)
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def ones(inputs, arrays):
    pairs = enumerate(zip(inputs, arrays, strict=True))
    return [(k, a) for k, (v, x) in pairs for a, n in enumerate(v.type.shape) if n is None and x.shape[a] == 1]


def two_elements(program: Program, item: Item) -> tuple[list, list]:
    """The inputs of a call, and others of the same shapes; the same where no others are drawn."""
    with np.errstate(all="ignore"):
        first = program.call(item, 0).plain
        second = program.call(item._replace(static=True), 1).plain
    alike = [x.shape for x in first] == [x.shape for x in second]
    return first, second if alike else first


def has_lengths_of_values(program: Program, differ: list[bool]) -> bool:
    """Whether values of the inputs that differ decide a length or a pattern, which are one for a batch."""
    moving = {id(v) for v, differs in zip(program.arguments, differ, strict=True) if differs}
    for node, results in sorted_applies(program.outputs):
        touched = [id(v) in moving for v in node.inputs]
        sizes = [touched[k] for k in node.op.size_operands(len(touched))]
        if any(sizes) or (type(node.op) in SIZED_BY_VALUES and any(touched)):
            return True
        if any(touched[PLACES.get(type(node.op), slice(0))]):
            return True
        if node.op.inner_graphs() and any(touched):
            return True  # looked at by nobody: what is refused inside has a text of its own
        if any(touched) and type(node.op).__name__ != "AxisLength":
            moving.update(id(v) for v in results if v is not None)
    return False


def disagreement(item: Item, differ: list[bool]) -> str | None:
    """What is wrong with the results of a case for two elements, of whose inputs these differ."""
    program = program_of(item)
    first, second = two_elements(program, item)
    second = [b if differs else a for a, b, differs in zip(first, second, differ, strict=True)]
    stacked = [np.stack([a, b]) if differs else a for a, b, differs in zip(first, second, differ, strict=True)]
    count = 2 if program.static else None
    inputs = [
        tg.tensor(f"b{k}", v.type.dtype, (count, *v.type.shape) if differs else v.type.shape)
        for k, (v, differs) in enumerate(zip(program.arguments, differ, strict=True))
    ]
    axes = tuple(0 if differs else None for differs in differ)
    try:
        outputs = tg.vmap(lambda *arguments: expression(program, arguments), axes)(*inputs)
    except tg.InputError as error:
        refused = str(error).startswith("vmap: ") and "depends on the element" in str(error)
        return None if refused and has_lengths_of_values(program, differ) else f"refused: {error}"
    graph = FunctionGraph.of(inputs, outputs, ones(inputs, stacked)).freeze()
    found = interpret(graph, stacked)
    for number, plain in enumerate((first, second)):
        call = Call([], plain)
        for k, (y, w, v) in enumerate(zip(found, program.reference(call), program.outputs, strict=True)):
            wrong = program._check(np.asarray(y[number]), w, v, call, k)
            if wrong:
                return f"element {number}, result {k}: {wrong}"
    return None


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", sorted(items("value", "grad")))
def test_elements_are_what_the_case_gives(name: str) -> None:
    item = items("value", "grad")[name]
    count = len(program_of(item).arguments)
    choices = [[True] * count]
    if item.kind == "value" and count > 1:
        rng = generator("choices", name)
        choices += [[k == alone for k in range(count)] for alone in range(count)]
        choices += [[bool(b) for b in rng.integers(0, 2, count)] for _ in range(count > 2)]
    for differ in choices:
        if any(differ):
            wrong = disagreement(item, differ)
            assert wrong is None, (wrong, differ)


def refusal(program: Program, arrays: list) -> Exception | None:
    """What comes of a program for two equal elements instead of results."""
    stacked = [np.stack([x, x]) for x in arrays]
    inputs = [tg.tensor(f"b{k}", v.type.dtype, (None, *v.type.shape)) for k, v in enumerate(program.arguments)]
    try:
        outputs = tg.vmap(lambda *arguments: expression(program, arguments))(*inputs)
        interpret(FunctionGraph.of(inputs, outputs, ones(inputs, stacked)).freeze(), stacked)
    except tg.TgError as error:
        return error
    return None


@pytest.mark.long
def test_what_an_element_may_not_all_may_not() -> None:
    asked = 0
    for name, item in items("error").items():
        try:
            program = program_of(item)
        except tg.TgError:
            continue  # refused without any values
        asked += 1
        found = refusal(program, program.call(item, 0).plain)
        if "depends on the element" in str(found) and type(found) is tg.InputError:
            assert has_lengths_of_values(program, [True] * len(program.arguments)), name
        else:
            assert item.case.raises is not None
            assert isinstance(found, item.case.raises), (name, found)
    assert asked > 80
