"""Bugs of linkers and executables: memory that calls share, sizes and constants, checks that are lost."""

import dataclasses
import time

import numpy as np

from tg.link.executable import FuncifyExecutable
from tg.link.funcify import FuncifyLinker
from tg_bugs.record import Bug


def quiet(options):
    return np.errstate(all="ignore")


class Changed(FuncifyLinker):
    """A linker whose executables are of another class."""

    def __init__(self, kind, **functions):
        given = {"to_native": np.array, "to_numpy": np.asarray, "scope": quiet, **functions}
        super().__init__(**given)
        self.kind = kind

    def compile(self, graph, request):
        made = super().compile(graph, request)
        made.__class__ = self.kind
        return made


class Leaky(FuncifyExecutable):
    """Gives away what it computed, be it a view, a constant or a scalar."""

    def to_numpy(self, output):
        return output


class OneBuffer(FuncifyExecutable):
    """Results are written into buffers that all calls share."""

    def _run(self, arrays, taken):
        outputs, status = super()._run(arrays, taken)
        kept = self.__dict__.setdefault("kept", {})
        found = []
        for k, y in enumerate(map(np.asarray, outputs)):
            room = kept.setdefault((k, y.shape, y.dtype), np.empty_like(y))
            room[...] = y
            found.append(room)
        return found, status


class OneSlot(FuncifyExecutable):
    """Arguments lie in the object while a call runs."""

    def _run(self, arrays, taken):
        self.arguments = arrays
        time.sleep(1e-4)
        return super()._run(self.arguments, taken)


class FirstSizes(FuncifyExecutable):
    """Compiled for the sizes of the first call, which later ones are taken to have."""

    def _sized(self, arrays):
        found = self.__dict__.setdefault("found", [])
        return found[0] if found else found.append(super()._sized(arrays)) or found[0]


class Unchecked(FuncifyExecutable):
    """The status is computed and not looked at."""

    def _run(self, arrays, taken):
        outputs, _ = super()._run(arrays, taken)
        return outputs, ()


class ValuesSwapped(FuncifyExecutable):
    """The values of a failing check come in another order."""

    def _run(self, arrays, taken):
        outputs, status = super()._run(arrays, taken)
        return outputs, (status[0], *status[2:0:-1], *status[3:]) if status else status


class FirstCheck(FuncifyExecutable):
    """Whatever fails, the first check is blamed."""

    def _run(self, arrays, taken):
        outputs, status = super()._run(arrays, taken)
        return outputs, (1, *status[1:]) if status else status


class FrozenExecutable(FuncifyExecutable):
    """Results are read-only."""

    def to_numpy(self, output):
        found = super().to_numpy(output)
        found.flags.writeable = False
        return found


class Unguarded(FuncifyLinker):
    """The checks that shapes decide are not run: lengths of 1 and others broadcast as the library has it."""

    def compile(self, graph, request):
        return super().compile(graph, dataclasses.replace(request, guard=None))


def in_single(array):
    return np.array(array, "float32" if array.dtype == "float64" else array.dtype)


def finite(array):
    return np.nan_to_num(array) if array.dtype.kind == "f" and array.dtype.itemsize > 2 else np.array(array)


LEAKY = Changed(Leaky)
NOTHING_COPIED = Changed(Leaky, copy=lambda array: array)
ONE_BUFFER = Changed(OneBuffer)
ONE_SLOT = Changed(OneSlot)
FIRST_SIZES = Changed(FirstSizes)
UNCHECKED = Changed(Unchecked)
VALUES_SWAPPED = Changed(ValuesSwapped)
FIRST_CHECK = Changed(FirstCheck)
READ_ONLY = Changed(FrozenExecutable)
UNGUARDED = Unguarded(to_native=np.array, to_numpy=np.asarray, scope=quiet)
SINGLE_CONSTANTS = Changed(FuncifyExecutable, to_native=in_single)
FINITE_CONSTANTS = Changed(FuncifyExecutable, to_native=finite)


def linked(name, trap, caught_by, linker):
    return Bug(name, trap, caught_by, linker=f"tg_bugs.linking:{linker}")


SHAPES = "^shape:(the input|views|a constant|one result|several)"

BUGS = (
    linked("result-is-input-or-constant", "T43", SHAPES, "NOTHING_COPIED"),
    linked("results-share-a-buffer", "T43", "^functions:results", "ONE_BUFFER"),
    linked("arguments-in-one-slot", "T81", "^functions:eight", "ONE_SLOT"),
    linked("first-sizes", "T79", "^shape:sizes", "FIRST_SIZES"),
    linked("status-ignored", "T48", "^indexing:read outside", "UNCHECKED"),
    linked("values-swapped", "T48", "^indexing:read outside", "VALUES_SWAPPED"),
    linked("first-check-blamed", "T48", "^control:.*check", "FIRST_CHECK"),
    linked("results-read-only", "T40", "^shape:transpose", "READ_ONLY"),
    linked("lengths-unchecked", "T37", "^shape:.*lengths", "UNGUARDED"),
    linked("constants-in-single", "T13", "^elementwise/(arithmetic:times|exponential:log of)", "SINGLE_CONSTANTS"),
    linked("constants-finite", "T30", "^elementwise/comparison:constants", "FINITE_CONSTANTS"),
)
