"""Copies of the reference are found where the garbage collector no longer looks, too."""

import gc
import types

from tg.ops.reduction import Reduce
from tg_conformance.copies import Reference, copies, everything


def test_a_copy_that_was_frozen_is_found():
    original = Reduce.perform
    copied = types.FunctionType(original.__code__, original.__globals__, "summed")
    was_frozen = gc.get_freeze_count()
    gc.freeze()
    try:
        found = [keys for keys, _ in copies([Reference(original, original.__code__, (Reduce,))], frozenset())]
        assert any(one is copied for one in everything())
        assert gc.get_freeze_count() > 0
    finally:
        if not was_frozen:
            gc.unfreeze()
    assert (Reduce,) in found
