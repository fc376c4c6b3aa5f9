"""The least program that shows a fault: outputs left out, values replaced by inputs that have their arrays."""

from __future__ import annotations

import re

import numpy as np

from tests.enumerate.judge import Data
from tests.enumerate.search import Rewritten, faults
from tg.functions.debug.values import performed
from tg.graph.function_graph import FunctionGraph
from tg.graph.nodes import Variable, apply
from tg.graph.operators import NAMESPACE
from tg.graph.text.parser import parse
from tg.graph.text.printer import to_text_with_constants
from tg.ops.catalog import FAMILIES
from tg.types.dtypes import numpy_dtype
from tg.types.tensor_type import TensorType

TRIES = 150


class Case:
    """A frozen program with arrays."""

    def __init__(self, frozen, arrays):
        self.frozen, self.arrays = frozen, list(arrays)

    def values(self):
        """The value of every number."""
        frozen = self.frozen
        found = [*self.arrays, *(c.data for c in frozen.constants)]
        for node in frozen.nodes:

            class Made:
                op = node.op

            found.extend(performed(Made, [found[k] for k in node.inputs]))
        return found


def rebuilt(case, keep, cut):
    """The program with some outputs only, and each value of `cut` an input of its own, or another value."""
    frozen, made = case.frozen, {}
    inputs, arrays = [], []

    def new_input(number, array):
        t = frozen.types[number]
        shape = [n if m is None else m for n, m in zip(t.shape, t.shape, strict=True)]
        v = Variable(TensorType(t.dtype, shape), name=f"v{len(inputs)}")
        inputs.append(v)
        arrays.append(array)
        names = frozen.assumed.get(number)
        return v if names is None else NAMESPACE.assume_facts(v, names)

    needed, stack = set(), [frozen.outputs[k] for k in keep]
    makers = {k: node for node in frozen.nodes for k in node.outputs}
    while stack:
        number = stack.pop()
        other = cut.get(number)
        number = other if other is not None and other != number else number
        if number not in needed:
            needed.add(number)
            if number not in cut and number in makers:
                stack.extend(makers[number].inputs)
    for number in range(frozen.arity):
        if number in needed:
            made[number] = new_input(number, case.arrays[number])
    for k, c in enumerate(frozen.constants):
        made[frozen.arity + k] = c
    values = case.values() if cut else None
    for number in sorted(k for k in needed if cut.get(k) == k and k not in made):
        made[number] = new_input(number, values[number])
    for node in frozen.nodes:
        if not any(k in needed and k not in made for k in node.outputs):
            continue
        operands = [made[cut[k]] if cut.get(k, k) != k else made[k] for k in node.inputs]
        results = apply(node.op, operands)
        for k, v in zip(node.outputs, results, strict=True):
            names = frozen.assumed.get(k)
            made.setdefault(k, v if names is None else NAMESPACE.assume_facts(v, names))
    outputs = [made[cut.get(frozen.outputs[k], frozen.outputs[k])] for k in keep]
    return Case(FunctionGraph.of(inputs, outputs).freeze(), arrays)


def shows(case, fault, *, mode, exclude):
    """Whether a program shows the same fault."""
    try:
        program = Rewritten((), (), frozen=case.frozen, mode=mode, exclude=exclude)
    except Exception as error:  # noqa: BLE001
        return fault.kind == "rewriting" and type(error).__name__ in str(fault.doubt)
    if fault.kind == "rewriting":
        return False
    data = Data(fault.data.name, program.inputs, case.arrays, tame=fault.data.tame, infinite=fault.data.infinite)
    return any(f.rule == fault.rule and f.kind == fault.kind for f in faults(program, data, steps=fault.rule != "?"))


def least(frozen, fault, arrays, *, mode="default", exclude=frozenset()):
    """The least program with its arrays that shows a fault; None where the frozen one does not show it."""
    case = Case(frozen, arrays)
    if not shows(case, fault, mode=mode, exclude=exclude):
        return None
    tries = 0

    def attempt(keep, cut):
        nonlocal case, tries
        tries += 1
        try:
            found = rebuilt(case, keep, cut)
            if shows(found, fault, mode=mode, exclude=exclude):
                case = found
                return True
        except Exception:  # noqa: BLE001 (not a program)
            pass
        return False

    for k in range(len(case.frozen.outputs)):
        if attempt([k], {}):
            break
    else:
        k = 0
        while k < len(case.frozen.outputs) > 1 and tries < TRIES:
            k += not attempt([j for j in range(len(case.frozen.outputs)) if j != k], {})
    changed = True
    while changed and tries < TRIES:
        changed = False
        every = range(len(case.frozen.outputs))
        for node in list(case.frozen.nodes):
            number = node.outputs[0]
            types = case.frozen.types
            others = [
                k for k in (*range(case.frozen.arity), *sorted(node.inputs)) if types[k] == types[number] and k < number
            ]
            is_length = types[number] == TensorType("int64")
            cuts = others if is_length else [number, *others]  # a length stays one
            if any(attempt(every, {number: k}) for k in cuts):
                changed = True
                break
    return case


def reproducer(case, fault, mode="default", exclude=frozenset()):
    """A program as text, with its arrays, and how it was rewritten: what `read` reads."""
    text, constants = to_text_with_constants(case.frozen)
    lines = [f"# {line}" for line in str(fault).splitlines()]
    lines.append(f"# mode {mode}; without {', '.join(sorted(exclude)) or 'nothing'}; data {fault.data.name}")
    lines.append(text.rstrip())
    for label, arrays in (("constant", constants.items()), ("input", enumerate(case.arrays))):
        lines += [f"# {label} {k}: {np.asarray(a).dtype} {np.asarray(a).tolist()!r} {np.shape(a)}" for k, a in arrays]
    return "\n".join(lines) + "\n"


def read(text):
    """The case of a text, and the mode, the exclusions and the kind of data that it was found with."""
    head = re.search(r"^# mode (\w+); without (.*); data (\w+)$", text, re.MULTILINE)
    found = {"constant": {}, "input": {}}
    for label, key, dtype, values in re.findall(r"^# (constant|input) (\S+): (\S+) (.*)$", text, re.MULTILINE):
        data, shape = re.fullmatch(r"(.*) (\([\d, ]*\))", values).groups()
        numbers = eval(data, {"nan": np.nan, "inf": np.inf, "nanj": complex(0, np.nan), "infj": complex(0, np.inf)})
        found[label][key] = np.array(numbers).astype(numpy_dtype(dtype)).reshape(eval(shape))
    frozen = parse(text, OPS, found["constant"])
    exclude = frozenset(n for n in head[2].split(", ") if n != "nothing")
    return Case(frozen, list(found["input"].values())), head[1], exclude, head[3]


OPS = {fn.name: fn for family in FAMILIES for fn in family.elementwise}
OPS |= {op.__name__: op for family in FAMILIES for op in family.ops}
