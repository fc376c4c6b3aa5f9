"""The printer of kernels in C: what each of their operations is there, for lanes in GNU vectors and for one element.

A bool is a byte that is 0 or 1 for one element, and a mask in a lane, whose width `Lanes.form` tells; a number that all
lanes share has the form `SHARED`, since C takes one beside a vector.
"""

from __future__ import annotations

import contextlib
import zlib
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from tg.backend import is_float, numpy_dtype
from tg_c import saturation
from tg_c.libm import ARITIES
from tg_c.text import integer, literal
from tg_c.vectors import size_of
from tg_native.kernels import body as kernels
from tg_native.kernels.dtypes import WORDS, is_half, is_signed, item_size
from tg_native.kernels.lanes import Lanes, parameter_names
from tg_native.kernels.libm import libm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg_c.prelude import Prelude
    from tg_c.vectors import Vectors

SHARED: Final = "shared"
SIGNS: Final = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "quotient": "/",
    "remainder": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "left": "<<",
    "right": ">>",
    **{sign: sign for sign in ("<", "<=", ">", ">=", "==", "!=")},
}
OF_MASKS: Final = {
    "and": "{} & {}",
    "or": "{} | {}",
    "xor": "{} ^ {}",
    "==": "~({} ^ {})",
    "!=": "{} ^ {}",
    "<": "~{} & {}",
    "<=": "~{} | {}",
    ">": "{} & ~{}",
    ">=": "{} | ~{}",
}
NAMED: Final = frozenset(("fabs", "copysign", "sqrt", "floor", "ceil", "trunc", "rint"))
HALVED: Final = ("widened", "narrowed")
EXTREMES: Final = {"larger": "most", "smaller": "least"}  # of integers
POWER: Final = """\
static @T @NAME(@T x, @T y) {
  @T p = 1;
  for (u64 left = (u64)y; left; left >>= 1, x *= x)
    if (left & 1) p *= x;
  return p;
}"""
# Of x y - z and x y + z that go to neighbours in memory, as the parts of a complex number do, the vectoriser of gcc 12
# makes one instruction that does not round the products, whatever -ffp-contract says. It does not see through this.
APART: Final = """\
#ifdef __aarch64__
#define TG_REGISTER "w"
#else
#define TG_REGISTER "x"
#endif
static inline f32 tg_apart_f32(f32 x) { __asm__("" : "+" TG_REGISTER(x)); return x; }
static inline f64 tg_apart_f64(f64 x) { __asm__("" : "+" TG_REGISTER(x)); return x; }"""


