"""Kernels as machine code, by both printers: functions of arrays, many in one unit."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np

from tg.types.dtypes import numpy_dtype
from tg_c import body as c
from tg_c.compiler import Flags, compile_unit
from tg_c.machine import vector_bytes
from tg_c.prelude import Prelude
from tg_c.text import TYPEDEFS
from tg_c.vectors import Vectors
from tg_native.kernels.dtypes import WORDS, item_size
from tg_native.kernels.lanes import Lanes
from tg_numba import body as llvm_body
from tg_numba.assembly import Module, memory_item

LOOP = """
void {name}({out} *out, {arrays}, i64 n) {{
  for (i64 i = 0; i < n; i += {lanes}) {store};
}}
"""


def no_library(name, dtype, arity, count):
    """The symbols of a platform without vector mathematics."""


class Case:
    """A kernel, the dtypes of its operands, that of its result, and whether it needs no function of libm."""

    def __init__(self, write, dtypes, result, *, is_arithmetic=True):
        self.write, self.dtypes, self.result, self.is_arithmetic = write, dtypes, result, is_arithmetic

    @property
    def lanes(self):
        """As many lanes as vectors of the widest dtype have."""
        return vector_bytes() // max(item_size(d) for d in (*self.dtypes, self.result))


def run(function, case, arrays):
    """The results of a compiled function for arrays of one length, padded to whole vectors."""
    n = arrays[0].size
    rest = -n % 64
    given = [np.concatenate([a, np.ones(rest, a.dtype)]) for a in arrays]
    out = np.zeros(n + rest, numpy_dtype(case.result))
    function(*(ctypes.c_void_p(a.ctypes.data) for a in (out, *given)), ctypes.c_int64(n + rest))
    return out[:n]


def in_c(cases, *, single=False):
    """Functions of arrays made of C: of lanes, or of single elements."""
    prelude, texts = Prelude(no_library), []
    for k, case in enumerate(cases):
        lanes = 0 if single else case.lanes
        texts.append(_c_loop(prelude, f"run{k}", case, lanes))
    text = TYPEDEFS + prelude.text() + "\n" + "\n".join(texts)
    library = ctypes.CDLL(str(compile_unit(text, Flags(libraries=tuple(sorted(prelude.libraries))))))
    return [getattr(library, f"run{k}") for k in range(len(cases))]


def _c_loop(prelude, name, case, lanes):
    body = c.Body(prelude, lanes, 8)
    vectors = Vectors(prelude, lanes or 1, 8)
    operands, loads = [], []
    for dtype, letter in zip(case.dtypes, "xyz", strict=False):
        operands.append(Lanes(body, dtype, letter, "i64" if dtype == "bool" and lanes else ""))
        kind = "i8" if dtype == "bool" else body.item(dtype)
        if not lanes:
            loads.append(f"const {WORDS[dtype]} {letter} = {letter}s[i];")
        elif dtype == "bool":
            loaded = f"{vectors.function('load', kind)}({letter}s + i)"
            loads.append(f"const i64x{lanes} {letter} = {vectors.masks(loaded, 'i64')};")
        else:
            loads.append(f"const {body.kind(dtype)} {letter} = {vectors.function('load', kind)}({letter}s + i);")
    found = case.write(*operands)
    arrays = ", ".join(f"const {WORDS[d]} *{x}s" for d, x in zip(case.dtypes, "xyz", strict=False))
    if not lanes:
        store = f"out[i] = {found.text}"
    elif case.result == "bool":
        form = "i64" if found.form in ("", "shared") else found.form
        store = f"{vectors.function('store', 'i8')}(out + i, {vectors.bytes(body.mask(found, form), form)})"
    else:
        store = f"{vectors.function('store', body.item(case.result))}(out + i, {body.vector(found)})"
    inside = "\n".join(("{", *loads, *body.lines, f"{store};", "}"))
    head = LOOP.format(name=name, out=WORDS[case.result], arrays=arrays, lanes=lanes or 1, store="@")
    return head.replace("@;", inside)


def in_llvm(cases, *, single=False):
    """Functions of arrays made of LLVM's language."""
    module, texts = Module(), []
    for k, case in enumerate(cases):
        texts.append(_llvm_loop(module, f"run{k}", case, 0 if single else case.lanes))
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    parsed = llvm.parse_assembly(module.text() + "\n".join(texts))
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE
    found = []
    for k, case in enumerate(cases):
        address = engine.get_function_address(f"run{k}")
        function = kind(None, *[ctypes.c_void_p] * (1 + len(case.dtypes)), ctypes.c_int64)(address)
        function.engine = engine
        found.append(function)
    return found


def _llvm_loop(module, name, case, lanes):
    body = llvm_body.Body(module, lanes)
    with body.loop("0", "%n", lanes or 1) as index:
        operands = []
        for k, dtype in enumerate(case.dtypes):
            item = memory_item(dtype)
            place = body.place(item, f"%x{k}", index)
            text = body.made(f"load {body.type(item)}, ptr {place}, align 1")
            if dtype == "bool":
                text = body.made(f"icmp ne {body.type('i8')} {text}, {body.all('0', 'i8')}")
            operands.append(Lanes(body, dtype, text))
        found = case.write(*operands)
        item = memory_item(case.result)
        text = found.text
        if case.result == "bool":
            text = body.made(f"zext {found.kind} {text} to {body.type('i8')}")
        body.do(f"store {body.type(item)} {text}, ptr {body.place(item, '%out', index)}, align 1")
    body.do("ret void")
    parameters = ", ".join(["ptr %out", *(f"ptr %x{k}" for k in range(len(case.dtypes))), "i64 %n"])
    return f"define void @{name}({parameters}) nounwind {{\n{body.text()}\n}}"
