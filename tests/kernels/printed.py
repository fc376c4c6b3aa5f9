"""Kernels as functions of arrays: as machine code, by both printers, many in one unit; and by the interpreter."""

from __future__ import annotations

import ctypes
import functools

import llvmlite.binding as llvm
import numpy as np

from tests.kernels.interpreter import Interpreter
from tests.kernels.memory import Place
from tests.kernels.operations import kind_of
from tg.types.dtypes import numpy_dtype
from tg_c.abreast import Width
from tg_c.compiler import Flags, compile_unit
from tg_c.machine import has_fused, vector_bytes
from tg_c.prelude import Prelude
from tg_c.routine import Routine
from tg_c.text import TYPEDEFS
from tg_native.kernels.body import Machine
from tg_native.kernels.dtypes import WORDS, item_size
from tg_native.kernels.index import Index, Pointer
from tg_native.kernels.lanes import Lanes
from tg_native.kernels.routine import Block
from tg_numba import body as llvm_body
from tg_numba.assembly import Module


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
    function(out, *given)
    return out[:n]


def of_arrays(function):
    """A compiled function, to be called with arrays of one length."""

    def call(*arrays):
        function(*(ctypes.c_void_p(a.ctypes.data) for a in arrays), ctypes.c_int64(arrays[0].size))

    return call


def in_c(cases, *, single=False):
    """Functions of arrays made of C: of lanes, or of single elements."""
    prelude, texts = Prelude(no_library), []
    for k, case in enumerate(cases):
        lanes = 0 if single else case.lanes
        texts.append(_c_loop(prelude, f"run{k}", case, lanes))
    text = TYPEDEFS + prelude.text() + "\n" + "\n".join(texts)
    library = ctypes.CDLL(str(compile_unit(text, Flags(libraries=tuple(sorted(prelude.libraries))))))
    return [of_arrays(getattr(library, f"run{k}")) for k in range(len(cases))]


def _c_loop(prelude, name, case, lanes):
    body = Routine(prelude, Width(lanes, lanes))
    _written(body, case, lanes, [f"x{k}" for k in range(len(case.dtypes))], "out", "n")
    arrays = ", ".join(f"{WORDS[d]} *x{k}" for k, d in enumerate(case.dtypes))
    inside = "\n".join(body.text())
    return f"void {name}({WORDS[case.result]} *out, {arrays}, i64 n) {{\n{inside}\n}}"


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
        found.append(of_arrays(function))
    return found


def _llvm_loop(module, name, case, lanes):
    body = llvm_body.Body(module, lanes)
    _written(body, case, lanes, [f"%x{k}" for k in range(len(case.dtypes))], "%out", "%n")
    body.do("ret void")
    parameters = ", ".join(["ptr %out", *(f"ptr %x{k}" for k in range(len(case.dtypes))), "i64 %n"])
    return f"define void @{name}({parameters}) nounwind {{\n{body.text()}\n}}"


def in_numpy(cases, *, single=False):
    """Functions of arrays by the interpreter."""
    return [functools.partial(_interpreted, case, 0 if single else case.lanes) for case in cases]


def _interpreted(case, lanes, out, *arrays):
    body = Interpreter(lanes, Machine(vector_bytes(), has_fused()))
    places = [f"x{k}" for k in range(len(arrays))]
    _written(body, case, lanes, places, "out", "n")
    given = zip(("out", *places), (case.result, *case.dtypes), (out, *arrays), strict=True)
    body.run({name: Place(a.view(kind_of(dtype)), dtype) for name, dtype, a in given} | {"n": np.int64(out.size)})


def _written(body, case, lanes, places, out, length):
    """A loop over arrays, whose length is a multiple of the lanes."""
    with body.loop(0, Index(Lanes(body, "int64", length)), lanes or 1) as at:
        starts = [Pointer(body, dtype, place).moved(at) for dtype, place in zip(case.dtypes, places, strict=True)]
        operands = [body.load_row(start, Block(at)) if lanes else body.load(start) for start in starts]
        found, target = case.write(*operands), Pointer(body, case.result, out).moved(at)
        if lanes:
            body.store_row(found, target, Block(at))
        else:
            body.store(found, target)
