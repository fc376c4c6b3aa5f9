"""The printer of kernels in LLVM's language: what each of their operations is there.

Mathematics that `tg_native` does not write out is libmvec's where glibc has it: at most 4 units in the last place,
infinities, NaN and signed zeros as in libm. Other functions are called through one function of the module that takes
the lanes apart.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, cast, final

import llvmlite.binding as llvm

from tg.backend import is_float
from tg_native.calls.libmvec import symbol_of
from tg_native.kernels import body as kernels
from tg_native.kernels.dtypes import WORDS, is_signed, is_wide_float, item_size
from tg_native.kernels.lanes import Lanes, parameter_names
from tg_numba.assembly import ITEMS, Module, constant_text
from tg_numba.moves import Moves
from tg_numba.processor import features, has_halves, has_libmvec, has_pairs, has_summed_pairs, has_tables, vector_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_native.kernels.lanes import Elements

PURE: Final = "nounwind willreturn memory(none)"
DOUBLES: Final = "{double, double}"
AS_THE_MODE_SAYS: Final = 4  # how an instruction rounds
OPCODES: Final = {  # of floats, signed and unsigned numbers
    "add": ("fadd", "add", "add"),
    "subtract": ("fsub", "sub", "sub"),
    "multiply": ("fmul", "mul", "mul"),
    "divide": ("fdiv", "", ""),
    "quotient": ("", "sdiv", "udiv"),
    "remainder": ("", "srem", "urem"),
    "and": ("", "and", "and"),
    "or": ("", "or", "or"),
    "xor": ("", "xor", "xor"),
    "left": ("", "shl", "shl"),
    "right": ("", "ashr", "lshr"),
    "<": ("fcmp olt", "icmp slt", "icmp ult"),
    "<=": ("fcmp ole", "icmp sle", "icmp ule"),
    ">": ("fcmp ogt", "icmp sgt", "icmp ugt"),
    ">=": ("fcmp oge", "icmp sge", "icmp uge"),
    "==": ("fcmp oeq", "icmp eq", "icmp eq"),
    "!=": ("fcmp une", "icmp ne", "icmp ne"),
}
PAIRED: Final = {16: "llvm.x86.sse2.pmadd.wd", 32: "llvm.x86.avx2.pmadd.wd", 64: "llvm.x86.avx512.pmaddw.d.512"}
INTRINSICS: Final = frozenset(("fma", "copysign", "fabs", "sqrt", "floor", "ceil", "trunc", "rint"))
POWER: Final = """\
define internal i64 @tg.power(i64 %x, i64 %y) noinline nounwind {
entry:
  br label %head
head:
  %p = phi i64 [1, %entry], [%product, %body]
  %factor = phi i64 [%x, %entry], [%squared, %body]
  %left = phi i64 [%y, %entry], [%rest, %body]
  %go = icmp ne i64 %left, 0
  br i1 %go, label %body, label %done
body:
  %last = and i64 %left, 1
  %odd = icmp ne i64 %last, 0
  %more = mul i64 %p, %factor
  %product = select i1 %odd, i64 %more, i64 %p
  %squared = mul i64 %factor, %factor
  %rest = lshr i64 %left, 1
  br label %head
done:
  ret i64 %p
}"""


@final
class Body(Moves):
    """The inside of a function of `module`, which computes `lanes` elements at a time; 0 stands for single ones."""

    backend = "numba"
    single_by_kernels = True

    def __init__(self, module: Module, lanes: int = 0) -> None:
        super().__init__(module, lanes)
        self.machine = kernels.Machine(vector_bytes(), "fma" in features())

    def number(self, value: Any, dtype: str) -> Lanes:
        return Lanes(self, dtype, self.all(constant_text(value, dtype), ITEMS[dtype]))

    def write(self, word: str, operands: Sequence[Lanes], dtype: str, attribute: Any) -> Lanes:
        x = operands[0]
        if word in OPCODES:
            floating, signed, unsigned = OPCODES[word]
            name = floating if is_wide_float(x.dtype) else signed if is_signed(x.dtype) else unsigned
            return self._value(dtype, f"{name} {x.kind} {x.text}, {operands[1].text}")
        if word in INTRINSICS:
            symbol = f"llvm.{word}.{self.short(ITEMS[dtype])}"
            return Lanes(self, dtype, self.called(symbol, x.kind, [v.operand for v in operands]))
        if word == "negative":
            if is_wide_float(dtype):
                return self._value(dtype, f"fneg {x.kind} {x.text}")
            return self.write("subtract", (x.like(0), x), dtype, None)
        if word == "not":
            return self.write("xor", (x, x.like(True if dtype == "bool" else -1)), dtype, None)
        if word == "select":
            _, a, b = operands
            return self._value(dtype, f"select {x.kind} {x.text}, {a.kind} {a.text}, {b.kind} {b.text}")
        if word == "lookup":
            return self._looked_up(attribute, x, dtype)
        if word == "scaled":
            return self._scaled(x, operands[1])
        if word == "paired":
            return self.in_vectors(_paired, vector_bytes() // item_size(dtype), *operands)
        if word == "widened":
            half = self.find(f"bitcast {x.kind} {x.text} to {self.type('half')}")
            return self._value(dtype, f"fpext {self.type('half')} {half} to {self.kind(dtype)}")
        if word == "narrowed":
            half = self.find(f"fptrunc {x.kind} {x.text} to {self.type('half')}")
            return self._value(dtype, f"bitcast {self.type('half')} {half} to {self.kind(dtype)}")
        return self._converted(word, x, dtype)

    def _value(self, dtype: str, expression: str) -> Lanes:
        return Lanes(self, dtype, self.find(expression))

    # --- other dtypes --------------------------------------------------------------------------------------------

    def _converted(self, word: str, x: Lanes, dtype: str) -> Lanes:
        if word == "saturate":
            change = "fptosi" if is_signed(dtype) else "fptoui"
            name = f"llvm.{change}.sat.{self.short(ITEMS[dtype])}.{self.short(ITEMS[x.dtype])}"
            return Lanes(self, dtype, self.called(name, self.kind(dtype), [x.operand]))
        if word == "truncate":
            return self._changed("fptosi", x, dtype)
        if word == "view":
            differ = is_wide_float(x.dtype) != is_wide_float(dtype)
            return self._changed("bitcast", x, dtype) if differ else Lanes(self, dtype, x.text)
        if is_float(dtype):
            if is_float(x.dtype):
                return self._changed("fpext" if dtype == "float64" else "fptrunc", x, dtype)
            return self._changed("sitofp" if is_signed(x.dtype) else "uitofp", x, dtype)
        size, wanted = (0 if d == "bool" else item_size(d) for d in (x.dtype, dtype))
        if size == wanted:
            return Lanes(self, dtype, x.text)
        widens = "sext" if is_signed(x.dtype) else "zext"
        return self._changed("trunc" if wanted < size else widens, x, dtype)

    def _changed(self, change: str, x: Lanes, dtype: str) -> Lanes:
        return self._value(dtype, f"{change} {x.kind} {x.text} to {self.kind(dtype)}")

    # --- lanes and blocks ----------------------------------------------------------------------------------------

    def splat(self, value: Lanes) -> Lanes:
        return Lanes(self, value.dtype, self.repeated(ITEMS[value.dtype], value.text))

    def lane(self, value: Lanes, lane: int) -> Lanes:
        return self._value(value.dtype, f"extractelement {value.kind} {value.text}, i64 {lane}")

    def in_vectors(self, function: Callable[..., Lanes], width: int, *operands: Lanes) -> Lanes:
        lanes = self.lanes
        if not lanes:
            with self.of(width):
                result = function(*map(self.splat, operands))
                return self.lane(result, 0)
        split = [self._pieces(x, width) for x in operands]
        with self.of(width):
            pieces = [function(*parts) for parts in zip(*split, strict=True)]
        return self._joined(pieces, width, lanes)

    def _pieces(self, x: Lanes, width: int) -> list[Lanes]:
        """The lanes in vectors of another width; lanes are repeated where there are too few."""
        lanes = self.lanes
        if width == lanes:
            return [x]
        texts = [self._shuffled(x.kind, x.text, x.text, range(k, k + width), lanes) for k in range(0, lanes, width)]
        return [Lanes(self, x.dtype, text) for text in texts]

    def _shuffled(self, kind: str, a: str, b: str, places: Sequence[int], count: int) -> str:
        indices = ", ".join(f"i32 {k % count}" for k in places)
        return self.find(f"shufflevector {kind} {a}, {kind} {b}, <{len(places)} x i32> <{indices}>")

    def _joined(self, vectors: Sequence[Lanes], width: int, lanes: int) -> Lanes:
        """Vectors one behind the other, or the first lanes of one."""
        dtype, texts = vectors[0].dtype, [x.text for x in vectors]
        if width > lanes:
            kind = f"<{width} x {ITEMS[dtype]}>"
            return Lanes(self, dtype, self._shuffled(kind, texts[0], texts[0], range(lanes), width))
        while len(texts) > 1:
            kind = f"<{width} x {ITEMS[dtype]}>"
            pairs = zip(texts[::2], texts[1::2], strict=True)
            texts = [self._shuffled(kind, a, b, range(2 * width), 2 * width) for a, b in pairs]
            width *= 2
        return Lanes(self, dtype, texts[0])

    def another(self) -> Body:
        return Body(self.module, self.lanes)

    # --- functions -----------------------------------------------------------------------------------------------

    def looks_up(self, dtype: str) -> bool:
        return has_tables()

    def has_form(self, word: str, dtype: str) -> bool:
        if word in ("widened", "narrowed"):
            return dtype == "float16" and has_halves() and self.lanes > 1
        if word == "paired":
            return self.lanes > 1 and has_pairs()
        return word == "scaled" and has_tables() and self.lanes * item_size(dtype) == vector_bytes()

    def _looked_up(self, table: Sequence[float], bits: Lanes, dtype: str) -> Lanes:
        kind, texts = self.kind(dtype), [f"{ITEMS[dtype]} {constant_text(x, dtype)}" for x in table]
        parts = [f"<{', '.join(texts[k : k + self.lanes])}>" for k in range(0, len(table), self.lanes)]
        if len(parts) == 1:
            arguments = [(kind, parts[0]), bits.operand]
            return Lanes(self, dtype, self.called("llvm.x86.avx512.permvar.sf.512", kind, arguments))
        arguments = [(kind, parts[0]), bits.operand, (kind, parts[1])]
        return Lanes(self, dtype, self.called("llvm.x86.avx512.vpermi2var.pd.512", kind, arguments))

    def _scaled(self, x: Lanes, n: Lanes) -> Lanes:
        short, mask = ("ps", "i16") if x.dtype == "float32" else ("pd", "i8")
        arguments = [x.operand, n.operand, (x.kind, "zeroinitializer"), (mask, "-1"), ("i32", str(AS_THE_MODE_SAYS))]
        return Lanes(self, x.dtype, self.called(f"llvm.x86.avx512.mask.scalef.{short}.512", x.kind, arguments))

    def uses(self, name: str, dtype: str) -> int:
        return self.module.used(name, max(1, self.lanes * item_size(dtype) // vector_bytes()))

    def shared(
        self,
        name: str,
        write: Callable[..., Lanes],
        operands: Sequence[Lanes],
        *,
        inline: bool,
        together: bool = False,
    ) -> Lanes:
        if inline:
            return write(*operands)
        x = operands[0]
        symbol = f"tg.{name}.{WORDS[x.dtype]}.{self.lanes}"
        if symbol not in self.module.defined:
            self.module.define(symbol, _definition(symbol, write, operands))
        return Lanes(self, x.dtype, self.called(symbol, x.kind, [v.operand for v in operands]))

    def vector_library(self, name: str, operands: Sequence[Lanes]) -> Lanes | None:
        """As `kernels.Body`: by the function of full vectors, whatever lanes there are, for others have other bits."""
        dtype = operands[0].dtype
        symbol = library_symbol(name, dtype, len(operands))
        if symbol is None:
            return None
        return self.in_vectors(functools.partial(_pure, symbol), vector_bytes() // item_size(dtype), *operands)

    def one_by_one(self, name: str, operands: Sequence[Lanes]) -> Lanes:
        x = operands[0]
        symbol = name + ("f" if x.dtype == "float32" else "")
        if not self.lanes:
            return _pure(symbol, *operands)
        return self._each_lane(symbol, operands)

    def _each_lane(self, symbol: str, operands: Sequence[Lanes]) -> Lanes:
        x, item = operands[0], ITEMS[operands[0].dtype]
        if not symbol.startswith("tg."):
            self.module.declare(symbol, item, [item] * len(operands), PURE)
        name = f"tg.lanes.{self.lanes}.{symbol}"
        self.module.define(name, lane_by_lane(name, symbol, self.lanes, [item] * len(operands), item))
        return Lanes(self, x.dtype, self.called(name, x.kind, [v.operand for v in operands]))

    def redone(self, name: str, condition: Lanes, value: Lanes, operands: Sequence[Lanes]) -> Lanes:
        other = self.one_by_one(name, operands)
        return self.write("select", (condition, other, value), value.dtype, None)

    def power(self, base: Lanes, exponent: Lanes) -> Lanes:
        self.module.define("tg.power", POWER)
        operands = (base, exponent)
        return self._each_lane("tg.power", operands) if self.lanes else _pure("tg.power", *operands)

    def one_complex(self, name: str, operands: Sequence[Lanes]) -> tuple[Lanes, Lanes]:
        arguments = [part.operand for part in operands]
        if self.lanes:
            symbol = f"tg.lanes.{self.lanes}.{name}"
            self.module.declare(name, DOUBLES, ["double"] * len(arguments), PURE)
            self.module.define(
                symbol, lane_by_lane(symbol, name, self.lanes, ["double"] * len(arguments), "double", "double")
            )
            kind = self.type("double")
            whole = f"{{{kind}, {kind}}}"
        else:
            symbol, whole = name, DOUBLES
        result = self.called(symbol, whole, arguments, PURE)
        real, imag = (self._value("float64", f"extractvalue {whole} {result}, {k}") for k in (0, 1))
        return real, imag


def body_of(x: Elements) -> Body:
    """The body that values are in, as this package's."""
    return cast("Body", x.body)


