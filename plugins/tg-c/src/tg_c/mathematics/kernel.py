"""How a kernel is written: the body of a function of vectors, with its coefficients as data.

In the text of a kernel, words that begin with @ are replaced. @T is the vector, @P its element, @I and @U the signed
and unsigned integers of its width. @select(mask, x, y), @all(number), @number(mask) and @any(mask), @fma(x, y, z) for
x y + z, rounded once where the machine can, @scaled(x, n) for x 2^n, @at_least(x, y) and @at_most(x, y),
which are NaN where x is, and the functions of `tg_c.libm` work on lanes.
@own_exp is this package's kernel, also where the platform's library has one. Names in the kernel's `data` are numbers,
or polynomials, from the constant term on: @E(r) is a value of one. @redone(mask, y, x) is y with the lanes of the mask
computed by libm, each by itself. Where one instruction finds numbers in a table, @looked_up(@POWERS, i) is the number
i modulo 16 of those that `tg.link.series` has, for signed integers i.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from tg_c.libm import ARITIES
from tg_c.text import literal
from tg_native.kernels.series import POWERS, POWERS_REST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg_c.vectors import Vectors

    Data = Mapping[str, float | tuple[float, ...]]

_WORD: Final = re.compile(r"@([A-Za-z_][A-Za-z_0-9]*)")
_FUNCTIONS: Final = ("all", "any", "at_least", "at_most", "fma", "looked_up", "number", "scaled", "select")
_TABLES: Final = {"POWERS": POWERS, "POWERS_REST": POWERS_REST}
DTYPES: Final = {"f32": "float32", "f64": "float64"}
# The numbers of a format: fraction bits, bias of the exponent, what rounds to an integer when it is added, or to a
# multiple of 1/16, the limits of normal numbers, and a power of 2 that makes all subnormal numbers normal.
FORMATS: Final[Mapping[str, Data]] = {
    "f64": {
        "DIGITS": 52,
        "FRACTION": 0xFFFFFFFFFFFFF,
        "BIAS": 1023,
        "ROUNDER": 6755399441055744.0,
        "FINE_ROUNDER": 422212465065984.0,
        "TINY": 2.2250738585072014e-308,
        "MAX": 1.7976931348623157e308,
        "LIFT": 18014398509481984.0,
        "LIFTED": 54.0,
    },
    "f32": {
        "DIGITS": 23,
        "FRACTION": 0x7FFFFF,
        "BIAS": 127,
        "ROUNDER": 12582912.0,
        "FINE_ROUNDER": 786432.0,
        "TINY": 1.1754943508222875e-38,
        "MAX": 3.4028234663852886e38,
        "LIFT": 33554432.0,
        "LIFTED": 25.0,
    },
}
SPLIT: Final = 9  # the coefficients beyond which a polynomial is the sum of two, which are computed at once
SPLIT_BY_TABLE: Final = 3  # in a body by table, whose few steps wait for one another


class Kernel(NamedTuple):
    """A function of vectors.

    Args:
        text: the body of the function of x, or of x and y.
        data: numbers and polynomials for float64, and for float32 if that is computed as it is; else it is widened.
        error: the largest, in units in the last place.
        arity: the number of arguments.
        preferred: the C types with which it is faster than a library's function where it is written out in place, and
            as fast where it is called.
        by_table: other bodies, by C type, where one instruction finds numbers in a table.
    """

    text: str
    data: Mapping[str, Data]
    error: float
    arity: int = 1
    preferred: tuple[str, ...] = ()
    by_table: Mapping[str, str] = MappingProxyType({})


def write(kernel: Kernel, name: str, vectors: Vectors, kind: str, *, inline: bool = False) -> str:
    """The name of the function of a kernel for vectors of `kind`, declared; `inline` is one that is never called."""
    vector = vectors.type(kind)
    made = f"tg_{'inline_' if inline else ''}{name}_{vector}"
    if not vectors.prelude.has(made):
        head = f"{'TG_INLINE' if inline else 'static'} {vector} {made}"
        parameters = ", ".join(f"{vector} {x}" for x in "xy"[: kernel.arity])
        body = _body(kernel, name, vectors, kind) if kind in kernel.data else _widened(kernel, name, vectors)
        vectors.prelude.need(made, f"{head}({parameters}) {{\n  {body.strip()}\n}}")
    return made


def _body(kernel: Kernel, name: str, vectors: Vectors, kind: str) -> str:
    data = {**FORMATS[kind], **kernel.data[kind]}
    by_table = kernel.by_table.get(kind) if vectors.looks_up(kind) else None
    split = SPLIT if by_table is None else SPLIT_BY_TABLE

    def word(match: re.Match[str]) -> str:
        found = match[1]
        value = data.get(found)
        if found in _TABLES:
            return vectors.table(f"tg_{found.lower()}", _TABLES[found], kind)
        if isinstance(value, tuple):
            return _polynomial(f"tg_{name}_{found}", value, vectors, kind, split)
        if value is not None:
            return literal(value, DTYPES[kind]) if isinstance(value, float) else str(value)
        if found in _FUNCTIONS:
            return vectors.function(found, vectors.mask(kind) if found == "any" else kind)
        if found in ("T", "I", "U"):
            return vectors.type(kind if found == "T" else found.lower() + kind[1:])
        if found in ("INF", "NAN"):
            return literal(float(found.lower()), DTYPES[kind])
        if found == "redone":
            return vectors.redone(name, kind)
        if found == "P":
            return kind
        if found.startswith("own_"):
            return vectors.own(found.removeprefix("own_"), kind)
        assert found in ARITIES, found
        return vectors.libm(found, kind)

    return _WORD.sub(word, by_table or kernel.text)


def _polynomial(name: str, coefficients: Sequence[float], vectors: Vectors, kind: str, split: int) -> str:
    """The name of the function of t that a polynomial is, declared."""
    vector = vectors.type(kind)
    made = f"{name}_{vector}"
    if not vectors.prelude.has(made):
        lines: list[str] = []
        value = _sum(coefficients, "t", lines, vectors, kind, split)
        body = "".join(f"  {line}\n" for line in lines)
        vectors.prelude.need(made, f"TG_INLINE {vector} {made}({vector} t) {{\n{body}  return {value};\n}}")
    return made


def _sum(coefficients: Sequence[float], at: str, lines: list[str], vectors: Vectors, kind: str, split: int) -> str:
    """A polynomial as an expression over lines before it: a long one as even and odd terms, computed at once."""
    vector, fused, number = vectors.type(kind), vectors.function("fma", kind), vectors.function("all", kind)
    if len(coefficients) > split:
        square = f"{at}{at}"
        line = f"const {vector} {square} = {at} * {at};"
        lines += [] if line in lines else [line]
        even, odd = (_sum(coefficients[k::2], square, lines, vectors, kind, split) for k in (0, 1))
        return f"{fused}({odd}, {at}, {even})"
    total = f"a{len(lines)}"
    lines.append(f"{vector} {total} = {number}({literal(coefficients[-1], DTYPES[kind])});")
    for c in reversed(coefficients[:-1]):
        lines.append(f"{total} = {fused}({total}, {at}, {number}({literal(c, DTYPES[kind])}));")
    return total


def _widened(kernel: Kernel, name: str, vectors: Vectors) -> str:
    """The body for float32 that computes in float64, in two halves where vectors are not as wide as that."""
    names = "xy"[: kernel.arity]
    half = vectors if vectors.fits("f64") else vectors.halved()
    wide, narrow = half.conversion("f32", "f64"), half.conversion("f64", "f32")
    made = write(kernel, name, half, "f64")
    if half is vectors:
        return f"return {narrow}({made}({', '.join(f'{wide}({x})' for x in names)}));"
    vector = half.type("f32")
    lines = [f"{vector} {', '.join(f'{x}s[2]' for x in names)};"]
    lines += [f"__builtin_memcpy({x}s, &{x}, sizeof {x});" for x in names]
    lines += [f"xs[{k}] = {narrow}({made}({', '.join(f'{wide}({x}s[{k}])' for x in names)}));" for k in (0, 1)]
    return "\n  ".join([*lines, "__builtin_memcpy(&x, xs, sizeof x);", "return x;"])
