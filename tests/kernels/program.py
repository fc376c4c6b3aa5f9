"""A third native backend: the function of a graph is run while it is written, its loops are those of an `Interpreter`.

Texts of scalars, conditions and pointers are names in `values_of`; lengths are their numbers.
"""

from __future__ import annotations

import contextlib
import math

import numpy as np

from tests.kernels.interpreter import CONST, Interpreter
from tests.kernels.memory import Place, memory
from tests.kernels.operations import kind_of, number
from tests.kernels.words import WORDS
from tg.types.dtypes import is_complex, numpy_dtype
from tg_native.graphs import function as graphs
from tg_native.graphs import unit
from tg_native.graphs.site import Site
from tg_native.graphs.tiles import TileWriter, may_be_written
from tg_native.kernels.body import Machine
from tg_native.kernels.dtypes import PARTS
from tg_native.kernels.index import Index, Pointer, index
from tg_native.kernels.lanes import Lanes, Pair, constant_of, in_all_lanes
from tg_native.loops import kernel as loops
from tg_native.loops.kernel import MOST, lanes_for
from tg_native.loops.pointwise import run
from tg_native.plan.memory import Buffer
from tg_native.plan.values import Array, row_major


def interpreted(graph, request, machine, arrays, shapes):
    """The outputs of a graph that a native backend has lowered; `shapes` are those that they are known to have."""
    outputs = [memory(graph.types[n].dtype, math.prod(s)) for n, s in zip(graph.outputs, shapes, strict=True)]
    Unit(request, machine, arrays, outputs).write_main(graph, shapes)
    return [y.array.view(numpy_dtype(y.dtype)).reshape(s) for y, s in zip(outputs, shapes, strict=True)]


class Kernel(loops.Kernel):
    """Writes one loop; its parameters have the names that their values have in the function."""

    is_told = False  # each loop is written by itself

    def __init__(self, function, dtypes=(), vectors=1, length=MOST):
        super().__init__()
        machine = function.unit.machine
        self.body = Interpreter(lanes_for(machine.vector_bytes, dtypes, vectors, length), machine)
        self.function, self.arguments = function, {}

    def _argument(self, text):
        self.arguments[text] = self.function.values_of[text]
        return text

    def read(self, array):
        return Pointer(self.body, array.dtype, self._argument(array.pointer), CONST)

    def write(self, array):
        return Pointer(self.body, array.dtype, self._argument(array.pointer))

    def length(self, length, role=None):
        text = self.function.length(length)
        if type(length) is int:
            return index(self.body, length)
        with self.body.of(0):
            return Index(self.body.number(int(text), "int64"))

    def scalar(self, scalar):
        if scalar.text not in self.function.values_of:
            return self.body.number(int(scalar.text), scalar.dtype)
        text = self._argument(scalar.text)
        if not is_complex(scalar.dtype):
            return in_all_lanes(Lanes(self.body, scalar.dtype, text))
        parts = (Lanes(self.body, PARTS[scalar.dtype], f"{text}.{part}") for part in ("real", "imag"))
        return Pair(*map(in_all_lanes, parts))


class Heap:
    """Memory that no two arrays share, and in which nothing is written."""

    def __init__(self):
        self.count = 0

    def take(self, shape, item):
        """A buffer, of which the function makes memory."""
        self.count += 1
        return Buffer(f"b{self.count}", "", on_heap=False)

    def bury(self, dying, values):
        """Nothing is given back."""


class Unit(unit.Unit):
    """What is run at once."""

    def __init__(self, request, machine, arrays, outputs):
        super().__init__(request)
        self.machine, self.arrays, self.outputs = machine, arrays, outputs

    def graph_function(self, graph, name, *, is_main, plans=False):
        raise NotImplementedError("inner graphs")

    def write_main(self, graph, shapes):
        """Run the function of the graph."""
        Function(self, graph, shapes).text()