class Body(kernels.Body):
    """The inside of a C function, which computes as many elements at a time as vectors have lanes."""

    backend = "c"
    letter: ClassVar[str] = "v"  # of locals

    def __init__(self, prelude: Prelude, lanes: int = 0, size: int = 8) -> None:
        """A body for `prelude`; `size` is the bytes of the widest elements beside which masks stand."""
        self.prelude, self.lanes, self.size = prelude, lanes, size
        self.machine = prelude.machine
        self.exact = prelude.symbol is None
        self.lines: list[str] = []
        self.widest = 0  # bytes of an element
        self._known: list[dict[str, Lanes]] = [{}]
        self._count = 0

    def another(self) -> Body:
        """A body for a function of the same prelude, of as many lanes."""
        return Body(self.prelude, self.lanes, self.size)

    def text(self) -> list[str]:
        """The statements, indented."""
        return self.lines

    @property
    def abreast(self) -> int:
        """Number of vectors that have all lanes."""
        return 1

    @property
    def vectors(self) -> Vectors:
        """The vectors of as many lanes."""
        return self.prelude.vectors(self.lanes, self.size)

    def item(self, dtype: str) -> str:
        """The C type of an element in a lane; a half is its bits, a bool has a width of its own."""
        return "u16" if is_half(dtype) and self.lanes else WORDS[dtype]

    def kind(self, dtype: str) -> str:
        return self.vectors.type(self.item(dtype)) if self.lanes else WORDS[dtype]

    def number(self, value: Any, dtype: str) -> Lanes:
        if dtype == "int64":
            return Lanes(self, dtype, integer(int(value)), SHARED)
        if self.lanes and is_half(dtype):
            return Lanes(self, dtype, str(int(np.asarray(value, numpy_dtype(dtype)).view(np.uint16))), SHARED)
        if dtype == "float64":
            value = float(value)
        elif is_float(dtype) and not is_half(dtype):
            with np.errstate(all="ignore"):
                value = numpy_dtype(dtype).type(value)
        return Lanes(self, dtype, literal(value, dtype), SHARED)

    # --- values --------------------------------------------------------------------------------------------------

    def find(self, dtype: str, expression: str, form: str = "") -> Lanes:
        """The value of an expression: a local of the block, unless one has been made of the same text."""
        if dtype != "bool":
            self.widest = max(self.widest, item_size(dtype))
        for block in reversed(self._known):
            earlier = block.get(expression)
            if earlier is not None and earlier.dtype == dtype:
                return earlier
        kind = self.vectors.type(form) if form else self.kind(dtype)
        value = self._known[-1][expression] = Lanes(self, dtype, self.local(f"const {kind}", expression), form)
        return value

    def local(self, kind: str, expression: str) -> str:
        """A new local, with its value."""
        name = f"{self.letter}{self._count}"
        self._count += 1
        self.line(f"{kind} {name} = {expression};")
        return name

    def _new_names(self, count: int = 1) -> tuple[str, ...]:
        names = tuple(f"{self.letter}{self._count + k}" for k in range(count))
        self._count += count
        return names

    def line(self, text: str) -> None:
        """Add a statement."""
        self.lines.append("  " * len(self._known) + text)

    def vector(self, x: Lanes) -> str:
        """A value that is no bool, in all lanes."""
        if x.form != SHARED or not self.lanes:
            return str(x.text)
        return f"{self.vectors.function('all', self.item(x.dtype))}({x.text})"

    def mask(self, x: Lanes, kind: str) -> str:
        """A condition as a mask of a width."""
        if x.form == SHARED:
            return f"{self.vectors.function('all', kind)}(-{x.text})"
        return self.vectors.resized(x.text, x.form, kind)

    def _width(self, *conditions: Lanes) -> str:
        """The widest of the masks that some conditions are."""
        forms = [c.form for c in conditions if c.form != SHARED]
        return max(forms, key=size_of, default=f"i{8 * self.size}")

    # --- operations ----------------------------------------------------------------------------------------------

    def write(self, word: str, operands: Sequence[Lanes], dtype: str, attribute: Any) -> Lanes:
        if not self.lanes:
            return self.find(dtype, self._of_one(word, operands, dtype))
        x = operands[0]
        if word in SIGNS:
            return self._binary(word, x, operands[1], dtype)
        if word == "select":
            return self._selected(*operands)
        if word == "not":
            if dtype == "bool":
                form = self._width(x)
                return self.find(dtype, f"~{self.mask(x, form)}", form)
            return self.find(dtype, f"~{self.vector(x)}")
        return self.find(dtype, self._of_lanes(word, operands, dtype, attribute))

    def _binary(self, word: str, x: Lanes, y: Lanes, dtype: str) -> Lanes:
        if x.dtype == "bool":
            form = self._width(x, y)
            return self.find(dtype, OF_MASKS[word].format(self.mask(x, form), self.mask(y, form)), form)
        form = self.vectors.mask(self.item(x.dtype)) if dtype == "bool" else ""
        beside = self._beside(x) if y.form != SHARED else self.vector(x)
        return self.find(dtype, f"{beside} {SIGNS[word]} {self._beside(y)}", form)

    def _beside(self, x: Lanes) -> str:
        """An operand beside a vector, which may be a number."""
        return x.text if x.form == SHARED and _is_plain(x) else self.vector(x)

    def _selected(self, condition: Lanes, x: Lanes, y: Lanes) -> Lanes:
        if x.dtype == "bool":
            form = self._width(condition, x, y)
            c, a, b = (self.mask(v, form) for v in (condition, x, y))
            return self.find("bool", f"({c} & {a}) | (~{c} & {b})", form)
        item = self.item(x.dtype)
        c = self.mask(condition, self.vectors.mask(item))
        return self.find(x.dtype, f"{self.vectors.function('select', item)}({c}, {self.vector(x)}, {self.vector(y)})")

    def _of_lanes(self, word: str, operands: Sequence[Lanes], dtype: str, attribute: Any) -> str:
        vectors, x = self.vectors, operands[0]
        if word == "convert" and x.dtype == "bool":
            item = self.item(dtype)
            return f"{vectors.function('number', item)}({self.mask(x, vectors.mask(item))})"
        texts = [self.vector(v) for v in operands]
        item, source = self.item(dtype), self.item(x.dtype)
        if word == "negative":
            return f"-{texts[0]}"
        if word in ("convert", "truncate"):
            return vectors.converted(texts[0], source, item)
        if word == "saturate":
            return f"{saturation.of_lanes(vectors, x.dtype, dtype)}({texts[0]})"
        if word == "view":
            return texts[0] if source == item else f"({vectors.type(item)}){texts[0]}"
        if word == "lookup":
            table = vectors.table(f"tg_table_{zlib.crc32(repr(attribute).encode()):08x}", attribute, item)
            return f"{vectors.function('looked_up', item)}({table}, {texts[0]})"
        if word in EXTREMES and not is_float(dtype):
            word = EXTREMES[word]
        if word in HALVED:
            item = "u16"
        name = vectors.rounded(word, item) if word in NAMED else vectors.function(word, item)
        return f"{name}({', '.join(texts)})"

    def _of_one(self, word: str, operands: Sequence[Lanes], dtype: str) -> str:
        texts, x = [str(v.text) for v in operands], operands[0]
        if word == "left" and is_signed(dtype):
            return f"({WORDS[dtype]})((u{8 * item_size(dtype)}){texts[0]} << {texts[1]})"
        if word in SIGNS:
            return f"{texts[0]} {SIGNS[word]} {texts[1]}"
        if word == "select":
            return f"{texts[0]} ? {texts[1]} : {texts[2]}"
        if word == "not":
            return f"{'!' if dtype == 'bool' else '~'}{texts[0]}"
        if word == "negative":
            return f"-{texts[0]}"
        if word in ("convert", "truncate"):
            return f"({WORDS[dtype]}){texts[0]}"
        if word == "saturate":
            self.widest = max(self.widest, item_size(dtype))
            return f"{saturation.of_one(self.prelude, x.dtype, dtype)}({texts[0]})"
        if word == "view":
            return self._viewed(x, dtype)
        if word == "fma":
            return f"__builtin_fma{'f' if dtype == 'float32' else ''}({', '.join(texts)})"
        return f"{self.prelude.libm(word, dtype)}({', '.join(texts)})"

    def _viewed(self, x: Lanes, dtype: str) -> str:
        kind, source = WORDS[dtype], WORDS[x.dtype]
        if is_half(x.dtype):
            return f"{x.text}.bits"
        if is_half(dtype):
            return f"({kind}){{{x.text}}}"
        if not (is_float(dtype) or is_float(x.dtype)):
            return f"({kind}){x.text}"
        name = f"tg_bits_{source}_{kind}"
        union = f"const union {{ {source} x; {kind} y; }} both = {{x}};"
        self.prelude.need(name, f"static inline {kind} {name}({source} x) {{ {union} return both.y; }}")
        return f"{name}({x.text})"

    # --- lanes and blocks ----------------------------------------------------------------------------------------

    def has_form(self, word: str, dtype: str) -> bool:
        if word in HALVED:
            return dtype == "float16" and self.vectors.has_halves()
        if word == "scaled":
            return self.lanes > 0 and self.vectors.scales(self.item(dtype))
        return self.lanes > 0 and dtype != "bool" and not (word.startswith("at_") and not is_float(dtype))

    def splat(self, value: Lanes) -> Lanes:
        return Lanes(self, value.dtype, value.text, SHARED)

    def lane(self, value: Lanes, lane: int) -> Lanes:
        text = f"{self.vector(value)}[{lane}]" if value.dtype != "bool" else f"{value.text}[{lane}] & 1"
        if is_half(value.dtype):  # which is no longer its bits
            text = f"(({WORDS[value.dtype]}){{{text}}})"
        with self.of(0):
            return self.find(value.dtype, text)

    def in_vectors(self, function: Callable[..., Lanes], width: int, *operands: Lanes) -> Lanes:
        """As `kernels.Body`; where there are fewer lanes, these alone are computed."""
        lanes = self.lanes
        if lanes <= width:
            return function(*operands)
        split = [[self._piece(x, k, width) for k in range(lanes // width)] for x in operands]
        with self.of(width):
            parts = [function(*pieces) for pieces in zip(*split, strict=True)]
            texts = [self.vector(x) for x in parts]
        return self._joined(parts[0].dtype, texts, width)

    def _piece(self, x: Lanes, k: int, width: int) -> Lanes:
        if x.form == SHARED:
            return x
        item = x.form or self.item(x.dtype)  # a mask has a width of its own
        whole, part = self.vectors.type(item), self.vectors.type_with(item, width)
        name = f"tg_piece_{whole}_{part}"
        copied = "__builtin_memcpy(&y, (const char *)&x + k * sizeof y, sizeof y);"
        self.prelude.need(name, f"TG_INLINE {part} {name}({whole} x, int k) {{ {part} y; {copied} return y; }}")
        with self.of(width):
            return self.find(x.dtype, f"{name}({x.text}, {k})", x.form)

    def _joined(self, dtype: str, texts: Sequence[str], width: int) -> Lanes:
        item = self.item(dtype)
        whole, part = self.vectors.type(item), self.vectors.type_with(item, width)
        name = f"tg_joined_{part}_{whole}"
        head = f"TG_INLINE {whole} {name}(const {part} *parts)"
        self.prelude.need(name, f"{head} {{ {whole} y; __builtin_memcpy(&y, parts, sizeof y); return y; }}")
        (parts,) = self._new_names()
        self.line(f"const {part} {parts}[] = {{{', '.join(texts)}}};")
        return self.find(dtype, f"{name}({parts})")

    def anywhere(self, condition: Lanes) -> Any:
        if not self.lanes or condition.form == SHARED:
            return str(condition.text)
        some = f"{self.vectors.function('any', condition.form)}({condition.text})"
        with self.of(0):
            return str(self.find("int32", some).text)

    def replaced(self, condition: Any, value: Lanes, write: Callable[[], Lanes]) -> Lanes:
        name = self.local(self.kind(value.dtype), self.vector(value))
        with self._block(f"if ({condition}) {{"):
            self.line(f"{name} = {self.vector(write())};")
        return Lanes(self, value.dtype, name)

    @contextlib.contextmanager
    def _block(self, head: str) -> Iterator[None]:
        self.line(head)
        self._known.append({})
        yield
        self._known.pop()
        self.line("}")

    # --- functions -----------------------------------------------------------------------------------------------

    def looks_up(self, dtype: str) -> bool:
        return self.lanes > 0 and self.vectors.looks_up(self.item(dtype))

    def uses(self, name: str, dtype: str) -> int:
        return self.prelude.uses(name, self.abreast)

    def shared(
        self,
        name: str,
        write: Callable[..., Lanes],
        operands: Sequence[Lanes],
        *,
        inline: bool,
        together: bool = False,
    ) -> Lanes:
        kind = self.kind(operands[0].dtype)
        symbol = f"tg_{'inline_' if inline else ''}{name}_{kind}"
        if not self.prelude.has(symbol):
            head = "TG_INLINE" if inline else "static"
            self.prelude.need(symbol, function(symbol, write, self, [x.dtype for x in operands], head=head))
        return self.find(operands[0].dtype, f"{symbol}({', '.join(self.vector(x) for x in operands)})")

    def vector_library(self, name: str, operands: Sequence[Lanes]) -> Lanes | None:
        """As `kernels.Body`: by the function of full vectors, whatever lanes there are, for others have other bits."""
        if self.prelude.symbol is None:
            return None
        dtype = operands[0].dtype
        full = self.machine.vector_bytes // item_size(dtype)
        symbol = self.prelude.symbol(name, dtype, len(operands), full)
        if symbol is None:
            return None
        vector = self.vectors.type_with(self.item(dtype), full)
        self.prelude.need(symbol, f"{vector} {symbol}({', '.join([vector] * len(operands))});")
        self.prelude.libraries.add("mvec")
        called = symbol if self.lanes >= full else self._in_part(symbol, dtype, len(operands), full)

        def call(*values: Lanes) -> Lanes:
            return self.find(dtype, f"{called}({', '.join(self.vector(x) for x in values)})")

        return self.in_vectors(call, full, *operands)

    def _in_part(self, symbol: str, dtype: str, arity: int, full: int) -> str:
        """A function of the lanes that there are, by one of full vectors, in which these are repeated."""
        part, whole = (self.vectors.type_with(self.item(dtype), count) for count in (self.lanes, full))
        name = f"tg_part_{part}{symbol}"
        names = parameter_names(arity)
        places = ", ".join(str(k % self.lanes) for k in range(full))
        repeated = ", ".join(f"__builtin_shufflevector({x}, {x}, {places})" for x in names)
        first = ", ".join(map(str, range(self.lanes)))
        head = f"TG_INLINE {part} {name}({', '.join(f'{part} {x}' for x in names)})"
        lines = f"const {whole} r = {symbol}({repeated}); return __builtin_shufflevector(r, r, {first});"
        self.prelude.need(name, f"{head} {{ {lines} }}")
        return name

    def one_by_one(self, name: str, operands: Sequence[Lanes]) -> Lanes:
        dtype = operands[0].dtype
        if self.lanes:
            called = self.vectors.by_lanes(name, self.item(dtype), len(operands))
        else:
            called = self.prelude.libm(name, dtype)
        return self.find(dtype, f"{called}({', '.join(self.vector(x) for x in operands)})")

    def redone(self, name: str, condition: Lanes, value: Lanes, operands: Sequence[Lanes]) -> Lanes:
        if not self.lanes:
            return self.computed("select", (condition, self.one_by_one(name, operands), value))
        item = self.item(value.dtype)
        texts = [self.mask(condition, self.vectors.mask(item)), *(self.vector(x) for x in (value, *operands))]
        return self.find(value.dtype, f"{self.vectors.redone(name, item)}({', '.join(texts)})")

    def power(self, base: Lanes, exponent: Lanes) -> Lanes:
        kind, dtype = WORDS[base.dtype], base.dtype
        name = f"tg_power_{kind}"
        self.prelude.need(name, POWER.replace("@T", kind).replace("@NAME", name))
        if self.lanes:
            vectors, vector = self.vectors, self.kind(dtype)
            symbol = f"{name}x{self.lanes}"
            exponents = vectors.type(WORDS[exponent.dtype])
            head = f"static {vector} {symbol}({vector} x, {exponents} y)"
            self.prelude.need(symbol, vectors.lane_loop(head, vector, f"{name}(x[k], y[k])"))
            name = symbol
        return self.find(dtype, f"{name}({self.vector(base)}, {self.vector(exponent)})")

    def apart(self, x: Lanes) -> str:
        """The text of a single float that is computed by itself, not in a vector with its neighbour in memory."""
        if not self.machine.fused:
            return str(x.text)
        self.prelude.need("apart", APART)
        return f"tg_apart_{WORDS[x.dtype]}({x.text})"

    def one_complex(self, name: str, operands: Sequence[Lanes]) -> tuple[Lanes, Lanes]:
        texts = [x.text for x in operands]
        arguments = [f"__builtin_complex({a}, {b})" for a, b in zip(texts[::2], texts[1::2], strict=True)]
        result = self.local("const c128", f"{self.prelude.libm(name, 'complex128')}({', '.join(arguments)})")
        return self.find("float64", f"__real__ {result}"), self.find("float64", f"__imag__ {result}")


def _is_plain(x: Lanes) -> bool:
    """Whether C takes a number beside a vector as it is."""
    if is_half(x.dtype):
        return False
    return is_float(x.dtype) or x.text.isdigit() or x.text.strip("(-)").isdigit()


def function(name: str, write: Callable[..., Lanes], like: Body, dtypes: Sequence[str], *, head: str) -> str:
    """The C text of a function of lanes of some dtypes, whose parameters are `parameter_names`."""
    body = like.another()
    operands = [Lanes(body, dtype, letter) for dtype, letter in zip(dtypes, parameter_names(len(dtypes)), strict=True)]
    result = write(*operands)
    parameters = ", ".join(f"{x.kind} {x.text}" for x in operands)
    lines = "\n".join((*body.text(), f"  return {body.vector(result)};"))
    like.widest = max(like.widest, body.widest)
    return f"{head} {result.kind} {name}({parameters}) {{\n{lines}\n}}"


def name_of(prelude: Prelude, name: str, dtype: str, lanes: int = 0, size: int = 8) -> str:
    """The C name of a function of libm, or of a kernel beside these, of lanes or of one number: for templates."""
    body = Body(prelude, lanes, size)
    if name in NAMED:
        return body.vectors.rounded(name, WORDS[dtype]) if lanes else prelude.libm(name, dtype)
    libm(name, *(Lanes(body, dtype, letter) for letter in parameter_names(ARITIES[name])))
    (line,) = body.lines  # const f64x8 v0 = name(x);
    return line.partition(" = ")[2].partition("(")[0]
