"""The entry of a compiled function, in machine code: it checks, makes the results, runs the program and nests them.

It is an entry as `tg_native.calls.entry` describes them, but written for one signature in LLVM's language, where
everything is known beforehand that a record would say. A program gets the arrays of a call as they are, and for a NumPy
scalar or a float something that has its data where an array has them.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.backend import LONGEST_GIVEN
from tg_native.calls import objects
from tg_native.calls.entry import Native, nesting_of
from tg_native.calls.objects import HEAD
from tg_native.graphs.failure import STATUS
from tg_native.kernels.index import Condition
from tg_native.kernels.lanes import Lanes
from tg_numba import cache, engine, results
from tg_numba.assembly import Module
from tg_numba.body import Body
from tg_numba.lengths import derived

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import Signature, TensorType
    from tg_native.calls.interface import Interface, Output, Step

DATA, RANK, LENGTHS, DTYPE, FLAGS = HEAD, HEAD + 8, HEAD + 16, HEAD + 40, HEAD + 48  # in an array, from its beginning
FALSE_ARRAY: Final = f"[{(HEAD + 8) // 8} x i64]"  # the beginning of one, as far as the data
USABLE: Final = 0x101  # contiguous in C order, and aligned
MOST: Final = 200  # arrays: the text grows with their number

CALLED: Final = """
@name = internal constant [5 x i8] c"call\\00"
@definition = internal global {{ ptr, ptr, i32, ptr }} {{ ptr @name, ptr @called, i32 130, ptr null }}
define ptr @called(ptr %self, ptr %given, i64 %count, ptr %names) {{
  %first = call ptr {PyTuple_GetItem}(ptr %self, i64 0)
  %words = call ptr {PyBytes_AsString}(ptr %first)
  %attempt = load ptr, ptr %words
  %at1 = getelementptr i64, ptr %words, i64 1
  %general = load ptr, ptr %at1
  %at2 = getelementptr i64, ptr %words, i64 2
  %arity = load i64, ptr %at2
  %fits = icmp eq i64 %count, %arity
  %plain = icmp eq ptr %names, null
  %usual = and i1 %fits, %plain
  br i1 %usual, label %quick, label %slow
quick:
  %found = call ptr %attempt(ptr %given)
  %none = icmp eq ptr %found, null
  br i1 %none, label %failed, label %done
failed:
  %error = call ptr {PyErr_Occurred}()
  %declined = icmp eq ptr %error, null
  br i1 %declined, label %slow, label %done
done:
  ret ptr %found
slow:
  %other = call ptr {PyObject_Vectorcall}(ptr %general, ptr %given, i64 %count, ptr %names)
  ret ptr %other
}}
define ptr @function(ptr %self) {{
  %made = call ptr {PyCFunction_NewEx}(ptr @definition, ptr %self, ptr null)
  ret ptr %made
}}
"""
"""A function of Python that is called with the record `self[0]`: what to attempt, what else to call, the arity.