class Function(graphs.GraphFunction):
    """Runs the function of a graph."""

    leaves, overwrites = "", False

    def __init__(self, unit, graph, shapes):
        super().__init__(unit, graph, "main", is_main=True)
        self.first_of_tile = 0
        self.values_of, self.lines, self.memory, self.output_shapes = {}, [], Heap(), shapes

    def named(self, value):
        """A name for a value."""
        name = f"g{len(self.values_of)}"
        self.values_of[name] = value
        return name

    def assembled(self):
        return ""

    def show_name(self, number):
        """Nobody reads it."""

    def site(self, node):
        return Site(self, node)

    # --- parameters and memory ---------------------------------------------------------------------------------------

    def declare_input(self, k, axes):
        array = np.ascontiguousarray(self.unit.arrays[k])
        bits = array.view(kind_of(self.graph.types[k].dtype))
        if not bits.ndim or not self.graph.types[k].ndim:
            return self.named(bits.ravel()[0]), []
        return self.named(Place(bits.ravel(), self.graph.types[k].dtype)), [str(array.shape[axis]) for axis in axes]

    def declare_outputs(self):
        for k, (place, shape) in enumerate(zip(self.unit.outputs, self.output_shapes, strict=True)):
            self.outputs.pointers.append(self.named(place))
            if not self.outputs.follows(k):
                self.outputs.planned[k] = [*map(str, shape)]

    def array(self, dtype, shape, buffer):
        place = memory(dtype, math.prod(int(self.length(n)) for n in shape))
        return Array(dtype, self.named(place), tuple(shape), row_major(shape), buffer)

    def start(self, buffer, dtype):
        raise NotImplementedError

    def table(self, number, constant):
        bits = np.ascontiguousarray(constant.data).view(kind_of(constant.type.dtype)).ravel()
        return self.named(Place(bits, constant.type.dtype))

    def place(self, dtype, text):
        found = self.array(dtype, (), self.memory.take((), 0))
        self.store(dtype, text, found.pointer)
        return found

    def store(self, dtype, text, pointer):
        self.values_of[pointer].store(self.value(text))

    def first(self, array):
        return self.named(self.values_of[array.pointer].load())

    def moved(self, array, offset):
        return array._replace(pointer=self.named(self.values_of[array.pointer].moved(offset)))

    def put(self, pointer, at, number):
        self.values_of[pointer].moved(at).store(np.int64(int(number)))

    def got(self, pointer, at):
        return str(self.values_of[pointer].moved(at).load())

    # --- lengths and conditions --------------------------------------------------------------------------------------

    def value(self, text):
        """What a text stands for."""
        return self.values_of[text] if text in self.values_of else np.int64(int(text))

    def expression(self, word, *operands):
        _, result, meant = WORDS[word]
        found = meant(*(x if isinstance(x, (bool, float)) else int(x) for x in map(self.value, operands)))
        return str(found) if result == "int64" else self.named(found)

    def number(self, scalar):
        return str(int(self.value(scalar.text)))

    def named_length(self, text, count):
        return text

    def leave_unless(self, condition, code):
        assert self.value(condition), f"the function is left with {code}"

    def leave_if_uncounted(self, item, lengths, *, empty_only):
        assert math.prod([item, *filter(None, map(int, lengths))]) < 2**63

    def report_unless(self, condition, code, values):
        self.leave_unless(condition, str(code))

    # --- scalars -----------------------------------------------------------------------------------------------------

    def literal(self, value, dtype):
        return str(int(value)) if dtype == "int64" else self.named(number(value, dtype))

    def local(self, dtype, text, number=None):
        return text

    def evaluated(self, program, operands, results):
        kernel = self.kernel()
        values = {k: constant_of(kernel.body, value, program.dtypes[k]) for k, value in program.constants.items()}
        values.update((k, kernel.scalar(s)) for k, s in enumerate(operands))
        run(self, program, values)
        texts = [
            f"joined({', '.join(x.text for x in v)})" if isinstance(v, Pair) else v.text
            for v in (values[number] for number in program.outputs)
        ]
        return [*map(self.named, kernel.body.run(kernel.arguments, f"({', '.join(texts)},)"))]

    # --- loops -------------------------------------------------------------------------------------------------------

    def kernel(self, dtypes=(), vectors=1, length=MOST):
        return Kernel(self, dtypes, vectors, length)

    def run(self, kernel):
        kernel.body.run(kernel.arguments)

    def rule(self, op):
        found = self.unit.rule(op)
        return getattr(found, "kernel", found)  # C's are printed for one element

    def copier(self, source, target):
        return self

    def share(self, kernel, *given):
        raise NotImplementedError  # units have one thread

    def blas(self, dtype):
        return None

    def lapack(self, dtype):
        return None

    def transforms(self, dtype):
        return None

    def _tiles(self, tiles):
        """What is written once for all tiles is written for each; without one, node by node."""
        n = int(self.length(tiles.length))
        if not n or not may_be_written(self, tiles):
            for step in tiles.steps:
                self._node(step)
            return
        writer = TileWriter(self, tiles)
        for self.first_of_tile in range(0, n, tiles.rows):
            writer.write()

    @contextlib.contextmanager
    def over_tiles(self, length, rows):
        yield str(self.first_of_tile), str(min(int(length) - self.first_of_tile, rows))

    def called(self, graph, arguments, status):
        raise NotImplementedError("inner graphs")

    def steps(self, length):
        raise NotImplementedError("inner graphs")

    def clock(self):
        raise NotImplementedError("inner graphs")

    def steps_in_parts(self, length, size, asked):
        raise NotImplementedError("inner graphs")

    def where(self, condition):
        raise NotImplementedError("inner graphs")

    def holds(self, place):
        raise NotImplementedError("inner graphs")

    def leave_loop_unless(self, condition):
        raise NotImplementedError("inner graphs")

    def leave_if_interrupted(self, step, asked):
        raise NotImplementedError("inner graphs")

    def alternating(self, number, even, odd):
        raise NotImplementedError("inner graphs")

    def handed_over(self, dtype, size, place):
        raise NotImplementedError("inner graphs")


def machine_of(backend):
    """The vectors that a native backend works with on this machine."""
    if backend == "c":
        from tg_c.machine import has_fused, vector_bytes

        return Machine(vector_bytes(), has_fused())
    from tg_numba.processor import features, vector_bytes

    return Machine(vector_bytes(), "fma" in features())
