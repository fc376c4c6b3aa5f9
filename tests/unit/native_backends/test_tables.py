"""Arguments of loops in tables: none is lost, and what is behind them is what was handed over."""

import importlib

import numpy as np
import pytest

import tg
from tg import plugin
from tg.graph.function_graph import FunctionGraph
from tg.link.linker import Request
from tg.rewrite.driver import rewrite
from tg.types.dtypes import numpy_dtype
from tg_native.loops.costs import MANY_ARGUMENTS
from tg_native.loops.tables import Tables
from tg_native.plan.values import Scalar, Slot


class Evaluated(Tables):
    """A loop that is not written: what its arguments are, and what they were, by Python."""

    def __init__(self, operands):
        self.operands, self.given, self.known = operands, {}, {}

    def keep(self, arguments):
        self.known = {k: self.operands[k] for k in arguments}

    def add_base(self, name, slot):
        assert name not in self.given
        self.given[name] = slot.base
        return name

    def add_table(self, name, dtype, elements):
        assert name not in self.given
        self.given[name] = np.array([*map(float, elements)], numpy_dtype(dtype))
        return name

    def begin_with_place(self, argument, slot, base, offset):
        table, number = offset
        self.known[argument] = f"{self.given[base]} + {int(self.given[table][number])}"

    def begin_with_number(self, argument, dtype, element):
        table, number = element
        assert self.given[table].dtype == numpy_dtype(dtype)
        self.known[argument] = repr(float(self.given[table][number]))


def test_what_is_behind_tables_is_what_was_handed_over():
    rng = np.random.default_rng(0)
    for count in (1, MANY_ARGUMENTS - 1, MANY_ARGUMENTS, 5 * MANY_ARGUMENTS):
        operands, slots, numbers = [], {}, {}
        for k in range(count):
            sort = rng.integers(4) if count > MANY_ARGUMENTS else rng.integers(1, 4)
            if sort == 0:
                operands.append(f"n{k}")
            elif sort == 1:
                base, offset = "pqr"[rng.integers(3)], int(rng.integers(0, 99))
                operands.append(f"{base} + {offset}")
                slots[operands[-1]] = Slot("float64", base, offset)
            else:
                numbers[k] = ("float64", "float32")[sort - 2]
                operands.append(repr(float(rng.integers(0, 5)) / 4))
        loop = Evaluated(operands)
        loop.gather(operands, slots, numbers)
        if count < MANY_ARGUMENTS:
            assert (loop.given, loop.known) == ({}, {})
            continue
        assert [loop.known[k] for k in range(count)] == operands
        assert len(loop.given) <= 6


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_numbers_that_have_no_table_are_handed_over_one_by_one(dtype, backend):
    x, registry = tg.vector("x"), plugin.registry()
    rules = registry.rules(backend)
    graph = rewrite(FunctionGraph.of([x], [x + 1.0]), [], supported=lambda op, types: op.rule_key in rules, mode="off")
    unit = importlib.import_module(f"tg_{backend}.program").Unit(
        Request(backend, registry.backend(backend).options(), rules.get)
    )
    kernel = unit.graph_function(graph, "f", is_main=True).kernel()
    for k in range(2 * MANY_ARGUMENTS):
        kernel.scalar(Scalar(dtype, str(k % 2), operand=k))
    kernel.finish()
    assert len(kernel.arguments) == 2 * MANY_ARGUMENTS
