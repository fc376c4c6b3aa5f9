"""GNU vectors of one number of lanes: their types, and the functions on them that a unit needs.

A vector of 8 lanes of float64 is an `f64x8`. A bool is a byte in memory and a mask in a lane: a signed integer as wide
as what it stands beside, with all bits set or none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from tg_c.libm import ARITIES
from tg_c.machine import has_halves, masked_moves, vector_bytes
from tg_c.text import literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_c.prelude import Prelude

DEFINITION: Final = """\
typedef @E @V __attribute__((vector_size(@L * sizeof(@E))));
typedef @V @V_at __attribute__((aligned(sizeof(@E)), may_alias));"""
# What only the last block of a row calls stands apart from the loops, and is small rather than fast.
MACROS: Final = """\
#define TG_INLINE static inline __attribute__((always_inline))
#define TG_LAST static __attribute__((noinline, cold))
#if defined(__FMA__) || defined(__aarch64__)
#define TG_FUSED
#endif"""

# @V is the vector, @E its element, @M the masks of its width, @R that of float32, @L the number of lanes; @EACH<...>
# lists the lanes, in the place of # the number of each. Strides s count elements; r is how many lanes there are left:
# none, where it is below 1, and all, where it is more than there are.
FUNCTIONS: Final = {
    "load": "TG_INLINE @V @NAME(const void *x) { return *(const @V_at *)x; }",
    "gather": "TG_INLINE @V @NAME(const @E *x, i64 s) { return (@V){@EACH<x[# * s]>}; }",
    "head": """\
TG_LAST @V @NAME(const @E *x, @E other, i64 r) {
  @V v = {@EACH<other>};
  if (r > 0) __builtin_memcpy(&v, x, (r < @L ? r : @L) * sizeof(@E));
  return v;
}""",
    "gather_head": """\
TG_LAST @V @NAME(const @E *x, i64 s, @E other, i64 r) {
  @V v = {@EACH<other>};
  for (int k = 0; k < @L && k < r; k++) v[k] = x[k * s];
  return v;
}""",
    "store": "TG_INLINE void @NAME(void *y, @V v) { *(@V_at *)y = v; }",
    "tail": """\
TG_LAST void @NAME(@E *y, i64 r, @V v) {
  if (r > 0) __builtin_memcpy(y, &v, (r < @L ? r : @L) * sizeof(@E));
}""",
    "all": "TG_INLINE @V @NAME(@E x) { return (@V){@EACH<x>}; }",
    "select": "TG_INLINE @V @NAME(@M c, @V x, @V y) { return (@V)((c & (@M)x) | (~c & (@M)y)); }",
    "number": "TG_INLINE @V @NAME(@M c) { return (@V)(c & (@M)(@V){@EACH<1>}); }",
    "first": "TG_INLINE @M @NAME(i64 r) { return (@V){@EACH<#>} < (@E)r; }",
    "at": "TG_INLINE @V @NAME(const @E *x, @K k) { return (@V){@EACH<x[k[#]]>}; }",
    "fma": """\
TG_INLINE @V @NAME(@V x, @V y, @V z) {
#ifdef TG_FUSED
  return (@V){@EACH<__builtin_fma@F(x[#], y[#], z[#])>};
#else
  return x * y + z;
#endif
}""",
    "paired": """\
TG_INLINE @V @NAME(@V x, @V y, @V z) {
  return z + (x >> 16) * (y >> 16) + ((x << 16) >> 16) * ((y << 16) >> 16);
}""",
    "any": """\
TG_INLINE int @NAME(@V c) {
  @E some = 0;
  for (int k = 0; k < @L; k++) some |= c[k];
  return some != 0;
}""",
    "at_least": "TG_INLINE @V @NAME(@V x, @V y) { return @SELECT(x < y, y, x); }",
    "at_most": "TG_INLINE @V @NAME(@V x, @V y) { return @SELECT(x > y, y, x); }",
    "larger": "TG_INLINE @V @NAME(@V x, @V y) { return @SELECT((x >= y) | (x != x), x, y); }",
    "smaller": "TG_INLINE @V @NAME(@V x, @V y) { return @SELECT((x <= y) | (x != x), x, y); }",
    "most": "TG_INLINE @V @NAME(@V x, @V y) { return @SELECT(x > y, x, y); }",
    "least": "TG_INLINE @V @NAME(@V x, @V y) { return @SELECT(x < y, x, y); }",
    "fabs": "TG_INLINE @V @NAME(@V x) { return (@V)((@M)x & @REST); }",
    "copysign": "TG_INLINE @V @NAME(@V x, @V y) { return (@V)(((@M)x & @REST) | ((@M)y & ~@REST)); }",
}
# The same for masks in vectors of at most so many bytes: a call for each row that is shorter took longer than its loop.
SHORT: Final = 8
FEW: Final = {
    "head": """\
TG_INLINE @V @NAME(const @E *x, @E other, i64 r) { return (@V){@EACH<# < r ? x[#] : other>}; }""",
    "tail": """\
TG_INLINE void @NAME(@E *y, i64 r, @V v) {
  for (int k = 0; k < @L; k++) if (r > k) y[k] = v[k];
}""",
}
# The same by single instructions, which compilers do not find in all that is above. Of two zeros, or where one is NaN,
# the largest and the smallest are the second in the machine's order.
EXTREME: Final = {
    "avx512": """\
TG_INLINE @V @NAME(@V x, @V y) {
  @B odd;
  @V found;
  __asm__("vcmpunordp@S %1, %1, %0" : "=k"(odd) : "v"(y));
  __asm__("v@EXTREMEp@S %2, %1, %0" : "=v"(found) : "v"(y), "v"(x));
  __asm__("vmovap@S %1, %0%{%2%}" : "+v"(found) : "v"(y), "Yk"(odd));
  return found;
}""",
    "avx2": """\
TG_INLINE @V @NAME(@V x, @V y) {
  @V odd, found;
  __asm__("vcmpunordp@S %1, %1, %0" : "=x"(odd) : "x"(y));
  __asm__("v@EXTREMEp@S %2, %1, %0" : "=x"(found) : "x"(y), "x"(x));
  __asm__("vblendvp@S %2, %1, %0, %0" : "+x"(found) : "x"(y), "x"(odd));
  return found;
}""",
}
LIMITED: Final = """\
TG_INLINE @V @NAME(@V x, @V y) {
  __asm__("v@EXTREMEp@S %0, %1, %0" : "+@R"(x) : "@R"(y));
  return x;
}"""
# Halves as float32 and back, rounded to the nearest, half to even, whatever the mode is; subnormal ones are numbers.
# clang gives an asm no register for fewer bytes than one has: four halves are the first of eight.
WIDENED: Final = """\
TG_INLINE @R @NAME(@V x) {
  @R y;
  @W w;
  __builtin_memcpy(&w, &x, sizeof x);
  __asm__("vcvtph2ps %1, %0" : "=v"(y) : "v"(w));
  return y;
}"""
WIDENED_TO: Final = """\
TG_INLINE @R @NAME(@V x) {
  @R y;
  __asm__("@INSTRUCTION %1, %0" : "=@X"(y) : "@Xm"(x));
  return y;
}"""
WIDENING: Final = {
    ("f32", "f64"): "vcvtps2pd",
    ("i32", "f64"): "vcvtdq2pd",
    **{(f"i{n}", f"i{2 * n}"): f"vpmovsx{pair}" for n, pair in ((8, "bw"), (16, "wd"), (32, "dq"))},
    **{(f"u{n}", f"u{2 * n}"): f"vpmovzx{pair}" for n, pair in ((8, "bw"), (16, "wd"), (32, "dq"))},
    ("i8", "i32"): "vpmovsxbd",
    ("u8", "i32"): "vpmovzxbd",
}
NARROWED: Final = """\
TG_INLINE @V @NAME(@R x) {
  @V y;
  @W w;
  __asm__("vcvtps2ph $0, %1, %0" : "=v"(w) : "v"(x));
  __builtin_memcpy(&y, &w, sizeof y);
  return y;
}"""
OF_INTEGERS: Final = """\
TG_INLINE @V @NAME(@V x, @V y) {
  __asm__("vp@WHICH@N %1, %0, %0" : "+v"(x) : "v"(y));
  return x;
}"""
# By its built-in GCC chooses which operand is overwritten. Where that was always the first, 24 sums that a loop adds to
# were copied at each term and some of them spilled: 4 % of a convolution's time. Clang has no such built-in.
FUSED: Final = """\
TG_INLINE @V @NAME(@V x, @V y, @V z) {
#ifndef __FMA__
  return x * y + z;
#elif defined __clang__
  __asm__("vfmadd231p@S %2, %1, %0" : "+@R"(z) : "@R"(x), "@R"(y));
  return z;
#else
  return @FUSED;
#endif
}"""
# Both products of a pair and their sum; with VNNI that is added to others by the same instruction.
PAIRED: Final = """\
TG_INLINE @V @NAME(@V x, @V y, @V z) {
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
  __asm__("vpdpwssd %2, %1, %0" : "+v"(z) : "v"(x), "v"(y));
  return z;
#elif defined(__AVXVNNI__)
  __asm__("%{vex%} vpdpwssd %2, %1, %0" : "+x"(z) : "x"(x), "x"(y));
  return z;
#else
  @V both;
  __asm__("vpmaddwd %2, %1, %0" : "=@R"(both) : "@R"(x), "@R"(y));
  return z + both;
#endif
}"""
INSTRUCTIONS: Final = {
    "avx512": {
        "paired": PAIRED.replace("@R", "v"),
        "widened": WIDENED,
        "narrowed": NARROWED,
        "at_least": LIMITED.replace("@R", "v").replace("@EXTREME", "max"),
        "at_most": LIMITED.replace("@R", "v").replace("@EXTREME", "min"),
        "looked_up": """\
TG_INLINE @V @NAME(const @E *table, @M i) {
  const @V *const parts = (const @V *)table;
#if @L == 16
  __asm__("vpermp@S %1, %0, %0" : "+v"(i) : "v"(parts[0]));
#else
  __asm__("vpermi2p@S %2, %1, %0" : "+v"(i) : "v"(parts[0]), "v"(parts[1]));
#endif
  return (@V)i;
}""",
        "larger": EXTREME["avx512"].replace("@EXTREME", "max"),
        "smaller": EXTREME["avx512"].replace("@EXTREME", "min"),
        "most": OF_INTEGERS.replace("@WHICH", "max"),
        "least": OF_INTEGERS.replace("@WHICH", "min"),
        "fma": FUSED.replace("@R", "v"),
        "any": """\
TG_INLINE int @NAME(@V c) {
  @B some;
  __asm__("vptestm@Q %1, %1, %0" : "=k"(some) : "v"(c));
  return some != 0;
}""",
        "at": """\
TG_INLINE @V @NAME(const @E *x, @K k) {
#ifdef __SANITIZE_ADDRESS__ /* which sees what is read one by one */
  return (@V){@EACH<x[k[#]]>};
#else
  @V v = {0};
  u8 every = -1;
  __asm__("vpgatherqq (%2,%3,8), %0%{%1%}"
          : "+&v"(v), "+&Yk"(every)
          : "r"(x), "v"(k), "m"(*(const char (*)[TG_ANY])x));
  return v;
#endif
}""",
        "scaled": """\
TG_INLINE @V @NAME(@V x, @V n) {
  __asm__("vscalefp@S %1, %0, %0" : "+v"(x) : "v"(n));
  return x;
}""",
    },
    "avx2": {
        "paired": PAIRED.replace("@R", "x"),
        "widened": WIDENED.replace('"v"', '"x"').replace('"=v"', '"=x"'),
        "narrowed": NARROWED.replace('"v"', '"x"').replace('"=v"', '"=x"'),
        "at_least": LIMITED.replace("@R", "x").replace("@EXTREME", "max"),
        "at_most": LIMITED.replace("@R", "x").replace("@EXTREME", "min"),
        "larger": EXTREME["avx2"].replace("@EXTREME", "max"),
        "smaller": EXTREME["avx2"].replace("@EXTREME", "min"),
        "fma": FUSED.replace("@R", "x"),
        "any": """\
TG_INLINE int @NAME(@V c) {
  int some;
  __asm__("vptest %1, %1" : "=@ccnz"(some) : "x"(c));
  return some;
}""",
    },
}
# The same by instructions that touch nothing but the lanes that are left, for rows that are shorter than a vector.
MASKED: Final = {
    "avx512": {
        "head": """\
TG_INLINE @V @NAME(const @E *x, @E other, i64 r) {
  @V v = {@EACH<other>};
  @W w;
  __builtin_memcpy(&w, &v, sizeof v);
  __asm__("@MOVE %1, %0 %{%2%}" : "+v"(w) : "m"(*(const char (*)[TG_ANY])x), "Yk"((@B)@INSIDE));
  __builtin_memcpy(&v, &w, sizeof v);
  return v;
}""",
        "tail": """\
TG_INLINE void @NAME(@E *y, i64 r, @V v) {
  @W w = {0};
  __builtin_memcpy(&w, &v, sizeof v);
  __asm__("@MOVE %1, %0 %{%2%}" : "+m"(*(char (*)[sizeof v])y) : "v"(w), "Yk"((@B)@INSIDE));
}""",
    },
    "avx2": {
        "head": """\
TG_INLINE @V @NAME(const @E *x, @E other, i64 r) {
  const @M c = @FIRST(r);
  @V v;
  __asm__("@MOVE %1, %2, %0" : "=x"(v) : "m"(*(const char (*)[TG_ANY])x), "x"(c));
  return @SELECT(c, v, (@V){@EACH<other>});
}""",
        "tail": """\
TG_INLINE void @NAME(@E *y, i64 r, @V v) {
  __asm__("@MOVE %1, %2, %0" : "+m"(*(char (*)[sizeof v])y) : "x"(v), "x"(@FIRST(r)));
}""",
    },
}
MOVES: Final = {
    "avx512": {1: "vmovdqu8", 2: "vmovdqu16", 4: "vmovups", 8: "vmovupd"},
    "avx2": {4: "vmaskmovps", 8: "vmaskmovpd"},
}
_EACH: Final = re.compile(r"@EACH<([^>]*)>")
_WORD: Final = re.compile(r"@([A-Z]+)")
TABLE_LENGTH: Final = 16
ONE_INSTRUCTION: Final = ("ceil", "floor", "rint", "sqrt", "trunc")  # which compilers find in the list of the lanes
FLOATS: Final = {"f32": "float32", "f64": "float64"}
MINIMUM: Final = 16  # bytes of the registers of vectors
REST: Final = {4: "0x7fffffff", 8: "0x7fffffffffffffffLL"}  # all bits but that of the sign


