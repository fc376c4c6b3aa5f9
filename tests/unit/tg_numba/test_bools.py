"""The bytes of bools in arguments: whether all are 0 or 1 is found at every length, and nothing else is read."""

import ctypes

import llvmlite.binding as llvm
import numpy as np

from tg_numba.entry import ARE_BOOLS


def test_a_byte_that_is_neither_0_nor_1_is_found_wherever_it_is():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(ARE_BOOLS.replace("define internal", "define"))
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine(jit=True))
    engine.finalize_object()
    are_bools = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_int64)(
        engine.get_function_address("tg.are_bools")
    )
    for size in (0, 1, 7, 63, 64, 65, 127, 128, 200, 1023, 1024, 1025, 1088, 2111):
        around = np.full(size + 131, 255, np.uint8)
        given = around[65 : 65 + size]
        given[:] = np.arange(size) % 2
        assert are_bools(given.ctypes.data, size)
        for place in range(size):
            given[place] += 2
            assert not are_bools(given.ctypes.data, size)
            given[place] -= 2