What is attempted gives 0 where it declines, without an error, or where what builds the results has raised one.
"""


def _loads(count: int) -> str:
    """The instructions that or so many pieces of 64 bytes to what has been found."""
    return "\n".join(
        f"""  %a{n} = getelementptr i8, ptr %start, i64 %k
  %b{n} = getelementptr i8, ptr %a{n}, i64 {64 * n}
  %c{n} = load <64 x i8>, ptr %b{n}, align 1
  %q{n + 1} = or <64 x i8> %q{n}, %c{n}"""
        for n in range(count)
    )


LOADS: Final = 16  # of 64 bytes in a round: entries are compiled in a hurry, and keep what rounds hand on in memory

ARE_BOOLS: Final = f"""
declare i8 @llvm.vector.reduce.or.v64i8(<64 x i8>)
define internal i1 @tg.are_bools(ptr %start, i64 %size) {{
entry:
  %blocks = and i64 %size, -64
  %rounds = and i64 %size, -{64 * LOADS}
  %few = icmp ult i64 %size, 64
  br i1 %few, label %tail, label %heads
heads:
  %end = getelementptr i8, ptr %start, i64 %size
  %edge = getelementptr i8, ptr %end, i64 -64
  %p0 = load <64 x i8>, ptr %edge, align 1
  %short = icmp eq i64 %rounds, 0
  br i1 %short, label %singles, label %round
round:
  %k = phi i64 [0, %heads], [%next, %round]
  %q0 = phi <64 x i8> [%p0, %heads], [%q{LOADS}, %round]
{_loads(LOADS)}
  %next = add i64 %k, {64 * LOADS}
  %last = icmp eq i64 %next, %rounds
  br i1 %last, label %singles, label %round
singles:
  %s0 = phi <64 x i8> [%p0, %heads], [%q{LOADS}, %round]
  br label %single
single:
  %j = phi i64 [%rounds, %singles], [%after, %one]
  %s = phi <64 x i8> [%s0, %singles], [%s1, %one]
  %over = icmp eq i64 %j, %blocks
  br i1 %over, label %joined, label %one
one:
  %place = getelementptr i8, ptr %start, i64 %j
  %piece = load <64 x i8>, ptr %place, align 1
  %s1 = or <64 x i8> %s, %piece
  %after = add i64 %j, 64
  br label %single
joined:
  %lanes = call i8 @llvm.vector.reduce.or.v64i8(<64 x i8> %s)
  br label %done
tail:
  %i = phi i64 [0, %entry], [%i1, %byte]
  %rest = phi i8 [0, %entry], [%rest1, %byte]
  %none = icmp eq i64 %i, %size
  br i1 %none, label %done, label %byte
byte:
  %at = getelementptr i8, ptr %start, i64 %i
  %found = load i8, ptr %at
  %rest1 = or i8 %rest, %found
  %i1 = add i64 %i, 1
  br label %tail
done:
  %all = phi i8 [%lanes, %joined], [%rest, %tail]
  %fine = icmp ult i8 %all, 2
  ret i1 %fine
}}
"""
"""Whether bytes are 0 or 1, as code takes those of bools to be; the general way copies others."""

PROBE: Final = """
define i64 @probe(ptr %a0, ptr %a1, ptr %y0, ptr %y1) {{
  {copies}
  %code = load i64, ptr @"tg.code"
  ret i64 %code
}}
@"tg.code" = external global i64
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


class Shared(NamedTuple):
    """Things that a process has once: the maker of functions, and the address of the maker of arrays."""

    make_function: Callable[[tuple[object, ...]], Any]
    new_array: int


def make(interface: Interface, native: Native, signature: Signature) -> Callable[..., Any] | None:
    """A function that is called as the compiled one is; None where there can be no entry for it."""
    shared = opened()
    if shared is None or not interface.fits() or len(interface.dtypes) > MOST:
        return None
    return _by_attempt(shared, interface, native, signature)


def _by_attempt(shared: Shared, interface: Interface, native: Native, signature: Signature) -> Callable[..., Any]:
    attempt = _Attempt(shared, interface, native, signature)
    code = cache.assembled("entry", attempt.text(), ["attempt"], attempt.addresses)
    words = struct.pack("=3q", code.address("attempt"), id(signature.general), len(interface.inputs))
    references = (code, native.owner, signature.general, *interface.dtypes, *attempt.objects)
    return shared.make_function((words, *references))  # type: ignore[no-any-return]


@functools.cache
def opened() -> Shared | None:
    """Maker of functions, tried; None where objects, arrays or scalars are not as it expects them."""
    return objects.tried(_shared, _probe)


def _probe(shared: Shared, interface: Interface, signature: Signature, code: int) -> Any:
    copies = [line for k, size in enumerate((48, 4)) for line in _copy(k, size)]
    probe = cache.assembled("entry", PROBE.format(copies="\n  ".join(copies)), ["probe"], {"tg.code": code})
    return _by_attempt(shared, interface, Native(probe.address("probe"), 0, (), probe), signature)