SUFFIXES: Final = {1: "b", 2: "w", 4: "d", 8: "q"}  # of instructions on integers, by their bytes


def size_of(kind: str) -> int:
    """The bytes of an element, by its C type: 8 of f64."""
    return int(kind[1:]) // 8


def _fused(letter: str, size: int) -> str:
    """GCC's built-in for x * y + z of vectors of so many bytes, rounded once."""
    if size == 64:
        return f"__builtin_ia32_vfmaddp{letter}512_mask(x, y, z, -1, 4)"
    return f"__builtin_ia32_vfmaddp{letter}{256 if size == 32 else ''}(x, y, z)"


@final
class Vectors:
    """The vectors of one number of lanes in one unit; elements are named by their C types: f64, i32, u8."""

    __slots__ = ("count", "prelude", "size")

    def __init__(self, prelude: Prelude, count: int, size: int) -> None:
        """Vectors of `count` lanes, the widest of which has elements of `size` bytes."""
        self.prelude, self.count, self.size = prelude, count, size
        prelude.need("vectors", MACROS)

    def type(self, kind: str) -> str:
        """The name of a vector type, declared."""
        return self.type_with(kind, self.count)

    def type_with(self, kind: str, count: int) -> str:
        """The name of the vector type of another number of lanes, declared."""
        name = f"{kind}x{count}"
        if not self.prelude.has(name):
            self.prelude.need(name, DEFINITION.replace("@V", name).replace("@E", kind).replace("@L", str(count)))
        return name

    def mask(self, kind: str) -> str:
        """The element of the masks beside vectors of `kind`."""
        return f"i{8 * size_of(kind)}"

    def function(self, word: str, kind: str) -> str:
        """The name of one of `FUNCTIONS` for vectors of `kind`, declared."""
        name = f"tg_{word}_{kind}x{self.count}"
        if not self.prelude.has(name):
            is_masked = word in ("head", "tail") and self._moves(kind)
            is_short = word in FEW and self.count * size_of(kind) <= SHORT and size_of(kind) == 1
            text = MASKED[masked_moves()][word] if is_masked else FEW[word] if is_short else self._function(word, kind)
            self.prelude.need(name, self._expand(text, name, kind))
        return name

    def _function(self, word: str, kind: str) -> str:
        has_register = MINIMUM <= self.count * size_of(kind) <= vector_bytes()
        if word == "at":
            has_register = self.gathers(kind)
        if word in ("widened", "narrowed"):
            has_register = self.has_halves()
        by_one = INSTRUCTIONS.get(masked_moves(), {}).get(word) if has_register else None
        return by_one or FUNCTIONS[word]

    def scales(self, kind: str) -> bool:
        """Whether one instruction multiplies by powers of 2."""
        fits = MINIMUM <= self.count * size_of(kind) <= vector_bytes()
        return fits and "scaled" in INSTRUCTIONS.get(masked_moves(), {})

    def gathers(self, kind: str) -> bool:
        """Whether one instruction reads elements at computed positions, faster than they are read one by one.

        That is so for elements of 8 bytes in AVX-512.
        """
        fits = size_of(kind) == 8 and MINIMUM <= 8 * self.count <= vector_bytes()
        return fits and masked_moves() == "avx512"

    def has_halves(self) -> bool:
        """Whether one instruction makes float32 of as many halves, or halves of these."""
        return masked_moves() != "" and has_halves() and MINIMUM <= 4 * self.count <= vector_bytes()

    def _moves(self, kind: str) -> str | None:
        """The instruction that moves the first lanes only, if there is one."""
        moves, size = masked_moves(), self.count * size_of(kind)
        if not moves or size > vector_bytes() or (moves == "avx2" and size < MINIMUM):
            return None
        return MOVES[moves].get(size_of(kind))

    def _expand(self, template: str, name: str, kind: str) -> str:
        count = self.count
        words: dict[str, Callable[[], str]] = {
            "NAME": lambda: name,
            "V": lambda: f"{kind}x{count}",
            "E": lambda: kind,
            "M": lambda: self.type(self.mask(kind)),
            "K": lambda: self.type("i64"),
            "R": lambda: self.type("f32"),
            "L": lambda: str(count),
            "W": lambda: self.type_with(kind, max(count, MINIMUM // size_of(kind))),
            "B": lambda: f"u{max(count, 8)}",
            "MOVE": lambda: str(self._moves(kind)),
            "INSIDE": lambda: f"(r < 1 ? 0 : ~0ULL >> (64 - (r < {count} ? r : {count})))",
            "FIRST": lambda: self.function("first", self.mask(kind)),
            "SELECT": lambda: self.function("select", kind),
            "REST": lambda: REST[size_of(kind)],
            "F": lambda: "f" if kind == "f32" else "",
            "S": lambda: "s" if kind == "f32" else "d",
            "Q": lambda: "d" if size_of(kind) == 4 else "q",
            "FUSED": lambda: _fused("s" if kind == "f32" else "d", count * size_of(kind)),
            "N": lambda: ("u" if kind[0] == "u" else "s") + SUFFIXES[size_of(kind)],
        }
        self.type(kind)
        return _WORD.sub(lambda m: words[m[1]](), _EACH.sub(lambda m: self._each(m[1]), template))

    def _each(self, text: str) -> str:
        return ", ".join(text.replace("#", str(k)) for k in range(self.count))

    # --- conversions -------------------------------------------------------------------------------------------------

    def converted(self, text: str, source: str, target: str) -> str:
        """The lanes converted as C converts; integers grow by doubling, for which there are instructions."""
        steps = [target]
        if source[0] != "f":
            wanted = 4 if target[0] == "f" else size_of(target) // 2
            letter = "i" if target[0] == "f" else source[0]
            steps[:0] = [f"{letter}{8 * n}" for n in (2, 4) if size_of(source) < n <= wanted]
        if size_of(source) == 1 and "i32" in steps and self._widens(source, "i32"):
            steps = steps[steps.index("i32") :]
        for kind in steps:
            text = self._step(text, source, kind)
            source = kind
        return text

    def _step(self, text: str, source: str, target: str) -> str:
        """One conversion: by its instruction where elements become twice as wide, which GCC 12 does by four."""
        instruction = WIDENING.get((source, target))
        if instruction is None or not self._widens(source, target):
            return f"__builtin_convertvector({text}, {self.type(target)})"
        name = f"tg_widened_{source}x{self.count}_{target}"
        if not self.prelude.has(name):
            words = {"@R": self.type(target), "@V": self.type(source), "@NAME": name, "@INSTRUCTION": instruction}
            written = WIDENED_TO
            for word, by in (*words.items(), ("@X", "v" if masked_moves() == "avx512" else "x")):
                written = written.replace(word, by)
            self.prelude.need(name, written)
        return f"{name}({text})"

    def _widens(self, source: str, target: str) -> bool:
        """Whether one instruction makes elements of a kind wider: the result is one vector."""
        fits = 2 * MINIMUM <= self.count * size_of(target) <= vector_bytes() and masked_moves() != ""
        return fits and (source, target) in WIDENING

    def resized(self, text: str, source: str, target: str) -> str:
        """Masks as wide as others."""
        return text if source == target else f"{self._resizing(source, target)}({text})"

    def _resizing(self, source: str, target: str) -> str:
        name = f"tg_mask_{source}x{self.count}_{target}"
        if not self.prelude.has(name):
            head = f"TG_INLINE {self.type(target)} {name}({self.type(source)} c)"
            self.prelude.need(name, f"{head} {{ return {self.converted('c', source, target)}; }}")
        return name

    def masks(self, text: str, kind: str) -> str:
        """Bytes that are 0 or 1 as masks."""
        return self.resized(f"-{text}", "i8", kind)

    def bytes(self, text: str, kind: str) -> str:
        """Masks as bytes that are 0 or 1."""
        return f"{self.resized(text, kind, 'i8')} & 1"

    # --- mathematics -------------------------------------------------------------------------------------------------

    def rounded(self, name: str, kind: str) -> str:
        """The name of a function on vectors that is one instruction for each lane."""
        return self.function(name, kind) if name in ("fabs", "copysign") else self.by_lanes(name, kind, 1)

    def looks_up(self, kind: str) -> bool:
        """Whether one instruction finds a vector of `kind` in a table of `TABLE_LENGTH` numbers."""
        size = self.count * size_of(kind)
        has_register = 2 * MINIMUM <= size <= vector_bytes() and TABLE_LENGTH * size_of(kind) <= 2 * size
        return has_register and masked_moves() == "avx512"

    def table(self, name: str, numbers: Sequence[float], kind: str) -> str:
        """The name of a table of numbers, declared."""
        symbol = f"{name}_{kind}"
        values = ", ".join(literal(number, FLOATS[kind]) for number in numbers)
        self.prelude.need(symbol, f"TG_ONCE __attribute__((aligned(64))) {kind} {symbol}[] = {{{values}}};")
        return symbol

    def redone(self, name: str, kind: str) -> str:
        """The name of the function that computes some lanes each by itself, declared."""
        symbol = f"tg_redone_{name}_{kind}x{self.count}"
        if not self.prelude.has(symbol):
            vector, mask, names = self.type(kind), self.type(self.mask(kind)), "xz"[: ARITIES[name]]
            head = f"TG_LAST {vector} {symbol}({mask} c, {vector} y, {', '.join(f'{vector} {x}' for x in names)})"
            call = f"{self.prelude.libm(name, FLOATS[kind])}({', '.join(f'{x}[k]' for x in names)})"
            loop = f"for (int k = 0; k < {self.count}; k++)\n    if (c[k]) y[k] = {call};"
            self.prelude.need(symbol, f"{head} {{\n  {loop}\n  return y;\n}}")
        return symbol

    def by_lanes(self, name: str, kind: str, arity: int) -> str:
        """The name of the function that computes each lane by libm, declared."""
        symbol = f"tg_{name}_{kind}x{self.count}"
        if not self.prelude.has(symbol):
            vector, scalar = self.type(kind), self.prelude.libm(name, FLOATS[kind])
            operands = "xy"[:arity]
            head = f"{vector} {symbol}({', '.join(f'{vector} {x}' for x in operands)})"
            if name in ONE_INSTRUCTION:
                text = f"TG_INLINE {head} {{ return ({vector}){{{self._each(f'{scalar}(x[#])')}}}; }}"
            else:
                text = self.lane_loop(f"static {head}", vector, f"{scalar}({', '.join(f'{x}[k]' for x in operands)})")
            self.prelude.need(symbol, text)
        return symbol

    def lane_loop(self, head: str, vector: str, expression: str) -> str:
        """The text of a function that computes each lane k by itself."""
        loop = f"for (int k = 0; k < {self.count}; k++) v[k] = {expression};"
        return f"{head} {{\n  {vector} v;\n  {loop}\n  return v;\n}}"
