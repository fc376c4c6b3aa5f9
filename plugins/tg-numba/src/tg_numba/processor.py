"""What the processor has, and its own instructions on lanes, as LLVM knows them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

import llvmlite.binding as llvm

from tg_numba.lanes import Lanes, constant_text

if TYPE_CHECKING:
    from collections.abc import Sequence

LIBMVEC: Final = "libmvec.so.1"
AS_THE_MODE_SAYS: Final = 4  # how an instruction rounds
GATHERED: Final = 8  # elements that an instruction reads at once
GATHERS: Final = {  # of a dtype its type in LLVM's language, and what ends the name of the instruction
    "float64": ("double", "qpd"),
    "float32": ("float", "qps"),
    **dict.fromkeys(("int64", "uint64"), ("i64", "qpq")),
    **dict.fromkeys(("int32", "uint32"), ("i32", "qpi")),
}
REAL: Final = {"float32": "float", "float64": "double"}


@functools.cache
def features() -> frozenset[str]:
    """What the processor has."""
    return frozenset(name for name, there in llvm.get_host_cpu_features().items() if there)


@functools.cache
def has_libmvec() -> bool:
    """Whether the vector mathematics of glibc is there, which code has names for from now on."""
    if "sse4.1" not in features():
        return False
    try:
        llvm.load_library_permanently(LIBMVEC)
    except RuntimeError:
        return False
    return True


@functools.cache
def vector_bytes() -> int:
    """The width of the processor's vectors."""
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= features():
        return 64
    return 32 if "avx2" in features() else 16


def processor(name: str, *operands: Lanes) -> Lanes:
    """An operation that LLVM knows for floats."""
    x = operands[0]
    symbol = f"llvm.{name}.{x.body.short(REAL[x.dtype])}"
    return Lanes(x.body, x.dtype, x.body.called(symbol, x.kind, [v.operand for v in operands]))


def fma(x: Lanes, y: Lanes | float, z: Lanes | float) -> Lanes:
    """The sum x y + z, rounded once where the processor can."""
    return processor("fma", x, x.taken(y), x.taken(z)) if "fma" in features() else x * y + z


def has_tables() -> bool:
    """Whether a register serves as a table of 16 numbers."""
    return vector_bytes() == 64


def looked_up(table: Sequence[float], bits: Lanes, dtype: str) -> Lanes:
    """Of 16 numbers those that the last four bits say: of a whole vector, where there are such instructions."""
    body, item = bits.body, REAL[dtype]
    kind, texts = body.type(item), [f"{item} {constant_text(x, dtype)}" for x in table]
    parts = [f"<{', '.join(texts[k : k + body.lanes])}>" for k in range(0, len(table), body.lanes)]
    if len(parts) == 1:
        given = [(kind, parts[0]), bits.operand]
        return Lanes(body, dtype, body.called("llvm.x86.avx512.permvar.sf.512", kind, given))
    given = [(kind, parts[0]), bits.operand, (kind, parts[1])]
    return Lanes(body, dtype, body.called("llvm.x86.avx512.vpermi2var.pd.512", kind, given))


def has_gathers(dtype: str) -> bool:
    """Whether an instruction reads elements of a dtype at computed positions."""
    return vector_bytes() == 64 and dtype in GATHERS


def gather(dtype: str, pointer: str, offsets: Lanes) -> Lanes:
    """The elements at `GATHERED` offsets, where there are such instructions."""
    body, (item, name) = offsets.body, GATHERS[dtype]
    kind, every = f"<{GATHERED} x {item}>", f"<{GATHERED} x i1>"
    symbol = f"llvm.x86.avx512.mask.gather.{name}.512"
    body.module.declare(symbol, kind, [kind, "ptr", offsets.kind, every, "i32"], "nounwind memory(read)")
    given = f"{kind} zeroinitializer, ptr {pointer}, {offsets.kind} {offsets.text}, {every} splat (i1 true)"
    size = 8 if item in ("i64", "double") else 4
    return Lanes(body, dtype, body.made(f"call {kind} @{symbol}({given}, i32 {size})"))


def scaled(x: Lanes, n: Lanes) -> Lanes:
    """The product of x and 2^n, n rounded down: of a whole vector, where there are such instructions."""
    body = x.body
    short, mask = ("ps", "i16") if x.dtype == "float32" else ("pd", "i8")
    given = [x.operand, n.operand, (x.kind, "zeroinitializer"), (mask, "-1"), ("i32", str(AS_THE_MODE_SAYS))]
    return Lanes(body, x.dtype, body.called(f"llvm.x86.avx512.mask.scalef.{short}.512", x.kind, given))


def fabs(x: Lanes) -> Lanes:
    """The number without its sign."""
    return processor("fabs", x)


def sqrt(x: Lanes) -> Lanes:
    """The square root, rounded correctly."""
    return processor("sqrt", x)


def floor(x: Lanes) -> Lanes:
    """The whole number below."""
    return processor("floor", x)


def ceil(x: Lanes) -> Lanes:
    """The whole number above."""
    return processor("ceil", x)


def trunc(x: Lanes) -> Lanes:
    """The whole number towards 0."""
    return processor("trunc", x)


def rint(x: Lanes) -> Lanes:
    """The nearest whole number, the even one of two."""
    return processor("rint", x)


def copysign(x: Lanes, y: Lanes) -> Lanes:
    """X with the sign of y."""
    return processor("copysign", x, y)


def sign_bit(x: Lanes) -> Lanes:
    """Whether the sign bit is set, of a half too."""
    bits = x.bits()
    return bits.seen_as("int" + bits.dtype.removeprefix("uint")) < 0