def _shared() -> Shared:
    addresses = {"tg.handler": results.opened().handler}
    text = f"{results.ARRAYS}{CALLED}".format_map(_Functions(addresses))
    names = ("begin", "function", "new_array")
    code = cache.assembled("entry", "\n".join((text, *engine.declared(addresses))), names, addresses)
    begin, function, new_array = map(code.address, names)
    code.stay()
    ctypes.PYFUNCTYPE(None)(begin)()
    return Shared(ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(function), new_array)


def _copy(k: int, size: int) -> list[str]:
    lines = []
    for name in ("a", "y"):
        lines.append(f"%{name}{k}at = getelementptr i8, ptr %{name}{k}, i64 {DATA}")
        lines.append(f"%{name}{k}data = load ptr, ptr %{name}{k}at")
    lines.append(f"call void @llvm.memcpy.p0.p0.i64(ptr %y{k}data, ptr %a{k}data, i64 {size}, i1 false)")
    return lines


class _Functions(dict[str, str]):
    """The functions of Python and NumPy as operands; their addresses are noted."""

    def __init__(self, addresses: dict[str, int]) -> None:
        self._addresses = addresses

    def __missing__(self, name: str) -> str:
        self._addresses[f"tg.{name}"] = objects.bound()[name]
        return f'@"tg.{name}"'


