"""The third printer: kernels and loops as Python over NumPy, a line an operation, of which each access is checked.

A value is an array of as many elements as there are lanes, or a scalar of NumPy; none of them is ever changed. That
operands have as many lanes as the body is checked while code is written, that memory is there while it runs.
"""

from __future__ import annotations

import contextlib
import functools

import numpy as np

from tests.kernels import operations
from tests.kernels.memory import Slots, memory, zero
from tests.kernels.operations import OTHERS, SAME, called, complex_called, kind_of, number
from tg.types.dtypes import is_complex, numpy_dtype
from tg_native.kernels import routine
from tg_native.kernels.dtypes import PARTS
from tg_native.kernels.index import Condition, Index, Pointer, index
from tg_native.kernels.lanes import Lanes, Pair, in_all_lanes

CONST = "const"
SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "and": "&",
    "or": "|",
    "xor": "^",
    "left": "<<",
    "right": ">>",
    **{sign: sign for sign in ("<", "<=", ">", ">=", "==", "!=")},
}


def indices(start, end, step):
    """The indices of a loop."""
    return map(np.int64, range(int(start), int(end), step))


def joined(real, imag):
    """Complex numbers, of which each part keeps its bits."""
    found = np.empty(np.shape(real), np.result_type(real, np.complex64))
    found.real, found.imag = real, imag
    return found[()]


def first_lanes(lanes, count):
    """The mask of as many lanes."""
    assert 0 <= count <= lanes
    return np.arange(lanes) < count


def trailing(x):
    """How many of the last bits are 0."""
    assert x != 0
    return np.int64((int(x) & -int(x)).bit_length() - 1)


def length(x):
    """How many bits a number has."""
    assert x >= 0
    return np.int64(int(x).bit_length())


@functools.lru_cache(1000)
def compiled(text):
    """The code of a function, which is one for all lengths."""
    return compile(text, "<loop>", "exec")


SCOPE = {
    **{word: f for word, f in SAME.items() if word.isidentifier()},
    **OTHERS,
    **{f.__name__: f for f in (called, complex_called, operations.redone, operations.power, Slots, memory, zero)},
    **{f.__name__: f for f in (indices, joined, first_lanes, trailing, length)},
    "np": np,
}


class Kept(routine.Variable):
    """A variable of the function."""

    def __init__(self, body, dtype, text):
        self.body, self.dtype, self.text, self.lanes = body, dtype, text, body.lanes

    @staticmethod
    def _more(at):
        return "" if at is None else at.value.text

    def get(self, at=None):
        return self.body.local(self.dtype, f"{self.text}.get({self._more(at)})", lanes=self.lanes)

    def set(self, value, at=None):
        text = self.body.operand(value, self.lanes)
        assert value.dtype == self.dtype
        self.body.line(f"{self.text}.set({', '.join(filter(None, (text, self._more(at))))})")