@functools.cache
def library_symbol(name: str, dtype: str, arity: int) -> str | None:
    """The function of full vectors for a function of libm, None if the library has none."""
    if not has_libmvec():
        return None
    symbol = symbol_of(name, dtype, arity, vector_bytes() // item_size(dtype))
    return symbol if symbol and llvm.address_of_symbol(symbol) else None


def _pure(symbol: str, *operands: Lanes) -> Lanes:
    """A function of as many lanes as the body has."""
    x = operands[0]
    return Lanes(x.body, x.dtype, body_of(x).called(symbol, x.kind, [v.operand for v in operands], PURE))


def _paired(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """Both products of pairs and others, by one instruction or two."""
    body, bits = body_of(x), 8 * vector_bytes()
    if has_summed_pairs():
        return Lanes(
            body, z.dtype, body.called(f"llvm.x86.avx512.vpdpwssd.{bits}", z.kind, [v.operand for v in (z, x, y)])
        )
    kind = f"<{2 * body.lanes} x i16>"
    pairs = [(kind, body.find(f"bitcast {v.kind} {v.text} to {kind}")) for v in (x, y)]
    both = Lanes(body, z.dtype, body.called(PAIRED[vector_bytes()], z.kind, pairs))
    return both + z


def _definition(symbol: str, write: Callable[..., Lanes], operands: Sequence[Lanes]) -> str:
    x = operands[0]
    body = Body(body_of(x).module, x.body.lanes)
    names = parameter_names(len(operands))
    arguments = [Lanes(body, v.dtype, f"%{name}") for v, name in zip(operands, names, strict=True)]
    result = write(*arguments)
    body.do(f"ret {x.kind} {result.text}")
    parameters = ", ".join(f"{v.kind} {v.text}" for v in arguments)
    return f"define internal {x.kind} @{symbol}({parameters}) noinline nounwind {{\n{body.text()}\n}}"


def lane_by_lane(name: str, symbol: str, lanes: int, items: Sequence[str], *results: str) -> str:
    """A function of vectors that calls another for each lane, of elements of these types; several results are one."""
    kinds, wholes = ([f"<{lanes} x {item}>" for item in words] for words in (items, results))
    whole, single = (f"{{{', '.join(words)}}}" if len(words) > 1 else words[0] for words in (wholes, results))
    heads = ", ".join(f"{kind} %x{k}" for k, kind in enumerate(kinds))
    lines = [f"define internal {whole} @{name}({heads}) noinline nounwind {{"]
    vectors = ["poison"] * len(results)
    for lane in range(lanes):
        lines += [f"  %e{lane}.{k} = extractelement {kind} %x{k}, i64 {lane}" for k, kind in enumerate(kinds)]
        words = ", ".join(f"{item} %e{lane}.{k}" for k, item in enumerate(items))
        lines.append(f"  %f{lane} = call {single} @{symbol}({words})")
        for k, item in enumerate(results):
            part = f"%f{lane}"
            if len(results) > 1:
                lines.append(f"  %p{lane}.{k} = extractvalue {single} {part}, {k}")
                part = f"%p{lane}.{k}"
            lines.append(f"  %r{lane}.{k} = insertelement {wholes[k]} {vectors[k]}, {item} {part}, i64 {lane}")
            vectors[k] = f"%r{lane}.{k}"
    last = vectors[0] if len(results) == 1 else "poison"
    for k, part in enumerate(vectors if len(results) > 1 else ()):
        lines.append(f"  %w{k} = insertvalue {whole} {last}, {wholes[k]} {part}, {k}")
        last = f"%w{k}"
    return "\n".join((*lines, f"  ret {whole} {last}", "}"))