@final
class _Attempt:
    """Writes the function of a signature: from the arguments of a call to its result, or to 0 where it declines."""

    def __init__(self, shared: Shared, interface: Interface, native: Native, signature: Signature) -> None:
        self.shared, self.interface, self.native = shared, interface, native
        self.steps = nesting_of(signature.structure, (list, tuple))
        self.objects = [thing for _, thing in self.steps if thing is not None]
        self.body = Body(Module())
        self.frame: list[str] = []
        self.exit = "decline"
        self.work = "0"
        self.heads: list[str] = []  # of the inputs
        self.lengths: list[str] = []
        self.made: list[str] = []  # places of what has been made so far
        self.addresses: dict[str, int] = {}  # of what the text has names for
        self._functions = _Functions(self.addresses)
        self._objects: dict[int, str] = {}  # by address

    def text(self) -> str:
        """The module."""
        for k in range(len(self.interface.inputs)):
            self._input(k)
        planned = self._planned() if self.interface.has_plan else []
        self.exit = "undo"
        outputs = [self._output(output, planned) for output in self.interface.outputs]
        self._run(self.native.run, [*self.heads, *outputs])
        self.body.do(f"ret ptr {self._nested(outputs)}")
        self._undo(len(self.made))
        frame = [*self.frame, *(f"store ptr null, ptr {place}" for place in self.made)]
        places = [f"{p} = getelementptr ptr, ptr %made, i64 {k}" for k, p in enumerate(self.made)]
        lines = [
            "define ptr @attempt(ptr %given) {",
            *(f"  {line}" for line in (f"%made = alloca [{len(self.made) + 1} x ptr]", *places, *frame)),
            *filter(None, self.body.lines),
            "decline:\n  ret ptr null\n}",
        ]
        return "\n".join((self.body.module.text(), *lines, *engine.declared(self.addresses))) + "\n"

    # --- instructions --------------------------------------------------------------------------------------------

    def _call(self, function: str, result: str, *arguments: tuple[str, str]) -> str:
        operands = ", ".join(f"{kind} {x}" for kind, x in arguments)
        text = f"call {result} {self._functions[function]}({operands})"
        if result != "void":
            return self.body.made(text)
        self.body.do(text)
        return ""

    def _object(self, address: int) -> str:
        """Something at a known address, as an operand."""
        name = self._objects.setdefault(address, f"tg.object{len(self._objects)}")
        self.addresses[name] = address
        return f'@"{name}"'

    def _need(self, condition: str) -> None:
        """Go on only if a condition holds."""
        label = self.body.fresh()[1:]
        self.body.do(f"br i1 {condition}, label %{label}, label %{self.exit}")
        self.body.open(label)

    def _test(self, comparison: str) -> str:
        return self.body.made(f"icmp {comparison}")

    def _condition(self, comparison: str) -> Condition:
        return Condition(Lanes(self.body, "bool", self._test(comparison)))

    def _local(self, kind: str) -> str:
        """Memory in the frame."""
        name = self.body.fresh()
        self.frame.append(f"{name} = alloca {kind}, align 8")
        return name

    def _load(self, kind: str, pointer: str, offset: int = 0) -> str:
        return self.body.made(f"load {kind}, ptr {self._at(pointer, offset)}")

    def _at(self, pointer: str, offset: int) -> str:
        return self.body.made(f"getelementptr i8, ptr {pointer}, i64 {offset}") if offset else pointer

    def _false_array(self, data: str) -> str:
        """Something that has its data where an array has them."""
        place = self._local(FALSE_ARRAY)
        self.body.do(f"store ptr {data}, ptr {self._at(place, DATA)}")
        return place

    # --- arguments -----------------------------------------------------------------------------------------------

    def _input(self, k: int) -> None:
        t = self.interface.inputs[k]
        operand = self._load("ptr", "%given", 8 * k)
        array = self._object(objects.bound()["ndarray"])
        is_array = self._test(f"eq ptr {self._load('ptr', operand, HEAD - 8)}, {array}")
        if t.ndim:
            self._need(is_array)
            self._array(operand, k)
            self.heads.append(operand)
            return
        slot, number = self._local("ptr"), self.body.fresh()[1:]
        self.body.do(f"br i1 {is_array}, label %array{number}, label %scalar{number}")
        self.body.open(f"array{number}")
        self._array(operand, k)
        self._store(slot, operand, f"done{number}")
        self.body.open(f"scalar{number}")
        self._scalar(operand, k)
        self._store(slot, self._false_array(self._at(operand, HEAD)), f"done{number}")
        self.body.open(f"done{number}")
        self.heads.append(self._load("ptr", slot))

    def _store(self, place: str, value: str, after: str) -> None:
        self.body.do(f"store ptr {value}, ptr {place}")
        self.body.do(f"br label %{after}")

    def _scalar(self, operand: str, k: int) -> None:
        """A NumPy scalar of the dtype, or a float as one."""
        dtype = self.interface.inputs[k].dtype
        kinds = [objects.scalar_type(dtype), objects.bound()["float"] if dtype == "float64" else 0]
        kind, is_one = self._load("ptr", operand, HEAD - 8), "false"
        for address in filter(None, kinds):
            is_one = self.body.made(f"or i1 {is_one}, {self._test(f'eq ptr {kind}, {self._object(address)}')}")
        self._need(is_one)

    def _array(self, operand: str, k: int) -> None:
        t = self.interface.inputs[k]
        wanted = self._object(id(t.numpy_dtype))
        dtype, number = self._load("ptr", operand, DTYPE), self.body.fresh()[1:]
        same = self._test(f"eq ptr {dtype}, {wanted}")
        self.body.do(f"br i1 {same}, label %same{number}, label %ask{number}")
        self.body.open(f"ask{number}")
        is_same = self._call("PyArray_EquivTypes", "i8", ("ptr", dtype), ("ptr", wanted))
        self.body.do(f"br i1 {self._test(f'ne i8 {is_same}, 0')}, label %same{number}, label %{self.exit}")
        self.body.open(f"same{number}")
        self._need(self._test(f"eq i32 {self._load('i32', operand, RANK)}, {t.ndim}"))
        flags = self.body.made(f"and i32 {self._load('i32', operand, FLAGS)}, {USABLE}")
        fits, size = self._test(f"eq i32 {flags}, {USABLE}"), "1"
        shape = self._load("ptr", operand, LENGTHS) if t.ndim else ""
        for axis, length in enumerate(t.static.shape):
            n = self._load("i64", shape, 8 * axis)
            right = self._test(f"ne i64 {n}, 1" if length is None else f"eq i64 {n}, {length}")
            if length is None:
                right = self.body.made(f"and i1 {right}, {self._test(f'ule i64 {n}, {LONGEST_GIVEN}')}")
            fits = self.body.made(f"and i1 {fits}, {right}")
            size = self.body.product(size, n)
            self.lengths.append(n)
        self._need(fits)
        if t.dtype == "bool":
            self.body.module.define("tg.are_bools", ARE_BOOLS)
            start = self._load("ptr", operand, HEAD)
            self._need(self.body.made(f"call i1 @tg.are_bools(ptr {start}, i64 {size})"))
        if t.ndim:
            self.work = self.body.made(f"add i64 {self.work}, {size}")

    # --- results -------------------------------------------------------------------------------------------------

    def _output(self, output: Output, planned: Sequence[str]) -> str:
        t = output.type
        shape, size = self._local(f"[{t.ndim + 1} x i64]"), "1"
        for axis, steps in enumerate(output.shape):
            n = self._length(steps, planned)
            size = self.body.product(size, n)
            self.body.do(f"store i64 {n}, ptr {self._at(shape, 8 * axis)}")
        self.work = self.body.made(f"add i64 {self.work}, {size}")
        return self._kept(self._new(t, shape, size))

    def _new(self, t: TensorType, shape: str, size: str) -> str:
        """An array, which takes the reference to its dtype that there is from here on."""
        dtype, rank, lengths = ("ptr", self._object(id(t.numpy_dtype))), ("i32", str(t.ndim)), ("ptr", shape)
        self._call("Py_IncRef", "void", dtype)

        def usual() -> list[tuple[str, str]]:
            kind, none = ("ptr", self._object(objects.bound()["ndarray"])), ("ptr", "null")
            arguments = (kind, dtype, rank, lengths, none, none, ("i32", "0"), none)
            return [("ptr", self._call("PyArray_NewFromDescr", "ptr", *arguments))]

        def large() -> list[tuple[str, str]]:
            arguments = ", ".join(f"{kind} {x}" for kind, x in (dtype, rank, lengths))
            return [("ptr", self.body.made(f"call ptr {self._object(self.shared.new_array)}({arguments})"))]

        if not t.ndim:
            return usual()[0][1]
        return self.body.branched(self._test(f"sge i64 {size}, {results.LARGE}"), large, usual)[0]

    def _kept(self, thing: str) -> str:
        """A new object, dropped if the call is declined after all."""
        self.made.append(f"%made{len(self.made)}")
        self.body.do(f"store ptr {thing}, ptr {self.made[-1]}")
        self._need(self._test(f"ne ptr {thing}, null"))
        return thing

    def _length(self, steps: Sequence[Step], planned: Sequence[str]) -> str:
        """The value of a length in postfix; the call is declined where there is none."""
        stack: list[str] = []
        for what, operand in steps:
            if what in ("constant", "length", "planned"):
                values = {"length": self.lengths, "planned": planned}
                stack.append(str(operand) if what == "constant" else values[what][operand])
                continue
            b, a = stack.pop(), stack.pop()
            stack.append(self._combined(what, a, b))
        if len(steps) > 1 or steps[0].what != "length":
            self._need(self._test(f"sge i64 {stack[0]}, 0"))
        return stack[0]

    def _combined(self, what: str, a: str, b: str) -> str:
        pair = f"(i64 {a}, i64 {b})"
        if what in ("+", "*"):
            name = {"+": "llvm.sadd.with.overflow.i64", "*": "llvm.smul.with.overflow.i64"}[what]
            self.body.module.declare(name, "{i64, i1}", ("i64", "i64"))
            both = self.body.made(f"call {{i64, i1}} @{name}{pair}")
            overflows = self.body.made(f"extractvalue {{i64, i1}} {both}, 1")
            self._need(self._test(f"eq i1 {overflows}, false"))
            return self.body.made(f"extractvalue {{i64, i1}} {both}, 0")
        if what != "broadcast":
            return derived(self.body, what, a, b)
        is_one = self._test(f"eq i64 {a}, 1")
        alike = self.body.made(f"or i1 {self._test(f'eq i64 {a}, {b}')}, {self._test(f'eq i64 {b}, 1')}")
        self._need(self.body.made(f"or i1 {is_one}, {alike}"))
        return self.body.made(f"select i1 {is_one}, i64 {b}, i64 {a}")

    def _nested(self, outputs: Sequence[str]) -> str:
        """The result: all lists and tuples are made before one is filled, so that there is nothing to take back."""
        makers = {"list": ("PyList_New", "PyList_SetItem"), "tuple": ("PyTuple_New", "PyTuple_SetItem")}
        new = [
            self._kept(self._call(makers[s.what][0], "ptr", ("i64", str(s.operand))))
            for s, _ in self.steps
            if s.what in makers
        ]
        leaves, containers, stack = iter(outputs), iter(new), list[str]()
        for step, thing in self.steps:
            if step.what == "leaf":
                stack.append(next(leaves))
            elif step.what == "call":
                stack.append(self._built(thing, stack.pop()))
            else:
                parts = stack[len(stack) - step.operand :]
                del stack[len(stack) - step.operand :]
                stack.append(next(containers))
                for k, part in enumerate(parts):
                    self._call(makers[step.what][1], "i32", ("ptr", stack[-1]), ("i64", str(k)), ("ptr", part))
        return stack[0]

    def _built(self, function: object, leaves: str) -> str:
        """Value that Python builds of the list of all leaves."""
        self.body.do(f"store ptr {leaves}, ptr %made")
        arguments = (("ptr", self._object(id(function))), ("ptr", "%made"), ("i64", "1"), ("ptr", "null"))
        result = self._call("PyObject_Vectorcall", "ptr", *arguments)
        self._call("Py_DecRef", "void", ("ptr", leaves))
        return result

    def _undo(self, count: int) -> None:
        """Drop what has been made, and forget what has been raised: the call goes the general way."""
        self.body.open("undo")
        with self.body.loop(0, count) as k:
            thing = self._load("ptr", self.body.made(f"getelementptr ptr, ptr %made, i64 {k.value.text}"))
            with self.body.when(self._condition(f"ne ptr {thing}, null")):
                self._call("Py_DecRef", "void", ("ptr", thing))
        self._call("PyErr_Clear", "void")
        self.body.do("br label %decline")

    # --- running -------------------------------------------------------------------------------------------------

    def _planned(self) -> list[str]:
        """The lengths of all outputs, as the plan finds them."""
        count = self.interface.planned
        place = self._local(f"[{count} x i64]")
        self._run(self.native.plan, [*self.heads, self._false_array(place)])
        return [self._load("i64", place, 8 * k) for k in range(count)]

    def _run(self, address: int, heads: Sequence[str]) -> None:
        """Call one of the program's functions, without the GIL if that may take long; go on if nothing failed."""
        state = self._local("ptr")
        if self.interface.has_checks:
            heads = [*heads, self._false_array(self._local(f"[{STATUS} x i64]"))]
        self.body.do(f"store ptr null, ptr {state}")
        with self.body.when(self._condition(f"sgt i64 {self.work}, {self.interface.patience}")):
            self.body.do(f"store ptr {self._call('PyEval_SaveThread', 'ptr')}, ptr {state}")
        arguments = ", ".join(f"ptr {x}" for x in heads)
        code = self.body.made(f"call i64 {self._object(address)}({arguments})")
        released = self._load("ptr", state)
        with self.body.when(self._condition(f"ne ptr {released}, null")):
            self._call("PyEval_RestoreThread", "void", ("ptr", released))
        self._need(self._test(f"eq i64 {code}, 0"))