class Interpreter(routine.Routine):
    """The inside of a function; `run` compiles and calls it. `tables`: numbers are looked up, as by an instruction."""

    backend = "numpy"

    def __init__(self, lanes, machine, *, tables=frozenset()):
        self.lanes, self.machine, self.tables = lanes, machine, tables
        self.lines, self.frame = [], []
        self.constants = {}  # by dtype, lanes and bits: name and value
        self._known, self._count = [{}], 0
        self._widths = {}  # by names: how many lanes; of arguments none

    # --- text --------------------------------------------------------------------------------------------------------

    def line(self, text):
        """Add a statement."""
        self.lines.append("    " * len(self._known) + text)

    def _fresh(self, letter="v", lanes=0):
        self._count += 1
        name = f"{letter}{self._count}"
        self._widths[name] = lanes
        return name

    def argument(self, name, dtype):
        """A parameter of the function, of as many lanes."""
        self._widths[name] = self.lanes
        return Lanes(self, dtype, name)

    def operand(self, x, lanes=None):
        """The text of a value, of as many lanes as the body or as is said."""
        lanes = self.lanes if lanes is None else lanes
        assert self._widths.get(x.text, 0) == lanes, f"{self._widths.get(x.text, 0)} lanes beside {lanes}"
        return x.text

    def local(self, dtype, expression, *, lanes=None):
        """A value that is computed here and now."""
        name = self._fresh(lanes=self.lanes if lanes is None else lanes)
        self.line(f"{name} = {expression}")
        return Lanes(self, dtype, name)

    def _found(self, dtype, expression, *, lanes=None):
        """A value that is computed once in a block."""
        for known in reversed(self._known):
            if (dtype, expression) in known:
                return known[dtype, expression]
        found = self._known[-1][dtype, expression] = self.local(dtype, expression, lanes=lanes)
        return found

    def _whole(self, dtype, expression):
        return Index(self._found(dtype, expression, lanes=0))

    @contextlib.contextmanager
    def _block(self, head):
        self.line(head)
        self._known.append({})
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.line("pass")
        self._known.pop()

    def text(self, parameters, result=""):
        """The function."""
        lines = [f"def loop({', '.join(parameters)}):", *("    " + line for line in self.frame), *self.lines]
        return "\n".join([*lines, f"    return {result or None}"])

    def run(self, arguments, result=""):
        """Call the function."""
        scope = SCOPE | dict(self.constants.values())
        exec(compiled(self.text(arguments, result)), scope)
        with np.errstate(all="ignore"):
            return scope["loop"](**arguments)

    # --- operations --------------------------------------------------------------------------------------------------

    def kind(self, dtype):
        return kind_of(dtype)

    def number(self, value, dtype):
        one = number(value, dtype)
        return self._constant(dtype, np.full(self.lanes, one) if self.lanes else one)

    def _constant(self, dtype, value):
        key = dtype, np.shape(value), value.tobytes()
        if key not in self.constants:
            self.constants[key] = self._fresh("c", self.lanes), value
        return Lanes(self, dtype, self.constants[key][0])

    def write(self, word, operands, dtype, given):
        texts = [*map(self.operand, operands)]
        if word in SIGNS:
            return self._found(dtype, f"{texts[0]} {SIGNS[word]} {texts[1]}")
        if word == "not":
            return self._found(dtype, f"~{texts[0]}")
        if word == "select" and not self.lanes:
            return self._found(dtype, f"{texts[1]} if {texts[0]} else {texts[2]}")
        if word in SAME:
            return self._found(dtype, f"{word}({', '.join(texts)})")
        return self._found(dtype, f"{word}({dtype!r}, {given!r}, {', '.join(texts)})[()]")

    def splat(self, value):
        if not self.lanes:
            return value
        return self._found(value.dtype, f"np.full({self.lanes}, {self.operand(value, 0)})")

    def lane(self, value, lane):
        return self._found(value.dtype, f"{self.operand(value)}[{lane}]", lanes=0)

    def halves(self, value):
        half = self.lanes // 2
        every = (f"{self.operand(value)}[{part}]" for part in (f":{half}", f"{half}:"))
        low, high = (self._found(value.dtype, text, lanes=half) for text in every)
        return low, high

    def interleaved(self, x, y):
        turns = f"np.stack(({self.operand(x)}, {self.operand(y)}), 1).ravel()"
        low, high = (self._found(x.dtype, f"{turns}[{part}]") for part in (f":{self.lanes}", f"{self.lanes}:"))
        return low, high

    def in_vectors(self, function, width, *operands):
        return function(*operands)

    def anywhere(self, condition):
        return self._over_lanes("any", condition)

    def everywhere(self, condition):
        return self._over_lanes("all", condition)

    def _over_lanes(self, word, condition):
        if not self.lanes:
            return Condition(condition)
        return Condition(self._found("bool", f"np.{word}({self.operand(condition)})", lanes=0))

    # --- functions ---------------------------------------------------------------------------------------------------

    def looks_up(self, dtype):
        return dtype in self.tables

    def has_form(self, word, dtype):
        return word == "scaled" and dtype in self.tables

    def shared(self, name, write, operands, *, inline, together=False):
        return write(*operands)

    def uses(self, name, dtype):
        return 1

    def vector_library(self, name, operands):
        return None

    def one_by_one(self, name, operands):
        return self._found(operands[0].dtype, f"called({name!r}, {', '.join(map(self.operand, operands))})[()]")

    def redone(self, name, condition, value, operands):
        texts = [*map(self.operand, (condition, value, *operands))]
        return self._found(value.dtype, f"redone({name!r}, {', '.join(texts)})[()]")

    def one_complex(self, name, operands):
        both = self._fresh()
        self.line(f"{both} = complex_called({name!r}, {', '.join(map(self.operand, operands))})")
        real, imag = (self.local("float64", f"{both}[{k}]") for k in (0, 1))
        return real, imag

    def power(self, base, exponent):
        return self._found(base.dtype, f"power({self.operand(base)}, {self.operand(exponent)})[()]")

    def subroutine(self, name, write, operands):
        return write(*operands)

    # --- numbers that all lanes share -------------------------------------------------------------------------------

    def extreme(self, x, y, *, largest):
        return self._whole("int64", f"{'max' if largest else 'min'}({x.value.text}, {y.value.text})")

    def bits_of(self, x, *, trailing):
        return self._whole("int64", f"{'trailing' if trailing else 'length'}({x.value.text})")

    def first_lanes(self, count):
        return self._found("bool", f"first_lanes({self.lanes}, {count.value.text})")

    def own_numbers(self):
        return self._constant("int64", np.arange(self.lanes))

    # --- branches and loops ------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def loop(self, start, end, step=1):
        first, last = (index(self, n).value.text for n in (start, end))
        name = self._fresh("k")
        with self._block(f"for {name} in indices({first}, {last}, {step}):"):
            yield Index(Lanes(self, "int64", name))

    def fold(self, start, end, step, first, write):
        found = self._changing(first)
        with self.loop(start, end, step) as at:
            self._change(found, write(at, *found))
        return found

    def while_loop(self, first, holds, write):
        found = self._changing(first)
        with self._block("while True:"):
            self.line(f"if not {holds(*found).value.text}: break")
            self._change(found, write(*found))
        return found

    @contextlib.contextmanager
    def when(self, condition):
        with self._block(f"if {condition.value.text}:"):
            yield

    def either(self, condition, then, otherwise):
        with self._block(f"if {condition.value.text}:"):
            found = self._changing(then())
        with self._block("else:"):
            self._change(found, otherwise())
        return found

    def replaced(self, condition, value, write):
        found = self._changing([value])
        with self.when(condition):
            self._change(found, [write()])
        return found[0]

    def interrupted(self, left, asked):
        return Condition(self._found("bool", "np.bool_(False)", lanes=0))

    def _width(self, x):
        return self._widths.get(x.text, 0)

    def _changing(self, values):
        """Names that begin with some values, and may become others."""
        return [self.local(x.dtype, x.text, lanes=self._width(x)) for x in values]

    def _change(self, targets, values):
        """Let names be other values, all at once."""
        for target, value in zip(targets, values, strict=True):
            assert (target.dtype, self._width(target)) == (value.dtype, self._width(value))
        if targets:
            self.line(f"{', '.join(x.text for x in targets)}, = {', '.join(x.text for x in values)},")

    # --- memory -----------------------------------------------------------------------------------------------------

    def variable(self, dtype, count=1):
        name = self._fresh("m")
        self.frame.append(f"{name} = Slots({dtype!r}, {self.lanes}, {count})")
        return Kept(self, dtype, name)

    def cell(self, dtype):
        name = self._fresh("m")
        self.frame.append(f"{name} = zero({dtype!r})")
        return Pointer(self, dtype, name)

    def shifted(self, pointer, offset):
        return self._pointer(pointer, f"{pointer.text}.moved({offset.value.text})")

    def nearer(self, condition, x, y):
        return self._pointer(x, f"{x.text} if {condition.value.text} else {y.text}")

    def held(self, pointer):
        return pointer

    def parts_at(self, pointer):
        name = self._found(pointer.dtype, f"{pointer.text}.parts()", lanes=0).text
        return Pointer(self, PARTS[pointer.dtype], name, pointer.form)

    def _pointer(self, like, expression):
        return Pointer(self, like.dtype, self._found(like.dtype, expression, lanes=0).text, like.form)

    def load(self, pointer):
        with self.of(0):
            found = self._loaded(pointer.dtype, f"{pointer.text}.load()")
        return in_all_lanes(found)

    def _loaded(self, dtype, expression):
        found = self.local(dtype, expression)
        if not is_complex(dtype):
            return found
        return Pair(*(self.local(PARTS[dtype], f"{found.text}.{part}") for part in ("real", "imag")))

    def load_row(self, pointer, block):
        return self._loaded(pointer.dtype, f"{pointer.text}.row({self.lanes}{self._inside(block)})")

    def load_apart(self, pointer, stride, block):
        there, step = pointer.moved(block.first * stride), stride.value.text
        return self._loaded(pointer.dtype, f"{there.text}.apart({step}, {self.lanes}{self._inside(block)})")

    def _inside(self, block):
        if block.mask is None:
            return ""
        return f", {self.operand(block.mask)}, {block.inside.value.text}"

    def gathered(self, pointer, offsets, *, one_by_one=False):
        return self._loaded(pointer.dtype, f"{pointer.text}.gathered({self.operand(offsets)})")

    def prefetch(self, pointer):
        pass  # it has no effect, wherever the place is

    def store(self, value, pointer):
        self.line(f"{self._target(value, pointer)}.store({self._to_memory(value, '[0]' if self.lanes else '')})")

    def store_row(self, value, pointer, block):
        self.line(f"{self._target(value, pointer)}.put({self._to_memory(value)}{self._inside(block)})")

    @staticmethod
    def _target(value, pointer):
        assert pointer.form != CONST
        assert numpy_dtype(value.dtype) == numpy_dtype(pointer.dtype)
        return pointer.text

    def _to_memory(self, value, more=""):
        if isinstance(value, Pair):
            return f"joined({', '.join(self.operand(x) + more for x in value)})"
        return self.operand(value) + more
